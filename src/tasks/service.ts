import type { Actor } from '../access.ts'
import { recordsOf, type Sql, sql } from '../db.ts'
import { badInput, badInputs, conflict, notFound } from '../errors.ts'
import { actingUserId, notifying } from '../notifications/notify.ts'
import { countDueTasks } from '../notifications/queries.ts'
import { withDefinition } from '../records/with-definition.ts'
import type { Scope } from '../scope.ts'
import type { Dependent } from '../tables/dependents.ts'
import { titleField } from '../tables/fields.ts'
import { formatInstant } from '../time.ts'
import { findPerson, losers, named } from './people.ts'
import type { TaskRow } from './procedure.ts'
import { countOnRecord, getTask, listOfUser, listOnRecord, type Page, type StoredTask, taskColumns } from './queries.ts'
import { changeDue, dueIssues, reminderAt } from './reminder.ts'
import type { BadgeCount, Marked, NewTask, RecordTaskQuery, Status, Task, TaskCount, TaskDetail, TaskQuery, TaskUpdate } from './schema.ts'
import { assigned, marked } from './sentences.ts'
import { followers, following } from './subscribers.ts'

/** Where a new task is put; null is nowhere. */
export interface Place {
  space_id: number
  table_id: number
  record_id: number
}

/**
 * Makes a task, with its subscribers and the notification to its assignee, in one statement.
 * @param input its due date, time and reminder go together (`withDueRules`)
 * @throws AppError 400 for an assignee or assigner who cannot be one; 404 when the record has just been deleted
 */
export async function create(scope: Scope, place: Place | null, input: NewTask): Promise<Task> {
  const { db, actor, now } = scope
  scope.ignored(...losers(input))
  const assignee = named(input.assignee_user_id, input.assignee_email)
  const assigner = named(input.assigner_user_id, input.assigner_email)
  const isAssigned = assignee.id !== null || assignee.email !== null
  const hasAssigner = assigner.id !== null || assigner.email !== null
  const { title, details = null, due_date = null, due_time = null, reminder_offset_mins = null, reminder_time = null } = input
  const at = sql`${formatInstant(now)}::timestamp`
  const spaceId = place?.space_id ?? null

  const [row] = await db.query<Made>(
    sql`with live as (${live(place)}),
    people as (
      select (${findPerson(isAssigned ? assignee : { id: actor.userId, email: null }, spaceId, actor)}) as found_assignee_id,
        (${findPerson(assigner, spaceId, actor)}) as found_assigner_id
    ),
    new_task as (
      insert into tasks (account_id, creator_user_id, assignee_user_id, space_id, table_id, record_id, title, details,
        due_date, due_time, reminder_offset_mins, reminder_time, reminder_at, created_at, updated_at)
      select ${actor.accountId}, coalesce(found_assigner_id, ${ownerByDefault(actor)}), found_assignee_id,
        ${spaceId}::int, ${place?.table_id ?? null}::int, ${place?.record_id ?? null}::int, ${title}, ${details},
        ${due_date}::date, ${due_time}::time, ${reminder_offset_mins}::int, ${reminder_time}::time,
        ${reminderAt({ due_date, due_time, reminder_offset_mins, reminder_time })}::timestamp, ${at}, ${at}
      from people, live
      where found_assignee_id is not null and (not ${hasAssigner} or found_assigner_id is not null and ${mayBeNamed(actor)})
      returning *
    ),
    subscribed as (${following(
      sql`select id as task_id, assignee_user_id as user_id from new_task
        union all select id, creator_user_id from new_task where ${input.notify_assigner ?? true}`,
      now,
    )}),
    notified as (${notifying(
      sql`select assignee_user_id as user_id, account_id, space_id, table_id, record_id, id as task_id from new_task
        where assignee_user_id is distinct from ${actingUserId(actor)}::int`,
      assigned(input, actor),
      actor,
      now,
    )})
    select people.*, exists (select 1 from live) as is_live, k.version, ${taskColumns(sql`k`)}
    from people left join new_task k on true`,
    'tasks:create',
  )

  if (!row?.is_live) throw notFound('Record')
  if (row.found_assignee_id === null) throw badInput(inputOf('assignee', assignee), OUT_OF_REACH[place ? 'record' : 'standalone'])
  if (row.id === null) {
    const reason = row.found_assigner_id === null ? OUT_OF_REACH[place ? 'record' : 'standalone'] : 'must be the caller or the assignee'
    throw badInput(inputOf('assigner', assigner), reason)
  }
  const { found_assignee_id: _assignee, found_assigner_id: _assigner, is_live: _live, ...task } = row
  return answer(scope, task)
}

