/** Deleting tasks, with the tombstones that lists with `updated_since` show (contract.md §7, Sync). */

import { audit } from '../audit/log.ts'
import { emitting } from '../events/log.ts'
import type { Context } from '../platform/context.ts'
import { type Sql, sql } from '../platform/database/database.ts'
import { notFound } from '../platform/errors.ts'
import { dropFilesOfTasks, expireFilesOfTasks } from '../platform/stored-files/held.ts'
import { formatInstant } from '../platform/time/time.ts'
import type { Cascade } from '../tables/cascade.ts'
import { belongingTo } from '../tables/deleted/rows.ts'
import { deletionEvents, taskEvents } from './events.ts'
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

/** The tasks of a record, with their comments and subscribers, go and come back with it. Dropped files are restored into tasks. */
export const taskCascade: Cascade = {
  rows: [
    { table: 'task_comments', through: { owner: 'tasks', owns: sql`o.id = x.task_id` } },
    { table: 'task_subscribers', through: { owner: 'tasks', owns: sql`o.id = x.task_id` } },
    { table: 'tasks', yields: ['external_id'] },
  ],
  onRecordsDeleted: leave,
  onRecordsRestored: comeBack,
  onRecordsPurged: ({ db, now }, tableId, recordIds) => expireFilesOfTasks(db, tasksAside(tableId, recordIds), now),

  async onTablePurged({ db, now }, tableId) {
    await expireFilesOfTasks(db, tasksAside(tableId, null), now)
    await expireFilesOfTasks(db, sql`select k.id from tasks k where k.table_id = ${tableId}`, now)
    await db.write(tombstones(sql`tasks`, belongingTo(sql`k`, tableId, null), now))
  },

  restoreFile,
}

/** Selects the ids of the tasks that were moved aside with deleted records. */
const tasksAside = (tableId: number, recordIds: readonly number[] | null): Sql =>
  sql`select (d.content->>'id')::int from deleted_rows d where d.source = 'tasks' and ${belongingTo(sql`d`, tableId, recordIds)}`

/** Leaves tombstones of the tasks. */
async function leave({ db, now }: Context, tableId: number, recordIds: readonly number[]): Promise<void> {
  const which = belongingTo(sql`k`, tableId, recordIds)
  // Locked in the order of their ids, like all statements that lock many tasks. The next statements see what was written before.
  const tasks = await db.read(sql`select k.id from tasks k where ${which} order by k.id for update`)
  if (!tasks.length) return
  await db.write(sql`
    with gone as (select k.* from tasks k where ${which}),
    tombstones as (${tombstones(sql`gone`, sql`true`, now)})
    ${emitting([deletionEvents(sql`gone`)], now)}`)
}

/** A task that has come back is changed now, so that clients with copies learn of it. A reminder that has passed is not sent. */
async function comeBack({ db, now }: Context, tableId: number, recordIds: readonly number[]): Promise<void> {
  const at = sql`${formatInstant(now)}::timestamp`
  await db.write(sql`
    with back as (
      update tasks k set updated_at = ${at}, version = k.version + 1,
        reminder_missed = k.reminder_missed or coalesce(k.reminder_at <= ${at} and k.reminder_sent_at is null, false)
      where ${belongingTo(sql`k`, tableId, recordIds)} returning k.*
    ), unmarked as (delete from deleted_tasks d using back b where d.id = b.id)
    ${emitting([taskEvents('task.updated', sql`back`)], now)}`)
}

/** CTEs that delete the tasks, `deleted`, and insert their tombstones. */
const deleting = (which: Sql, now: Date): Sql => sql`
  deleted as (delete from tasks where ${which} returning *),
  tombstones as (${tombstones(sql`deleted`, sql`true`, now)})`

/** @param tasks a relation with rows of tasks @param which the condition on its rows `k` */
const tombstones = (tasks: Sql, which: Sql, now: Date): Sql => sql`
  insert into deleted_tasks (id, account_id, table_id, record_id, creator_user_id, assignee_user_id, subscriber_ids, deleted_at)
  select k.id, k.account_id, k.table_id, k.record_id, k.creator_user_id, k.assignee_user_id,
    array(select f.user_id from task_subscribers f where f.task_id = k.id), ${formatInstant(now)}::timestamp
  from ${tasks} k where ${which}`

/** Deletes expired tombstones. */
export async function deleteTombstones({ db, now }: Context): Promise<void> {
  await db.write(sql`delete from deleted_tasks where deleted_at < ${formatInstant(oldestTombstone(now))}::timestamp`)
}

const oldestTombstone = (now: Date): Date => new Date(now.getTime() - TOMBSTONE_DAYS * 86_400_000)
