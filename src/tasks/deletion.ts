/** Deleting tasks: what goes with them, and the trace that they leave for those who keep copies (contract.md §7, Sync). */

import { emitting } from '../events/log.ts'
import type { Context } from '../platform/context.ts'
import { type Sql, sql } from '../platform/database/database.ts'
import { notFound } from '../platform/http/errors.ts'
import { dropFilesOfTasks } from '../platform/stored-files.ts'
import { formatInstant } from '../platform/time.ts'
import type { Cascade } from '../tables/cascade.ts'
import { deletionEvents } from './events.ts'
import type { TaskRow } from './procedure.ts'

/** So long lists with `updated_since` tell of a deleted task. */
const TRACE_DAYS = 30

/** Deletes the task with its comments, files and subscribers. @throws AppError 404 when another call was first */
export async function remove({ db, now, transaction }: Context, { task_id }: TaskRow): Promise<void> {
  await transaction(async () => {
    const removed = await db.execute(sql`
      with ${deleting(sql`id = ${task_id}`, now)},
      emitted as (${emitting([deletionEvents(sql`gone`)], now)})
      select id from gone`)
    if (!removed) throw notFound('Task')
    await dropFilesOfTasks(db, sql`select ${task_id}::int`, now)
  })
}

/** Tasks go with their records, in the transaction that deletes these. */
export const taskCascade: Cascade = { onRecordsDeleted: removeOfRecords }

/** @param recordIds null is every record of the table: it has been out of reach for days, so no stream tells of it */
async function removeOfRecords({ db, now }: Context, tableId: number, recordIds: readonly number[] | null): Promise<void> {
  const ofRecords = sql`table_id = ${tableId} and (${recordIds}::int[] is null or record_id = any(${recordIds}::int[]))`
  const told = recordIds === null ? sql`select null` : emitting([deletionEvents(sql`gone`)], now)
  // Locked in the order of their ids, as by those who change many.
  const inOrder = sql`id in (select id from tasks where ${ofRecords} order by id for update)`
  await db.execute(sql`with ${deleting(inOrder, now)} ${told}`)
  // A statement of its own sees the files that were taken up while the deletion waited for the task.
  await dropFilesOfTasks(db, sql`select id from deleted_tasks where ${ofRecords}`, now)
}

/** CTEs that delete the tasks, `gone`, and keep their traces. */
const deleting = (which: Sql, now: Date): Sql => sql`
  gone as (delete from tasks where ${which} returning *),
  traced as (
    insert into deleted_tasks (id, account_id, table_id, record_id, creator_user_id, assignee_user_id, subscriber_ids, deleted_at)
    select k.id, k.account_id, k.table_id, k.record_id, k.creator_user_id, k.assignee_user_id,
      array(select f.user_id from task_subscribers f where f.task_id = k.id), ${formatInstant(now)}::timestamp
    from gone k
  )`

/** Removes the traces that no list tells of any more. */
export async function forgetTraces({ db, now }: Context): Promise<void> {
  await db.execute(sql`delete from deleted_tasks where deleted_at < ${formatInstant(oldestTrace(now))}::timestamp`)
}

const oldestTrace = (now: Date): Date => new Date(now.getTime() - TRACE_DAYS * 86_400_000)
