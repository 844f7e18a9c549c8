/** Subscribing followers and selecting those to notify, as SQL inside the statement that makes the change. */
import { actingUserId } from '../notifications/notify.ts'
import type { Actor } from '../platform/actor.ts'
import { raw, type Sql, sql } from '../platform/database/database.ts'
import { type Given, timestamp } from '../platform/database/prepare.ts'
import { isMember } from '../spaces/membership.ts'
import { columnList, type Followable, type SubscriptionTable } from './subject.ts'

/**
 * The statement that subscribes users. A user who follows already stays subscribed.
 * @param users selects user_id and the columns of the table's `place`
 */
export const subscribing = ({ name, place }: SubscriptionTable, users: Sql, now: Date): Sql => sql`
  insert into ${raw(name)} (user_id, ${raw(place.join(', '))}, created_at)
  select distinct f.user_id, ${columnList(place, 'f')}, ${timestamp(now)} from (${users}) f
  -- All statements insert in one order, so that two of them cannot deadlock.
  order by f.user_id, ${columnList(place, 'f')}
  on conflict do nothing`

/**
 * The same for a subject that the statement has just inserted. Nobody follows it yet, so that no row can conflict with another.
 * @param users as for `subscribing`, each of them once
 */
export const subscribingFirst = ({ name, place }: SubscriptionTable, users: Sql, now: Given<Date>): Sql => sql`
  insert into ${raw(name)} (user_id, ${raw(place.join(', '))}, created_at)
  select f.user_id, ${columnList(place, 'f')}, ${timestamp(now)} from (${users}) f`

/**
 * Selects the recipients of a notification, in the columns of `notifying`: the followers who may still read the subject, except the
 * acting user.
 * @param place a relation with the one row of the subject, as `Followable.row` selects it
 */
export const followersToNotify = (
  { followers }: Pick<Followable, 'followers'>,
  place: Sql,
  actor: Pick<Actor, 'kind' | 'userId'>,
): Sql => sql`
  select u.id as user_id, l.account_id, l.space_id, l.table_id, l.record_id, l.task_id
  from ${place} l cross join (${followers}) f
  join users u on u.id = f.user_id and u.status <> 'deleted'
  where u.id is distinct from ${actingUserId(actor)} and (l.space_id is null or ${isMember(sql`u`, sql`l.space_id`)})`
