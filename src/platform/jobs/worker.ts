/** Connects queues to the functions that run their jobs. */

import { type Context, type Deps, systemContext } from '../context.ts'
import { jobSeconds } from './metrics.ts'
import type { Jobs, Queue, WorkSlots } from './queue.ts'

export interface Work extends WorkSlots {
  queue: Queue
  /** A schedule that also enqueues jobs: five fields, in UTC. */
  cron?: string
  run(context: Context, data: never): Promise<void>
  /** Starts what works beside the jobs. @returns what stops it */
  start?(deps: Deps): () => Promise<void>
}

/** Connects a queue to the function that runs its jobs. */
export function work<Data extends object>(
  queue: Queue<Data>,
  run: (context: Context, data: Data) => Promise<void>,
  { concurrency = 2, ...options }: Partial<Omit<Work, 'queue' | 'run'>> = {},
): Work {
  return { queue: queue as Queue, concurrency, run, ...options }
}

/** Starts all workers of this process, which needs no database: the process may answer requests by then. */
export async function startWork(deps: Deps, works: readonly Work[], jobs: Jobs = deps.jobs): Promise<void> {
  for (const { queue, cron, run, start, ...slots } of works) {
    if (start) jobs.beforeStop(start(deps))
    await jobs.work(queue, slots, async (data) => {
      const log = deps.log.child({ queue: queue.name })
      const startedAt = performance.now()
      let outcome = 'failed'
      try {
        await run({ ...systemContext(deps), log }, data as never)
        outcome = 'completed'
      } catch (error) {
        // pg-boss retries the job; the log tells operators why.
        log.error({ err: error, data }, 'job failed')
        throw error
      } finally {
        deps.metrics.observe(jobSeconds, (performance.now() - startedAt) / 1000, { queue: queue.name, outcome })
      }
    })
    if (cron) jobs.schedule(queue, cron)
  }
}
