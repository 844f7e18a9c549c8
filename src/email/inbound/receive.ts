/** Reads stored messages: a reply becomes a comment, a delivery report changes a status. Each is read by a job, and again by a replay. */

import type { z } from 'zod'
import { audit } from '../../audit/log.ts'
import { Batches } from '../../platform/concurrency/batches.ts'
import type { Context } from '../../platform/context.ts'
import { type Database, type Sql, sql } from '../../platform/database/database.ts'
import { isOutage } from '../../platform/database/database-errors.ts'
import { labelled } from '../../platform/database/statements/statement.ts'
import { memo } from '../../platform/memo.ts'
import type { FileEntry } from '../../platform/stored-files/rows.ts'
import { formatInstant, instantOf } from '../../platform/time/time.ts'
import type { SenderAuthentication } from '../authenticity/authentication-results.ts'
import { MAX_HEADER_BYTES } from '../headers.ts'
import type { Verdict } from '../inbox/schema.ts'
import type { OutgoingMetadata } from '../metadata.ts'
import { inboundMails } from '../metrics.ts'
import type { Thread } from '../queries.ts'
import { recordBounces } from '../reports/bounces.ts'
import { isFeedbackOn, recordFeedback } from '../reports/feedback.ts'
import { proveSent } from '../reports/recipients.ts'
import { isAbout } from '../reports/report-scope.ts'
import { MessageFiles } from './message-files.ts'
import { type ParsedMail, unreadableMail } from './mime.ts'
import { park } from './parked.ts'
import { LARGE_BYTES, UnreadableMail } from './parser.ts'
import { openParsers } from './parsers.ts'
import { attachmentsOf, correctComment, insertComment } from './reply.ts'
import type { Received } from './store.ts'
import { storedBytes } from './stored-bytes.ts'
import {
  type AppliedDecision,
  claimDelivery,
  type DeliveryRow,
  dropped,
  firstDelivery,
  lockReading,
  noteRead,
  type OpenVerdict,
  saveVerdict,
} from './verdicts.ts'

/** More automatic mails than this in an hour count as a mail loop (contract.md §6, Not a reply). */
const MAX_AUTOMATIC_PER_HOUR = 20

interface StoredMessage {
  id: number
  bytes: number
  /** Null for a large message, which is read in pieces. */
  raw: Buffer | null
  token_hashes: Buffer[]
  /** The results of the receiver's own checks; null for a message that came in another way. */
  authentication: SenderAuthentication | null
  received_at: string
  /** The account, or one of several, that the message is for; null if its threads were deleted. */
  account_id: number | null
}

const STORED = sql`
  id, octet_length(raw) as bytes, case when octet_length(raw) <= ${LARGE_BYTES}::int then raw end as raw,
  token_hashes, authentication, received_at,
  (select min(v.account_id) from inbound_verdicts v where v.inbound_email_id = e.id) as account_id`

/** A verdict of a replay. */
export interface Replayed {
  verdict: Verdict
  /** Whether the verdict or the comment is not what it was. */
  isChanged: boolean
}

/** Parses a stored message and delivers it to each thread that its addresses name. */
export async function receive(context: Context, { id }: z.infer<typeof Received>): Promise<void> {
  const stored = await readings(context.db).add(id)
  if (stored) await read(context, stored, false)
}

/** Messages whose jobs are fetched together are read by one statement. */
const readings = memo((db: Database) => new Batches((ids: readonly number[]) => undecided(db, ids), { most: 10, isForAll: isOutage }))

/** For each id the message, unless it was deleted or all of its verdicts are decided. */
async function undecided(db: Database, ids: readonly number[]): Promise<(StoredMessage | undefined)[]> {
  const messages = await db.read<StoredMessage>(
    labelled(
      'undecided-messages',
      sql`
      select ${STORED} from inbound_emails e where id = any(${ids}::int[]) and raw is not null and (
        processed_at is null or exists (select from inbound_verdicts v where v.inbound_email_id = e.id and v.verdict is null))`,
    ),
  )
  const byId = new Map(messages.map((message) => [message.id, message]))
  return ids.map((id) => byId.get(id))
}

/**
 * Reads a stored message again, as this release reads it (docs/decisions/0020-stored-messages.md).
 * @returns a verdict for each thread that still exists; undefined if the message is not stored
 * @throws Error for a delivery report on a mail that is being sent
 */
