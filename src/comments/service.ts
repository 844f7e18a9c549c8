/** Comments on a subject (subject.ts): the rules are the same for records and tasks. */

import { audit } from '../audit/log.ts'
import { emitting } from '../events/log.ts'
import { actingUserId, notificationEvents, notifying } from '../notifications/notify.ts'
import type { Actor } from '../platform/actor.ts'
import type { Context } from '../platform/context.ts'
import { type Database, empty, raw, type Sql, sql } from '../platform/database/database.ts'
import { labelled, shortWrite } from '../platform/database/statements/statement.ts'
import { badInput, notFound } from '../platform/errors.ts'
import { decodeCursor, encodeCursor, refuseOffset } from '../platform/http/answers/cursor.ts'
import { endOfPage } from '../platform/http/answers/row-json.ts'
import { WrittenList } from '../platform/http/answers/written-json.ts'
import type { RecordPath } from '../platform/http/procedures/schemas.ts'
import { MAX_ID } from '../platform/row-ids.ts'
import { holdFiles } from '../platform/stored-files/held.ts'
import { type FileEntry, pathsOf, withPresentHosts } from '../platform/stored-files/rows.ts'
import { formatInstant } from '../platform/time/time.ts'
import type { Cascade } from '../tables/cascade.ts'
import { releaseFiles } from '../tables/file-references.ts'
import { type Author, authorOf } from './authorship.ts'
import { withRowHere } from './elsewhere.ts'
import { commentEvents } from './events.ts'
import { followersToNotify, subscribing } from './followers.ts'
import { mentionedIds, newlyMentionedIds } from './mentions.ts'
import { commented, mentioned } from './notices.ts'
import { type CommentQuery, type RecordComment, recordCommentColumns } from './schema.ts'
import { type CommentTable, columnList, locked, type PlaceColumn, type Subject } from './subject.ts'

/** The comments on the subject, newest first, and their number. */
export async function list<Comment>(
  { db, actor }: Context,
  { comments, belongs, writeCommentsFor }: Subject<Comment>,
  { limit, offset }: { limit: number; offset: number },
): Promise<WrittenList<Comment>> {
  return writeCommentsFor(actor)(await readPage(db, comments, { of: belongs, below: MAX_ID, limit, offset }))
}

/**
 * The comments on a record, newest first, and their number. Without an offset the page has a cursor, as long as others follow: the order is
 * that of the ids, so each comment comes once, whatever is written or deleted meanwhile (contract.md §11, Timeline).
 * @throws AppError 400 for an offset beside a cursor, and for a cursor of another record or of other types
 */
export async function listOnRecord(
  { db, actor, settings }: Context,
  { comments, belongs, writeCommentsFor }: Subject<RecordComment>,
  { table_id, record_id, types, limit, offset, cursor }: CommentQuery & RecordPath,
): Promise<WrittenList<RecordComment>> {
  refuseOffset({ cursor, offset })
  const chosen = types && [...new Set(types)].sort()
  const walk = JSON.stringify(['comments', table_id, record_id, chosen])
  const end = decodeCursor(cursor ?? '', walk, settings.secretKeys)
  const of = chosen ? sql`${belongs} and type = any(${chosen}::text[])` : belongs
  const rows = await readPage(db, comments, { of, below: end?.id ?? MAX_ID, limit, offset: offset ?? 0 })
  const last = offset == null ? endOfPage(rows, recordCommentColumns) : undefined
  const { text, total } = writeCommentsFor(actor)(rows)
  return new WrittenList(text, { total, next_cursor: last && encodeCursor(last, walk, settings.secretKeys) })
}

interface Part {
  /** The condition on the comments. */
  of: Sql
  /** Only comments with smaller ids. */
  below: number
  limit: number
  offset: number
}

/** Reads a page of comments, newest first, each with the number of all comments and of those from the first of the page on. */
const readPage = ({ page }: Database, { name, columns }: CommentTable, { of, below, limit, offset }: Part) =>
  page(
    labelled(
      'comments:list',
      sql`select c.*, n.total, n.below from (
        select count(*) as total, count(*) filter (where id < ${below}::int) as below from ${raw(name)} where ${of}
      ) n
      left join lateral (
        select ${columns} from ${raw(name)} c where ${of} and id < ${below}::int order by id desc limit ${limit} offset ${offset}
      ) c on true
      order by c.id desc`,
    ),
  )

