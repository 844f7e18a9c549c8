/** The events of tasks, for `emitting`. Those of their comments are in src/comments/events.ts. */

import type { EventType } from '../events/log.ts'
import { type Sql, sql } from '../platform/database/database.ts'
import { constant } from '../platform/database/prepare.ts'

/** @param tasks a relation with rows of tasks */
export const taskEvents = (type: EventType & `task.${string}`, tasks: Sql): Sql =>
  sql`select ${constant(type)}, account_id, space_id, table_id, record_id, id, null::int, null::int[] from ${tasks}`

/** On a record, the table decides who hears of the deletion; the readers of a standalone task are named, because its row is deleted. */
export const deletionEvents = (deleted: Sql): Sql => sql`
  select 'task.deleted', account_id, space_id, table_id, record_id, id, null::int,
    case when space_id is null then array[creator_user_id, assignee_user_id]
      || array(select user_id from task_subscribers f where f.task_id = k.id) end
  from ${deleted} k`
