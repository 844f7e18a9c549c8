/** Who follows a task: they hear of its comments and of its being done (api.md, Events). */

import { actingUserId } from '../notifications/notify.ts'
import type { Actor } from '../platform/access/authorize.ts'
import type { Context } from '../platform/context.ts'
import { type Sql, sql } from '../platform/database/database.ts'
import { conflict, notFound } from '../platform/http/errors.ts'
import { formatInstant } from '../platform/time.ts'
import { isMember } from '../spaces/membership.ts'
import type { TaskRow } from './procedure.ts'
import type { Subscribed } from './schema.ts'

/**
 * Makes the acting user follow the task.
 * @throws AppError 409 `Already subscribed`, unless forced
 */
export async function subscribe({ db, actor, now }: Context, task: TaskRow, { force }: { force: boolean }): Promise<Subscribed> {
  // The primary key decides between two at once. The row lock waits for a deletion of the task, after which nothing is inserted.
  const [found] = await db.query<{ exists: boolean; changed: boolean }>(
    sql`with live as (select id from tasks where id = ${task.task_id} for key share),
      added as (${following(sql`select id as task_id, ${actor.userId}::int as user_id from live`, now)} returning 1)
      select exists (select 1 from live) as exists, exists (select 1 from added) as changed`,
    'tasks:subscribe',
  )
  if (!found?.exists) throw notFound('Task')
  if (!found.changed && !force) throw conflict('Already subscribed')
  return { ok: true, subscribed: true }
}

/**
 * Makes the acting user stop following the task.
 * @throws AppError 409 `Not subscribed`, unless forced
 */
export async function unsubscribe({ db, actor }: Context, task: TaskRow, { force }: { force: boolean }): Promise<Subscribed> {
  const removed = await db.execute(sql`delete from task_subscribers where task_id = ${task.task_id} and user_id = ${actor.userId}`)
  if (!removed && !force) throw conflict('Not subscribed')
  return { ok: true, subscribed: false }
}

/** The statement that adds subscribers, in one order for everybody; who is one already stays one. @param people selects task_id, user_id */
export const following = (people: Sql, now: Date): Sql => sql`
  insert into task_subscribers (task_id, user_id, created_at)
  select distinct f.task_id, f.user_id, ${formatInstant(now)}::timestamp from (${people}) f
  order by 1, 2
  on conflict do nothing`

/**
 * Selects whom to notify: the task's subscribers who may still see it, never the one who acts.
 * @param tasks a relation with rows of tasks
 */
export const followers = (tasks: Sql, actor: Actor): Sql => sql`
  select f.user_id, k.account_id, k.space_id, k.table_id, k.record_id, k.id as task_id
  from ${tasks} k
  join task_subscribers f on f.task_id = k.id
  join users u on u.id = f.user_id and u.status <> 'deleted'
  where f.user_id is distinct from ${actingUserId(actor)}::int and (k.space_id is null or ${isMember(sql`u`, sql`k.space_id`)})`
