/** Metrics of the job queue. */
import { sql } from '../database/database.ts'
import { duration, gauge, type Metric } from '../metrics/metrics.ts'

export const jobSeconds = duration({
  name: 'gridpost_job_seconds',
  help: 'Time of one run of a job in this process, by queue and outcome.',
  labels: ['queue', 'outcome'],
  buckets: [0.01, 0.05, 0.1, 0.5, 1, 5, 30, 120, 600],
})

export const jobMetrics: readonly Metric[] = [
  jobSeconds,
  gauge({
    name: 'gridpost_jobs',
    isShared: true,
    help: 'Jobs that are not completed, by queue and state.',
    labels: ['queue', 'state'],
    read: async ({ db }) => {
      const rows = await db.read<{ queue: string; state: string; count: number }>(sql`
        select name as queue, state::text, count(*) from pgboss.job where state <> 'completed' group by 1, 2`)
      return rows.map(({ queue, state, count }) => ({ labels: { queue, state }, value: count }))
    },
  }),
  gauge({
    name: 'gridpost_job_oldest_seconds',
    isShared: true,
    help: 'How long the oldest job of a queue has been due without being started.',
    labels: ['queue'],
    read: async ({ db }) => {
      const rows = await db.read<{ queue: string; seconds: number }>(sql`
        select name as queue, extract(epoch from now() - min(start_after))::float8 as seconds from pgboss.job
        where state < 'active' and start_after <= now() group by 1`)
      return rows.map(({ queue, seconds }) => ({ labels: { queue }, value: seconds }))
    },
  }),
]
