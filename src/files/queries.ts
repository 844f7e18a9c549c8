/** Reads across the features that hold files. */

import type { Role } from '../platform/access/authorize.ts'
import { type Database, recordsOf, sql } from '../platform/database/database.ts'
import { labelled } from '../platform/database/statements/statement.ts'
import type { FileEntry } from '../platform/stored-files/rows.ts'
import { formatInstant } from '../platform/time/time.ts'

/** A file, with the facts that decide who may read it. */
export interface ReadableFile extends FileEntry {
  /** The media type that the bytes show; null for a file of an earlier release. */
  detected_type: string | null
  table_id: number | null
  /** The space of the record or task; null for a standalone task. */
  space_id: number | null
  task_id: number | null
  member_role: Role | null
  /** True if the user takes part in the standalone task, or has staged the file for a new task. */
  is_on_task: boolean
  /** The key of the bytes in the storage, if it is not the path. */
  storage_key: string | null
  dropped_at: string | null
  /** True once something has used the file. */
  was_held: boolean
  is_shared: boolean | null
  /** True if its record is deleted, and keeps the file in case it is restored. */
  is_of_deleted: boolean
}

/** Returns the account's file with this path; undefined if it does not exist or its task, table or space is deleted. */
export async function findReadable(
  db: Database,
  path: string,
  actor: { accountId: number; userId: number },
): Promise<ReadableFile | undefined> {
  const [file] = await db.read<ReadableFile>(
    labelled(
      'readable-file',
      sql`select f.name, f.path, f.size, f.type, f.detected_type, f.host, f.storage_key, f.dropped_at, f.was_held, f.is_shared, f.task_id,
        coalesce(k.table_id, f.table_id) as table_id,
        coalesce(k.space_id, f.space_id) as space_id, m.role as member_role,
        k.id is not null and (k.creator_user_id = ${actor.userId} or k.assignee_user_id = ${actor.userId}
          or exists (select 1 from task_subscribers w where w.task_id = k.id and w.user_id = ${actor.userId}))
          -- Who staged a file looks at it before the task is made.
          or f.staged_session_id is not null and f.created_by = ${actor.userId} as is_on_task,
        f.task_id is null and exists (
          select from deleted_records d where d.table_id = f.table_id and d.record_id = f.record_id) as is_of_deleted
      from stored_files f
      left join tasks k on k.id = f.task_id
      left join spaces s on s.id = coalesce(k.space_id, f.space_id)
      left join tables t on t.id = coalesce(k.table_id, f.table_id)
      left join space_members m on m.space_id = s.id and m.user_id = ${actor.userId}
      where f.path = ${path} and f.account_id = ${actor.accountId}
        -- Of a deleted task the dropped files have the space, where its admins find them.
        and (f.task_id is null or k.id is not null or (f.was_held and f.dropped_at is not null and f.space_id is not null))
        and (coalesce(k.space_id, f.space_id) is null or (s.id is not null and s.deleted_at is null))
        and (coalesce(k.table_id, f.table_id) is null or (t.id is not null and t.deleted_at is null))`,
    ),
  )
  return file
}

/** True if the record of the file still exists. */
export async function hasRecord(db: Database, path: string, tableId: number): Promise<boolean> {
  const [file] = await db.read<{ record_id: number | null }>(
    sql`select record_id from stored_files where path = ${path} and table_id = ${tableId}`,
  )
  if (!file) return false
  return (await db.records(tableId).read(sql`select 1 from ${recordsOf(tableId)} where id = ${file.record_id}`)).length > 0
}

/** A file that may be deleted, and the place where it might still be in use. */
export interface ExpiredFile {
  path: string
  storage_key: string | null
  table_id: number | null
  task_id: number | null
}

/**
 * Returns uploads that nothing has used and dropped files, oldest first, locked until the transaction ends. Files of a deleted table or
 * space are left out, because it may be restored.
 */
export async function lockExpired(db: Database, before: { upload: Date; dropped: Date }, limit: number): Promise<ExpiredFile[]> {
  return db.read<ExpiredFile>(sql`
    select f.path, f.storage_key, f.table_id, f.task_id from stored_files f
    where f.dropped_at < ${formatInstant(before.upload)}::timestamp
      and (not f.was_held or f.dropped_at < ${formatInstant(before.dropped)}::timestamp)
      and not exists (select 1 from tables t join spaces s on s.id = t.space_id
        where t.id = f.table_id and (t.deleted_at is not null or s.deleted_at is not null))
    order by f.dropped_at limit ${limit} for update of f skip locked`)
}