type Made = { found_assignee_id: number | null; found_assigner_id: number | null; is_live: boolean } & StoredTask & { id: number | null }

/** Locks the record until the task is in, so that a deletion at the same moment comes before it or takes it along. */
const live = (place: Place | null): Sql =>
  place ? sql`select id from ${recordsOf(place.table_id)} where id = ${place.record_id} for key share` : sql`select 1 as id`

/** Without an assigner, a key of the account leaves the task to its assignee: the owner is usually uninvolved (api.md, Ownership 1). */
const ownerByDefault = (actor: Actor): Sql => (actor.kind === 'account' ? sql`found_assignee_id` : sql`${actor.userId}::int`)

/** An account key may name anyone as assigner; people only themselves or the assignee (api.md, Ownership 3). */
const mayBeNamed = (actor: Actor): Sql =>
  actor.kind === 'account' ? sql`true` : sql`found_assigner_id in (${actor.userId}, found_assignee_id)`

const inputOf = (role: 'assignee' | 'assigner', { email }: { email: string | null }) =>
  email === null ? `${role}_user_id` : `${role}_email`

const OUT_OF_REACH = { record: 'is not a member of the space', standalone: 'shares no space with you' }

/** The row as the wire has it; its version goes into the ETag. */
function answer<Row extends { version: number }>(scope: Scope, { version, ...task }: Row): Omit<Row, 'version'> {
  scope.tagged(version)
  return task
}

/** @throws AppError 404 when it has just been deleted */
export async function get(scope: Scope, task: TaskRow): Promise<TaskDetail> {
  const { db, actor } = scope
  const { table_id: id, table_version } = task
  const row =
    id === null || table_version === null
      ? await getTask(db, actor, task, undefined)
      : await withDefinition(scope, { id, version: table_version }, (table) => getTask(db, actor, task, titleField(table)))
  if (!row) throw notFound('Task')
  return answer(scope, row)
}

/** The tasks of a record: open before done, then by due date. */
export async function list({ db }: Scope, { table_id, record_id }: Omit<Place, 'space_id'>, query: RecordTaskQuery): Promise<Page<Task>> {
  return listOnRecord(db, table_id, record_id, query)
}

/** A record's open tasks, and all of them. */
export async function count({ db }: Scope, { table_id, record_id }: Omit<Place, 'space_id'>): Promise<TaskCount> {
  return countOnRecord(db, table_id, record_id)
}

/** The caller's tasks, on records or not. */
export async function listMine({ db, actor }: Scope, query: TaskQuery): Promise<Page<Task>> {
  return listOfUser(db, actor, query)
}

export async function badgeCount({ db, actor, now }: Scope): Promise<BadgeCount> {
  return countDueTasks(db, actor, now)
}

/**
 * Changes what the input names. A reminder that the change makes impossible is dropped; whoever becomes the assignee is
 * subscribed and told.
 * @throws AppError 400 for an impossible combination or assignee; 404 when just deleted; 409 for a stale If-Match, with the present row
 */
