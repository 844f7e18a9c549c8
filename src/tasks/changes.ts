/** Updating a task, and marking it done or undone. */

import { followersToNotify, subscribing } from '../comments/followers.ts'
import { emitting } from '../events/log.ts'
import { notificationEvents, notifying } from '../notifications/notify.ts'
import { type Answer, type IfMatch, isStale } from '../platform/answer.ts'
import type { Context } from '../platform/context.ts'
import { type Sql, sql } from '../platform/database/database.ts'
import { isUniqueViolation } from '../platform/database/database-errors.ts'
import { timestamp } from '../platform/database/prepare.ts'
import { labelled, shortWrite } from '../platform/database/statements/statement.ts'
import { badInput, badInputs, notFound, stale } from '../platform/errors.ts'
import { assignments, type Changeable, isSame } from '../platform/http/answers/columns.ts'
import { formatInstant } from '../platform/time/time.ts'
import { taskFollowers, taskSubscriptions, writesOn } from './comments/task-subject.ts'
import { taskEvents } from './events.ts'
import * as attachments from './files/attachments.ts'
import { assigned, marked } from './notices.ts'
import { findPerson, ignoredEmails, inputOf, namedPerson, OUT_OF_REACH } from './people.ts'
import type { TaskRow } from './procedure.ts'
import { TASK_COLUMNS } from './queries.ts'
import { changeDue, dueIssues, isPast, reminderAt } from './reminders/reminder.ts'
import { type Marked, type Status, type StoredTask, type Task, type TaskUpdate, taskColumns } from './schema.ts'
import { answerOf } from './service.ts'
import { externalIdTaken, lockExternalIds, releaseFromDeleted } from './sync/external-ids.ts'

/**
 * Updates the given keys. A reminder that the update makes impossible is dropped. A new assignee is subscribed and notified.
 * @throws AppError 400 for an invalid combination, assignee or file; 404 when the task has just been deleted; 409 for a stale If-Match,
 * with the current row, and for an external_id that another task has
 */
export async function update(
  context: Context,
  { task_id }: Pick<TaskRow, 'task_id'>,
  input: TaskUpdate,
  ifMatch?: IfMatch,
): Promise<Answer<Task>> {
  const { db, transaction } = context
  const ignored = ignoredEmails(input)
  const change = async () => {
    if (input.external_id != null) {
      await lockExternalIds(context, [input.external_id])
      await releaseFromDeleted(context, input.external_id)
    }
    const [current] = await db.read<StoredTask>(
      labelled('tasks:lock', sql`select ${TASK_COLUMNS} from tasks k where k.id = ${task_id} for update`),
    )
    if (!current) throw notFound('Task')
    if (isStale(ifMatch, current)) throw stale('The task has changed since', answerOf(current))

    const due = changeDue(current, input)
    const issues = dueIssues(due)
    if (issues.length) throw badInputs(issues)
    const { title = current.title, details = current.details, external_id = current.external_id } = input
    const assignee_user_id = await newAssignee(context, current, input)
    const files = await attachments.replace(context, current, input.attachments)
    const next = { ...due, title, details, assignee_user_id, reminder_at: reminderAt(due), attachments: files, external_id }
    // An update without a difference keeps the version, so that it makes no If-Match stale.
    if (isSame(taskColumns, current, next)) return answerOf(current, ignored)
    const [row] = await db.write<StoredTask>(labelled('tasks:update', updating(context, current, next)))
    await attachments.releaseReplaced(context, current.attachments, files)
    return answerOf(row as StoredTask, ignored)
  }
  try {
    return await transaction(change)
  } catch (error) {
    if (isUniqueViolation(error)) throw externalIdTaken()
    throw error
  }
}

