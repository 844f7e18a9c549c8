import { join } from 'node:path'
import { defineConfig } from 'vitest/config'
import { BaseSequencer, type TestSpecification } from 'vitest/node'

/** Files that take tens of seconds, because they start processes of the service. By default they would start late: they are short. */
const SLOW = [
  'admin',
  'start',
  'bench',
  'soak',
  'indexes',
  'embedded-postgres',
  'lost-database',
  'chaos',
  'lost-workers',
  'upgrade',
  'upgrade-mixed',
  'unit/new-field-type',
].map((name) => `/test/${name}.test.ts`)

/** Starts the slow files first, so that no worker is left with one of them at the end. */
class SlowFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const isSlow = ({ moduleId }: TestSpecification) => SLOW.some((name) => moduleId.endsWith(name))
    const sorted = await super.sort(files)
    return [...sorted.filter(isSlow), ...sorted.filter((file) => !isSlow(file))]
  }
}

// The tests start hundreds of processes. A process that reads its modules from the cache of compiled code starts in less than half the time.
process.env.NODE_COMPILE_CACHE ??= join(import.meta.dirname, 'node_modules/.cache/compiled')

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    globalSetup: ['test/support/global-setup.ts'],
    sequence: { sequencer: SlowFirst },
    // Each file has its own process, because tests change the environment and the working directory. CI has two cores.
    pool: 'forks',
    maxWorkers: 2,
    testTimeout: 20_000,
    hookTimeout: 30_000,
  },
})
