/** The comment that a message becomes: inserted when it is first read, and corrected when it is read again. */
import { isDeepStrictEqual } from 'node:util'
import { insertReply, updateReply } from '../../comments/emails.ts'
import { stage } from '../../files/service.ts'
import type { Context } from '../../platform/context.ts'
import { sql } from '../../platform/database/database.ts'
import { countRemoteImages } from '../../platform/mail/html.ts'
import { holdFiles, lockFiles } from '../../platform/stored-files/held.ts'
import { type FileEntry, type FilePlace, pathsOf } from '../../platform/stored-files/rows.ts'
import { formatInstant } from '../../platform/time/time.ts'
import { releaseFiles } from '../../tables/file-references.ts'
import { tokenOf } from '../headers.ts'
import type { IncomingMetadata } from '../metadata.ts'
import type { Thread } from '../queries.ts'
import type { ParsedMail } from './mime.ts'
import { type AppliedDecision, dropped } from './verdicts.ts'

/**
 * The attachments as files, stored before the transaction. Files that no comment holds in the end are removed later (files/sweep.ts). A
 * replay uses those that its comment has.
 */
export async function attachmentsOf(context: Context, { id }: { id: number }, hash: Buffer, mail: ParsedMail): Promise<FileEntry[]> {
  if (!mail.attachments.length) return []
  const [place] = await context.db.read<Required<Omit<FilePlace, 'task_id'>> & { attachments: FileEntry[] | null }>(sql`
    select r.account_id, r.space_id, r.table_id, r.record_id, c.attachments
    from reply_tokens r
    left join inbound_verdicts v on v.inbound_email_id = ${id} and v.token_hash = r.token_hash
    left join inbound_deliveries d on d.token_hash = r.token_hash and d.message_key = ${mail.key}
    left join record_comments c on c.id = coalesce(v.comment_id, d.comment_id) and c.type = 'email_in'
    where r.token_hash = ${hash}`)
  if (!place) return []
  const { attachments, ...record } = place
  if (
    attachments &&
    isDeepStrictEqual(
      attachments.map(({ name, size }) => [name, size]),
      namesAndSizes(mail),
    )
  )
    return attachments
  const files: FileEntry[] = []
  for (const attachment of mail.attachments) files.push(await stage(context, record, attachment))
  return files
}

const namesAndSizes = (mail: ParsedMail) => mail.attachments.map(({ name, content }) => [name, content.byteLength])

/** Inserts the reply as a comment on the record of the email that it answers. */
export async function insertComment(
  context: Context,
  thread: Thread,
  mail: ParsedMail,
  wasAnnounced: boolean,
  attachments: FileEntry[],
): Promise<AppliedDecision> {
  const { db, now } = context
  await holdFiles(db, pathsOf(attachments), thread.record_id)
  const announces = !mail.isAutomatic && !wasAnnounced
  const reply = { ...thread, content: mail.visibleText, attachments, metadata: metadataOf(context, thread, mail, attachments) }
  const id = await insertReply(db, reply, { name: senderName(mail), notifyFollowers: announces ? thread : undefined }, now)
  if (id === undefined) return { ...dropped('The record was deleted'), isChanged: false }
  return { ...verdictOf(mail), commentId: id, key: mail.key, isAnnounced: wasAnnounced || announces, isChanged: true }
}

/** Changes the comment that the message became before. A deleted comment is not inserted again. */
export async function correctComment(
  context: Context,
  thread: Thread,
  mail: ParsedMail,
  { commentId, isAnnounced }: { commentId: number; isAnnounced: boolean },
  attachments: FileEntry[],
): Promise<AppliedDecision> {
  const { db, now } = context
  const old = await commentOf(context, commentId)
  // Releases without verdicts announced a comment unless they took it for an automatic one.
  const wasAnnounced = isAnnounced || old?.is_automatic === false
  const announces = !mail.isAutomatic && !wasAnnounced
  const paths = pathsOf(attachments)
  const oldPaths = pathsOf(old?.attachments ?? [])
  await lockFiles(db, [...new Set([...paths, ...oldPaths])])
  const reply = { ...thread, content: mail.visibleText, attachments, metadata: metadataOf(context, thread, mail, attachments) }
  const notifyFollowers = announces ? thread : undefined
  const isChanged = old && (await updateReply(db, commentId, reply, { name: senderName(mail), notifyFollowers }, now))
  if (isChanged === undefined) return { ...dropped('Its comment was deleted'), commentId, isAnnounced: wasAnnounced, isChanged: false }
  const added = paths.filter((path) => !oldPaths.includes(path))
  await holdFiles(db, added, thread.record_id)
  const removed = oldPaths.filter((path) => !paths.includes(path))
  await releaseFiles(context, removed, { record_id: thread.record_id, comment_id: commentId })
  return { ...verdictOf(mail), commentId, key: mail.key, isAnnounced: wasAnnounced || announces, isChanged }
}

async function commentOf({ db }: Context, id: number) {
  const [comment] = await db.read<{ attachments: FileEntry[]; is_automatic: boolean }>(sql`
    select attachments, metadata->>'autoReply' = 'true' as is_automatic from record_comments where id = ${id} and type = 'email_in'`)
  return comment
}

const verdictOf = ({ isAutomatic, isUnreadable }: ParsedMail): Pick<AppliedDecision, 'verdict' | 'reason'> => ({
  verdict: isAutomatic ? 'automatic' : 'comment',
  reason: isUnreadable ? 'The message could not be read' : null,
})

const senderName = ({ from }: ParsedMail) => from.name || from.email || 'Unknown sender'

function metadataOf({ settings }: Context, thread: Thread, mail: ParsedMail, attachments: FileEntry[]): IncomingMetadata {
  const recipients = thread.recipients.map(({ email }) => email.toLowerCase())
  // Reply addresses are left out of the metadata: readers of the comment must not learn how to write into the thread.
  const others = (addresses: string[]) => addresses.filter((address) => tokenOf(address, settings.catchDomain) === undefined)
  const answersTo = others(mail.replyTo)
  return {
    parentCommentId: thread.comment_id,
    from: mail.from,
    to: others(mail.to),
    cc: others(mail.cc),
    subject: mail.subject,
    messageId: mail.messageId,
    inReplyTo: mail.inReplyTo,
    ...(mail.references.length && { references: mail.references }),
    ...(mail.threadIndex && { threadIndex: mail.threadIndex }),
    ...(answersTo.length && { replyTo: answersTo }),
    ...(mail.isFromList && { isFromList: true }),
    date: mail.date && formatInstant(new Date(mail.date)),
    text: mail.text,
    visibleText: mail.visibleText,
    html: mail.html,
    autoReply: mail.isAutomatic,
    authentication: mail.authentication,
    senderWasRecipient: recipients.includes(mail.from.email),
    inline: mail.attachments.flatMap(({ cid }, index) => {
      const path = attachments[index]?.path
      return cid && path ? [{ cid, path }] : []
    }),
    remoteImages: mail.html === null ? 0 : countRemoteImages(mail.html),
    attachmentsLeftOut: mail.attachmentsLeftOut,
    unreadable: mail.isUnreadable,
  }
}
