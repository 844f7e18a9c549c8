/** Creating a task, on a record or standalone. */

import { subscribingFirst } from '../comments/followers.ts'
import { emitting } from '../events/log.ts'
import { actingUserId, notificationEvents, notifying } from '../notifications/notify.ts'
import type { Actor } from '../platform/actor.ts'
import type { Context } from '../platform/context.ts'
import { empty, recordsOf, type Sql, sql } from '../platform/database/database.ts'
import { constant, type Given, type Parameters, prepare } from '../platform/database/prepare.ts'
import { shortWrite, writesOfAccount, writesOfTable } from '../platform/database/statements/statement.ts'
import { badInput, notFound } from '../platform/errors.ts'
import { type Inserted, insertion } from '../platform/http/answers/columns.ts'
import { formatInstant } from '../platform/time/time.ts'
import { taskSubscriptions } from './comments/task-subject.ts'
import { whenLocked } from './elsewhere.ts'
import { taskEvents } from './events.ts'
import { bind, stagedEntries } from './files/attachments.ts'
import { assigned } from './notices.ts'
import { findPerson, inputOf, type NamedPerson, namedPerson, OUT_OF_REACH } from './people.ts'
import { onWire, TASK_COLUMNS } from './queries.ts'
import { isPast, reminderAt } from './reminders/reminder.ts'
import { type NewTask, type StoredTask, type Task, taskColumns } from './schema.ts'

/** The record that a new task is on. Null in its place stands for a standalone task. */
export interface TaskPlace {
  space_id: number
  table_id: number
  record_id: number
}

/** A task that was created. */
export interface CreatedTask {
  id: number
  version: number
  value: Task
}

/**
 * Creates a task with its staged files. Returns null when another task has its external_id.
 * @param input due date, time and reminder fit together (`withRules`)
 * @throws AppError 400 for an assignee or assigner who may not be one, or a file that is not staged; 404 when the record is deleted
 */
export async function createNew(context: Context, place: TaskPlace | null, input: NewTask): Promise<CreatedTask | null> {
  const { attachments } = input
  if (!attachments?.length) return insert(context, place, input)
  return context.transaction(async () => {
    const staged = await stagedEntries(context, attachments)
    const task = await insert(context, place, input)
    if (!task) return null
    const entries = await bind(context, task.id, staged)
    await context.db.write(sql`update tasks set attachments = ${JSON.stringify(entries)}::jsonb where id = ${task.id}`)
    return { ...task, value: { ...task.value, attachments: entries } }
  })
}

interface People {
  /** Null for the acting user. */
  assignee: NamedPerson | null
  /** Null for the default of api.md, Ownership 1. */
  assigner: NamedPerson | null
}

function insert(context: Context, place: TaskPlace | null, input: NewTask): Promise<CreatedTask | null> {
  if (!place) return insertIfLive(context, place, input, null)
  const { table_id: tableId } = place
  return whenLocked(context, { tableId, lock: lockedPlace(place) }, (lockIn) => insertIfLive(context, place, input, lockIn))
}

/**
 * Inserts the task, its subscriptions, the notification of its assignee and the events in one statement.
 * @param lockIn the table whose record the statement locks; null if it is locked already, or there is none
 */
async function insertIfLive(context: Context, place: TaskPlace | null, input: NewTask, lockIn: number | null): Promise<CreatedTask | null> {
  const { db, actor } = context
  const people: People = {
    assignee: namedPerson(input.assignee_user_id, input.assignee_email),
    assigner: namedPerson(input.assigner_user_id, input.assigner_email),
  }
  const shape: Shape = {
    lockIn,
    isOnRecord: place !== null,
    kind: actor.kind,
    namesAssignee: people.assignee !== null,
    namesAssigner: people.assigner !== null,
    hasExternalId: input.external_id != null,
  }
  const [row] = await db.write<Created>(
    shortWrite(
      'tasks:create',
      place ? writesOfTable(place.table_id) : writesOfAccount(actor.accountId),
      creating(shape, valuesOf(context, place, input, people)),
    ),
  )
  if (!row?.is_live) throw notFound('Record')
  requirePeople(row, people, place)
  return row.id === null ? null : { id: row.id, version: row.version, value: onWire(row) }
}

/** Everything that the text of the statement depends on. */
interface Shape {
  lockIn: number | null
  isOnRecord: boolean
  kind: Actor['kind']
  namesAssignee: boolean
  namesAssigner: boolean
  hasExternalId: boolean
}

/** The columns whose values the statement computes. */
type Computed = 'creator_user_id' | 'assignee_user_id' | 'attachments' | 'created_at' | 'updated_at'

/** What each run binds. */
interface Values extends Omit<Inserted<typeof taskColumns>, Computed> {
  user_id: number
  is_owner: boolean
  assignee_id: number | null
  assignee_email: string | null
  assigner_id: number | null
  assigner_email: string | null
  notify_assigner: boolean
  is_missed: boolean
  message: string
  summary: string
  now: string
}

function valuesOf({ actor, now }: Context, place: TaskPlace | null, input: NewTask, { assignee, assigner }: People): Values {
  const { due_date = null, due_time = null, reminder_offset_mins = null, reminder_time = null } = input
  const reminder_at = reminderAt({ due_date, due_time, reminder_offset_mins, reminder_time })
  const { message, summary } = assigned(input, actor)
  return {
    ...{ account_id: actor.accountId, user_id: actor.userId, is_owner: actor.isOwner },
    ...{ space_id: place?.space_id ?? null, table_id: place?.table_id ?? null, record_id: place?.record_id ?? null },
    ...{ assignee_id: assignee?.id ?? null, assignee_email: assignee?.email ?? null },
    ...{ assigner_id: assigner?.id ?? null, assigner_email: assigner?.email ?? null, notify_assigner: input.notify_assigner ?? true },
    ...{ title: input.title, details: input.details ?? null, external_id: input.external_id ?? null },
    ...{ due_date, due_time, reminder_offset_mins, reminder_time, reminder_at, is_missed: isPast(reminder_at, now) },
    ...{ message, summary, now: formatInstant(now) },
  }
}

