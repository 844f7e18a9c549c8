/** Metrics of the indexes on records. */
import { sql } from '../platform/database/database.ts'
import { duration, gauge, type Metric } from '../platform/metrics/metrics.ts'

export const buildSeconds = duration({
  name: 'gridpost_index_build_seconds',
  help: 'Time to build an index in this process, by outcome: built, failed, or interrupted by a change of the table.',
  labels: ['outcome'],
  buckets: [0.1, 1, 10, 60, 300, 1_800, 7_200],
})

export const indexMetrics: readonly Metric[] = [
  buildSeconds,
  gauge({
    name: 'gridpost_index_builds_running',
    isShared: true,
    help: 'Indexes that the database is building.',
    read: async ({ db }) => {
      const [row] = await db.read<{ count: number }>(sql`
        select count(*) from pg_stat_progress_create_index where datname = current_database()`)
      return [{ value: row?.count ?? 0 }]
    },
  }),
  gauge({
    name: 'gridpost_index_failures',
    isShared: true,
    help: 'Planned indexes whose last build failed; a job tries again every five minutes.',
    read: async ({ db }) => {
      const [row] = await db.read<{ count: number }>(sql`select count(*) from index_failures`)
      return [{ value: row?.count ?? 0 }]
    },
  }),
]
