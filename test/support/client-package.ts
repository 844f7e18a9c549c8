/** The client as its users get it: built, packed, and installed in an empty folder. */
import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

const root = fileURLToPath(new URL('../..', import.meta.url))
const run = promisify(execFile)

export interface Installed {
  folder: string
  /** The paths of the package's files. */
  packed: string[]
  /** Compiles files in the folder with the strictest options. @returns the errors, each with its explanation in further lines */
  compile(sources: Record<string, string>, options?: string[]): Promise<string[]>
  /** Compiles files without errors. @returns how many types the compiler has made for it */
  typesMade(sources: Record<string, string>): Promise<number>
  remove(): Promise<void>
}

/** Builds the package and installs it in a folder of its own. It takes some seconds. */
export async function installClient(): Promise<Installed> {
  const folder = await mkdtemp(join(tmpdir(), 'gridpost-caller-'))
  const built = join(folder, 'built')
  await run(process.execPath, [join(root, 'scripts/build-client.ts'), built], { cwd: root })
  const { stdout } = await run('npm', ['pack', '--json', '--pack-destination', folder, built], { cwd: folder })
  const [{ filename, files }] = JSON.parse(stdout) as [{ filename: string; files: { path: string }[] }]
  await writeFile(join(folder, 'package.json'), '{"private":true,"type":"module"}')
  await run('npm', ['install', '--prefer-offline', '--no-audit', '--no-fund', '--omit=peer', join(folder, filename)], { cwd: folder })
  return {
    folder,
    packed: files.map(({ path }) => path).sort(),
    compile: async (sources, options = []) => errorsIn(await compile(folder, sources, options)),
    typesMade: async (sources) => typesIn(await compile(folder, sources, ['--noEmit', '--extendedDiagnostics'])),
    remove: () => rm(folder, { recursive: true, force: true }),
  }
}

/** Runs the compiler. @returns what it prints */
async function compile(folder: string, sources: Record<string, string>, more: string[]): Promise<string> {
  for (const [name, text] of Object.entries(sources)) await writeFile(join(folder, name), text)
  const options = [
    '--strict',
    '--target',
    'ES2022',
    '--module',
    'NodeNext',
    '--lib',
    'ESNext,DOM',
    '--types',
    '',
    '--ignoreConfig',
    ...more,
  ]
  const tsc = join(root, 'node_modules/typescript/bin/tsc')
  const { stdout } = await run(process.execPath, [tsc, '--singleThreaded', ...options, ...Object.keys(sources)], { cwd: folder }).catch(
    (error: { stdout: string }) => error,
  )
  return stdout
}

const errorsIn = (output: string) => output.split(/\n(?! )/).filter((error) => error.includes('error TS'))

function typesIn(output: string): number {
  const errors = errorsIn(output)
  if (errors.length) throw new Error(errors.join('\n'))
  return Number(/^Types:\s+(\d+)$/m.exec(output)?.[1])
}
