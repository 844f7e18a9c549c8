/** Telling people: rows that are committed with the change they tell of (contract.md §4, Notifications). */
import type { Actor } from '../platform/access/authenticate.ts'
import { type Sql, sql } from '../platform/database/database.ts'
import { formatInstant } from '../platform/time.ts'

export type EventType =
  | 'TASK_ASSIGNED'
  | 'TASK_COMMENT'
  | 'TASK_DONE'
  | 'TASK_UNDONE'
  | 'TASK_REMINDER'
  | 'task.comment.mention'
  | 'comment.mention'
  | 'COMMENT'

export interface Notice {
  event_type: EventType
  /** One sentence: what happened. */
  message: string
  /** One sentence: what it is about. */
  summary: string
}

/** The user who does it: an API key of the account is nobody, so that its owner hears of what it does. */
export const actingUserId = ({ kind, userId }: Actor): number | null => (kind === 'session' || kind === 'personal' ? userId : null)

/** How a message calls the one who acts. */
export const actingName = ({ kind, name, keyName }: Actor): string => (kind === 'account' ? `API: ${keyName}` : name)

/**
 * The statement that writes one notification a recipient, as a CTE beside the change itself. What it returns goes to
 * `notificationEvents`, so that those who are told hear of it at once.
 * @param recipients selects user_id, account_id, space_id, table_id, record_id, task_id; one row a person
 */
export function notifying(recipients: Sql, { event_type, message, summary }: Notice, actor: Actor, now: Date): Sql {
  return sql`insert into notifications
    (user_id, actor_user_id, account_id, space_id, table_id, record_id, task_id, event_type, message, summary, url, created_at)
    select r.user_id, ${actingUserId(actor)}::int, r.account_id, r.space_id, r.table_id, r.record_id, r.task_id,
      ${event_type}, ${message}, ${summary}, ${PLACE}, ${formatInstant(now)}::timestamp
    from (${recipients}) r
    returning user_id, account_id, space_id, table_id, record_id, task_id`
}

/**
 * The same for notifications that each say something else; nobody acted.
 * @param rows selects what the recipients of `notifying` have, and message and summary; they get their ids in its order
 */
export const notifyingEach = (rows: Sql, eventType: EventType, now: Date): Sql => sql`insert into notifications
    (user_id, account_id, space_id, table_id, record_id, task_id, event_type, message, summary, url, created_at)
    select r.user_id, r.account_id, r.space_id, r.table_id, r.record_id, r.task_id, ${eventType}, r.message, r.summary, ${PLACE},
      ${formatInstant(now)}::timestamp
    from (${rows}) r
    returning user_id, account_id, space_id, table_id, record_id, task_id`

/** For `emitting`: the events that tell the recipients. @param notified what `notifying` returns */
export const notificationEvents = (notified: Sql): Sql =>
  sql`select 'notification', account_id, space_id, table_id, record_id, task_id, null::int, array[user_id] from ${notified}`

/** Where a frontend shows it; a path, because its address is not ours to know. */
const PLACE = sql`case when r.task_id is not null then '/task/' || r.task_id else '/table/' || r.table_id || '/record/' || r.record_id end`
