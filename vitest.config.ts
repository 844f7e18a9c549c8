import { globSync, readFileSync } from 'node:fs'
import { enableCompileCache } from 'node:module'
import { join, relative } from 'node:path'
import { configDefaults, defineConfig } from 'vitest/config'
import { BaseSequencer, type TestSpecification } from 'vitest/node'
import durations from './test/durations.json' with { type: 'json' }

/** Files that change what belongs to their whole process, such as a prototype or the clock, or that look at its memory or child processes. */
const OWN_PROCESS = [
  'test/fuzz.test.ts',
  'test/unit/mime.test.ts',
  'test/traces.test.ts',
  'test/thumbnail-limits.test.ts',
  'test/grouped-writes.test.ts',
  'test/email-shared-connection.test.ts',
  'test/two-planes.test.ts',
  'test/lost-storage.test.ts',
  'test/unit/fair-queue.test.ts',
  'test/unit/idle-memory.test.ts',
  'test/unit/large-bodies.test.ts',
  'test/unit/loop-turns.test.ts',
  'test/unit/semaphore.test.ts',
]

/** They want the console as its sources are now. */
const OF_CONSOLE = ['test/console/**/*.test.ts', 'test/console-files.test.ts']

/** Loads both cores by itself and judges what the service still does, so nothing runs beside it. */
const ALONE = ['test/soak.test.ts']

/** What each file took when `npm run durations` was run last. A file that is new since then counts as a middling one. */
const SECONDS: Record<string, number> = durations
const MIDDLING_SECONDS = Object.values(SECONDS).toSorted((a, b) => a - b)[Math.floor(Object.keys(SECONDS).length / 2)] ?? 1
const secondsOf = ({ moduleId }: TestSpecification) => SECONDS[relative(import.meta.dirname, moduleId)] ?? MIDDLING_SECONDS

/** Starts the slow files of each project first, so that no worker is left with one of them at the end. */
class SlowFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files)
    // Projects stay apart, because a shared process goes on only with a file of its project.
    const projects = [...new Set(sorted.map(({ project }) => project))]
    return projects.flatMap((project) => {
      const slowFirst = sorted.filter((file) => file.project === project).toSorted((a, b) => secondsOf(b) - secondsOf(a))
      const programs = slowFirst.filter(startsPrograms)
      const others = slowFirst.filter((file) => !programs.includes(file))
      return spread(programs, others)
    })
  }
}

/** True for a file that imports Node's module for it, or a file of test/support that does. */
function startsPrograms({ moduleId }: TestSpecification): boolean {
  const text = readFileSync(moduleId, 'utf8')
  return [CHILD_PROCESS, ...starters].some((module) => text.includes(`${module}'`))
}

const CHILD_PROCESS = 'node:child_process'
const starters = globSync('test/support/*.ts', { cwd: import.meta.dirname })
  .filter((path) => readFileSync(join(import.meta.dirname, path), 'utf8').includes(CHILD_PROCESS))
  .map((path) => path.slice('test'.length))

/**
 * Makes one list of both, each spread over the whole time. Files that start programs wait for these: together they would leave half of a core
 * idle, and among the others these fill the gaps.
 */
function spread(programs: TestSpecification[], others: TestSpecification[]): TestSpecification[] {
  const placed = [programs, others].flatMap((files) => {
    const total = files.reduce((sum, file) => sum + secondsOf(file), 0)
    let passed = 0
    return files.map((file) => {
      const at = passed / total
      passed += secondsOf(file)
      return { file, at }
    })
  })
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
const patience = { testTimeout: 180_000, hookTimeout: 120_000, expect: { poll: { timeout: 60_000 } } } as const

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
          exclude: [...configDefaults.exclude, ...OWN_PROCESS, ...OF_CONSOLE, ...ALONE],
        },
      },
      {
        test: {
          ...each,
          ...first,
          ...shared,
          name: 'with the console',
          globalSetup: ['test/support/console-build.ts'],
          include: OF_CONSOLE,
        },
      },
      { test: { ...each, ...last, name: 'alone', include: ALONE } },
    ],
  },
})
