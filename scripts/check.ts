/** `npm run check`: all checks of the code except for its tests. All steps run, even if one fails. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
const node = (...args: string[]) => [process.execPath, ...args]
const tool = (name: string, ...args: string[]) => [`${root}node_modules/.bin/${name}`, ...args]

type Step = [title: string, command: string[]]

/** Writes the files in generated/prisma/ anew, which the other steps read. */
const first: Step = ['Prisma client in generated/prisma/', node('scripts/generate.ts', '--check')]
/** The longest first. */
const others: Step[] = [
  // Threads of the compiler repeat each other's work: one takes two thirds of the CPU time, and other steps run beside it.
  ['Types', tool('tsc', '-p', '.', '--singleThreaded')],
  ['Types of the console', tool('tsc', '-p', 'console', '--singleThreaded')],
  ['Client in generated/client/', node('scripts/build-client.ts', '--check')],
  ['Migrations', node('scripts/migrate.ts', 'check')],
  ['Unused files, exports and packages', tool('knip')],
  ['OpenAPI document', node('scripts/openapi.ts', '--check')],
  ['House rules', node('scripts/house.ts')],
  ['Tables and diagrams in docs/', node('scripts/docs.ts', '--check')],
  ['Format and lint', tool('biome', 'ci', '.')],
]
/** The compiler is a program in Go: with less garbage collection it takes three quarters of the CPU time, and a tenth more memory. */
const env = { GOGC: '400', ...process.env }
/** Steps that run at the same time. CI has two cores. */
const AT_ONCE = 2

const failed: string[] = []

/** Runs a step, and prints its output once it has ended. */
async function run([title, [program = '', ...args]]: Step): Promise<void> {
  const child = spawn(program, args, { cwd: root, env, stdio: ['ignore', 'pipe', 'pipe'] })
  const ended = once(child, 'close').catch((error: Error) => [error.message])
  const [stdout, stderr, [code]] = await Promise.all([text(child.stdout), text(child.stderr), ended])
  if (code !== 0) failed.push(title)
  console.log(`\n== ${title}\n${stdout}${stderr}${code === 0 ? 'ok' : `FAILED (${code})`}`)
}

await run(first)
const waiting = others.values()
const runAll = async () => {
  for (const step of waiting) await run(step)
}
await Promise.all(Array.from({ length: AT_ONCE }, runAll))

console.log(
  failed.length ? `\n${failed.length} of ${others.length + 1} failed: ${failed.join(', ')}` : `\nAll ${others.length + 1} are fine.`,
)
process.exitCode = failed.length ? 1 : 0
