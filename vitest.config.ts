import { join } from 'node:path'
import { configDefaults, defineConfig } from 'vitest/config'
import { BaseSequencer, type TestSpecification } from 'vitest/node'

/** Files that take tens of seconds, because they start processes of the service. By default they would start late: they are short. */
const SLOW = [
  'start',
  'admin',
  'embedded-postgres',
  'doctor',
  'email',
  'chaos',
  'lost-workers',
  'upgrade-mixed',
  'indexes',
  'unit/new-field-type',
  'bench',
  'lost-database',
  'upgrade',
  'change-type',
  'bad-input',
  'email-compose',
  'table-import',
  'csv',
  'openapi-tools',
  'events',
  'matrix',
  'copied-data',
  'email-kill',
].map((name) => `/test/${name}.test.ts`)

/** Loads both cores by itself and judges what the service still does, so nothing runs beside it. */
const ALONE = ['test/soak.test.ts']

/** Starts the slow files first, the slowest first, so that no worker is left with one of them at the end. */
class SlowFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId }: TestSpecification) => {
      const index = SLOW.findIndex((name) => moduleId.endsWith(name))
      return index < 0 ? SLOW.length : index
    }
    const sorted = await super.sort(files)
    return sorted.toSorted((a, b) => rank(a) - rank(b))
  }
}

// The tests start hundreds of processes. A process that reads its modules from the cache of compiled code starts in less than half the time.
process.env.NODE_COMPILE_CACHE ??= join(import.meta.dirname, 'node_modules/.cache/compiled')

/** Each file has its own process, because tests change the environment and the working directory. */
const shared = { pool: 'forks', testTimeout: 20_000, hookTimeout: 30_000 } as const

export default defineConfig({
  test: {
    sequence: { sequencer: SlowFirst },
    projects: [
      {
        test: {
          ...shared,
          name: 'beside others',
          include: ['test/**/*.test.ts'],
          exclude: [...configDefaults.exclude, ...ALONE],
          globalSetup: ['test/support/global-setup.ts'],
          // CI has two cores. With three workers tests that start programs came near their time limits on a busy machine.
          maxWorkers: 2,
          sequence: { groupOrder: 0 },
        },
      },
      { test: { ...shared, name: 'alone', include: ALONE, maxWorkers: 1, sequence: { groupOrder: 1 } } },
    ],
  },
})
