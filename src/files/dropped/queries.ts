import type { Role } from '../../platform/access/authorize.ts'
import { type Database, type Sql, sql } from '../../platform/database/database.ts'
import type { FileEntry } from '../../platform/stored-files/rows.ts'
import { formatInstant } from '../../platform/time/time.ts'
import type { DroppedFile } from '../schema.ts'

/** The table and record of a file `f`. A file of a task has those of the task, which is `k`, or `d` if the task was deleted. */
const placeOfFile = {
  table: sql`coalesce(f.table_id, k.table_id, d.table_id)`,
  record: sql`coalesce(f.record_id, k.record_id, d.record_id)`,
  tasks: sql`left join tasks k on k.id = f.task_id left join deleted_tasks d on d.id = f.task_id`,
}

/** The dropped files `f` of the space, except for those of deleted tables, which are listed again when the table is restored. */
const droppedIn = (spaceId: number, since: Date): Sql => sql`
  from stored_files f ${placeOfFile.tasks} left join tables t on t.id = ${placeOfFile.table}
  where f.space_id = ${spaceId} and f.was_held and f.dropped_at > ${formatInstant(since)}::timestamp and t.deleted_at is null`

export async function listDropped(
  db: Database,
  spaceId: number,
  { since, keepDays, limit, offset }: { since: Date; keepDays: number; limit: number; offset: number },
): Promise<DroppedFile[]> {
  return db.read<DroppedFile>(sql`
    select f.path, f.name, f.size, f.type, ${placeOfFile.table} as table_id, ${placeOfFile.record} as record_id, f.task_id, f.field_id,
      f.dropped_at, f.dropped_at + make_interval(days => ${keepDays}::int) as dropped_until
    ${droppedIn(spaceId, since)} order by f.dropped_at desc, f.path limit ${limit} offset ${offset}`)
}

export async function countDropped(db: Database, spaceId: number, since: Date): Promise<number> {
  const [found] = await db.read<{ total: number }>(sql`select count(*)::int as total ${droppedIn(spaceId, since)}`)
  return found?.total ?? 0
}

/** A file that is or was in use, in a space that is not deleted. */
export interface RestorableFile extends FileEntry {
  space_id: number
  table_id: number | null
  record_id: number | null
  task_id: number | null
  field_id: string | null
  comment_id: number | null
  member_role: Role | null
  /** False if it is in use. */
  is_dropped: boolean
}

/**
 * Returns the account's file with the path, unless it was dropped before the instant, was never used, or its table or space is deleted. A
 * file that a deleted record keeps is not found either.
 */
export async function findRestorable(
  db: Database,
  path: string,
  actor: { accountId: number; userId: number },
  since: Date,
): Promise<RestorableFile | undefined> {
  const [file] = await db.read<RestorableFile>(sql`
    select f.name, f.path, f.size, f.type, f.host, s.id as space_id, ${placeOfFile.table} as table_id, ${placeOfFile.record} as record_id,
      f.task_id, f.field_id, f.comment_id, m.role as member_role, f.dropped_at is not null as is_dropped
    from stored_files f ${placeOfFile.tasks} left join tables t on t.id = ${placeOfFile.table}
    join spaces s on s.id = coalesce(k.space_id, f.space_id) and s.deleted_at is null
    left join space_members m on m.space_id = s.id and m.user_id = ${actor.userId}
    where f.path = ${path} and f.account_id = ${actor.accountId} and t.deleted_at is null
      and (f.dropped_at is null or f.was_held and f.dropped_at > ${formatInstant(since)}::timestamp)
      and (f.dropped_at is not null or f.is_shared is distinct from false or not exists (
        select from deleted_records r where f.task_id is null and r.table_id = f.table_id and r.record_id = f.record_id))`)
  return file
}
