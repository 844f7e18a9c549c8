/** Metrics of uploaded files. */
import { sql } from '../platform/database/database.ts'
import { counter, duration, gauge, type Metric } from '../platform/metrics/metrics.ts'

export const uploads = counter({ name: 'gridpost_uploads_total', help: 'Files that this process has stored.' })
export const uploadedBytes = counter({ name: 'gridpost_uploaded_bytes_total', help: 'Bytes of the files that this process has stored.' })

export const thumbnails = counter({
  name: 'gridpost_thumbnails_total',
  help: 'Thumbnails that this process has made, and those that it refused because the file has none.',
  labels: ['outcome'],
})
export const thumbnailSeconds = duration({
  name: 'gridpost_thumbnail_seconds',
  help: 'Time of making a thumbnail, from the first byte of the file on.',
  buckets: [0.02, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20],
})

/** The readings below go through all rows. */
const KEEP_SECONDS = 300

export const fileMetrics: readonly Metric[] = [
  uploads,
  uploadedBytes,
  thumbnails,
  thumbnailSeconds,
  gauge({
    name: 'gridpost_files',
    isShared: true,
    help: 'Stored files. Dropped ones are no longer used, and a job deletes them.',
    labels: ['state'],
    keepSeconds: KEEP_SECONDS,
    read: async ({ db }) => {
      const [row] = await db.read<{ used: number; dropped: number }>(sql`
        select count(*) filter (where dropped_at is null) as used, count(dropped_at) as dropped from stored_files`)
      return byState(row)
    },
  }),
  gauge({
    name: 'gridpost_file_bytes',
    isShared: true,
    help: 'Bytes of stored files.',
    labels: ['state'],
    keepSeconds: KEEP_SECONDS,
    read: async ({ db }) => {
      const [row] = await db.read<{ used: number; dropped: number }>(sql`
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
