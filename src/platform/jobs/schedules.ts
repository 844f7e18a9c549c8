/** Writes the schedules of jobs, one after the other, and each again until the database has taken it. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { FastifyBaseLogger } from 'fastify'

const RETRY_MS = 500

export interface Schedules {
  /** Returns at once: the process may answer requests by then, and goes on if the database is away. @param cron five fields, in UTC */
  add(queue: string, cron: string): void
  /** Gives up what is not written yet. */
  stop(): void
}

/** @param write writes one schedule; the same one may be written twice */
export function openSchedules(
  write: (queue: string, cron: string) => Promise<void>,
  log: Pick<FastifyBaseLogger, 'error'>,
  retryMs = RETRY_MS,
): Schedules {
  const stopping = new AbortController()
  let writing = Promise.resolve()

  async function untilWritten(queue: string, cron: string): Promise<void> {
    for (let attempt = 1; !stopping.signal.aborted; attempt++) {
      try {
        return await write(queue, cron)
      } catch (error) {
        if (attempt === 1) log.error({ err: error, queue }, 'a schedule was not written, and is tried again')
        await pause()
      }
    }
  }

  const pause = () => sleep(retryMs, undefined, { signal: stopping.signal, ref: false }).catch(() => {})

  return {
    add(queue, cron) {
      writing = writing.then(() => untilWritten(queue, cron))
    },
    stop: () => stopping.abort(),
  }
}
