/**
 * Generates Prisma's client. The files that run are in git, so that production needs no generator; the rest are types for the compiler.
 * `--check` fails if the files in git are not those that the schema gives. `generate` needs no engine, but the CLI downloads one unless
 * an engine is named.
 */
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
// The package has an alias, because npm would install `prisma` in production as well: it is an optional peer of @prisma/client.
const cli = `${root}node_modules/prisma-cli/build/index.js`
const isCheck = process.argv.includes('--check')

if (existsSync(cli)) process.exitCode = generate() || (isCheck ? compareWithGit() : 0)
else if (isCheck || process.env.npm_lifecycle_event !== 'postinstall') {
  console.error('The package prisma-cli is not installed: npm ci installs it, npm ci --omit=dev does not')
  process.exitCode = 1
}

function generate(): number {
  const { status, stderr } = spawnSync(process.execPath, [cli, 'generate'], {
    cwd: root,
    encoding: 'utf8',
    // It writes where it found the schema to standard error, which only matters if it fails.
    stdio: ['ignore', 'ignore', 'pipe'],
    env: { ...process.env, PRISMA_SCHEMA_ENGINE_BINARY: process.execPath, PRISMA_HIDE_UPDATE_MESSAGE: '1', CHECKPOINT_DISABLE: '1' },
  })
  if (status !== 0) console.error(stderr)
  return status ?? 1
}

function compareWithGit(): number {
  const { status, stdout, stderr } = spawnSync('git', ['diff', '--name-only', '--', 'generated/prisma'], { cwd: root, encoding: 'utf8' })
  if (status !== 0) console.log(`Not compared with git: ${stderr?.trim() || 'git is not installed'}`)
  else if (stdout)
    console.error(`The schema gives other files than git has; they are written, so commit them with the schema:\n${stdout.trim()}`)
  return status === 0 && stdout ? 1 : 0
}
