/** Deleting tasks, with the tombstones that lists with `updated_since` show (contract.md §7, Sync). */

import { audit } from '../audit/log.ts'
import { emitting } from '../events/log.ts'
import type { Context } from '../platform/context.ts'
import { type Sql, sql } from '../platform/database/database.ts'
import { notFound } from '../platform/errors.ts'
import { dropFilesOfTasks } from '../platform/stored-files/held.ts'
import { formatInstant } from '../platform/time/time.ts'
import type { Cascade } from '../tables/cascade.ts'
import { deletionEvents } from './events.ts'
import { restoreFile } from './files/attachments.ts'
import type { TaskRow } from './procedure.ts'

/** The days for which a tombstone is kept. */
const TOMBSTONE_DAYS = 30

/** Deletes the task with its comments, files and subscriptions. @throws AppError 404 when another request has deleted it */
export async function remove(context: Context, { task_id, space_id, table_id, record_id }: TaskRow): Promise<void> {
  const { db, now, transaction } = context
  await transaction(async () => {
    const { changed: removed } = await db.write(sql`
      with ${deleting(sql`id = ${task_id}`, now)},
      emitted as (${emitting([deletionEvents(sql`deleted`)], now)})
      select id from deleted`)
    if (!removed) throw notFound('Task')
    await dropFilesOfTasks(db, sql`select ${task_id}::int`, now)
    const detail = record_id === null ? {} : { record_id }
    await audit(context, 'task.deleted', { id: task_id, spaceId: space_id, tableId: table_id, detail })
  })
}

/** Deletes the tasks of deleted records in the same transaction, and restores dropped files into tasks. */
export const taskCascade: Cascade = { onRecordsDeleted: removeOfRecords, restoreFile }

/** @param recordIds null for all records of a table that was deleted days ago, whose tasks nobody can see; no events are emitted then */
async function removeOfRecords({ db, now }: Context, tableId: number, recordIds: readonly number[] | null): Promise<void> {
  const ofRecords = sql`table_id = ${tableId} and (${recordIds}::int[] is null or record_id = any(${recordIds}::int[]))`
  const effect = recordIds === null ? sql`select null` : emitting([deletionEvents(sql`deleted`)], now)
  // Locked in the order of their ids, like all statements that lock many tasks.
  const inOrder = sql`id in (select id from tasks where ${ofRecords} order by id for update)`
  await db.write(sql`with ${deleting(inOrder, now)} ${effect}`)
  // A separate statement sees the files that were attached while the deletion waited for a task.
  await dropFilesOfTasks(db, sql`select id from deleted_tasks where ${ofRecords}`, now)
}

/** CTEs that delete the tasks, `deleted`, and insert their tombstones. */
const deleting = (which: Sql, now: Date): Sql => sql`
  deleted as (delete from tasks where ${which} returning *),
  tombstones as (
    insert into deleted_tasks (id, account_id, table_id, record_id, creator_user_id, assignee_user_id, subscriber_ids, deleted_at)
    select k.id, k.account_id, k.table_id, k.record_id, k.creator_user_id, k.assignee_user_id,
      array(select f.user_id from task_subscribers f where f.task_id = k.id), ${formatInstant(now)}::timestamp
    from deleted k
  )`

/** Deletes expired tombstones. */
export async function deleteTombstones({ db, now }: Context): Promise<void> {
  await db.write(sql`delete from deleted_tasks where deleted_at < ${formatInstant(oldestTombstone(now))}::timestamp`)
}

const oldestTombstone = (now: Date): Date => new Date(now.getTime() - TOMBSTONE_DAYS * 86_400_000)
