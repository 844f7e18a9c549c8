import { type Work, work } from '../platform/jobs/worker.ts'
import { purgeDue, purgeRecords } from './deleted/purge.ts'
import { forgetChanges, forgetHistories, forgetHistory, forgetOf } from './history/forget.ts'
import { resumeAll, resumeBulkChanges, run, runBulkChange } from './where/run-job.ts'

export const recordWorks: Work[] = [
  work(forgetHistories, forgetChanges, { concurrency: 1, cron: '33 3 * * *' }),
  work(purgeRecords, purgeDue, { concurrency: 1, cron: '13 * * * *' }),
  work(forgetHistory, forgetOf, { concurrency: 1 }),
  work(runBulkChange, run, { concurrency: 2 }),
  work(resumeBulkChanges, resumeAll, { concurrency: 1, cron: '*/10 * * * *' }),
]
