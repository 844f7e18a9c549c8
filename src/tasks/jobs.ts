import { z } from 'zod'
import { defineQueue } from '../jobs.ts'
import { type Work, work } from '../work.ts'
import { forgetTraces } from './deletion.ts'
import { sweepReminders } from './reminder-sweep.ts'

const remind = defineQueue({ name: 'tasks.remind', schema: z.object({}) })
const forget = defineQueue({ name: 'tasks.forget', schema: z.object({}) })

export const taskWorks: Work[] = [
  work(remind, (scope) => sweepReminders(scope, (startAfter) => scope.jobs.send(remind, {}, { startAfter })), {
    concurrency: 1,
    cron: '* * * * *',
  }),
  work(forget, forgetTraces, { concurrency: 1, cron: '23 * * * *' }),
]
