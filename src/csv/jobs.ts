import { z } from 'zod'
import { defineQueue } from '../platform/jobs/queue.ts'
import { type Work, work } from '../platform/jobs/worker.ts'
import { sweepStaging } from './staging.ts'

const sweep = defineQueue({ name: 'csv.sweep', schema: z.object({}) })

export const csvWorks: Work[] = [work(sweep, sweepStaging, { concurrency: 1, cron: '29 * * * *' })]
