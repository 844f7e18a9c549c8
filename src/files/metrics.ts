/** Metrics of uploaded files. */
import { sql } from '../platform/database/database.ts'
import { counter, gauge, type Metric } from '../platform/metrics.ts'

export const uploads = counter({ name: 'gridpost_uploads_total', help: 'Files that this process has stored.' })
export const uploadedBytes = counter({ name: 'gridpost_uploaded_bytes_total', help: 'Bytes of the files that this process has stored.' })

/** The readings below go through all rows. */
const KEEP_SECONDS = 300

export const fileMetrics: readonly Metric[] = [
  uploads,
  uploadedBytes,
  gauge({
    name: 'gridpost_files',
    help: 'Stored files. Dropped ones are no longer used, and a job deletes them.',
    labels: ['state'],
    keepSeconds: KEEP_SECONDS,
    read: async ({ db }) => {
      const [row] = await db.query<{ used: number; dropped: number }>(sql`
        select count(*) filter (where dropped_at is null) as used, count(dropped_at) as dropped from stored_files`)
      return byState(row)
    },
  }),
  gauge({
    name: 'gridpost_file_bytes',
    help: 'Bytes of stored files.',
    labels: ['state'],
    keepSeconds: KEEP_SECONDS,
    read: async ({ db }) => {
      const [row] = await db.query<{ used: number; dropped: number }>(sql`
        select coalesce(sum(size) filter (where dropped_at is null), 0) as used,
          coalesce(sum(size) filter (where dropped_at is not null), 0) as dropped from stored_files`)
      return byState(row)
    },
  }),
]

const byState = ({ used, dropped } = { used: 0, dropped: 0 }) => [
  { labels: { state: 'used' }, value: used },
  { labels: { state: 'dropped' }, value: dropped },
]
