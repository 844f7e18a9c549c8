/** Deletes rows of the platform that have expired. */
import { z } from 'zod'
import { forgetAnswers } from '../http/idempotency.ts'
import { forgetWindows } from '../http/rate-limits.ts'
import { defineQueue } from './queue.ts'
import { type Work, work } from './worker.ts'

const cleanup = defineQueue({ name: 'upkeep', schema: z.object({}) })

export const cleanupWorks: Work[] = [
  work(
    cleanup,
    async ({ db, now }) => {
      await forgetWindows(db, now)
      await forgetAnswers(db, now)
    },
    { concurrency: 1, cron: '*/10 * * * *' },
  ),
]
