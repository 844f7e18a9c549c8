/** Reads the jobs that callers may ask for. */
import type { Context } from '../platform/context.ts'
import { sql } from '../platform/database/database.ts'
import type { JobRow } from './procedure.ts'
import type { Job } from './schema.ts'

/** Returns the state and the figures of a job. Figures that are not known yet are left out. */
export async function jobOf(context: Context, { job_id, kind }: Pick<JobRow, 'job_id' | 'kind'>): Promise<Job> {
  const { state, done, total, error, ...figures } = await READS[kind](context, job_id)
  const known = Object.entries(figures).filter(([, figure]) => figure !== null)
  return { state, done, total, error, ...Object.fromEntries(known) }
}

const READS = { conversion: conversionOf, import: importOf, change: bulkChangeOf }

/** The row of a job. Figures that are not known yet are null. */
type StoredJob = Pick<Job, 'state' | 'done' | 'total' | 'error'> & Record<string, unknown>

async function conversionOf({ db }: Context, id: number): Promise<StoredJob> {
  const [row] = await db.read<StoredJob>(sql`
    select coalesce(exact_state, case state when 'queued' then 'running' else state end) as state, least(done, total) as done, total, error,
      case when failing is not null and fails is not null then converts end as converts,
      case when converts is not null and fails is not null then failing end as failing,
      case when converts is not null and failing is not null then fails end as fails,
      lost_views -> 'needing' as deleted_views, lost_views -> 'sorting' as dropped_sorts
    from field_conversions where id = ${id}`)
  return row as StoredJob
}

async function importOf({ db }: Context, id: number): Promise<StoredJob> {
  const [row] = await db.read<StoredJob>(sql`
    select state, done, greatest(total, done) as total, error, created, change_id, filled, cut, coalesce(issues, '[]') as issues
    from record_imports where id = ${id}`)
  return row as StoredJob
}

async function bulkChangeOf({ db }: Context, id: number): Promise<StoredJob> {
  const [row] = await db.read<StoredJob>(sql`
    select state, done, total, error, change_id, total as matched, changed, skipped, skips from bulk_changes where id = ${id}`)
  return row as StoredJob
}
