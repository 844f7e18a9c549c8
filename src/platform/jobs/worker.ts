/** The worker: which queues are worked on, by what, and how often. */

import { type Context, type Deps, systemContext } from '../context.ts'
import type { Jobs, Queue } from './queue.ts'

export interface Work {
  queue: Queue
  /** At once, in one process. */
  concurrency: number
  /** Five fields, UTC: run by the clock, too. */
  cron?: string
  run(context: Context, data: never): Promise<void>
}

/** Binds a queue to what does its jobs. */
export function work<Data extends object>(
  queue: Queue<Data>,
  run: (context: Context, data: Data) => Promise<void>,
  { concurrency = 2, cron }: { concurrency?: number; cron?: string } = {},
): Work {
  return { queue: queue as Queue, concurrency, run, ...(cron && { cron }) }
}

/** Starts all workers of this process. */
export async function startWork(deps: Deps, works: readonly Work[], jobs: Jobs = deps.jobs): Promise<void> {
  for (const { queue, concurrency, cron, run } of works) {
    await jobs.work(queue, concurrency, async (data) => {
      const log = deps.log.child({ queue: queue.name })
      try {
        await run({ ...systemContext(deps), log }, data as never)
      } catch (error) {
        // pg-boss repeats it; the log is where a person sees why.
        log.error({ err: error, data }, 'job failed')
        throw error
      }
    })
    if (cron) await jobs.schedule(queue, cron)
  }
}
