/**
 * Builds the console into console/dist/, after each install. `--prune` then deletes the packages that only the build needs, if those of
 * development are not installed either: production keeps what it runs.
 */
import { existsSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { brotliCompress, constants, gzip } from 'node:zlib'
import { build } from 'vite'
import { type LockedPackages, neededOnlyBy } from './lock-packages.ts'

const root = join(import.meta.dirname, '..')
const dist = join(root, 'console/dist')
/** The dependencies that no file of the service imports. */
const OF_CONSOLE = [
  '@internationalized/date',
  '@tanstack/react-query',
  '@tanstack/react-router',
  'chrono-node',
  'react',
  'react-aria-components',
  'react-dom',
  'vite',
]

// Vite would take another value for a build of React that is checked and slow.
process.env.NODE_ENV = 'production'
await build({ configFile: join(root, 'console/vite.config.ts'), configLoader: 'native', logLevel: 'warn' })
const files = await readdir(dist)
await Promise.all(files.map((name) => compress(join(dist, name))))
if (process.argv.includes('--prune')) prune()

/** Writes a file again as `.br` and `.gz`, if that is smaller. */
async function compress(path: string): Promise<void> {
  const bytes = await readFile(path)
  const best = { [constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY, [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length }
  const [brotli, gzipped] = await Promise.all([
    promisify(brotliCompress)(bytes, { params: best }),
    promisify(gzip)(bytes, { level: constants.Z_BEST_COMPRESSION }),
  ])
  if (brotli.length < bytes.length) await writeFile(`${path}.br`, brotli)
  if (gzipped.length < bytes.length) await writeFile(`${path}.gz`, gzipped)
}

function prune(): void {
  const lock: { packages: LockedPackages } = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8'))
  const isInstalled = (folder: string) => folder.startsWith('node_modules/') && existsSync(join(root, folder))
  if (Object.entries(lock.packages).some(([folder, { dev }]) => dev && isInstalled(folder))) return
  for (const folder of neededOnlyBy(OF_CONSOLE, lock.packages)) rmSync(join(root, folder), { recursive: true, force: true })
  // npm takes this file for the present state of the folder, and would not install again what is missing.
  rmSync(join(root, 'node_modules/.package-lock.json'), { force: true })
  dropDeadLinks(join(root, 'node_modules/.bin'))
}

/** Deletes the links to programs of packages that are gone. */
function dropDeadLinks(folder: string): void {
  for (const name of readdirSync(folder)) {
    const path = join(folder, name)
    if (!statSync(path, { throwIfNoEntry: false })) rmSync(path)
  }
}
