import { enableCompileCache } from 'node:module'
import { join } from 'node:path'
import { configDefaults, defineConfig } from 'vitest/config'
import { BaseSequencer, type TestSpecification } from 'vitest/node'

/** Files that start the service and other programs again and again, the slowest first. */
const STARTS_PROGRAMS = [
  'admin',
  'start',
  'doctor',
  'embedded-postgres',
  'upgrade-mixed',
  'client-package',
  'chaos',
  'unit/new-field-type',
  'bench',
  'upgrade',
  'openapi-tools',
  'processes-end',
  'processes',
  'copied-data',
  'rotation',
  'email-kill',
  'email-receiver-kill',
  'import-kill',
  'move-files',
  'demo',
  'seed',
  'examples',
  'proxies',
  'replicas',
  'replicas-processes',
  'failover',
].map(fileOf)

/** Files that change what belongs to their whole process, such as a prototype or the clock, or that look at its memory or child processes. */
const OWN_PROCESS = [
  'fuzz',
  'unit/mime',
  'traces',
  'thumbnail-limits',
  'grouped-writes',
  'email-shared-connection',
  'two-planes',
  'lost-storage',
  'unit/fair-limit',
  'unit/idle-memory',
  'unit/large-bodies',
  'unit/loop-turns',
  'unit/paced-refusals',
  'unit/semaphore',
].map(fileOf)

/** Other files that take long, the slowest first: they would leave a worker alone at the end. */
const SLOW = [
  'lost-workers',
  'task-attachments',
  'email',
  'lost-database',
  'indexes',
  'change-type',
  'bad-input',
  'events',
  'table-import',
  'csv',
  'email-compose',
  'matrix',
  'query-bad-input',
  'email-inbound',
  'password-reset',
  'unit/time',
  'sign-in',
  'email-schedule',
  'email-replay',
].map(fileOf)

/** Loads both cores by itself and judges what the service still does, so nothing runs beside it. */
const ALONE = ['soak'].map(fileOf)

function fileOf(name: string): string {
  return `test/${name}.test.ts`
}

/** Starts the slow files of each project first, so that no worker is left with one of them at the end. */
class SlowFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const order = [...STARTS_PROGRAMS, ...OWN_PROCESS, ...SLOW]
    const rank = ({ moduleId }: TestSpecification) => {
      const index = order.findIndex((name) => moduleId.endsWith(`/${name}`))
      return index < 0 ? order.length : index
    }
    const sorted = await super.sort(files)
    // Projects stay apart, because a shared process goes on only with a file of its project.
    const projects = [...new Set(sorted.map(({ project }) => project))]
    return projects.flatMap((project) => {
      const slowFirst = sorted.filter((file) => file.project === project).toSorted((a, b) => rank(a) - rank(b))
      const firstOther = slowFirst.findIndex((file) => rank(file) >= STARTS_PROGRAMS.length)
      return firstOther < 0 ? slowFirst : spread(slowFirst.slice(0, firstOther), slowFirst.slice(firstOther))
    })
  }
}

/**
 * Puts the files of two lists in one, each list evenly. Files that start programs wait for these, and would leave half of a core idle if they ran
 * together; spread over the whole run, the others fill the gaps.
 */
function spread(programs: TestSpecification[], others: TestSpecification[]): TestSpecification[] {
  const placed = [programs, others].flatMap((files) => files.map((file, index) => ({ file, at: index / files.length })))
  return placed.toSorted((a, b) => a.at - b.at).map(({ file }) => file)
}

// The tests start hundreds of processes. A process that reads its modules from the cache of compiled code starts in less than half the time.
process.env.NODE_COMPILE_CACHE ??= join(import.meta.dirname, 'node_modules/.cache/compiled')
enableCompileCache(process.env.NODE_COMPILE_CACHE)

// The compiler of TypeScript is a program in Go: with less garbage collection it takes three quarters of the CPU time, and a tenth more memory.
process.env.GOGC ??= '400'

/** Node imports the tests as it imports the service, without a transformation by Vite, which the cache of compiled code would not hold. */
const experimental = { viteModuleRunner: false, nodeLoader: false } as const

/** Limits that only a test which hangs reaches, not one that a busy machine runs ten times as long. What is meant to be quick says so itself. */
const patience = { testTimeout: 60_000, hookTimeout: 60_000, expect: { poll: { timeout: 20_000 } } } as const

const each = { pool: 'forks', experimental, ...patience } as const

/** Most of a short file's time goes into loading the service and into running its code for the first time, so files share processes. */
const shared = { isolate: false, setupFiles: ['test/support/unchanged-process.ts'] }

// CI has two cores, and tests often wait.
const first = { maxWorkers: 4, sequence: { groupOrder: 0 } }
const last = { maxWorkers: 1, sequence: { groupOrder: 1 } }

export default defineConfig({
  test: {
    experimental,
    // One PostgreSQL for all projects.
    globalSetup: ['test/support/global-setup.ts'],
    sequence: { sequencer: SlowFirst },
    projects: [
      { test: { ...each, ...first, name: 'in a process of its own', include: OWN_PROCESS } },
      {
        test: {
          ...each,
          ...first,
          ...shared,
          name: 'in a shared process',
          include: ['test/**/*.test.ts'],
          exclude: [...configDefaults.exclude, ...OWN_PROCESS, ...ALONE],
        },
      },
      { test: { ...each, ...last, name: 'alone', include: ALONE } },
    ],
  },
})
