import { type Work, work } from '../platform/jobs/worker.ts'
import { convert, convertField, resumeAll, resumeConversions } from './convert.ts'

export const conversionWorks: Work[] = [
  work(convertField, convert, { concurrency: 1 }),
  work(resumeConversions, resumeAll, { concurrency: 1, cron: '*/10 * * * *' }),
]
