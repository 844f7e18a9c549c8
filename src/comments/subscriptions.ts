/** Who follows a table or a record: they hear of the comments on it. A table is followed under record 0. */

import { actingUserId } from '../notifications/notify.ts'
import type { Actor } from '../platform/access/authorize.ts'
import type { RecordRef, TableRef } from '../platform/access/resources.ts'
import type { Context } from '../platform/context.ts'
import { recordsOf, type Sql, sql } from '../platform/database/database.ts'
import { conflict, notFound } from '../platform/http/errors.ts'
import { formatInstant } from '../platform/time.ts'
import { isMember } from '../spaces/membership.ts'
import type { Subscribed, SubscriptionStatus } from './schema.ts'

/** All of the table. */
const WHOLE_TABLE = 0

/**
 * Makes the acting user follow the table, or one record.
 * @throws AppError 409 `Already subscribed`, unless forced; 404 when the record has just been deleted
 */
export async function subscribe(
  { db, actor, now }: Context,
  table: TableRef,
  record: RecordRef | null,
  isForced: boolean,
): Promise<Subscribed> {
  // The primary key decides between two at once. The row lock waits for a deletion of the record, after which nothing is inserted.
  const place = record
    ? sql`select id as record_id from ${recordsOf(table.id)} where id = ${record.id} for key share`
    : sql`select ${WHOLE_TABLE}::int as record_id`
  const [found] = await db.query<{ exists: boolean; changed: boolean }>(sql`
    with live as (${place}),
    added as (
      ${following(sql`select ${actor.userId}::int as user_id, ${table.account_id}::int as account_id, ${table.id}::int as table_id, record_id from live`, now)}
      returning 1
    )
    select exists (select 1 from live) as exists, exists (select 1 from added) as changed`)
  if (!found?.exists) throw notFound('Record')
  if (!found.changed && !isForced) throw conflict('Already subscribed')
  return { ok: true, subscribed: true }
}

/**
 * Makes the acting user stop following the table, or one record.
 * @throws AppError 409 `Not subscribed`, unless forced
 */
export async function unsubscribe(
  { db, actor }: Context,
  table: TableRef,
  record: RecordRef | null,
  isForced: boolean,
): Promise<Subscribed> {
  const removed = await db.execute(sql`
    delete from subscriptions where user_id = ${actor.userId} and table_id = ${table.id} and record_id = ${record?.id ?? WHOLE_TABLE}`)
  if (!removed && !isForced) throw conflict('Not subscribed')
  return { ok: true, subscribed: false }
}

/**
 * Whether the acting user follows the table, and the record if one is named.
 * @throws AppError 404 for a record that is not there
 */
export async function status({ db, actor }: Context, table: TableRef, recordId: number | null): Promise<SubscriptionStatus> {
  const follows = (record: Sql) =>
    sql`exists (select 1 from subscriptions where user_id = ${actor.userId} and table_id = ${table.id} and record_id = ${record})`
  const record = recordId === null ? sql`true` : sql`exists (select 1 from ${recordsOf(table.id)} where id = ${recordId})`
  const [found] = await db.query<SubscriptionStatus & { exists: boolean }>(sql`
    select ${record} as exists, ${follows(sql`${WHOLE_TABLE}`)} as table,
      ${recordId === null ? sql`false` : follows(sql`${recordId}::int`)} as record`)
  if (!found?.exists) throw notFound('Record')
  return { table: found.table, record: found.record }
}

/** The statement that adds subscribers, in one order for everybody; who is one already stays one. @param people selects user_id, account_id, table_id, record_id */
export const following = (people: Sql, now: Date): Sql => sql`
  insert into subscriptions (user_id, account_id, table_id, record_id, created_at)
  select distinct f.user_id, f.account_id, f.table_id, f.record_id, ${formatInstant(now)}::timestamp from (${people}) f
  order by 1, 3, 4
  on conflict do nothing`

/**
 * Selects whom to notify: those who follow the record or its table and may still see it, each once, never the one who acts.
 * @param records a relation with account_id, space_id, table_id, record_id
 */
export const followers = (records: Sql, actor: Actor): Sql => sql`
  select distinct f.user_id, r.account_id, r.space_id, r.table_id, r.record_id, null::int as task_id
  from ${records} r
  join subscriptions f on f.table_id = r.table_id and f.record_id in (${WHOLE_TABLE}, r.record_id)
  join users u on u.id = f.user_id and u.status <> 'deleted'
  where f.user_id is distinct from ${actingUserId(actor)}::int and ${isMember(sql`u`, sql`r.space_id`)}`
