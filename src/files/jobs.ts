import { type Work, work } from '../work.ts'
import { removeAll, removeBytes, sweep, sweepFiles } from './sweep.ts'

export const fileWorks: Work[] = [
  work(sweepFiles, sweep, { concurrency: 1, cron: '41 * * * *' }),
  work(removeBytes, removeAll, { concurrency: 1 }),
]
