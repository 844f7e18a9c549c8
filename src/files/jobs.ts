import { type Work, work } from '../platform/jobs/worker.ts'
import { dropOfField, dropUnused } from './dropped/deleted-field.ts'
import { removeAll, removeBytes, settleAll, settleFiles, sweep, sweepFiles, sweepLeftovers, sweepStorage } from './sweep.ts'

export const fileWorks: Work[] = [
  work(sweepFiles, sweep, { concurrency: 1, cron: '41 * * * *' }),
  work(settleFiles, settleAll, { concurrency: 1 }),
  work(dropUnused, dropOfField, { concurrency: 1 }),
  work(removeBytes, removeAll, { concurrency: 1 }),
  work(sweepLeftovers, sweepStorage, { concurrency: 1, cron: '23 2 * * *' }),
]
