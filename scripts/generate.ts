/** Generates Prisma's client. `generate` needs no engine, but the CLI downloads one unless an engine is named. */
import { spawnSync } from 'node:child_process'

const cli = new URL('../node_modules/prisma/build/index.js', import.meta.url).pathname
const { status } = spawnSync(process.execPath, [cli, 'generate'], {
  stdio: ['ignore', 'ignore', 'inherit'],
  env: { ...process.env, PRISMA_SCHEMA_ENGINE_BINARY: process.execPath, PRISMA_HIDE_UPDATE_MESSAGE: '1', CHECKPOINT_DISABLE: '1' },
})
process.exitCode = status ?? 1
