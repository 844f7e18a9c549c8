import { z } from 'zod'
import { defineQueue } from '../platform/jobs/queue.ts'
import { type Work, work } from '../platform/jobs/worker.ts'
import { resumeAll, resumeImports, run, runEarlierImport, runImport } from './imports/run-import.ts'
import { sweepStaging } from './staging.ts'

const sweep = defineQueue({ name: 'csv.sweep', schema: z.object({}) })

export const csvWorks: Work[] = [
  work(sweep, sweepStaging, { concurrency: 1, cron: '29 * * * *' }),
  work(runImport, run, { concurrency: 2 }),
  work(runEarlierImport, run, { concurrency: 1 }),
  work(resumeImports, resumeAll, { concurrency: 1, cron: '*/10 * * * *' }),
]
