/** What inbound messages were read as: one verdict for each message and thread, written in the transaction of its effect. */

import { type Database, empty, type Sql, sql } from '../../platform/database/database.ts'
import { labelled } from '../../platform/database/statements/statement.ts'
import { formatInstant } from '../../platform/time/time.ts'
import type { Verdict } from '../inbox/schema.ts'
import { lockedThread, type Thread } from '../queries.ts'
import type { ParsedMail } from './mime.ts'
import { verdictsAside } from './parked.ts'

export interface Decision {
  verdict: Verdict
  /** Why, unless the verdict says it all. */
  reason: string | null
  /** The comment that the message became. */
  commentId: number | null
  /** Of the delivery that has become the comment, so that a copy of the message that arrives later names it. */
  key?: string
  /** Whether the followers of the record have been notified. */
  isAnnounced: boolean
}

/** A decision, and whether it has changed a comment. */
export type AppliedDecision = Decision & { isChanged: boolean }

/** A verdict before it is decided, or decided again. */
export interface OpenVerdict {
  verdict: Verdict | null
  reason: string | null
  comment_id: number | null
  is_announced: boolean
}

export const dropped = (reason: string): Decision => ({ verdict: 'dropped', reason, commentId: null, isAnnounced: false })

/** What a message is read for: each undefined if it does not exist any more. */
interface ReadVerdict {
  thread: Thread | undefined
  before: OpenVerdict | undefined
}

/**
 * Locks the thread and then the verdict, so that of two jobs with the same message the second finds it decided. Without a thread a verdict
 * that is missing stays missing: the thread was deleted together with it.
 */
export async function lockReading(db: Database, id: number, hash: Uint8Array): Promise<ReadVerdict> {
  const reading = await findReading(db, id, hash)
  const { thread } = reading
  if (reading.before || !thread) return reading
  // A release that had no verdicts yet has stored the message.
  await db.write(sql`
    insert into inbound_verdicts (inbound_email_id, token_hash, account_id, space_id, table_id)
    values (${id}, ${hash}, ${thread.account_id}, ${thread.space_id}, ${thread.table_id}) on conflict do nothing`)
  return findReading(db, id, hash)
}

async function findReading(db: Database, id: number, hash: Uint8Array): Promise<ReadVerdict> {
  type Row = Thread & { has_thread: boolean; has_verdict: boolean; before: OpenVerdict }
  const [row] = await db.read<Row>(
    labelled(
      'lock-reading',
      sql`
      with thread as materialized (${lockedThread(hash)}),
      verdict as materialized (
        -- The count is asked for first, and with it the thread is locked.
        select verdict, reason, comment_id, is_announced from inbound_verdicts
        where inbound_email_id = ${id} and token_hash = ${hash} and (select count(*) from thread) >= 0 for update
      )
      select t.*, t.token_hash is not null as has_thread, v.is_announced is not null as has_verdict,
        json_build_object('verdict', v.verdict, 'reason', v.reason, 'comment_id', v.comment_id, 'is_announced', v.is_announced) as before
      from (select) one left join thread t on true left join verdict v on true`,
    ),
  )
  const { has_thread, has_verdict, before, ...thread } = row as Row
  return { thread: has_thread ? thread : undefined, before: has_verdict ? before : undefined }
}

/** The update of a message that was read for all of its threads. @param problem why it cannot be parsed; null if it can */
export const noteRead = (
  id: number,
  { from, subject }: Pick<ParsedMail, 'from' | 'subject'>,
  problem: string | null,
  now: Date,
): Sql => sql`
  update inbound_emails set processed_at = ${formatInstant(now)}::timestamp, error = ${problem}::text,
    from_name = ${from.name}, from_email = ${from.email}, subject = ${subject}
  where id = ${id}`

/** @param noteRead the update of the message, for its last thread */
export async function saveVerdict(
  db: Database,
  id: number,
  hash: Uint8Array,
  { verdict, reason, commentId, key, isAnnounced }: Decision,
  { now, noteRead }: { now: Date; noteRead: Sql | undefined },
): Promise<void> {
  await db.write(
    labelled(
      'save-verdict',
      sql`
      with noted as (
        update inbound_deliveries set comment_id = ${commentId}::int where token_hash = ${hash} and message_key = ${key ?? null}::text
      )${noteRead ? sql`, read as (${noteRead})` : empty}
      update inbound_verdicts set verdict = ${verdict}, reason = ${reason}::text, comment_id = ${commentId}::int,
        is_announced = ${isAnnounced}, decided_at = ${formatInstant(now)}::timestamp
      where inbound_email_id = ${id} and token_hash = ${hash}`,
    ),
  )
}

/** The row that stands for a message in its thread. */
export interface DeliveryRow {
  comment_id: number | null
  created_at: string
}

/**
 * Claims the key of a message in its thread. Of two concurrent copies, the primary key lets one pass.
 * @returns undefined if another stored message has the key already
 */
export async function claimDelivery(
  db: Database,
  { token_hash }: Thread,
  { id, receivedAt, key, isAutomatic }: { id: number; receivedAt: string; key: string; isAutomatic: boolean },
  now: Date,
): Promise<DeliveryRow | undefined> {
  // An earlier release claimed keys without the id of the message: such a claim is for a message that had arrived before it.
  const [delivery] = await db.write<DeliveryRow>(
    labelled(
      'claim-delivery',
      sql`
    insert into inbound_deliveries as d (token_hash, message_key, inbound_email_id, auto_reply, created_at)
    -- A message that began to be read later may have locked the thread before: this one counts as later than all before it.
    values (${token_hash}, ${key}, ${id}, ${isAutomatic}, greatest(${formatInstant(now)}::timestamp,
      case when ${isAutomatic}::boolean then (
        select max(created_at) from inbound_deliveries where token_hash = ${token_hash} and auto_reply) end))
    on conflict (token_hash, message_key) do update set inbound_email_id = ${id}, auto_reply = excluded.auto_reply
    where d.inbound_email_id = ${id} or (d.inbound_email_id is null and d.created_at >= ${receivedAt}::timestamp)
    returning comment_id, created_at`,
    ),
  )
  return delivery
}

/** The comment that the message with the same key became, and the id of that message. */
export async function firstDelivery(db: Database, { token_hash }: Thread, key: string) {
  const [first] = await db.read<{ id: number | null; comment_id: number | null }>(sql`
    select inbound_email_id as id, comment_id from inbound_deliveries where token_hash = ${token_hash} and message_key = ${key}`)
  return first
}

/**
 * Deletes those of the messages that are for no other thread.
 * @param apart the condition on verdicts `d` of deleted records that do not count, because they go, too
 */
export async function forgetMessages(db: Database, ids: readonly number[], apart: Sql): Promise<void> {
  if (!ids.length) return
  await db.write(sql`
    delete from inbound_emails e where id = any(${ids}::int[])
      and not exists (select from inbound_verdicts v where v.inbound_email_id = e.id)
      and not exists (${verdictsAside(sql`e.id`)} and not (${apart}))`)
}
