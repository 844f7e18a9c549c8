/** Inbound mail: the webhook stores the raw message, and a job reads it. A reply becomes a comment, a delivery report changes a status. */
import { createHash } from 'node:crypto'
import { z } from 'zod'
import { insertReply } from '../../comments/emails.ts'
import { stage } from '../../files/service.ts'
import type { Context } from '../../platform/context.ts'
import { sql } from '../../platform/database/database.ts'
import { defineQueue } from '../../platform/jobs/queue.ts'
import { tokenHash } from '../../platform/secrets.ts'
import { type FileEntry, type FilePlace, holdFiles, pathsOf } from '../../platform/stored-files.ts'
import { formatInstant } from '../../platform/time.ts'
import { readHeaders, replyTokens, tokenOf } from '../headers.ts'
import { inboundMails } from '../metrics.ts'
import { hashesIn, lockThread, outboundMail, type Thread } from '../queries.ts'
import type { IncomingMetadata, OutgoingMetadata } from '../schema.ts'
import { recordBounces } from './bounces.ts'
import type { DeliveryReport } from './delivery-report.ts'
import { type ParsedMail, unreadableMail } from './mime.ts'
import { type MailParser, openParser, UnreadableMail } from './parser.ts'
import { isAbout } from './report-scope.ts'

const Received = z.object({ id: z.int() })

export const receiveEmail = defineQueue({ name: 'email.receive', schema: Received, options: { retryLimit: 10 } })

/** More automatic mails than this in an hour count as a mail loop (contract.md §6, Not a reply). */
const MAX_AUTOMATIC_PER_HOUR = 20

/**
 * Stores a raw message and queues the job that reads it. Drops a message that names no known reply address, and one that is stored
 * already.
 */
export async function storeInbound(context: Context, raw: Buffer): Promise<void> {
  const { db, jobs, now, settings, log, metrics } = context
  const hashes = replyTokens(readHeaders(raw), settings.catchDomain).map(tokenHash)
  // The webhook is open to everyone, so only messages that name an existing token take up storage.
  const known = hashes.length
    ? await db.query<{ token_hash: Buffer }>(sql`select token_hash from reply_tokens where token_hash in ${hashesIn(hashes)}`)
    : []
  metrics.count(inboundMails, { verdict: known.length ? 'accepted' : 'dropped' })
  if (!known.length) return log.info({ bytes: raw.length }, 'inbound mail without a known reply address dropped')
  await context.transaction(async () => {
    const [stored] = await db.query<{ id: number }>(sql`
      insert into inbound_emails (raw, sha256, token_hashes, received_at)
      values (${raw}, ${createHash('sha256').update(raw).digest()}, ${known.map(({ token_hash }) => token_hash)}, ${formatInstant(now)}::timestamp)
      on conflict (sha256) do nothing
      returning id`)
    if (stored) await jobs.send(receiveEmail, { id: stored.id })
  })
}

let parser: MailParser | undefined

/** Parses a stored message and delivers it to each thread that its addresses name. */
export async function receive(context: Context, { id }: z.infer<typeof Received>): Promise<void> {
  const { db, now } = context
  const [stored] = await db.query<{ raw: Buffer; token_hashes: Buffer[] }>(
    sql`select raw, token_hashes from inbound_emails where id = ${id} and processed_at is null`,
  )
  if (!stored) return
  const { mail, problem } = await parsed(context, id, stored.raw)
  for (const hash of stored.token_hashes) await deliverToThread(context, hash, mail)
  await db.execute(
    sql`update inbound_emails set processed_at = ${formatInstant(now)}::timestamp, error = ${problem}::text where id = ${id}`,
  )
}

/** The parsed message; for one that cannot be parsed, a mail that says so, and the reason. */
async function parsed({ log, metrics }: Context, id: number, raw: Buffer): Promise<{ mail: ParsedMail; problem: string | null }> {
  try {
    parser ??= openParser()
    return { mail: await parser.parse(raw), problem: null }
  } catch (error) {
    if (!(error instanceof UnreadableMail)) throw error
    log.error({ err: error, id }, 'inbound mail cannot be read')
    metrics.count(inboundMails, { verdict: 'unreadable' })
    return { mail: unreadableMail(raw), problem: error.message }
  }
}

