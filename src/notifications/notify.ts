/** Writes notifications in the transaction of the change that they report (contract.md §4, Notifications). */
import type { Actor } from '../platform/actor.ts'
import { type Sql, sql } from '../platform/database/database.ts'
import { type Given, timestamp } from '../platform/database/prepare.ts'
import { formatInstant } from '../platform/time/time.ts'

export type NotificationType =
  | 'TASK_ASSIGNED'
  | 'TASK_COMMENT'
  | 'TASK_DONE'
  | 'TASK_UNDONE'
  | 'TASK_REMINDER'
  | 'task.comment.mention'
  | 'comment.mention'
  | 'COMMENT'
  | 'SMTP_FAILING'
  | 'EMAIL_BOUNCED'

export interface Notice {
  event_type: NotificationType
  /** One sentence about the change. */
  message: string
  /** One sentence about the task or record. */
  summary: string
}

/** The acting user. Null for an account key, so that the account's owner is notified of its changes, too. */
export const actingUserId = ({ kind, userId }: Acting): Sql =>
  kind === 'session' || kind === 'personal' ? sql`${userId}::int` : sql`null::int`

/** Who acts, in a statement. */
export interface Acting {
  kind: Actor['kind']
  userId: Given<number>
}

/** The name of the actor in a message. */
export const actingName = ({ kind, name, keyName }: Actor): string => (kind === 'account' ? `API: ${keyName}` : name)

/**
 * A CTE that writes one notification per recipient, in the statement of the change. Pass its rows to `notificationEvents`, so that
 * open streams of the recipients get an event.
 * @param recipients selects user_id, account_id, space_id, table_id, record_id, task_id; one row per person
 */
export function notifying(
  recipients: Sql,
  { event_type, message, summary }: { [Part in keyof Notice]: Given<Notice[Part]> },
  actor: Acting,
  now: Given<Date>,
): Sql {
  return sql`insert into notifications
    (user_id, actor_user_id, account_id, space_id, table_id, record_id, task_id, event_type, message, summary, url, created_at)
    select r.user_id, ${actingUserId(actor)}, r.account_id, r.space_id, r.table_id, r.record_id, r.task_id,
      ${event_type}, ${message}, ${summary}, ${PLACE}, ${timestamp(now)}
    from (${recipients}) r
    returning user_id, account_id, space_id, table_id, record_id, task_id`
}

/**
 * As `notifying`, for notifications with different messages and without an actor.
 * @param rows selects the columns of the recipients of `notifying`, message and summary; the ids follow its order
 */
export const notifyingEach = (rows: Sql, eventType: NotificationType, now: Date): Sql => sql`insert into notifications
    (user_id, account_id, space_id, table_id, record_id, task_id, event_type, message, summary, url, created_at)
    select r.user_id, r.account_id, r.space_id, r.table_id, r.record_id, r.task_id, ${eventType}, r.message, r.summary, ${PLACE},
      ${formatInstant(now)}::timestamp
    from (${rows}) r
    returning user_id, account_id, space_id, table_id, record_id, task_id`

/** The events for the recipients, for `emitting`. @param notified the CTE of `notifying` */
export const notificationEvents = (notified: Sql): Sql =>
  sql`select 'notification', account_id, space_id, table_id, record_id, task_id, null::int, array[user_id] from ${notified}`

/** The path in a frontend. The service does not know the frontend's address. */
const PLACE = sql`case when r.task_id is not null then '/task/' || r.task_id else '/table/' || r.table_id || '/record/' || r.record_id end`
