import { countDue } from '../notifications/due.ts'
import type { DueRow } from '../notifications/queries.ts'
import type { Answer } from '../platform/answer.ts'
import type { Context } from '../platform/context.ts'
import { badInput, notFound } from '../platform/errors.ts'
import type { WrittenList } from '../platform/http/answers/written-json.ts'
import type { RecordPath } from '../platform/http/procedures/schemas.ts'
import { instantOf } from '../platform/time/time.ts'
import { localInstant } from '../platform/time/time-zones.ts'
import { withDefinition } from '../tables/with-definition.ts'
import { answerFrom, type DetailRow, getTask } from './detail.ts'
import { listByCreation } from './lists/by-creation.ts'
import { listOfUser, listOnRecord } from './lists/queries.ts'
import type { RecordTaskQuery, TaskQuery } from './lists/schema.ts'
import type { TaskRow } from './procedure.ts'
import { countOnRecord, getReminder, onWire } from './queries.ts'
import { reminderState } from './reminders/reminder.ts'
import type { BadgeCount, Reminder, StoredTask, Task, TaskCount, TaskDetail } from './schema.ts'
import { type ChangedTasks, changesOfUser, changesOnRecord, refuseCursor } from './sync/changed-since.ts'

/** The task in the form of the wire, with its version. @param ignored the names of inputs that were ignored */
export const answerOf = (task: StoredTask, ignored: readonly string[] = []): Answer<Task> => ({
  value: onWire(task),
  version: task.version,
  ignored,
})

/**
 * @param shown the whole task, if the statement that authorised the request has read them (detail.ts)
 * @throws AppError 404 when the task has just been deleted
 */
export async function get(context: Context, task: TaskRow, shown?: DetailRow): Promise<Answer<TaskDetail>> {
  if (shown) return answerFrom(shown)
  const { db, actor } = context
  const { table_id: id, table_version } = task
  const answer =
    id === null || table_version === null
      ? await getTask(db, actor, task, undefined)
      : await withDefinition(context, { id, version: table_version }, (table) => getTask(db, actor, task, table))
  if (!answer) throw notFound('Task')
  return answer
}

/** A page of a list as written JSON, or of changed tasks. */
type TaskList = WrittenList<Task> | ChangedTasks

/**
 * The tasks of a record, open before done, then by due date; with an order in that order, with `updated_since` those that have changed.
 * @throws AppError 400 for a cursor, an order or an offset that does not go with the others
 */
export async function list(context: Context, path: RecordPath, { updated_since, order, ...query }: RecordTaskQuery): Promise<TaskList> {
  const offset = query.offset ?? 0
  if (updated_since != null && order) throw badInput('order', 'does not go with updated_since')
  if (updated_since != null) return changesOnRecord(context, path, { ...query, offset, updated_since })
  if (order) return listByCreation(context, path, query)
  refuseCursor(query.cursor, 'updated_since or order=created')
  return listOnRecord(context, path.table_id, path.record_id, { ...query, offset })
}

/** The number of a record's open tasks, and of all its tasks. */
export async function count({ db }: Context, { table_id, record_id }: RecordPath): Promise<TaskCount> {
  return countOnRecord(db, table_id, record_id)
}

/** The caller's tasks, on records and standalone; with `updated_since` those that have changed. */
export async function listMine(context: Context, { updated_since, ...query }: TaskQuery): Promise<TaskList> {
  if (updated_since != null) return changesOfUser(context, { ...query, updated_since })
  refuseCursor(query.cursor)
  return listOfUser(context, context.actor, query)
}

/** The number of tasks that are due for the caller. @param due selected in the statement that authenticates the caller */
export function badgeCount({ actor, now }: Context, due: DueRow): BadgeCount {
  return countDue(due, actor, now)
}

/** The time, recipient and state of the task's reminder. @throws AppError 404 when the task has just been deleted */
export async function previewReminder({ db, now }: Context, { task_id }: TaskRow): Promise<Reminder> {
  const row = await getReminder(db, task_id)
  if (!row) throw notFound('Task')
  const { reminder_at: at, timezone, can_see, user_id: id, name, email } = row
  return {
    fires_at: at,
    local: at === null ? null : localInstant(instantOf(at), timezone),
    timezone,
    to: can_see ? { id, name, email } : null,
    state: reminderState(row, now),
  }
}