/** Of the acting user, as parameters of the statement. */
interface Acting {
  kind: Actor['kind']
  accountId: Sql
  userId: Sql
  isOwner: Sql
}

/** The statements that were used last. The text of a record's task names the table of the record. */
const MOST_PREPARED = 500

const creating = prepare<Shape, Values>(MOST_PREPARED, (p, shape) => {
  const { now, message, summary } = p
  const actor: Acting = { kind: shape.kind, accountId: p.account_id, userId: p.user_id, isOwner: p.is_owner }
  return sql`with live as (${shape.lockIn === null ? NOTHING_TO_LOCK : lockedRecord(shape.lockIn, p.record_id)}),
    people as (${findPeople(shape, p, actor)}),
    new_task as (${inserting(shape, p, actor)}),
    subscribed as (${subscribingFirst(
      taskSubscriptions,
      sql`select id as task_id, assignee_user_id as user_id from new_task
        union all select id, creator_user_id from new_task where ${p.notify_assigner} and creator_user_id <> assignee_user_id`,
      now,
    )}),
    notified as (${notifying(
      sql`select assignee_user_id as user_id, account_id, space_id, table_id, record_id, id as task_id from new_task
        where assignee_user_id is distinct from ${actingUserId(actor)}`,
      { event_type: constant('TASK_ASSIGNED'), message, summary },
      actor,
      now,
    )}),
    emitted as (${emitting([taskEvents('task.created', sql`new_task`), notificationEvents(sql`notified`)], now)})
    select people.*, ${shape.namesAssigner ? canBeAssigner(actor) : sql`true`} as may_assign, exists (select 1 from live) as is_live,
      ${TASK_COLUMNS}
    from people left join new_task k on true`
})

/** Selects the ids of the people, null for one who cannot be reached. The acting user need not be searched for. */
function findPeople(shape: Shape, p: Parameters<Values>, actor: Acting): Sql {
  const spaceId = shape.isOnRecord ? p.space_id : null
  const found = (id: Sql, email: Sql) => sql`(${findPerson({ id, email }, spaceId, actor)})`
  return sql`
    select ${shape.namesAssignee ? found(p.assignee_id, p.assignee_email) : sql`${p.user_id}::int`} as found_assignee_id,
      ${shape.namesAssigner ? found(p.assigner_id, p.assigner_email) : sql`null::int`} as found_assigner_id`
}

/** The statement that inserts the task, unless `live` or the people are missing. It returns the row. */
function inserting(shape: Shape, p: Parameters<Values>, actor: Acting): Sql {
  const { names, values } = insertion(
    taskColumns,
    p,
    {
      creator_user_id: sql`coalesce(found_assigner_id, ${ownerByDefault(actor)})`,
      assignee_user_id: sql`found_assignee_id`,
      attachments: sql`'[]'`,
      created_at: p.now,
      updated_at: p.now,
    } satisfies Record<Computed, Sql>,
    { reminder_missed: p.is_missed },
  )
  return sql`
    insert into tasks (${names}) select ${values} from people, live
    where found_assignee_id is not null ${shape.namesAssigner ? sql`and found_assigner_id is not null and ${canBeAssigner(actor)}` : empty}
    -- Of two concurrent requests with one external_id, the second waits for the first and inserts nothing.
    ${shape.hasExternalId ? sql`on conflict do nothing` : empty}
    returning *`
}

interface FoundPeople {
  found_assignee_id: number | null
  found_assigner_id: number | null
  may_assign: boolean
}
/** The columns of the task are null if it was not inserted. */
type Created = FoundPeople & { is_live: boolean } & (StoredTask | { [Name in keyof StoredTask]: null })

/** @throws AppError 400 for a person who cannot be reached, or who may not be the assigner */
function requirePeople({ found_assignee_id, found_assigner_id, may_assign }: FoundPeople, people: People, place: TaskPlace | null): void {
  const outOfReach = OUT_OF_REACH[place ? 'record' : 'standalone']
  if (found_assignee_id === null) throw badInput(inputOf('assignee', people.assignee), outOfReach)
  if (people.assigner && found_assigner_id === null) throw badInput(inputOf('assigner', people.assigner), outOfReach)
  if (!may_assign) throw badInput(inputOf('assigner', people.assigner), 'must be the caller or the assignee')
}

/** Selects a row if the record still exists, and locks it: a concurrent deletion happens before the insert, or deletes the task, too. */
export const lockedPlace = (place: TaskPlace | null): Sql => (place ? lockedRecord(place.table_id, place.record_id) : NOTHING_TO_LOCK)

const lockedRecord = (tableId: number, recordId: Given<number>): Sql =>
  sql`select id from ${recordsOf(tableId)} where id = ${recordId} for key share`
const NOTHING_TO_LOCK = sql`select 1 as id`

/** A task that an account key creates without an assigner belongs to its assignee: the owner is rarely involved (api.md, Ownership 1). */
const ownerByDefault = (actor: Acting): Sql => (actor.kind === 'account' ? sql`found_assignee_id` : sql`${actor.userId}::int`)

/** An account key may name anyone as assigner; users may name themselves or the assignee (api.md, Ownership 3). */
const canBeAssigner = (actor: Acting): Sql =>
  actor.kind === 'account' ? sql`true` : sql`found_assigner_id in (${actor.userId}, found_assignee_id)`
