/** Deletes rows of the platform that have expired. */
import { z } from 'zod'
import { deleteExpiredAnswers } from '../http/idempotency.ts'
import { deleteExpiredWindows } from '../http/rate-limits.ts'
import { defineQueue } from './queue.ts'
import { type Work, work } from './worker.ts'

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
