import { type Work, work } from '../platform/jobs/worker.ts'
import { check, checkConversion } from './job/check.ts'
import { convert, convertField } from './job/convert.ts'
import { resumeAll, resumeConversions } from './service.ts'

export const conversionWorks: Work[] = [
  // Counting has its own queue, because a user waits for it and a conversion may take minutes.
  work(checkConversion, check, { concurrency: 2 }),
  work(convertField, (context, data) => convert(context, data), { concurrency: 1 }),
  work(resumeConversions, resumeAll, { concurrency: 1, cron: '*/10 * * * *' }),
]