export async function replay(context: Context, id: number): Promise<Replayed[] | undefined> {
  const [stored] = await context.db.read<StoredMessage>(sql`
    select ${STORED} from inbound_emails e
    where id = (select coalesce(duplicate_of, id) from inbound_emails where id = ${id}) and raw is not null`)
  return stored && read(context, stored, true)
}

const parsers = openParsers()

async function read(context: Context, stored: StoredMessage, isReplay: boolean): Promise<Replayed[]> {
  if (stored.raw) return decideOn(context, stored, stored.raw, isReplay)
  const files = await MessageFiles.open(context.settings.dataDir)
  try {
    return await decideOn(context, stored, files, isReplay)
  } finally {
    await files.close()
  }
}

async function decideOn(context: Context, stored: StoredMessage, raw: Buffer | MessageFiles, isReplay: boolean): Promise<Replayed[]> {
  const { mail: written, problem } = await parsed(context, stored, raw)
  const mail = { ...written, authentication: stored.authentication ?? written.authentication }
  const reading = noteRead(stored.id, mail, problem, context.now)
  const last = stored.token_hashes.at(-1)
  const results: (Replayed | undefined)[] = []
  for (const hash of stored.token_hashes)
    results.push(await deliverToThread(context, stored, hash, { mail, isReplay, noteRead: hash === last ? reading : undefined }))
  // Usually it was noted with the verdict of the last thread; but that may have been decided before, or be gone.
  if (!results.at(-1)) await context.db.read(labelled('message-read', reading))
  return results.filter((result) => result !== undefined)
}

/** The parsed message; for one that cannot be parsed, a mail that says so, and the reason. */
async function parsed(
  { db, log, metrics, settings }: Context,
  { id, bytes, account_id }: StoredMessage,
  raw: Buffer | MessageFiles,
): Promise<{ mail: ParsedMail; problem: string | null }> {
  try {
    const message = raw instanceof MessageFiles ? { bytes, pieces: () => storedBytes(db, { id, bytes }), files: raw } : raw
    return { mail: await parsers.parse(account_id, message, settings.authservId), problem: null }
  } catch (error) {
    if (!(error instanceof UnreadableMail)) throw error
    log.error({ err: error, id }, 'inbound mail cannot be read')
    metrics.count(inboundMails, { verdict: 'unreadable' })
    const [start, whole] = raw instanceof MessageFiles ? [await raw.start(MAX_HEADER_BYTES), await raw.whole()] : [raw, raw]
    return { mail: unreadableMail(start, whole, settings.authservId), problem: error.message }
  }
}

/** Decides on the message in one thread. The verdict is committed together with its effect, so neither happens twice. */
async function deliverToThread(
  context: Context,
  stored: StoredMessage,
  hash: Buffer,
  { mail: message, isReplay, noteRead }: { mail: ParsedMail; isReplay: boolean; noteRead: Sql | undefined },
): Promise<Replayed | undefined> {
  const { db, now } = context
  const { id } = stored
  const mail = { ...message, ...(await reportsOn(context, hash, message)) }
  const files = mail.report || mail.feedback ? [] : await attachmentsOf(context, stored, hash, mail)
  return context.transaction(async () => {
    const { thread, before } = await lockReading(db, id, hash)
    if (!before || (before.verdict && !isReplay)) return undefined
    if (!thread && (await park(db, id, hash))) return undefined
    const outcome = thread
      ? await decide(context, thread, stored, mail, before, files)
      : { ...dropped('The email that it answers was deleted, or its table or space'), isChanged: false }
    await saveVerdict(db, id, hash, outcome, { now, noteRead })
    const isChanged = outcome.isChanged || outcome.verdict !== before.verdict
    if (isReplay && isChanged && thread) await auditReplay(context, id, thread, before, outcome)
    return { verdict: outcome.verdict, isChanged }
  })
}

/** The message as a report about the email of the thread. A report about another email is a comment. */
async function reportsOn(
  { db }: Context,
  hash: Buffer,
  { report, feedback }: ParsedMail,
): Promise<Pick<ParsedMail, 'report' | 'feedback'>> {
  if (!report && !feedback) return { report, feedback }
  const [row] = await db.read<{ metadata: OutgoingMetadata }>(sql`
    select c.metadata from reply_tokens r join record_comments c on c.id = r.comment_id where r.token_hash = ${hash}`)
  return {
    report: row && report && isAbout(report, row.metadata) ? report : null,
    feedback: row && feedback && isFeedbackOn(feedback, row.metadata) ? feedback : null,
  }
}

