/** Deletes expired rows: answers to repeated requests, and counts of rate limits. */
import { z } from 'zod'
import { defineQueue } from '../jobs/queue.ts'
import { type Work, work } from '../jobs/worker.ts'
import { deleteExpiredWindows } from './load/rate-limits.ts'
import { deleteExpiredAnswers } from './procedures/idempotency.ts'

const cleanup = defineQueue({ name: 'upkeep', schema: z.object({}) })

export const cleanupWorks: Work[] = [
  work(
    cleanup,
    async ({ db, now }) => {
      await deleteExpiredWindows(db, now)
      await deleteExpiredAnswers(db, now)
    },
    { concurrency: 1, cron: '*/10 * * * *' },
  ),
]
