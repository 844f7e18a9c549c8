import { z } from 'zod'
import { defineQueue } from '../platform/jobs/queue.ts'
import { type Work, work } from '../platform/jobs/worker.ts'
import { forgetEvents } from './log.ts'

const forgetOldEvents = defineQueue({ name: 'forget-old-events', schema: z.object({}) })

export const eventWorks: Work[] = [
  work(forgetOldEvents, ({ db, now, settings }) => forgetEvents(db, now, settings), { concurrency: 1, cron: '*/10 * * * *' }),
]