async function auditReplay(context: Context, id: number, thread: Thread, before: OpenVerdict, { verdict, commentId }: AppliedDecision) {
  const { account_id: accountId, space_id: spaceId, table_id: tableId } = thread
  const detail = { before: before.verdict, verdict, comment_id: commentId }
  await audit(context, 'inbound_email.replayed', { id, accountId, spaceId, tableId, detail })
}

async function decide(
  context: Context,
  thread: Thread,
  stored: StoredMessage,
  mail: ParsedMail,
  before: OpenVerdict,
  files: FileEntry[],
): Promise<AppliedDecision> {
  const { db, now } = context
  // A replay on a slow machine may not be able to read what was read before.
  if (mail.isUnreadable && before.verdict) return kept({ ...before, verdict: before.verdict })
  const isAutomatic = mail.isAutomatic && !mail.report && !mail.feedback
  const claim = { id: stored.id, receivedAt: stored.received_at, key: mail.key, isAutomatic }
  const delivery = await claimDelivery(db, thread, claim, now)
  if (!delivery) {
    const first = await firstDelivery(db, thread, mail.key)
    const reason = first?.id ? `The same message arrived as ${first.id}` : 'The same message arrived before'
    return { verdict: 'duplicate', reason, commentId: first?.comment_id ?? null, isAnnounced: false, isChanged: false }
  }
  // An earlier release may have read another key from the same message.
  const commentId = delivery.comment_id ?? (before.verdict === 'duplicate' ? null : before.comment_id)
  if (mail.report || mail.feedback)
    return kept({ ...before, comment_id: commentId, ...(await recordReport(context, thread, mail, stored)) })
  // Whoever knows the reply address has the email. An automatic message proves it only if its sender is one of the recipients.
  if (thread.recipients.some(({ status }) => status === 'unknown'))
    await proveSent(context, thread.comment_id, mail.from.email, { isAutomatic })
  if (commentId !== null) return correctComment(context, thread, mail, { commentId, isAnnounced: before.is_announced }, files)
  if (isAutomatic && (await isLoop(context, thread, delivery)))
    return { ...dropped(`More than ${MAX_AUTOMATIC_PER_HOUR} automatic messages came within an hour`), isChanged: false }
  return insertComment(context, thread, mail, before.is_announced, files)
}

/** Records a report about the email of the thread, and says what it was. */
async function recordReport(
  context: Context,
  thread: Thread,
  { report, feedback }: ParsedMail,
  { received_at }: StoredMessage,
): Promise<{ verdict: Verdict; reason: string | null }> {
  if (feedback) {
    await recordFeedback(context, thread, feedback, received_at)
    return { verdict: 'automatic', reason: feedback.kind === 'complaint' ? 'A complaint about the mail' : 'A read receipt' }
  }
  const said = report && (await recordBounces(context, thread, report, received_at))
  if (said?.hasBounced) return { verdict: 'bounced', reason: null }
  if (said?.isAboutRecipient) return { verdict: 'automatic', reason: 'A failure report about a recipient to whom the mail was not sent' }
  const isFailure = report?.recipients.some(({ action }) => action === 'failed')
  return { verdict: 'automatic', reason: isFailure ? NOBODY_MARKED : 'A notice about the delivery, which has not failed' }
}

const NOBODY_MARKED = 'A failure report that names none of the recipients, so that nobody was marked'

const kept = ({ reason, comment_id, is_announced, verdict }: OpenVerdict & { verdict: Verdict }): AppliedDecision => ({
  verdict,
  reason,
  commentId: comment_id,
  isAnnounced: is_announced,
  isChanged: false,
})

/** True when the thread has received too many automatic mails in the hour before this one, which is included. */
async function isLoop({ db }: Context, { token_hash }: Thread, { created_at }: DeliveryRow): Promise<boolean> {
  const hourBefore = formatInstant(new Date(instantOf(created_at).getTime() - 3_600_000))
  const [row] = await db.read<{ automatic: number }>(sql`
    select count(*) as automatic from inbound_deliveries
    where token_hash = ${token_hash} and auto_reply and created_at > ${hourBefore}::timestamp and created_at <= ${created_at}::timestamp`)
  return (row?.automatic ?? 0) > MAX_AUTOMATIC_PER_HOUR
}