async function deliverToThread(context: Context, hash: Buffer, mail: ParsedMail): Promise<void> {
  const report = await reportOn(context, hash, mail)
  const isAutomatic = mail.isAutomatic && !report
  const files = report ? [] : await storeAttachments(context, hash, mail)
  await context.transaction(async () => {
    const thread = await lockThread(context.db, hash)
    if (!thread || !(await isFirst(context, thread, mail, isAutomatic))) return
    if (report) return recordBounces(context, thread, report)
    if (isAutomatic && (await isLoop(context, thread))) return
    await insertComment(context, thread, mail, files)
  })
}

/** The message as a report about the email of the thread; undefined for any other message. A report about another email is a comment. */
async function reportOn({ db }: Context, hash: Buffer, { report }: ParsedMail): Promise<DeliveryReport | undefined> {
  if (!report) return undefined
  const [row] = await db.query<{ metadata: OutgoingMetadata }>(sql`
    select c.metadata from reply_tokens r join record_comments c on c.id = r.comment_id where r.token_hash = ${hash}`)
  return row && isAbout(report, row.metadata) ? report : undefined
}

/** False for a message that the thread has received before. Of two concurrent copies, the primary key lets one pass. */
async function isFirst({ db, now }: Context, { token_hash }: Thread, { key }: ParsedMail, isAutomatic: boolean): Promise<boolean> {
  const added = await db.execute(sql`
    insert into inbound_deliveries (token_hash, message_key, auto_reply, created_at)
    values (${token_hash}, ${key}, ${isAutomatic}, ${formatInstant(now)}::timestamp)
    on conflict do nothing`)
  return added > 0
}

/** True when the thread has received too many automatic mails in the last hour, this one included. */
async function isLoop({ db, now }: Context, { token_hash }: Thread): Promise<boolean> {
  const [row] = await db.query<{ automatic: number }>(sql`
    select count(*) as automatic from inbound_deliveries
    where token_hash = ${token_hash} and auto_reply and created_at > ${formatInstant(new Date(now.getTime() - 3_600_000))}::timestamp`)
  return (row?.automatic ?? 0) > MAX_AUTOMATIC_PER_HOUR
}

/** Inserts the reply as a comment on the record of the email that it answers. */
async function insertComment(context: Context, thread: Thread, mail: ParsedMail, attachments: FileEntry[]): Promise<void> {
  const { db, now, settings } = context
  const parent = await outboundMail(db, thread.comment_id)
  const recipients = parent?.metadata.recipients.map(({ email }) => email.toLowerCase()) ?? []
  // Reply addresses are left out of the metadata: readers of the comment must not learn how to write into the thread.
  const others = (addresses: string[]) => addresses.filter((address) => tokenOf(address, settings.catchDomain) === undefined)
  const metadata: IncomingMetadata = {
    parentCommentId: thread.comment_id,
    from: mail.from,
    to: others(mail.to),
    cc: others(mail.cc),
    subject: mail.subject,
    messageId: mail.messageId,
    inReplyTo: mail.inReplyTo,
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
    unreadable: mail.isUnreadable,
  }
  await holdFiles(db, pathsOf(attachments))
  const id = await insertReply(
    db,
    { ...thread, content: mail.visibleText, attachments, metadata },
    { name: mail.from.name || mail.from.email || 'Unknown sender', notifyFollowers: mail.isAutomatic ? undefined : thread },
    now,
  )
  await db.execute(
    sql`update inbound_deliveries set comment_id = ${id ?? null}::int where token_hash = ${thread.token_hash} and message_key = ${mail.key}`,
  )
}

/** Stores the attachments before the transaction. Files that no comment holds in the end are removed later (stored-files.ts). */
async function storeAttachments(context: Context, hash: Buffer, mail: ParsedMail): Promise<FileEntry[]> {
  if (!mail.attachments.length) return []
  const [place] = await context.db.query<Required<Omit<FilePlace, 'task_id'>>>(
    sql`select account_id, space_id, table_id, record_id from reply_tokens where token_hash = ${hash}`,
  )
  if (!place) return []
  const files: FileEntry[] = []
  for (const attachment of mail.attachments) files.push(await stage(context, place, attachment))
  return files
}
