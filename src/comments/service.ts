/** What people write on a record. */

import { emitting } from '../events/log.ts'
import { actingUserId, type Notice, notificationEvents, notifying } from '../notifications/notify.ts'
import type { Actor } from '../platform/access/authorize.ts'
import type { RecordRef, TableRef } from '../platform/access/resources.ts'
import type { Context } from '../platform/context.ts'
import { recordsOf, type Sql, sql } from '../platform/database/database.ts'
import { badInputs, notFound } from '../platform/http/errors.ts'
import { dropFiles, type FileEntry, findFiles, holdFiles } from '../platform/stored-files.ts'
import { formatInstant } from '../platform/time.ts'
import { isMember } from '../spaces/membership.ts'
import type { Dependent } from '../tables/cascade.ts'
import { authorOf } from './authorship.ts'
import { withoutBlindCopies } from './emails.ts'
import { commentEvents } from './events.ts'
import { mentionedIds } from './mentions.ts'
import type { CommentRow } from './procedure.ts'
import { commentColumns, listComments } from './queries.ts'
import type { CommentContent, CommentQuery, NewComment, RecordComment } from './schema.ts'
import { commented, mentioned } from './sentences.ts'
import { followers, following } from './subscriptions.ts'

/** The comments and mails of the record, newest first. Who cannot write sees no blind copies (contract.md §6). */
export async function list(
  { db }: Context,
  table: TableRef,
  record: RecordRef,
  query: CommentQuery,
): Promise<{ rows: RecordComment[]; total: number }> {
  const page = await listComments(db, { table_id: table.id, record_id: record.id }, query)
  if (table.role === 'viewer') for (const row of page.rows) row.metadata = withoutBlindCopies(row.metadata) as RecordComment['metadata']
  return page
}

/**
 * Writes a comment: one statement with what follows from it. Who is mentioned follows the record from now on and is told of the
 * mention; the others who follow the record or its table are told of the comment.
 * @throws AppError 400 for an attachment that is not stored for the table; 404 when the record has just been deleted
 */
export async function create(context: Context, table: TableRef, record: RecordRef, input: NewComment): Promise<RecordComment> {
  const { db, actor, now, transaction } = context
  const { content } = input
  const attachments = await storedEntries(context, table, input.attachments ?? [])
  const author = authorOf(actor)
  const others = sql`select f.* from (${followers(sql`live`, actor)}) f where f.user_id not in (select user_id from mentioned)`
  const write = () =>
    db.query<RecordComment>(sql`
      with live as (${liveRecord(table, record.id)}),
      mentioned as (${mentionable(mentionedIds(content), table)}),
      added as (
        insert into record_comments
          (account_id, space_id, table_id, record_id, user_id, user_name, api_key_id, content, attachments, created_at)
        select account_id, space_id, table_id, record_id, ${author.user_id}, ${author.user_name}, ${author.api_key_id}::int, ${content},
          ${JSON.stringify(attachments)}::jsonb, ${formatInstant(now)}::timestamp
        from live returning *
      ),
      ${tellMentioned(mentioned(table.name, content, actor), actor, now)},
      told as (${notifying(others, commented(table.name, content, actor), actor, now)}),
      emitted as (${emitting(
        [commentEvents('comment.created', sql`added`), notificationEvents(sql`told_mentioned`), notificationEvents(sql`told`)],
        now,
      )})
      select ${commentColumns} from added`)
  const [row] = attachments.length ? await transaction(() => held(context, attachments, write)) : await write()
  if (!row) throw notFound('Record')
  return row
}

async function held<T>({ db }: Context, attachments: readonly FileEntry[], write: () => Promise<T>): Promise<T> {
  await holdFiles(
    db,
    attachments.map(({ path }) => path),
  )
  return write()
}

/** What was stored counts, not what the caller says of it. */
async function storedEntries({ db }: Context, table: TableRef, given: NonNullable<NewComment['attachments']>): Promise<FileEntry[]> {
  const paths = [...new Set(given.map(({ path }) => path))]
  const files = await findFiles(db, { account_id: table.account_id, table_id: table.id }, paths)
  const issues = given.flatMap(({ path }, index) =>
    files.has(path) ? [] : [{ path: ['attachments', index, 'path'], message: 'is no stored file of this table' }],
  )
  if (issues.length) throw badInputs(issues)
  return paths.flatMap((path) => files.get(path) ?? [])
}

