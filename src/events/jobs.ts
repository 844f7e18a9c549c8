import { z } from 'zod'
import { defineQueue } from '../platform/jobs/queue.ts'
import { type Work, work } from '../platform/jobs/worker.ts'
import { deleteOldEvents } from './log.ts'

const oldEvents = defineQueue({ name: 'forget-old-events', schema: z.object({}) })

export const eventWorks: Work[] = [
  work(oldEvents, ({ db, now, settings }) => deleteOldEvents(db, now, settings), { concurrency: 1, cron: '*/10 * * * *' }),
]
