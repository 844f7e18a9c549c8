/** Writes test/durations.json, by which vitest.config.ts orders the tests: Vitest gives this reporter to `npm run durations`. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Reporter, TestModule } from 'vitest/node'

const root = fileURLToPath(new URL('..', import.meta.url))
const list = `${root}test/durations.json`

// biome-ignore lint/style/noDefaultExport: Vitest takes a reporter that is the default export of its file.
export default class Durations implements Reporter {
  /** Files that did not run, such as those that need Citus, keep what was recorded of them elsewhere. */
  onTestRunEnd(modules: readonly TestModule[]): void {
    const ran = modules.filter((module) => module.state() !== 'skipped')
    const seconds: Record<string, number> = {
      ...JSON.parse(readFileSync(list, 'utf8')),
      ...Object.fromEntries(ran.map((module) => [relative(root, module.moduleId), secondsOf(module)])),
    }
    const paths = Object.keys(seconds).filter((path) => existsSync(`${root}${path}`))
    writeFileSync(list, `${JSON.stringify(Object.fromEntries(paths.sort().map((path) => [path, seconds[path]])), null, 2)}\n`)
  }
}

/** With the imports, because many files start the service or a server while they are imported. */
function secondsOf(module: TestModule): number {
  const { collectDuration, duration } = module.diagnostic()
  return Math.round((collectDuration + duration) / 1_000)
}