export async function update(scope: Scope, { task_id }: TaskRow, input: TaskUpdate): Promise<Task> {
  const { db, actor, now, transaction } = scope
  scope.ignored(...losers(input))
  return transaction(async () => {
    const [current] = await db.query<StoredTask>(
      sql`select ${taskColumns(sql`k`)}, k.version from tasks k where k.id = ${task_id} for update`,
    )
    if (!current) throw notFound('Task')
    const { expectedVersion } = scope
    if (expectedVersion !== undefined && expectedVersion !== current.version)
      throw conflict('The task has changed since', { current: answer(scope, current) })

    const due = changeDue(current, input)
    const issues = dueIssues(due)
    if (issues.length) throw badInputs(issues)
    const reminder = reminderAt(due)
    const { title = current.title, details = current.details } = input
    const assigneeId = await newAssignee(scope, current, input)
    const next = { ...due, title, details, assignee_user_id: assigneeId }
    // What changes nothing makes nobody's If-Match stale.
    if (Object.entries(next).every(([key, value]) => current[key as keyof StoredTask] === value)) return answer(scope, current)
    const [row] = await db.query<StoredTask>(sql`
      with changed as (
        update tasks set title = ${title}, details = ${details}, assignee_user_id = ${assigneeId},
          due_date = ${due.due_date}::date, due_time = ${due.due_time}::time,
          reminder_offset_mins = ${due.reminder_offset_mins}::int, reminder_time = ${due.reminder_time}::time,
          reminder_at = ${reminder}::timestamp,
          -- Another due date or reminder is a reminder that has not been sent yet.
          reminder_sent_at = case when (due_date, due_time, reminder_offset_mins, reminder_time) is not distinct from
              (${due.due_date}::date, ${due.due_time}::time, ${due.reminder_offset_mins}::int, ${due.reminder_time}::time)
            then reminder_sent_at end,
          updated_at = ${formatInstant(now)}::timestamp, version = version + 1
        where id = ${task_id} returning *
      ),
      reassigned as (select * from changed where assignee_user_id <> ${current.assignee_user_id}),
      subscribed as (${following(sql`select id as task_id, assignee_user_id as user_id from reassigned`, now)}),
      notified as (${notifying(
        sql`select assignee_user_id as user_id, account_id, space_id, table_id, record_id, id as task_id from reassigned`,
        assigned({ title, ...due }, actor),
        actor,
        now,
      )})
      select ${taskColumns(sql`k`)}, k.version from changed k`)
    return answer(scope, row as StoredTask)
  })
}

/** Whom the input names; the present assignee when it names nobody. @throws AppError 400 */
async function newAssignee({ db, actor }: Scope, task: StoredTask, { assignee_user_id, assignee_email }: TaskUpdate): Promise<number> {
  const assignee = named(assignee_user_id, assignee_email)
  if ((assignee.id === null && assignee.email === null) || assignee.id === task.assignee_user_id) return task.assignee_user_id
  const [found] = await db.query<{ id: number }>(findPerson(assignee, task.space_id, actor))
  if (!found) throw badInput(inputOf('assignee', assignee), OUT_OF_REACH[task.space_id === null ? 'standalone' : 'record'])
  return found.id
}

/** Marks the task. `ok` is false when it was so already: of two calls at once, the conditional update lets one win. */
export async function mark({ db, actor, now }: Scope, { task_id, title }: TaskRow, status: Status): Promise<Marked> {
  const at = sql`${formatInstant(now)}::timestamp`
  const completion =
    status === 'done'
      ? sql`completed_at = ${at}, completed_by_user_id = ${actor.userId}`
      : sql`completed_at = null, completed_by_user_id = null`
  const [found] = await db.query<{ exists: boolean; changed: boolean }>(
    sql`with changed as (
        update tasks set status = ${status}, ${completion}, updated_at = ${at}, version = version + 1
        where id = ${task_id} and status <> ${status} returning *
      ),
      notified as (${notifying(followers(sql`changed`, actor), marked(title, status, actor), actor, now)})
      select exists (select 1 from tasks where id = ${task_id}) as exists, exists (select 1 from changed) as changed`,
    'tasks:mark',
  )
  if (!found?.exists) throw notFound('Task')
  return { ok: found.changed, status }
}

/** Deletes the task with its comments and subscribers. @throws AppError 404 when another call was first */
export async function remove({ db }: Scope, { task_id }: TaskRow): Promise<void> {
  if (!(await db.execute(sql`delete from tasks where id = ${task_id}`))) throw notFound('Task')
}

/** Tasks go with their records, in the transaction that deletes these. */
export const taskDependent: Dependent = { onRecordsDeleted: removeOfRecords }

/** @param recordIds null is every record of the table */
async function removeOfRecords({ db }: Scope, tableId: number, recordIds: readonly number[] | null): Promise<void> {
  await db.execute(
    sql`delete from tasks where table_id = ${tableId} and (${recordIds}::int[] is null or record_id = any(${recordIds}::int[]))`,
  )
}
