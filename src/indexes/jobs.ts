import { z } from 'zod'
import { defineQueue } from '../platform/jobs/queue.ts'
import { type Work, work } from '../platform/jobs/worker.ts'
import { followIndexes } from '../tables/indexing.ts'
import { follow, followAll } from './service.ts'

const sweepIndexes = defineQueue({ name: 'indexes.sweep', schema: z.object({}) })

export const indexWorks: Work[] = [
  work(followIndexes, follow, { concurrency: 1 }),
  work(sweepIndexes, followAll, { concurrency: 1, cron: '*/5 * * * *' }),
]
