/** Clears what plumbing keeps for a while only. */
import { z } from 'zod'
import { sql } from './db.ts'
import { defineQueue } from './jobs.ts'
import { formatInstant } from './time.ts'
import { type Work, work } from './work.ts'

const upkeep = defineQueue({ name: 'upkeep', schema: z.object({}) })
const DAY_MS = 86_400_000

export const upkeepWorks: Work[] = [
  work(
    upkeep,
    async ({ db, now }) => {
      await db.execute(sql`delete from rate_windows where expires_at < ${formatInstant(now)}::timestamp`)
      await db.execute(sql`delete from idempotency_keys where created_at < ${formatInstant(new Date(now.getTime() - DAY_MS))}::timestamp`)
    },
    { concurrency: 1, cron: '*/10 * * * *' },
  ),
]
