/** The way in: raw mail is stored at once and read later; a reply becomes a comment, a delivery report changes a status. */
import { createHash } from 'node:crypto'
import { z } from 'zod'
import { insertReply, updateEmail } from '../../comments/emails.ts'
import { stage } from '../../files/service.ts'
import type { Context } from '../../platform/context.ts'
import { sql } from '../../platform/database/database.ts'
import { defineQueue } from '../../platform/jobs/queue.ts'
import { tokenHash } from '../../platform/secrets.ts'
import { type FileEntry, type FilePlace, holdFiles } from '../../platform/stored-files.ts'
import { formatInstant } from '../../platform/time.ts'
import { readHeaders, replyTokens, tokenOf } from '../headers.ts'
import { hashesIn, lockThread, outboundMail, type Thread } from '../queries.ts'
import type { IncomingMetadata, RecipientState } from '../schema.ts'
import { RECIPIENT_STATES, recipientCanBecome, transitionTo } from '../states.ts'
import type { DeliveryReport } from './delivery-report.ts'
import type { ParsedMail } from './mime.ts'
import { type MailParser, openParser, UnreadableMail } from './parser.ts'

const Received = z.object({ id: z.int() })

export const receiveEmail = defineQueue({ name: 'email.receive', schema: Received, options: { retryLimit: 10 } })

/** A thread that gets more automatic mails in an hour is a loop, or will be one (contract.md §6, Not a reply). */
const MAX_AUTOMATIC_PER_HOUR = 20

/**
 * Takes a raw message in. When it resolves, the message is either stored, with the job that will read it, or none of ours: it names
 * no known reply address, or has been stored before.
 */
export async function take(context: Context, raw: Buffer): Promise<void> {
  const { db, jobs, now, settings, log } = context
  const hashes = replyTokens(readHeaders(raw), settings.catchDomain).map(tokenHash)
  // Anyone may post here, so only what names a token that exists costs us storage.
  const known = hashes.length
    ? await db.query<{ token_hash: Buffer }>(sql`select token_hash from reply_tokens where token_hash in ${hashesIn(hashes)}`)
    : []
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

/** Reads a stored message and puts it where it belongs, in each thread once. */
export async function receive(context: Context, { id }: z.infer<typeof Received>): Promise<void> {
  const { db, now } = context
  const [stored] = await db.query<{ raw: Buffer; token_hashes: Buffer[] }>(
    sql`select raw, token_hashes from inbound_emails where id = ${id} and processed_at is null`,
  )
  if (!stored) return
  let problem: string | null = null
  try {
    parser ??= openParser()
    const mail = await parser.parse(stored.raw)
    for (const hash of stored.token_hashes) await deliverTo(context, hash, mail)
  } catch (error) {
    if (!(error instanceof UnreadableMail)) throw error
    // The raw message is kept, for a person to look at.
    context.log.error({ err: error, id }, 'inbound mail cannot be read')
    problem = error.message
  }
  await db.execute(
    sql`update inbound_emails set processed_at = ${formatInstant(now)}::timestamp, error = ${problem}::text where id = ${id}`,
  )
}

async function deliverTo(context: Context, hash: Buffer, mail: ParsedMail): Promise<void> {
  const isAutomatic = mail.isAutomatic && !mail.report
  const files = await keepAttachments(context, hash, mail)
  await context.transaction(async () => {
    const thread = await lockThread(context.db, hash)
    if (!thread || !(await isFirst(context, thread, mail, isAutomatic))) return
    if (mail.report) return report(context, thread, mail.report)
    if (isAutomatic && (await isLoop(context, thread))) return
    await comment(context, thread, mail, files)
  })
}

/** Of the same message, posted twice at once, one gets the row (contract.md §6: the same message again is dropped). */
async function isFirst({ db, now }: Context, { token_hash }: Thread, { key }: ParsedMail, isAutomatic: boolean): Promise<boolean> {
  const added = await db.execute(sql`
    insert into inbound_deliveries (token_hash, message_key, auto_reply, created_at)
    values (${token_hash}, ${key}, ${isAutomatic}, ${formatInstant(now)}::timestamp)
    on conflict do nothing`)
  return added > 0
}

/** This message counts already. */
async function isLoop({ db, now }: Context, { token_hash }: Thread): Promise<boolean> {
  const [row] = await db.query<{ automatic: number }>(sql`
    select count(*) as automatic from inbound_deliveries
    where token_hash = ${token_hash} and auto_reply and created_at > ${formatInstant(new Date(now.getTime() - 3_600_000))}::timestamp`)
  return (row?.automatic ?? 0) > MAX_AUTOMATIC_PER_HOUR
}

/** The reply as a comment on the record of the mail that it answers. */
async function comment(context: Context, thread: Thread, mail: ParsedMail, attachments: FileEntry[]): Promise<void> {
  const { db, now, settings } = context
  const parent = await outboundMail(db, thread.comment_id)
  const recipients = parent?.metadata.recipients.map(({ email }) => email.toLowerCase()) ?? []
  // A reply address is a secret of the thread: who may read the comment need not be able to write into it.
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
  }
  await holdFiles(
    db,
    attachments.map(({ path }) => path),
  )
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

/** Stores what is attached, held by nothing: a file that no comment comes to hold goes again (stored-files.ts). */
async function keepAttachments(context: Context, hash: Buffer, mail: ParsedMail): Promise<FileEntry[]> {
  if (mail.report || !mail.attachments.length) return []
  const [place] = await context.db.query<Required<Omit<FilePlace, 'task_id'>>>(
    sql`select account_id, space_id, table_id, record_id from reply_tokens where token_hash = ${hash}`,
  )
  if (!place) return []
  const files: FileEntry[] = []
  for (const attachment of mail.attachments) files.push(await stage(context, place, attachment))
  return files
}

/**
 * A delivery report changes the recipients that it names, and the mail when none is left that has it. The token says which mail it is
 * about; the report's own words are only the receiving server's.
 */
async function report(context: Context, thread: Thread, { recipients: reported }: DeliveryReport): Promise<void> {
  const { db, now } = context
  const mail = await outboundMail(db, thread.comment_id, true)
  if (!mail) return
  // The report overtook the answer of our own attempt; the job is repeated.
  if (mail.metadata.status === 'queued' && mail.attempted_at !== null) throw new Error('A report came before the mail was marked as sent')
  const failed = reported.filter(({ action }) => action === 'failed')
  const recipients = mail.metadata.recipients.map((recipient) => bounced(recipient, failed, mail.metadata.recipients.length))
  const error = recipients.find(({ status }) => status === 'bounced')?.error
  if (!error) return
  const bounce = transitionTo('bounced', now)
  const isReachable = recipients.some(({ status }) => RECIPIENT_STATES[status].isReachable)
  const change = isReachable ? { from: bounce.from, metadata: {} } : bounce
  await updateEmail(db, thread.comment_id, { ...change, metadata: { ...change.metadata, recipients, error } }, now)
}

function bounced(recipient: RecipientState, failed: DeliveryReport['recipients'], count: number): RecipientState {
  if (!recipientCanBecome(recipient.status, 'bounced')) return recipient
  // With a single recipient the report is about it, under whatever address it was forwarded to.
  const about = failed.find(({ address }) => address === recipient.email.toLowerCase()) ?? (count === 1 ? failed[0] : undefined)
  if (!about) return recipient
  const message = about.diagnostic ?? 'The mail could not be delivered'
  const code = /^\s*(\d{3})\b/.exec(message)?.[1] ?? 'BOUNCED'
  return { ...recipient, status: 'bounced', error: { code, enhanced: about.status, message: message.slice(0, 500) } }
}
