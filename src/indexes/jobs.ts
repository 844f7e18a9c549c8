import { z } from 'zod'
import { defineQueue } from '../platform/jobs/queue.ts'
import { type Work, work } from '../platform/jobs/worker.ts'
import { adaptIndexes } from '../tables/indexing.ts'
import { adapt, adaptAll } from './service.ts'

const sweepIndexes = defineQueue({ name: 'indexes.sweep', schema: z.object({}) })

export const indexWorks: Work[] = [
  work(adaptIndexes, adapt, { concurrency: 1 }),
  work(sweepIndexes, adaptAll, { concurrency: 1, cron: '*/5 * * * *' }),
]
