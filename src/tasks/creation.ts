/** Making a task, on a record or standalone. */

import { subscribing } from '../comments/followers.ts'
import { emitting } from '../events/log.ts'
import { actingUserId, notificationEvents, notifying } from '../notifications/notify.ts'
import type { Actor } from '../platform/access/authorize.ts'
import type { Context } from '../platform/context.ts'
import { empty, recordsOf, type Sql, sql } from '../platform/database/database.ts'
import { badInput, notFound } from '../platform/http/errors.ts'
import { formatInstant } from '../platform/time.ts'
import { taskSubscriptions } from './comments/task-subject.ts'
import { taskEvents } from './events.ts'
import { bind, stagedEntries } from './files/attachments.ts'
import { assigned } from './notices.ts'
import { findPerson, inputOf, named, OUT_OF_REACH } from './people.ts'
import { type StoredTask, taskColumns } from './queries.ts'
import { isPast, reminderAt } from './reminders/reminder.ts'
import type { NewTask } from './schema.ts'

/** Where a new task is put; null is nowhere. */
export interface Place {
  space_id: number
  table_id: number
  record_id: number
}

/**
 * Makes a task, with the files that were staged for it. Answers null when another task has its external_id.
 * @param input its due date, time and reminder go together (`withRules`)
 * @throws AppError 400 for an assignee or assigner who cannot be one, or a file that is not staged; 404 when the record has just been deleted
 */
export async function make(context: Context, place: Place | null, input: NewTask): Promise<StoredTask | null> {
  const { attachments } = input
  if (!attachments?.length) return insert(context, place, input)
  return context.transaction(async () => {
    const staged = await stagedEntries(context, attachments)
    const task = await insert(context, place, input)
    if (!task) return null
    const entries = await bind(context, task.id, staged)
    await context.db.execute(sql`update tasks set attachments = ${JSON.stringify(entries)}::jsonb where id = ${task.id}`)
    return { ...task, attachments: entries }
  })
}

/** Inserts the task, with its subscribers and the notification to its assignee, in one statement. */
async function insert(context: Context, place: Place | null, input: NewTask): Promise<StoredTask | null> {
  const { db, actor, now } = context
  const assignee = named(input.assignee_user_id, input.assignee_email)
  const assigner = named(input.assigner_user_id, input.assigner_email)
  const isAssigned = assignee.id !== null || assignee.email !== null
  const hasAssigner = assigner.id !== null || assigner.email !== null
  const { title, details = null, due_date = null, due_time = null, reminder_offset_mins = null, reminder_time = null } = input
  const { external_id = null } = input
  const reminder = reminderAt({ due_date, due_time, reminder_offset_mins, reminder_time })
  const at = sql`${formatInstant(now)}::timestamp`
  const spaceId = place?.space_id ?? null

  const [row] = await db.query<Made>(
    sql`with live as (${living(place)}),
    people as (
      -- Who may call at all can be the assignee: only somebody else has to be looked for.
      select ${isAssigned ? sql`(${findPerson(assignee, spaceId, actor)})` : sql`${actor.userId}::int`} as found_assignee_id,
        ${hasAssigner ? sql`(${findPerson(assigner, spaceId, actor)})` : sql`null::int`} as found_assigner_id
    ),
    new_task as (
      insert into tasks (account_id, creator_user_id, assignee_user_id, space_id, table_id, record_id, title, details,
        due_date, due_time, reminder_offset_mins, reminder_time, reminder_at, reminder_missed,
        external_id, created_at, updated_at)
      select ${actor.accountId}, coalesce(found_assigner_id, ${ownerByDefault(actor)}), found_assignee_id,
        ${spaceId}::int, ${place?.table_id ?? null}::int, ${place?.record_id ?? null}::int, ${title}, ${details},
        ${due_date}::date, ${due_time}::time, ${reminder_offset_mins}::int, ${reminder_time}::time,
        ${reminder}::timestamp, ${isPast(reminder, now)}, ${external_id}::text, ${at}, ${at}
      from people, live
      where found_assignee_id is not null ${hasAssigner ? sql`and found_assigner_id is not null and ${mayBeNamed(actor)}` : empty}
      -- Of two who come with one external_id, the second waits for the first, and inserts nothing.
      ${external_id === null ? empty : sql`on conflict do nothing`}
      returning *
    ),
    subscribed as (${subscribing(
      taskSubscriptions,
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
    )}),
    emitted as (${emitting([taskEvents('task.created', sql`new_task`), notificationEvents(sql`notified`)], now)})
    select people.*, ${hasAssigner ? mayBeNamed(actor) : sql`true`} as may_assign, exists (select 1 from live) as is_live, k.version, ${taskColumns(sql`k`)}
    from people left join new_task k on true`,
    'tasks:create',
  )

  if (!row?.is_live) throw notFound('Record')
  if (row.found_assignee_id === null) throw badInput(inputOf('assignee', assignee), OUT_OF_REACH[place ? 'record' : 'standalone'])
  if (hasAssigner && row.found_assigner_id === null)
    throw badInput(inputOf('assigner', assigner), OUT_OF_REACH[place ? 'record' : 'standalone'])
  if (!row.may_assign) throw badInput(inputOf('assigner', assigner), 'must be the caller or the assignee')
  const { found_assignee_id: _assignee, found_assigner_id: _assigner, may_assign: _may, is_live: _live, ...task } = row
  return task.id === null ? null : task
}

interface Found {
  found_assignee_id: number | null
  found_assigner_id: number | null
  may_assign: boolean
  is_live: boolean
}
type Made = Found & StoredTask & { id: number | null }

/** Selects a row if the place is there, and locks its record: a deletion at the same moment comes before the task or takes it along. */
export const living = (place: Place | null): Sql =>
  place ? sql`select id from ${recordsOf(place.table_id)} where id = ${place.record_id} for key share` : sql`select 1 as id`

/** Without an assigner, a key of the account leaves the task to its assignee: the owner is usually uninvolved (api.md, Ownership 1). */
const ownerByDefault = (actor: Actor): Sql => (actor.kind === 'account' ? sql`found_assignee_id` : sql`${actor.userId}::int`)

/** An account key may name anyone as assigner; people only themselves or the assignee (api.md, Ownership 3). */
const mayBeNamed = (actor: Actor): Sql =>
  actor.kind === 'account' ? sql`true` : sql`found_assigner_id in (${actor.userId}, found_assignee_id)`
