/** What comments on records, mails among them, tell those who listen; for `emitting`. */

import type { EventType } from '../events/log.ts'
import { type Sql, sql } from '../platform/database/database.ts'

/** @param comments a relation with rows of record_comments */
export const commentEvents = (type: EventType & (`comment.${string}` | 'email.status'), comments: Sql): Sql =>
  sql`select ${type}::text, account_id, space_id, table_id, record_id, null::int, id, null::int[] from ${comments}`
