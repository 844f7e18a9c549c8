import { z } from 'zod'
import { defineQueue } from '../platform/jobs/queue.ts'
import { type Work, work } from '../platform/jobs/worker.ts'
import { deleteTombstones } from './deletion.ts'
import { sweepReminders } from './reminders/reminder-sweep.ts'

const remind = defineQueue({ name: 'tasks.remind', schema: z.object({}) })
const forget = defineQueue({ name: 'tasks.forget', schema: z.object({}) })

export const taskWorks: Work[] = [
  work(remind, (context) => sweepReminders(context, (startAfter) => context.jobs.send(remind, {}, { startAfter })), {
    concurrency: 1,
    cron: '* * * * *',
  }),
  work(forget, deleteTombstones, { concurrency: 1, cron: '23 * * * *' }),
]
