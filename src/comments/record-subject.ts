/** Tables and records as something to follow, and records as something to comment on. */
import { tableAttachments } from '../files/attachments.ts'
import type { RecordRef, RecordRow, TableRef } from '../platform/access/resources.ts'
import { recordResource, roleOf, tableOf } from '../platform/access/resources.ts'
import { recordsOf, type Sql, sql } from '../platform/database/database.ts'
import { writesOfTable } from '../platform/database/statements/statement.ts'
import { jsonb, selectColumns } from '../platform/http/answers/columns.ts'
import { listWriter } from '../platform/http/answers/row-json.ts'
import { isMember } from '../spaces/membership.ts'
import { type CommentAttachment, type RecordComment, recordCommentColumns } from './schema.ts'
import type { CommentTable, Followable, Subject, SubjectResource, SubscriptionTable } from './subject.ts'

/** The record_id of a subscription to a whole table. */
export const WHOLE_TABLE = 0

const subscriptions: SubscriptionTable = { name: 'subscriptions', place: ['account_id', 'table_id', 'record_id'] }

export const recordComments: CommentTable = {
  name: 'record_comments',
  place: ['account_id', 'space_id', 'table_id', 'record_id'],
  columns: selectColumns(recordCommentColumns, 'c'),
  type: sql`c.type`,
}

type TablePlace = Pick<TableRef, 'id' | 'account_id' | 'space_id'>

/** The table as a whole. Its followers are notified of the comments on all of its records. */
export const followableTable = ({ id, account_id, space_id }: TablePlace): Followable => ({
  noun: 'Table',
  subscriptions,
  row: sql`
    select ${account_id}::int as account_id, ${space_id}::int as space_id, ${id}::int as table_id, ${WHOLE_TABLE}::int as record_id,
    null::int as task_id`,
  belongs: sql`table_id = ${id} and record_id = ${WHOLE_TABLE}`,
  followers: sql`select user_id from subscriptions where table_id = ${id} and record_id = ${WHOLE_TABLE}`,
})

/** A record. Those who follow its table follow it, too. */
export function followableRecord({ id, account_id, space_id }: TablePlace, recordId: number): Followable & { comments: CommentTable } {
  const place = (record: Sql) =>
    sql`select ${account_id}::int as account_id, ${space_id}::int as space_id, ${id}::int as table_id,
      ${record} as record_id, null::int as task_id`
  return {
    noun: 'Record',
    subscriptions,
    comments: recordComments,
    row: sql`${place(sql`id`)} from ${recordsOf(id)} where id = ${recordId}`,
    record: { tableId: id, row: place(sql`${recordId}::int`) },
    belongs: sql`table_id = ${id} and record_id = ${recordId}`,
    followers: sql`select distinct user_id from subscriptions where table_id = ${id} and record_id in (${WHOLE_TABLE}, ${recordId})`,
  }
}

/** How notifications name a record: by its table, because any field may hold its title. */
export const recordNotices = (tableName: string): Pick<Subject, 'title' | 'notices'> => ({
  title: `a record of “${tableName}”`,
  notices: { comment: 'COMMENT', mention: 'comment.mention' },
})

export const onRecord = (table: TableRef, record: Pick<RecordRef, 'id'>): Subject<RecordComment, CommentAttachment> => ({
  ...followableRecord(table, record.id),
  ...recordNotices(table.name),
  recordId: record.id,
  writes: writesOfTable(table.id),
  canBeMentioned: (user) => isMember(user, sql`${table.space_id}::int`),
  findAttachments: ({ db }, given) => tableAttachments(db, table, given),
  // A read-only key has no write access, whatever the role of its user (contract.md §6, metadata).
  writeCommentsFor: ({ readOnly }) => (readOnly || table.role === 'viewer' ? writeForReaders : writeRecordComments),
})

/** A comment on a record is deleted by its author or by an admin of the space. */
export const commentedRecord: SubjectResource<RecordRow, RecordComment, CommentAttachment> = {
  resource: recordResource,
  right: 'write',
  comments: recordComments,
  ids: ['table_id', 'record_id'],
  isModerator: ({ member_role }, actor) => roleOf(actor, member_role) === 'admin',
  subjectOf: (row, actor) => onRecord(tableOf(row, actor), { id: row.record_id }),
}

// ── as JSON ─────────────────────────────────────────────────────────────────

const writeRecordComments = listWriter<RecordComment>(recordCommentColumns)

const writeForReaders = listWriter<RecordComment>({
  ...recordCommentColumns,
  metadata: jsonb(recordCommentColumns.metadata.schema.transform(withoutBlindCopies)),
})

type Failure = { message: string }
type Recipient = { kind?: string; error?: Failure | null }

/** The metadata of an email as callers without write access see it: without the blind copies (contract.md §6, metadata). */
function withoutBlindCopies(metadata: RecordComment['metadata']): RecordComment['metadata'] {
  if (!metadata || !('bcc' in metadata)) return metadata
  const { bcc: _, recipients = [], error, ...rest } = metadata as { bcc: unknown; recipients?: Recipient[]; error?: Failure | null }
  const shown = recipients.filter(({ kind }) => kind !== 'bcc')
  // The email has the error of one of its recipients, and servers name the address in it.
  const isOf = (recipient: Recipient) => recipient.error?.message === error?.message
  const isHidden = error && recipients.some(isOf) && !shown.some(isOf)
  const shownError = isHidden ? (shown.find((recipient) => recipient.error)?.error ?? null) : error
  return { ...rest, ...(error !== undefined && { error: shownError }), recipients: shown }
}
