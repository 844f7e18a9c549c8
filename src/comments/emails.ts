/** The comments that emails leave on a record. The email feature decides when they change; only this feature writes them. */

import { emitting } from '../events/log.ts'
import { notificationEvents, notifying } from '../notifications/notify.ts'
import { type Actor, systemActor } from '../platform/actor.ts'
import type { Context } from '../platform/context.ts'
import { type Database, empty, type Sql, sql } from '../platform/database/database.ts'
import { labelled } from '../platform/database/statements/statement.ts'
import { type FileEntry, pathsOf } from '../platform/stored-files/rows.ts'
import { formatInstant } from '../platform/time/time.ts'
import { releaseFiles } from '../tables/file-references.ts'
import { type Author, authorOf, senderAsAuthor } from './authorship.ts'
import { withRowHere } from './elsewhere.ts'
import { commentEvents, type EmailEventType, emailEvents } from './events.ts'
import { followersToNotify } from './followers.ts'
import { replied } from './notices.ts'
import { followableRecord, recordComments, recordNotices } from './record-subject.ts'
import type { RecordComment } from './schema.ts'
import { inserting } from './service.ts'
import { type Followable, locked } from './subject.ts'

interface Email {
  account_id: number
  space_id: number
  table_id: number
  record_id: number
  content: string
  attachments: readonly FileEntry[]
  metadata: object
}

/** Inserts an email_out comment by the actor. Returns its id, or undefined when the record has just been deleted. */
export async function insertSent(db: Database, email: Email, actor: Actor, now: Date): Promise<number | undefined> {
  const { record, comment } = emailComment('email_out', email, authorOf(actor))
  const [row] = await withRowHere(db, record, (place) =>
    db.write<{ id: number }>(
      labelled(
        'insert-sent',
        sql`
    with place as (${locked(place)}),
    added as (${inserting(record, comment, now)}),
    emitted as (${emitting([commentEvents('comment.created', sql`added`, sql`place`)], now)})
    select id from added`,
      ),
    ),
  )
  return row?.id
}

/**
 * Deletes the comment of an email that nobody has got, and whose row the caller has locked. Its files can be attached again as long as they
 * are stored.
 */
export async function discardSent(context: Pick<Context, 'db' | 'now'>, commentId: number): Promise<void> {
  const { db, now } = context
  const [deleted] = await db.write<{ record_id: number; attachments: FileEntry[] }>(sql`
    with deleted as (delete from record_comments where id = ${commentId} and type = 'email_out' returning *),
    emitted as (${emitting([emailEvents('comment.deleted', sql`deleted`)], now)})
    select record_id, attachments from deleted`)
  if (deleted) await releaseFiles(context, pathsOf(deleted.attachments), { record_id: deleted.record_id, comment_id: commentId })
}

/** Notifies the followers of the record and the user who has sent the email that is answered. */
interface ReplyNotice {
  table_name: string
  sender_user_id: number | null
}

/**
 * Inserts an email_in comment in the sender's name. Returns its id, or undefined when the record has just been deleted.
 * @param notifyFollowers undefined notifies nobody
 */
export async function insertReply(
  db: Database,
  email: Email,
  { name, notifyFollowers }: { name: string; notifyFollowers: ReplyNotice | undefined },
  now: Date,
): Promise<number | undefined> {
  const { record, comment } = emailComment('email_in', email, senderAsAuthor(name))
  const notified = notifyFollowers ? sql`, notified as (${notifyingOfReply(record, notifyFollowers, email.content, name, now)})` : empty
  const events = [commentEvents('comment.created', sql`added`, sql`place`), ...(notifyFollowers ? [notificationEvents(sql`notified`)] : [])]
  const [row] = await withRowHere(db, record, (place) =>
    db.write<{ id: number }>(
      labelled(
        'insert-reply',
        sql`
    with place as (${locked(place)}),
    added as (${inserting(record, comment, now)})${notified},
    emitted as (${emitting(events, now)})
    select id from added`,
      ),
    ),
  )
  return row?.id
}

/**
 * Changes an email_in comment to how its message is read now.
 * @param notifyFollowers as for `insertReply`, for a reply that has notified nobody so far
 * @returns whether anything was changed; undefined if the comment or the record was deleted
 */
export async function updateReply(
  db: Database,
  commentId: number,
  email: Email,
  { name, notifyFollowers }: { name: string; notifyFollowers: ReplyNotice | undefined },
  now: Date,
): Promise<boolean | undefined> {
  const { record } = emailComment('email_in', email, senderAsAuthor(name))
  return withRowHere(db, record, (place) => updateLockedReply(db, place, { commentId, email, name, notifyFollowers }, now))
}

interface ChangedReply {
  commentId: number
  email: Email
  name: string
  notifyFollowers: ReplyNotice | undefined
}

