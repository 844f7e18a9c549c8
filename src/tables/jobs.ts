import { type Work, work } from '../platform/jobs/worker.ts'
import { cleanUp, cleanUpCells, resumeCellCleanups, resumeCleanups } from './cells/cell-cleanup.ts'
import { normalizeAll, normalizeTexts } from './cells/normal-texts.ts'
import { purge, purgeAll, purgeDeleted, purgeTable } from './purge.ts'
import { countDueTables, countRows, countTable, recountAllTables, recountRows, sweepRowCounts } from './row-counts.ts'

export const tableWorks: Work[] = [
  work(purgeDeleted, purgeAll, { concurrency: 1, cron: '17 3 * * *' }),
  work(purgeTable, purge, { concurrency: 1 }),
  work(cleanUpCells, cleanUp, { concurrency: 1 }),
  work(resumeCellCleanups, resumeCleanups, { concurrency: 1, cron: '5/10 * * * *' }),
  work(normalizeTexts, normalizeAll, { concurrency: 1, cron: '3/10 * * * *' }),
  work(countRows, countTable, { concurrency: 1 }),
  work(sweepRowCounts, countDueTables, { concurrency: 1, cron: '* * * * *' }),
  work(recountRows, recountAllTables, { concurrency: 1, cron: '47 3 * * *' }),
]
