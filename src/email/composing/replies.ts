/** The thread of a mail that answers another one of its record, which the request names (contract.md §11, Mail). */
import { type Database, sql } from '../../platform/database/database.ts'
import type { OutboundMail } from '../queries.ts'
import { threadsOf } from '../queries.ts'
import type { OutgoingRequest } from './content.ts'
import { continuedReferences, type MailThread, NO_THREAD } from './threading.ts'

type Place = Pick<OutboundMail, 'table_id' | 'record_id'>

/** Whether the comment is a mail of the record. */
export async function isMailOf(db: Database, { table_id, record_id }: Place, commentId: number): Promise<boolean> {
  const found = await db.read(sql`
    select 1 from record_comments
    where id = ${commentId} and table_id = ${table_id} and record_id = ${record_id} and type in ('email_in', 'email_out')`)
  return found.length > 0
}

/** The mails after which a thread is not followed further back. */
const MOST_MAILS = 50

/**
 * The thread that an answer to the mail continues, and no other of the record: the mail, and what it refers to. A mail that was received
 * says so itself; of one that was sent it is what it answered in its turn, or the mails with its recipients.
 * @returns undefined if the mail was deleted
 */
export async function threadOfReply(db: Database, place: Place, commentId: number, left = MOST_MAILS): Promise<MailThread | undefined> {
  const [mail] = await db.read<AnsweredMail>(sql`
    select c.metadata->>'messageId' as message_id, c.metadata->'references' as earlier_ids, c.metadata->>'inReplyTo' as in_reply_to,
      c.metadata->>'threadIndex' as thread_index, p.metadata->>'messageId' as parent_id, o.request
    from record_comments c
    left join record_comments p on p.id = (c.metadata->>'parentCommentId')::int
    left join outbound_emails o on o.comment_id = c.id
    where c.id = ${commentId} and c.table_id = ${place.table_id} and c.record_id = ${place.record_id}
      and c.type in ('email_in', 'email_out')`)
  if (!mail) return undefined
  const before = mail.request ? await threadOfSent(db, place, commentId, mail.request, left - 1) : threadOfReceived(mail)
  const messageIds = mail.message_id === null ? [] : [mail.message_id]
  return { messageIds, references: continuedReferences(before), threadIndex: before.threadIndex }
}

interface AnsweredMail {
  message_id: string | null
  earlier_ids: string[] | null
  in_reply_to: string | null
  thread_index: string | null
  parent_id: string | null
  /** Null for a mail that was received. */
  request: OutgoingRequest | null
}

/** Without References a mail refers to what it answers (RFC 5322 §3.6.4). Its reply address says what that is, if its header does not. */
function threadOfReceived({ earlier_ids, in_reply_to, thread_index, parent_id }: AnsweredMail): MailThread {
  const answered = in_reply_to ?? parent_id
  return { messageIds: [], references: earlier_ids ?? (answered === null ? [] : [answered]), threadIndex: thread_index }
}

async function threadOfSent(db: Database, place: Place, commentId: number, request: OutgoingRequest, left: number): Promise<MailThread> {
  const answered = request.replyTo && left > 0 ? await threadOfReply(db, place, request.replyTo, left) : undefined
  return answered ?? (await threadsOf(db, [{ ...place, comment_id: commentId, request }])).get(commentId) ?? NO_THREAD
}
