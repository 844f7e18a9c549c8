import { type Work, work } from '../platform/jobs/worker.ts'
import { changeLeft, changeLeftovers, resumeLeft, resumeLeftovers } from './cells/cell-cleanup.ts'
import { purge, purgeAll, purgeDeleted, purgeTable } from './purge.ts'
import { recountAll, recountTallies, sweepTallies, tally, tallyAll, tallyTable } from './row-counts.ts'

export const tableWorks: Work[] = [
  work(purgeDeleted, purgeAll, { concurrency: 1, cron: '17 3 * * *' }),
  work(purgeTable, purge, { concurrency: 1 }),
  work(changeLeftovers, changeLeft, { concurrency: 1 }),
  work(resumeLeftovers, resumeLeft, { concurrency: 1, cron: '5/10 * * * *' }),
  work(tallyTable, tally, { concurrency: 1 }),
  work(sweepTallies, tallyAll, { concurrency: 1, cron: '* * * * *' }),
  work(recountTallies, recountAll, { concurrency: 1, cron: '47 3 * * *' }),
]
