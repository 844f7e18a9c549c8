/** Clears what plumbing keeps for a while only. */
import { z } from 'zod'
import { forgetEvents } from './events.ts'
import { forgetAnswers } from './idempotency.ts'
import { defineQueue } from './jobs.ts'
import { forgetWindows } from './limits.ts'
import { type Work, work } from './work.ts'

const upkeep = defineQueue({ name: 'upkeep', schema: z.object({}) })

export const upkeepWorks: Work[] = [
  work(
    upkeep,
    async ({ db, now, settings }) => {
      await forgetWindows(db, now)
      await forgetAnswers(db, now)
      await forgetEvents(db, now, settings)
    },
    { concurrency: 1, cron: '*/10 * * * *' },
  ),
]
