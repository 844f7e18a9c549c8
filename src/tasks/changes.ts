/** Updating a task, and marking it done or undone. */

import { followersToNotify, subscribing } from '../comments/followers.ts'
import { emitting } from '../events/log.ts'
import { type Notice, notificationEvents, notifying } from '../notifications/notify.ts'
import type { Actor } from '../platform/access/authenticate.ts'
import { type Answer, type IfMatch, isStale } from '../platform/answer.ts'
import type { Context } from '../platform/context.ts'
import { type Composed, composedByShape } from '../platform/database/composed-once.ts'
import { type Sql, sql } from '../platform/database/database.ts'
import { isUniqueViolation } from '../platform/database/database-errors.ts'
import { badInput, badInputs, notFound, stale } from '../platform/http/errors.ts'
import { formatInstant } from '../platform/time/time.ts'
import { taskFollowers, taskSubscriptions, writesOn } from './comments/task-subject.ts'
import { taskEvents } from './events.ts'
import * as attachments from './files/attachments.ts'
import { assigned, marked } from './notices.ts'
import { findPerson, ignoredEmails, inputOf, namedPerson, OUT_OF_REACH } from './people.ts'
import type { TaskRow } from './procedure.ts'
import { type StoredTask, taskColumns } from './queries.ts'
import { changeDue, dueIssues, isPast, reminderAt } from './reminders/reminder.ts'
import type { Marked, Status, Task, TaskUpdate } from './schema.ts'
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
  const { db, actor, now, transaction } = context
  const ignored = ignoredEmails(input)
  const change = async () => {
    if (input.external_id != null) {
      await lockExternalIds(context, [input.external_id])
      await releaseFromDeleted(context, input.external_id)
    }
    const [current] = await db.query<StoredTask>(
      sql`select ${taskColumns(sql`k`)}, k.version from tasks k where k.id = ${task_id} for update`,
      'tasks:lock',
    )
    if (!current) throw notFound('Task')
    if (isStale(ifMatch, current)) throw stale('The task has changed since', answerOf(current))

    const due = changeDue(current, input)
    const issues = dueIssues(due)
    if (issues.length) throw badInputs(issues)
    const reminder = reminderAt(due)
    const { title = current.title, details = current.details, external_id = current.external_id } = input
    const assigneeId = await newAssignee(context, current, input)
    const files = await attachments.replace(context, current, input.attachments)
    const next = { ...due, title, details, assignee_user_id: assigneeId, attachments: files, external_id }
    // An update without a difference keeps the version, so that it makes no If-Match stale.
    if (Object.entries(next).every(([key, value]) => current[key as keyof StoredTask] === value)) return answerOf(current, ignored)
    const [row] = await db.query<StoredTask>(
      updating(actor.kind)({
        ...{ taskId: task_id, title, details, assigneeId, formerAssigneeId: current.assignee_user_id, externalId: external_id },
        ...{ dueDate: due.due_date, dueTime: due.due_time, reminderOffsetMins: due.reminder_offset_mins, reminderTime: due.reminder_time },
        ...{ reminderAt: reminder, isMissed: isPast(reminder, now), attachments: JSON.stringify(files) },
        ...{ userId: actor.userId, now: formatInstant(now), ...assigned({ title, ...due }, actor) },
      }),
      'tasks:update',
    )
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

/** What the statement of an update binds. */
interface UpdateValues extends Notice {
  taskId: number
  title: string
  details: string | null
  assigneeId: number
  formerAssigneeId: number
  /** JSON */
  attachments: string
  externalId: string | null
  /** `YYYY-MM-DD` */
  dueDate: string | null
  /** `HH:MM:SS` */
  dueTime: string | null
  reminderOffsetMins: number | null
  reminderTime: string | null
  reminderAt: string | null
  /** Whether the time of the reminder has passed already. */
  isMissed: boolean
  userId: number
  now: string
}

const UPDATE_NAMES = [
  ...(['taskId', 'title', 'details', 'assigneeId', 'formerAssigneeId', 'attachments', 'externalId', 'dueDate', 'dueTime'] as const),
  ...(['reminderOffsetMins', 'reminderTime', 'reminderAt', 'isMissed', 'userId', 'now', 'event_type', 'message', 'summary'] as const),
]

/** More than there are kinds of actors and of marks. */
const MOST_COMPOSED = 20
const composedUpdates = composedByShape<UpdateValues>(MOST_COMPOSED)

/** Stores an updated task, subscribes and notifies a new assignee, and reports the change. */
const updating = (kind: Actor['kind']): Composed<UpdateValues> => composedUpdates(kind, UPDATE_NAMES, (values) => updatingAs(kind, values))

function updatingAs(kind: Actor['kind'], values: UpdateValues): Sql {
  const { taskId, title, details, assigneeId, formerAssigneeId, attachments, externalId, userId, now, event_type, message, summary } =
    values
  const { dueDate, dueTime, reminderOffsetMins, reminderTime, reminderAt, isMissed } = values
  const notice = { event_type, message, summary }
  const keepsReminder = sql`(due_date, due_time, reminder_offset_mins, reminder_time) is not distinct from
    (${dueDate}::date, ${dueTime}::time, ${reminderOffsetMins}::int, ${reminderTime}::time)`
  return sql`
    with changed as (
      update tasks set title = ${title}, details = ${details}, assignee_user_id = ${assigneeId}, attachments = ${attachments}::jsonb,
        external_id = ${externalId}::text,
        due_date = ${dueDate}::date, due_time = ${dueTime}::time,
        reminder_offset_mins = ${reminderOffsetMins}::int, reminder_time = ${reminderTime}::time,
        reminder_at = ${reminderAt}::timestamp,
        -- With another due date or reminder, the reminder is sent again.
        reminder_sent_at = case when ${keepsReminder} then reminder_sent_at end,
        reminder_missed = case when ${keepsReminder} then reminder_missed else ${isMissed} end,
        updated_at = ${now}::timestamp, version = version + 1
      where id = ${taskId} returning *
    ),
    reassigned as (select * from changed where assignee_user_id <> ${formerAssigneeId}),
    subscribed as (${subscribing(taskSubscriptions, sql`select id as task_id, assignee_user_id as user_id from reassigned`, now)}),
    notified as (${notifying(
      sql`select assignee_user_id as user_id, account_id, space_id, table_id, record_id, id as task_id from reassigned`,
      notice,
      { kind, userId },
      now,
    )}),
    emitted as (${emitting([taskEvents('task.updated', sql`changed`), notificationEvents(sql`notified`)], now)})
    select ${taskColumns(sql`k`)}, k.version from changed k`
}

/**
 * The id of the assignee that the request names, or of the current one. The current assignee may be named even after leaving the space.
 * @throws AppError 400 for a person who cannot be reached
 */
async function newAssignee({ db, actor }: Context, task: StoredTask, { assignee_user_id, assignee_email }: TaskUpdate): Promise<number> {
  const assignee = namedPerson(assignee_user_id, assignee_email)
  if (!assignee || assignee.id === task.assignee_user_id) return task.assignee_user_id
  const [found] = await db.query<{ id: number }>(sql`
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
  const values: MarkValues = { taskId, userId: actor.userId, now: formatInstant(now), ...marked(title, status, actor) }
  const [changed] = await db.writeShort<{ id: number }>(marking(status, actor.kind)(values), 'tasks:mark', writesOn(task, actor))
  if (changed) return { ok: true, status }
  // A separate statement sees a deletion that the update has waited for.
  const [still] = await db.query<{ id: number }>(sql`select id from tasks where id = ${taskId}`, 'tasks:exists')
  if (!still) throw notFound('Task')
  return { ok: false, status }
}

/** What the statement of a mark binds. */
interface MarkValues extends Notice {
  taskId: number
  userId: number
  now: string
}

const MARK_NAMES = ['taskId', 'userId', 'now', 'event_type', 'message', 'summary'] as const
const composedMarks = composedByShape<MarkValues>(MOST_COMPOSED)

const marking = (status: Status, kind: Actor['kind']): Composed<MarkValues> =>
  composedMarks(`${status} ${kind}`, MARK_NAMES, (values) => markingAs(status, kind, values))

function markingAs(status: Status, kind: Actor['kind'], { taskId, userId, now, ...notice }: MarkValues): Sql {
  const actor = { kind, userId }
  const at = sql`${now}::timestamp`
  const completion =
    status === 'done'
      ? sql`completed_at = ${at}, completed_by_user_id = ${userId}`
      : // A reminder that became due while the task was done is not sent late.
        sql`completed_at = null, completed_by_user_id = null,
          reminder_missed = reminder_missed or reminder_sent_at is null and coalesce(reminder_at < ${at}, false)`
  const followers = followersToNotify(taskFollowers({ task_id: taskId }), sql`(select *, id as task_id from changed)`, actor)
  return sql`with changed as (
        update tasks set status = ${status}, ${completion}, updated_at = ${at}, version = version + 1
        where id = ${taskId} and status <> ${status} returning *
      ),
      notified as (${notifying(followers, notice, actor, now)}),
      emitted as (${emitting([taskEvents(status === 'done' ? 'task.done' : 'task.undone', sql`changed`), notificationEvents(sql`notified`)], now)})
      select id from changed`
}
