/**
 * The things that users follow and comment on. Tables and records are described in record-subject.ts, tasks by their own feature; the
 * rules of mentions, editing, deletion and following are the same for all of them, and lie in this folder.
 */
import type { NotificationType } from '../notifications/notify.ts'
import type { Resource, Right } from '../platform/access/authorize.ts'
import type { Actor } from '../platform/actor.ts'
import type { Context } from '../platform/context.ts'
import { join, raw, type Sql, sql } from '../platform/database/database.ts'
import type { WriteList } from '../platform/http/answers/row-json.ts'
import type { FileEntry } from '../platform/stored-files/rows.ts'

/** The columns of `Followable.row`. Those that do not apply to a subject are null. */
export type PlaceColumn = 'account_id' | 'space_id' | 'table_id' | 'record_id' | 'task_id'

/** A table whose rows belong to followables. Only this feature writes it. */
interface OwnedTable<Name extends string> {
  name: Name
  /** The columns that say which one a row belongs to. */
  place: readonly PlaceColumn[]
}
export type SubscriptionTable = OwnedTable<'subscriptions' | 'task_subscribers'>

export interface CommentTable extends OwnedTable<'record_comments' | 'task_comments'> {
  /** The columns of a comment `c` on the wire. */
  columns: Sql
  /** The type of a row `c`. A comment of another type than `comment` is an email, which nobody edits. */
  type: Sql
}

/** A table, a record or a task. */
export interface Followable {
  /** The noun of the 404 when it has just been deleted. */
  noun: 'Table' | 'Record' | 'Task'
  subscriptions: SubscriptionTable
  /** Selects the `PlaceColumn`s if the row still exists; `for key share` may be appended. */
  row: Sql
  /** The record, for a subject that is one: it may be on another server (`withRowHere`). */
  record?: { tableId: number; row: Sql }
  /** The condition on rows of `subscriptions`, and of a subject's `comments`, that belong to it. */
  belongs: Sql
  /** Selects the user_id of each follower once. */
  followers: Sql
}

/** The row of the subject, locked: a concurrent deletion of the subject waits, or is waited for, and then nothing is inserted. */
export const locked = ({ row }: Pick<Followable, 'row'>): Sql => sql`${row} for key share`

/** A record or a task. */
export interface Subject<Comment = unknown, Attachment = unknown> extends Followable {
  comments: CommentTable
  /** The record; null for a task. */
  recordId: number | null
  /** The group of its writes (`shortWrite`). */
  writes: string
  /** How notifications name it: `the task “Call back”`. */
  title: string
  notices: { comment: NotificationType; mention: NotificationType }
  /** The condition on a row of users under which a mention of the user is valid. */
  canBeMentioned(user: Sql): Sql
  /** @throws AppError 400 for a file that was not uploaded for comments on the subject */
  findAttachments(context: Context, given: readonly Attachment[]): Promise<FileEntry[]>
  /** Writes rows of the table's `columns` as the reader may see them. */
  writeCommentsFor(reader: Actor): WriteList<Comment>
}

/** How a request names a comment on a subject, and who may delete the comments of others. */
export interface SubjectResource<Row extends object, Comment, Attachment> {
  resource: Resource<Row>
  /** The right on the subject without which nobody may edit or delete comments, not even their author. */
  right: Right
  comments: CommentTable
  /** The columns that the resource's row and its comments share. */
  ids: readonly PlaceColumn[]
  isModerator(row: Row, actor: Actor): boolean
  subjectOf(row: Row, actor: Actor): Subject<Comment, Attachment>
}

/** The columns as SQL. @param alias of the relation that has them */
export const columnList = (columns: readonly PlaceColumn[], alias: 'f' | 'l'): Sql =>
  join(
    columns.map((column) => sql`${raw(`${alias}.${column}`)}`),
    ', ',
  )
