/** Subscriptions of the acting user to a table, a record or a task. */

import type { TableRef } from '../platform/access/resources.ts'
import type { Context } from '../platform/context.ts'
import { type Database, raw, recordsOf, type Sql, sql } from '../platform/database/database.ts'
import { labelled } from '../platform/database/statements/statement.ts'
import { conflict, notFound } from '../platform/errors.ts'
import { withRowHere } from './elsewhere.ts'
import { subscribing } from './followers.ts'
import { WHOLE_TABLE } from './record-subject.ts'
import type { Subscribed, SubscriptionStatus } from './schema.ts'
import { type Followable, locked } from './subject.ts'

/**
 * Subscribes the acting user.
 * @throws AppError 409 `Already subscribed`, unless forced; 404 when the subject has just been deleted
 */
export function subscribe(context: Context, subject: Followable, isForced: boolean): Promise<Subscribed> {
  return withRowHere(context.db, subject, (place) => subscribeTo(context, place, isForced))
}

async function subscribeTo({ db, actor, now }: Context, subject: Followable, isForced: boolean): Promise<Subscribed> {
  // Of two concurrent requests, the primary key lets one insert.
  const [found] = await db.write<{ exists: boolean; changed: boolean }>(
    labelled(
      'comments:subscribe',
      sql`with place as (${locked(subject)}),
      added as (${subscribing(subject.subscriptions, sql`select ${actor.userId}::int as user_id, place.* from place`, now)} returning 1)
      select exists (select 1 from place) as exists, exists (select 1 from added) as changed`,
    ),
  )
  if (!found?.exists) throw notFound(subject.noun)
  if (!found.changed && !isForced) throw conflict('Already subscribed')
  return { ok: true, subscribed: true }
}

/**
 * Unsubscribes the acting user.
 * @throws AppError 409 `Not subscribed`, unless forced
 */
export async function unsubscribe({ db, actor }: Context, subject: Followable, isForced: boolean): Promise<Subscribed> {
  const { subscriptions, belongs } = subject
  const { changed: removed } = await db.write(sql`delete from ${raw(subscriptions.name)} where user_id = ${actor.userId} and ${belongs}`)
  if (!removed && !isForced) throw conflict('Not subscribed')
  return { ok: true, subscribed: false }
}

const MOST_ENDED = 1_000

/** Ends what an erased user follows. What somebody else has locked, such as a deletion, is left out. @returns whether there may be more */
export async function endSubscriptions(db: Database, userId: number): Promise<boolean> {
  const ended = await Promise.all(
    (['subscriptions', 'task_subscribers'] as const).map((table) =>
      db.write(sql`
        delete from ${raw(table)} where ctid = any(array(
          select s.ctid from ${raw(table)} s where s.user_id = ${userId} limit ${MOST_ENDED} for update skip locked))`),
    ),
  )
  return ended.some(({ changed }) => changed > 0)
}

/**
 * Whether the acting user is subscribed to the table, and to the record if one is named.
 * @throws AppError 404 for a record that does not exist
 */
export async function status({ db, actor }: Context, table: TableRef, recordId: number | null): Promise<SubscriptionStatus> {
  const follows = (record: Sql) =>
    sql`exists (select 1 from subscriptions where user_id = ${actor.userId} and table_id = ${table.id} and record_id = ${record})`
  const existing = sql`select 1 from ${recordsOf(table.id)} where id = ${recordId}`
  const [found, records] = await Promise.all([
    db.read<SubscriptionStatus>(sql`
      select ${follows(sql`${WHOLE_TABLE}`)} as table, ${recordId === null ? sql`false` : follows(sql`${recordId}::int`)} as record`),
    recordId === null ? [null] : db.records(table.id).read(existing),
  ])
  if (!records.length) throw notFound('Record')
  return found[0] as SubscriptionStatus
}