async function updateLockedReply(
  db: Database,
  record: Followable,
  { commentId, email, name, notifyFollowers }: ChangedReply,
  now: Date,
): Promise<boolean | undefined> {
  // The record is locked before the comment, as its deletion does.
  await db.read(locked(record))
  const [comment] = await db.read<{ is_same: boolean }>(sql`
    select (user_name, content, attachments, metadata) is not distinct from (${name}::text, ${email.content}::text,
      ${JSON.stringify(email.attachments)}::jsonb, metadata || ${JSON.stringify(email.metadata)}::jsonb) as is_same
    from record_comments where id = ${commentId} and type = 'email_in' and ${record.belongs} for update`)
  if (!comment) return undefined
  const notified = notifyFollowers ? sql`, notified as (${notifyingOfReply(record, notifyFollowers, email.content, name, now)})` : empty
  const events = [
    ...(comment.is_same ? [] : [commentEvents('comment.updated', sql`changed`, sql`place`)]),
    ...(notifyFollowers ? [notificationEvents(sql`notified`)] : []),
  ]
  if (!events.length) return false
  await db.write(sql`
    with place as (${record.row}),
    changed as (
      update record_comments set user_name = ${name}, content = ${email.content}, attachments = ${JSON.stringify(email.attachments)}::jsonb,
        metadata = metadata || ${JSON.stringify(email.metadata)}::jsonb, updated_at = ${formatInstant(now)}::timestamp
      where id = ${commentId} returning id
    )${notified},
    emitted as (${emitting(events, now)})
    select id from changed`)
  return !comment.is_same
}

function notifyingOfReply(record: Followable, { table_name, sender_user_id }: ReplyNotice, content: string, name: string, now: Date): Sql {
  const followers = sql`${record.followers} union select ${sender_user_id}::int where ${sender_user_id}::int is not null`
  return notifying(
    followersToNotify({ followers }, sql`place`, systemActor),
    replied(recordNotices(table_name), content, name),
    systemActor,
    now,
  )
}

function emailComment(type: 'email_out' | 'email_in', { account_id, space_id, table_id, record_id, ...email }: Email, author: Author) {
  const { content, attachments, metadata } = email
  return {
    record: followableRecord({ id: table_id, account_id, space_id }, record_id),
    comment: { author, content, attachments, email: { type, metadata } },
  }
}

/** The comment as its writers see it. Returns undefined if it was deleted. */
export async function readEmail(db: Database, commentId: number): Promise<RecordComment | undefined> {
  const [row] = await db.read<RecordComment>(sql`select ${recordComments.columns} from record_comments c where id = ${commentId}`)
  return row
}

/**
 * Changes an email_out comment.
 * @param change `metadata` has the keys to replace. With `from`, the email must be in one of these states.
 * @returns false when it was in none of them: of two concurrent requests that leave a state, one changes the email
 */
export async function updateEmail(
  db: Database,
  commentId: number,
  { from, metadata, content, event }: { from?: readonly string[]; metadata: object; content?: string; event?: EmailEventType },
  now: Date,
): Promise<boolean> {
  const changed = await db.write(sql`
    with changed as (
      update record_comments
      set metadata = metadata || ${JSON.stringify(metadata)}::jsonb, content = coalesce(${content ?? null}::text, content)
      where id = ${commentId} and type = 'email_out' ${from ? sql`and metadata->>'status' = any(${from})` : empty}
      returning *
    )${event ? sql`, emitted as (${emitting([emailEvents(event, sql`changed`)], now)})` : empty}
    select id from changed`)
  return changed.length > 0
}

/**
 * The parts of a statement in which emails come into another state.
 * @param rows the name of a part with `comment_id` and `metadata`, the keys to replace as text
 */
export const movingEmails = (rows: Sql, now: Date): Sql => sql`
  moved as (
    update record_comments c set metadata = c.metadata || m.metadata::jsonb from ${rows} m
    where c.id = m.comment_id and c.type = 'email_out' returning c.*
  ), emitted as (${emitting([emailEvents('email.status', sql`moved`)], now)})`

/** A change of an email_out comment whose row the caller has locked, or that nobody else changes. */
export interface EmailChange {
  commentId: number
  /** The keys to replace. */
  metadata: object
  content?: string
  /** Whether the email has come into another state. */
  isTransition?: boolean
}

/** Changes several email_out comments in one statement. */
export async function updateEmails(db: Database, changes: readonly EmailChange[], now: Date): Promise<void> {
  await db.write(
    labelled(
      'update-emails',
      sql`
      with changed as (
        update record_comments c
        set metadata = c.metadata || x.metadata::jsonb, content = coalesce(x.content, c.content)
        from unnest(${changes.map(({ commentId }) => commentId)}::int[], ${changes.map(({ metadata }) => JSON.stringify(metadata))}::text[],
          ${changes.map(({ content }) => content ?? null)}::text[], ${changes.map(({ isTransition = false }) => isTransition)}::boolean[])
          x (comment_id, metadata, content, is_transition)
        where c.id = x.comment_id and c.type = 'email_out'
        returning c.*, x.is_transition
      ), moved as (
        select * from changed where is_transition
      ), emitted as (${emitting([emailEvents('email.status', sql`moved`)], now)})
      select`,
    ),
  )
}