/**
 * Creates a comment. Mentioned users are subscribed and notified of the mention; the other followers are notified of the comment.
 * @throws AppError 400 for a file that may not be attached, and without both content and files; 404 when the subject has just been deleted
 */
export async function create<Comment, Attachment>(
  context: Context,
  subject: Subject<Comment, Attachment>,
  given: { content?: string | null | undefined; attachments?: readonly Attachment[] | null | undefined },
): Promise<Comment> {
  const { attachments } = given
  if (given.content == null && !attachments?.length) throw badInput('content', 'is required')
  const content = contentOf(given.content ?? '', attachments ?? [])
  const insertWith = (files: readonly FileEntry[]) => withRowHere(context.db, subject, (place) => insert(context, place, content, files))
  if (!attachments?.length) return insertWith([])
  return context.transaction(async () => {
    const files = await subject.findAttachments(context, attachments)
    await holdFiles(context.db, pathsOf(files), subject.recordId)
    return insertWith(files)
  })
}

/** The content as it is stored. @throws AppError 400 if it is blank and the comment has no files */
function contentOf(content: string, attachments: readonly unknown[]): string {
  if (content.trim() !== '') return content
  if (!attachments.length) throw badInput('content', 'must not be empty')
  return ''
}

/** Inserts the comment and its effects in one statement. */
async function insert<Comment>(
  { db, actor, now }: Context,
  subject: Subject<Comment>,
  content: string,
  attachments: readonly FileEntry[],
): Promise<Comment> {
  const mentionIds = mentionedIds(content)
  const mentions = mentionIds.length ? mentioning(subject, mentionIds, content, actor, now) : undefined
  const followers = followersToNotify(subject, sql`place`, actor)
  const others = sql`select o.* from (${followers}) o where o.user_id not in (select user_id from mentioned)`
  const events = [
    commentEvents('comment.created', sql`added`, sql`place`),
    ...(mentions ? [notificationEvents(sql`mention_notified`)] : []),
    notificationEvents(sql`notified`),
  ]
  const [row] = await db.write<Comment>(
    shortWrite(
      'comments:create',
      subject.writes,
      sql`with place as (${locked(subject)}),
      added as (${inserting(subject, { author: authorOf(actor), content, attachments }, now)}),
      ${mentions ? sql`${mentions},` : empty}
      notified as (${notifying(mentions ? others : followers, commented(subject, content, actor, attachments), actor, now)}),
      emitted as (${emitting(events, now)})
      select ${subject.comments.columns} from added c`,
    ),
  )
  if (!row) throw notFound(subject.noun)
  return row
}

interface InsertedComment {
  author: Author
  content: string
  attachments: readonly FileEntry[]
  /** Of an email only. */
  email?: { type: 'email_out' | 'email_in'; metadata: object }
}

/** The statement that inserts a comment, beside the CTE `place` with the row of the subject. It returns the row. */
export const inserting = (
  { comments }: Pick<Subject, 'comments'>,
  { author, content, attachments, email }: InsertedComment,
  now: Date,
): Sql => sql`
  insert into ${raw(comments.name)}
    (${raw(comments.place.join(', '))}, user_id, user_name, api_key_id, content, attachments, created_at
    ${email ? sql`, type, metadata` : empty})
  select ${columnList(comments.place, 'l')}, ${author.user_id}, ${author.user_name}, ${author.api_key_id}::int, ${content},
    ${JSON.stringify(attachments)}::jsonb, ${formatInstant(now)}::timestamp
    ${email ? sql`, ${email.type}, ${JSON.stringify(email.metadata)}::jsonb` : empty}
  from place l returning *`

/**
 * CTEs beside `place`: the valid mentions among the ids, their subscriptions, and the notifications of all mentioned users but the
 * acting one.
 */
const mentioning = (subject: Subject, ids: readonly number[], content: string, actor: Actor, now: Date): Sql => sql`
  mentioned as (
    select u.id as user_id from users u
    where u.id = any(${ids}::int[]) and u.account_id = ${actor.accountId} and u.status <> 'deleted' and ${subject.canBeMentioned(sql`u`)}
  ),
  subscribed as (${subscribing(subject.subscriptions, sql`select * from place, mentioned`, now)}),
  mention_notified as (${notifying(
    sql`select * from place, mentioned where user_id is distinct from ${actingUserId(actor)}`,
    mentioned(subject, content, actor),
    actor,
    now,
  )})`