/** The record as the place of a comment. The row lock waits for a deletion of the record, after which nothing is inserted. */
const liveRecord = (table: { id: number; account_id: number; space_id: number }, recordId: number): Sql => sql`
  select ${table.account_id}::int as account_id, ${table.space_id}::int as space_id, ${table.id}::int as table_id, id as record_id
  from ${recordsOf(table.id)} where id = ${recordId} for key share`

/** Only current members of the space count as mentioned. */
const mentionable = (ids: number[], table: { account_id: number; space_id: number }): Sql => sql`
  select u.id as user_id from users u
  where u.id = any(${ids}::int[]) and u.account_id = ${table.account_id} and u.status <> 'deleted'
    and ${isMember(sql`u`, sql`${table.space_id}::int`)}`

/** CTEs beside `live` and `mentioned`: they follow the record, and are told, except the one who acts. */
const tellMentioned = (notice: Notice, actor: Actor, now: Date): Sql => sql`
  subscribed as (${following(sql`select m.user_id, l.account_id, l.table_id, l.record_id from live l, mentioned m`, now)}),
  told_mentioned as (${notifying(
    sql`select m.user_id, l.account_id, l.space_id, l.table_id, l.record_id, null::int as task_id
      from live l, mentioned m where m.user_id is distinct from ${actingUserId(actor)}::int`,
    notice,
    actor,
    now,
  )})`

/** Rewrites a comment. Only who was not mentioned before is told. @throws AppError 404 when it has just been deleted */
export async function update(context: Context, table: TableRef, comment: CommentRow, { content }: CommentContent): Promise<RecordComment> {
  const { db, actor, now, transaction } = context
  return transaction(async () => {
    // Before the comment, as the deletion of the record does: else the two could wait for each other.
    await db.query(liveRecord(table, comment.record_id))
    const [current] = await db.query<{ content: string }>(
      sql`select content from record_comments where id = ${comment.comment_id} for update`,
    )
    if (!current) throw notFound('Comment')
    const before = new Set(mentionedIds(current.content))
    const added = mentionedIds(content).filter((id) => !before.has(id))
    const [row] = await db.query<RecordComment>(sql`
      with live as (${liveRecord(table, comment.record_id)}),
      mentioned as (${mentionable(added, table)}),
      changed as (
        update record_comments set content = ${content}, updated_at = ${formatInstant(now)}::timestamp
        where id = ${comment.comment_id} returning *
      ),
      ${tellMentioned(mentioned(table.name, content, actor), actor, now)},
      emitted as (${emitting([commentEvents('comment.updated', sql`changed`), notificationEvents(sql`told_mentioned`)], now)})
      select ${commentColumns} from changed`)
    return row as RecordComment
  })
}

/** Deletes a comment and drops its files. @throws AppError 404 when another call was first */
export async function remove({ db, now, transaction }: Context, { comment_id }: CommentRow): Promise<void> {
  await transaction(async () => {
    const [gone] = await db.query<{ attachments: FileEntry[] }>(
      sql`with gone as (delete from record_comments where id = ${comment_id} returning *),
        emitted as (${emitting([commentEvents('comment.deleted', sql`gone`)], now)})
        select attachments from gone`,
    )
    if (!gone) throw notFound('Comment')
    await dropFiles(
      db,
      gone.attachments.map(({ path }) => path),
      now,
    )
  })
}

/** With a record go its comments and those who follow it; with a table those who follow the table, too. */
export const commentDependent: Dependent = {
  async onRecordsDeleted({ db }, tableId, recordIds) {
    const ofRecords = sql`table_id = ${tableId} and (${recordIds}::int[] is null or record_id = any(${recordIds}::int[]))`
    await db.execute(sql`with gone as (delete from subscriptions where ${ofRecords}) delete from record_comments where ${ofRecords}`)
  },
}
