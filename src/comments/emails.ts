/** The rows that mail leaves among a record's comments. `email/` decides when; only this feature writes them. */

import { emitting } from '../events/log.ts'
import { notificationEvents, notifying } from '../notifications/notify.ts'
import { type Actor, systemActor } from '../platform/access/authorize.ts'
import { type Database, empty, recordsOf, type Sql, sql } from '../platform/database/database.ts'
import type { FileEntry } from '../platform/stored-files.ts'
import { formatInstant } from '../platform/time.ts'
import { type Author, authorOf } from './authorship.ts'
import { commentEvents } from './events.ts'
import { replied } from './sentences.ts'
import { followers } from './subscriptions.ts'

interface Place {
  account_id: number
  space_id: number
  table_id: number
  record_id: number
}

interface Email extends Place {
  content: string
  attachments: readonly FileEntry[]
  metadata: object
}

/** Writes an email_out comment by the actor. Answers its id; undefined when the record has just been deleted. */
export async function insertSent(db: Database, email: Email, actor: Actor, now: Date): Promise<number | undefined> {
  const [row] = await db.query<{ id: number }>(sql`
    with ${inserted('email_out', email, authorOf(actor), now)},
    emitted as (${emitting([commentEvents('comment.created', sql`added`)], now)})
    select id from added`)
  return row?.id
}

/**
 * Writes an email_in comment by nobody, under the sender's name. Answers its id; undefined when the record has just been deleted.
 * @param tellFollowers names the table for those who follow it or the record; undefined tells nobody
 */
export async function insertReply(
  db: Database,
  email: Email,
  { name, tellFollowers }: { name: string; tellFollowers: { table_name: string } | undefined },
  now: Date,
): Promise<number | undefined> {
  const told = tellFollowers
    ? sql`, told as (${notifying(followers(sql`live`, systemActor), replied(tellFollowers.table_name, email.content, name), systemActor, now)})`
    : empty
  const author = { user_id: 0, user_name: name, api_key_id: null }
  const events = [commentEvents('comment.created', sql`added`), ...(tellFollowers ? [notificationEvents(sql`told`)] : [])]
  const [row] = await db.query<{ id: number }>(sql`
    with ${inserted('email_in', email, author, now)}${told},
    emitted as (${emitting(events, now)})
    select id from added`)
  return row?.id
}

/** The CTEs `live`, the record as the place of the comment, and `added`. The row lock waits for a deletion of the record. */
const inserted = (type: 'email_out' | 'email_in', email: Email, author: Author, now: Date): Sql => sql`
  live as (
    select ${email.account_id}::int as account_id, ${email.space_id}::int as space_id, ${email.table_id}::int as table_id, id as record_id
    from ${recordsOf(email.table_id)} where id = ${email.record_id} for key share
  ), added as (
    insert into record_comments
      (account_id, space_id, table_id, record_id, type, user_id, user_name, api_key_id, content, attachments, metadata, created_at)
    select account_id, space_id, table_id, record_id, ${type}, ${author.user_id}, ${author.user_name}, ${author.api_key_id}::int,
      ${email.content}, ${JSON.stringify(email.attachments)}::jsonb, ${JSON.stringify(email.metadata)}::jsonb, ${formatInstant(now)}::timestamp
    from live returning *
  )`

/**
 * Merges keys into the metadata of an email comment, if its status is one of those given. A status among them is told of.
 * @returns whether it was: of two callers at once that both leave the status, one wins
 */
export async function patchEmail(
  db: Database,
  commentId: number,
  { from, metadata, content }: { from: readonly string[]; metadata: object; content?: string },
  now: Date,
): Promise<boolean> {
  const changed = await db.query(sql`
    with changed as (
      update record_comments
      set metadata = metadata || ${JSON.stringify(metadata)}::jsonb, content = coalesce(${content ?? null}::text, content)
      where id = ${commentId} and type = 'email_out' and metadata->>'status' = any(${from as string[]})
      returning *
    )${'status' in metadata ? sql`, emitted as (${emitting([commentEvents('email.status', sql`changed`)], now)})` : empty}
    select id from changed`)
  return changed.length > 0
}

/** An email_out comment's metadata as those may see it who cannot write: without the blind copies (contract.md §6). */
export function withoutBlindCopies(metadata: object | null): object | null {
  if (!metadata || !('bcc' in metadata)) return metadata
  const { bcc: _, recipients, ...rest } = metadata as { bcc: unknown; recipients?: { kind?: string }[] }
  return { ...rest, recipients: (recipients ?? []).filter(({ kind }) => kind !== 'bcc') }
}
