/** The events of comments and emails, for `emitting`. */

import type { EventType } from '../events/log.ts'
import { type Sql, sql } from '../platform/database/database.ts'
import { constant } from '../platform/database/prepare.ts'

/**
 * @param comments a relation with the ids of comments on one subject
 * @param place a relation with the one row of the subject, as `Followable.row` selects it
 */
export const commentEvents = (type: EventType & `comment.${string}`, comments: Sql, place: Sql): Sql => sql`
  select ${constant(type)}, l.account_id, l.space_id, l.table_id, l.record_id, l.task_id, c.id, null::int[] from ${comments} c, ${place} l`

export type EmailEventType = EventType & ('comment.created' | 'comment.deleted' | 'email.status')

/** @param emails a relation with rows of record_comments */
export const emailEvents = (type: EmailEventType, emails: Sql): Sql =>
  sql`select ${constant(type)}, account_id, space_id, table_id, record_id, null::int, id, null::int[] from ${emails}`