/**
 * Changes the content of a comment. Only users whom the old content did not mention are notified and subscribed.
 * @throws AppError 400 for an empty content of a comment without files; 404 when the comment has just been deleted
 */
export async function update<Comment>(
  context: Context,
  subject: Subject<Comment>,
  comment: { comment_id: number },
  given: { content: string },
): Promise<Comment> {
  return context.transaction(() => withRowHere(context.db, subject, (place) => updateLocked(context, place, comment, given)))
}

async function updateLocked<Comment>(
  { db, actor, now }: Context,
  subject: Subject<Comment>,
  { comment_id }: { comment_id: number },
  given: { content: string },
): Promise<Comment> {
  const table = raw(subject.comments.name)
  // The subject is locked before the comment, as its deletion does: in another order the two could deadlock.
  await db.read(labelled('comments:lock-subject', locked(subject)))
  const [current] = await db.read<{ content: string; attachments: FileEntry[] }>(
    labelled('comments:lock', sql`select content, attachments from ${table} where id = ${comment_id} and ${subject.belongs} for update`),
  )
  if (!current) throw notFound('Comment')
  const content = contentOf(given.content, current.attachments)
  const [row] = await db.write<Comment>(
    labelled(
      'comments:update',
      sql`
      with place as (${subject.row}),
      changed as (
        update ${table} set content = ${content}, updated_at = ${formatInstant(now)}::timestamp where id = ${comment_id} returning *
      ),
      ${mentioning(subject, newlyMentionedIds(current.content, content), content, actor, now)},
      emitted as (${emitting([commentEvents('comment.updated', sql`changed`, sql`place`), notificationEvents(sql`mention_notified`)], now)})
      select ${subject.comments.columns} from changed c`,
    ),
  )
  return row as Comment
}

/**
 * Deletes a comment and drops its files.
 * @throws AppError 404 when another request has deleted it
 */
export async function remove(context: Context, subject: Subject, comment: { comment_id: number }): Promise<void> {
  await context.transaction(() => withRowHere(context.db, subject, (place) => removeFrom(context, place, comment)))
}

async function removeFrom(context: Context, { comments, row, belongs }: Subject, { comment_id }: { comment_id: number }): Promise<void> {
  const { db, now } = context
  const [deleted] = await db.write<Deleted>(sql`
      with place as (${row}),
      deleted as (delete from ${raw(comments.name)} where id = ${comment_id} and ${belongs} returning id, attachments),
      emitted as (${emitting([commentEvents('comment.deleted', sql`deleted`, sql`place`)], now)})
      select d.attachments, l.space_id, l.table_id, l.record_id, l.task_id from deleted d left join place l on true`)
  if (!deleted) throw notFound('Comment')
  const { attachments, space_id: spaceId, table_id: tableId, record_id, task_id } = deleted
  await releaseFiles(context, pathsOf(attachments), { record_id, comment_id })
  const detail = task_id === null ? { record_id } : { task_id }
  await audit(context, 'comment.deleted', { id: comment_id, spaceId, tableId, detail })
}

type Deleted = { attachments: FileEntry[] } & Record<Exclude<PlaceColumn, 'account_id'>, number | null>

/** Comments and subscriptions go with their records. With a table go the subscriptions to the table itself. */
export const commentCascade: Cascade = { rows: [{ table: 'subscriptions' }, { table: 'record_comments' }] }

/**
 * Names the present storage of moved files of comments and mails, as `renewHosts` of records/cells/file-cells.ts does for records.
 * @param ids the first and the last comment
 * @returns the number of comments that were written
 */
export async function renewHosts(db: Database, comments: CommentTable['name'], ids: { first: number; last: number }): Promise<number> {
  const { list, isOutdated } = withPresentHosts(sql`c.attachments`)
  const { changed } = await db.write(sql`
    update ${raw(comments)} c set attachments = ${list} where c.id between ${ids.first} and ${ids.last} and ${isOutdated}`)
  return changed
}
