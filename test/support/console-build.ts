/** Builds the console before tests that open it, if one of its files is newer than the build. */
import { spawnSync } from 'node:child_process'
import { globSync, statSync } from 'node:fs'
import { join } from 'node:path'

const root = join(import.meta.dirname, '../..')
const changedAt = (path: string) => statSync(join(root, path), { throwIfNoEntry: false })?.mtimeMs ?? 0

export function setup(): void {
  const sources = [
    ...globSync(['console/src/**/*', 'generated/client/**/*.js'], { cwd: root }),
    'console/index.html',
    'console/vite.config.ts',
  ]
  if (Math.max(...sources.map(changedAt)) < changedAt('console/dist/index.html')) return
  const { status, stderr } = spawnSync(process.execPath, ['scripts/build-console.ts'], { cwd: root, encoding: 'utf8' })
  if (status !== 0) throw new Error(`The console could not be built: ${stderr}`)
}
