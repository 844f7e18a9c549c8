/** `npm run check`: all checks of the code except for its tests. All steps run, even if one fails. */
import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
const node = (...args: string[]) => [process.execPath, ...args]
const tool = (name: string, ...args: string[]) => [`${root}node_modules/.bin/${name}`, ...args]

const steps: [title: string, command: string[]][] = [
  ['Format and lint', tool('biome', 'ci', '.')],
  ['Types', tool('tsc', '-p', '.')],
  ['Unused files, exports and packages', tool('knip')],
  ['House rules', node('scripts/house.ts')],
  ['Prisma client in generated/', node('scripts/generate.ts', '--check')],
  ['OpenAPI document', node('scripts/openapi.ts', '--check')],
  ['Tables and diagrams in docs/', node('scripts/docs.ts', '--check')],
  ['Migrations', node('scripts/migrate.ts', 'check')],
]

const failed = steps.filter(([title, [program = '', ...args]]) => {
  console.log(`\n== ${title}`)
  const { status, error } = spawnSync(program, args, { cwd: root, stdio: 'inherit' })
  if (error) console.error(error.message)
  console.log(status === 0 ? 'ok' : 'FAILED')
  return status !== 0
})

console.log(
  failed.length
    ? `\n${failed.length} of ${steps.length} failed: ${failed.map(([title]) => title).join(', ')}`
    : `\nAll ${steps.length} are fine.`,
)
process.exitCode = failed.length ? 1 : 0
