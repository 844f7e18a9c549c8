/** What tasks tell those who listen; for `emitting`. */

import type { EventType } from '../events/log.ts'
import { type Sql, sql } from '../platform/database/database.ts'

/** @param tasks a relation with rows of tasks */
export const taskEvents = (type: EventType & `task.${string}`, tasks: Sql): Sql =>
  sql`select ${type}::text, account_id, space_id, table_id, record_id, id, null::int, null::int[] from ${tasks}`

/** @param comments a relation with ids of comments of the task */
export const commentEvents = (type: EventType & `comment.${string}`, comments: Sql, task: Sql): Sql => sql`
  select ${type}::text, k.account_id, k.space_id, k.table_id, k.record_id, k.id, c.id, null::int[] from ${comments} c, ${task} k`

/** Who could read a task that is gone: on a record its table tells, otherwise it was its people. */
export const deletionEvents = (gone: Sql): Sql => sql`
  select 'task.deleted', account_id, space_id, table_id, record_id, id, null::int,
    case when space_id is null then array[creator_user_id, assignee_user_id]
      || array(select user_id from task_subscribers f where f.task_id = k.id) end
  from ${gone} k`