/** Stores an updated task, subscribes and notifies a new assignee, and reports the change. */
function updating({ actor, now }: Context, current: StoredTask, next: Changeable<typeof taskColumns>): Sql {
  const { due_date, due_time, reminder_offset_mins, reminder_time, reminder_at } = next
  const keepsReminder = sql`(due_date, due_time, reminder_offset_mins, reminder_time) is not distinct from
    (${due_date}::date, ${due_time}::time, ${reminder_offset_mins}::int, ${reminder_time}::time)`
  return sql`
    with changed as (
      update tasks set ${assignments(taskColumns, next)},
        -- With another due date or reminder, the reminder is sent again.
        reminder_sent_at = case when ${keepsReminder} then reminder_sent_at end,
        reminder_missed = case when ${keepsReminder} then reminder_missed else ${isPast(reminder_at, now)} end,
        updated_at = ${formatInstant(now)}::timestamp, version = version + 1
      where id = ${current.id} returning *
    ),
    reassigned as (select * from changed where assignee_user_id <> ${current.assignee_user_id}),
    subscribed as (${subscribing(taskSubscriptions, sql`select id as task_id, assignee_user_id as user_id from reassigned`, now)}),
    notified as (${notifying(
      sql`select assignee_user_id as user_id, account_id, space_id, table_id, record_id, id as task_id from reassigned`,
      assigned(next, actor),
      actor,
      now,
    )}),
    emitted as (${emitting([taskEvents('task.updated', sql`changed`), notificationEvents(sql`notified`)], now)})
    select ${TASK_COLUMNS} from changed k`
}

/**
 * The id of the assignee that the request names, or of the current one. The current assignee may be named even after leaving the space.
 * @throws AppError 400 for a person who cannot be reached
 */
async function newAssignee({ db, actor }: Context, task: StoredTask, { assignee_user_id, assignee_email }: TaskUpdate): Promise<number> {
  const assignee = namedPerson(assignee_user_id, assignee_email)
  if (!assignee || assignee.id === task.assignee_user_id) return task.assignee_user_id
  const [found] = await db.read<{ id: number }>(sql`
    ${findPerson(assignee, task.space_id, actor)}
    union select u.id from users u where u.id = ${task.assignee_user_id} and u.email = ${assignee.email}::text`)
  if (!found) throw badInput(inputOf('assignee', assignee), OUT_OF_REACH[task.space_id === null ? 'standalone' : 'record'])
  return found.id
}

/**
 * Marks the task done or undone. `ok` is false when it has that status already. Of two concurrent requests, the conditional update lets
 * one change it.
 * @throws AppError 404 when the task has just been deleted
 */
export async function mark({ db, actor, now }: Context, task: TaskRow, status: Status): Promise<Marked> {
  const { task_id: taskId, title } = task
  const at = timestamp(now)
  const completion =
    status === 'done'
      ? sql`completed_at = ${at}, completed_by_user_id = ${actor.userId}`
      : // A reminder that became due while the task was done is not sent late.
        sql`completed_at = null, completed_by_user_id = null,
          reminder_missed = reminder_missed or reminder_sent_at is null and coalesce(reminder_at < ${at}, false)`
  const followers = followersToNotify(taskFollowers(task), sql`(select *, id as task_id from changed)`, actor)
  const event = taskEvents(status === 'done' ? 'task.done' : 'task.undone', sql`changed`)
  const [changed] = await db.write<{ id: number }>(
    shortWrite(
      'tasks:mark',
      writesOn(task, actor),
      sql`with changed as (
        update tasks set status = ${status}, ${completion}, updated_at = ${at}, version = version + 1
        where id = ${taskId} and status <> ${status} returning *
      ),
      notified as (${notifying(followers, marked(title, status, actor), actor, now)}),
      emitted as (${emitting([event, notificationEvents(sql`notified`)], now)})
      select id from changed`,
    ),
  )
  if (changed) return { ok: true, status }
  // A separate statement sees a deletion that the update has waited for.
  const [still] = await db.read<{ id: number }>(labelled('tasks:exists', sql`select id from tasks where id = ${taskId}`))
  if (!still) throw notFound('Task')
  return { ok: false, status }
}
