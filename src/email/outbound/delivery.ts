/** Sends leased emails: at most one delivery to each recipient, whatever fails in between (contract.md §6, At most one delivery). */
import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import { z } from 'zod'
import { updateEmail } from '../../comments/emails.ts'
import { openStored } from '../../files/reading.ts'
import type { Context } from '../../platform/context.ts'
import { sql } from '../../platform/database/database.ts'
import { textOfHtml } from '../../platform/html-text.ts'
import { isOutage } from '../../platform/http/errors.ts'
import { defineQueue } from '../../platform/jobs/queue.ts'
import { formatInstant } from '../../platform/time.ts'
import { inSpan } from '../../platform/tracing.ts'
import { readWithDefinition } from '../../tables/with-definition.ts'
import { domainOf } from '../address.ts'
import { signerOf } from '../authenticity/dkim-keys.ts'
import { envelopeIdOf, replyAddress } from '../headers.ts'
import { type ServerRow, serverOf } from '../integrations.ts'
import type { RecipientState } from '../metadata.ts'
import { deliverySeconds, mails, recipients as recipientStates } from '../metrics.ts'
import { type OutboundMail, outboundMail, readRecord, threadOf } from '../queries.ts'
import { transitionTo } from '../states.ts'
import { goneAmong } from '../suppressions/refused.ts'
import { suppress, suppressedAmong } from '../suppressions/service.ts'
import type { Server } from './connections.ts'
import { type ResolvedContent, resolveContent } from './content.ts'
import { DeliveryError, type Failure } from './failure.ts'
import { markFailing, patienceEnd, resume } from './faults.ts'
import { fieldTexts, ValuesTooLong } from './field-tokens.ts'
import { withContentIds } from './inline-images.ts'
import { endLease, type Lease, LeaseLost, releaseLease, stampAttempt } from './lease.ts'
import { emailAfter, errorOf, failedForAll, type Outcome, recipientAfter } from './outcome.ts'
import { decryptTokens } from './secret-tokens.ts'
import { type Delivery, deliver, type Message } from './transport.ts'

const Email = z.object({ comment_id: z.int() })

/** Wakes a worker for a new email, and for a retry. The email itself is found by its `due_at`, so a lost job only delays it by a second. */
export const sendEmail = defineQueue({ name: 'email.send', schema: Email })

/** The seconds between attempts: seven attempts in about five hours. */
const RETRY_SECONDS = [5, 30, 120, 900, 3600, 14_400]

/** The longest pause between two tries to record an outcome. */
const MAX_WAIT_MS = 500

/**
 * Makes one attempt to send an email to the recipients that are still queued, and records its outcome.
 * @param contextNow makes a context with the present time: an attempt may take minutes, and the pause before the next begins at its end
 * @returns whether the server was reached; undefined if no server was tried
 */
export async function deliverLeased(contextNow: () => Context, lease: Lease): Promise<boolean | undefined> {
  const context = contextNow()
  const mail = await outboundMail(context.db, lease.comment_id)
  // The comment was deleted, and the email with it; or the email was cancelled.
  if (!mail?.metadata.recipients.some(({ status }) => status === 'queued')) return void (await endLease(context, lease))
  const waiting = mail.metadata.recipients.filter(({ status }) => status === 'queued').map(({ email }) => email)
  const suppressed = await suppressedAmong(context.db, mail.account_id, waiting)
  const allowed = waiting.filter((email) => !suppressed.has(email.toLowerCase()))
  const obstacle = obstacleTo(mail, context.now) ?? (allowed.length ? undefined : FOR_NOBODY)
  const outcome = obstacle ?? (await attempt(context, mail, allowed, lease))
  if (!outcome) return undefined
  await settle(contextNow, lease, { ...outcome, suppressed })
  return obstacle ? undefined : isReached(outcome)
}

/** True if the server let the mail come as far as its recipients. */
const isReached = ({ accepted, refused, others, fault }: Outcome): boolean =>
  accepted.size > 0 || refused.size > 0 || (!fault && /^\d/.test(others?.code ?? ''))

function obstacleTo(mail: OutboundMail, now: Date): Outcome | undefined {
  const { attempted_at, table_version, server, failing_message, from_domains, request } = mail
  // A worker died while it handed the email over. The email may have arrived, so it is not sent again.
  if (attempted_at !== null) return failedForAll(INTERRUPTED)
  if (table_version === null) return RECORD_GONE
  if (server === null) return INTEGRATION_GONE
  // A scheduled or retried email may be older than the domains that the integration has now.
  const domain = domainOf(request.from.email)
  if (!from_domains?.includes(domain)) return gone('FROM_NOT_ALLOWED', `From domain not allowed: ${domain}`)
  return failing_message !== null && hasWaited(mail, now) ? gaveUp(failing_message) : undefined
}

/** True if the email has waited for its integration for as long as it may. */
const hasWaited = ({ waiting_since }: OutboundMail, now: Date) => waiting_since < formatInstant(patienceEnd(now))
const gaveUp = (message: string) => gone('INTEGRATION_FAILING', message)

/** Hands the email over to the server. Returns undefined when another worker is sending it. */
async function attempt(context: Context, mail: OutboundMail, to: string[], lease: Lease): Promise<Outcome | undefined> {
  try {
    const content = await contentOf(context, mail)
    return content ? await handOver(context, mail, to, lease, content) : RECORD_GONE
  } catch (error) {
    if (error instanceof LeaseLost) return undefined
    // The worker stops. Another one takes up the email at once.
    if (context.signal.aborted && error === context.signal.reason) return void (await releaseLease(context, lease))
    if (error instanceof ValuesTooLong) return failedForAll(error.failure)
    // Any error occurs before the end of the content is sent, so a retry cannot deliver twice.
    return failedForAll(unexpected(context, error))
  }
}

/** The content with the values that the record has now; undefined if the record does not exist. */
async function contentOf(context: Context, mail: OutboundMail): Promise<ResolvedContent | undefined> {
  const { metadata, content, request, table_version } = mail
  const texts = await readWithDefinition(context, { id: mail.table_id, version: table_version as number }, async (definition) => {
    const record = await readRecord(context.db, definition, mail.record_id)
    return record && fieldTexts(definition.fields, record, request.timeZone ?? 'UTC')
  })
  if (!texts) return undefined
  // Recipients of a later attempt get the same content as those of the first.
  const hasGone = metadata.recipients.some(({ status }) => status === 'sent' || status === 'unknown')
  if (hasGone) return { subject: metadata.subject, html: content, unresolved: metadata.unresolved }
  return resolveContent(request, texts)
}

async function handOver(context: Context, mail: OutboundMail, to: string[], lease: Lease, content: ResolvedContent): Promise<Outcome> {
  const { message, envelopeFrom } = await compose(context, mail, content)
  const beforeEnd = () => stamp(context, mail, lease, content)
  try {
    const server = serverOf(context, mail.server as ServerRow)
    const envelope = { from: envelopeFrom, to, id: envelopeIdOf(mail.metadata.messageId) }
    const dkim = await signerOf(context, mail.dkim)
    const options = { allowPrivate: context.settings.smtpAllowPrivate, beforeEnd, signal: context.signal, dkim }
    const { accepted, refused } = await measured(context, server, () => deliver(server, envelope, message, options))
    return { accepted: new Set(accepted.map((address) => address.toLowerCase())), refused: byAddress(refused), others: NO_ANSWER }
  } catch (error) {
    if (!(error instanceof DeliveryError)) throw error
    const { failure, refused, isFault } = error
    // A fault of the integration is no reason to drop the mail, even if the server calls it permanent.
    if (isFault) return { ...failedForAll({ ...failure, kind: 'temporary' }), fault: { version: mail.integration_version } }
    return { ...failedForAll(failure), refused: byAddress(refused) }
  }
}

/** Notes how long the dialogue with the server took, in the metrics and in a span. */
async function measured({ metrics }: Context, { host, port }: Server, dialogue: () => Promise<Delivery>): Promise<Delivery> {
  const startedAt = performance.now()
  let outcome = 'failed'
  try {
    const delivery = await inSpan(
      'SMTP deliver',
      { kind: 'client', attributes: { 'server.address': host, 'server.port': port } },
      async (span) => {
        const { accepted, refused } = await dialogue()
        span?.set({ 'gridpost.smtp.accepted': accepted.length, 'gridpost.smtp.refused': refused.length })
        return { accepted, refused }
      },
    )
    outcome = delivery.accepted.length ? 'accepted' : 'refused'
    return delivery
  } finally {
    metrics.observe(deliverySeconds, (performance.now() - startedAt) / 1000, { outcome })
  }
}

/** From now on a second attempt could be a second delivery. The comment shows what the recipients may have got, even if the worker dies. */
async function stamp(context: Context, mail: OutboundMail, lease: Lease, { html, ...metadata }: ResolvedContent): Promise<void> {
  const { db, now, transaction } = context
  const { subject, unresolved } = mail.metadata
  const isShown = mail.content === html && isDeepStrictEqual({ subject, unresolved }, metadata)
  // In a transaction even alone: PostgreSQL would carry out the single statement of a killed worker that waited for a lock.
  await transaction(async () => {
    await stampAttempt(context, lease)
    if (!isShown) await updateEmail(db, lease.comment_id, { metadata, content: html }, now)
  })
}

const byAddress = (refused: DeliveryError['refused']) => new Map(refused.map(({ address, failure }) => [address.toLowerCase(), failure]))

async function compose(
  context: Context,
  mail: OutboundMail,
  { subject, html }: ResolvedContent,
): Promise<{ message: Message; envelopeFrom: string }> {
  const { db, settings, now, publicUrl } = context
  const { messageId, inline = [] } = mail.metadata
  const cidOf = new Map(inline.map(({ cid, path }) => [path, cid]))
  const { from, recipients } = mail.request
  const tokens = decryptTokens(settings.secretKeys, messageId, mail.tokens_encrypted)
  const replyTo = replyAddress(tokens.reply, settings.catchDomain)
  const thread = await threadOf(
    db,
    mail,
    recipients.map(({ email }) => email),
  )
  const pixel = mail.disable_pixel ? '' : `<img src="${publicUrl()}/email/pixel/${tokens.pixel}.png" width="1" height="1" alt="" />`
  return {
    envelopeFrom: mail.reply_as_envelope ? replyTo : from.email,
    message: {
      from,
      to: recipients.filter(({ kind }) => kind === 'to'),
      cc: recipients.filter(({ kind }) => kind === 'cc'),
      replyTo,
      subject,
      html: withContentIds(html, inline) + pixel,
      text: textOfHtml(html),
      messageId,
      inReplyTo: thread.at(-1) ?? null,
      references: thread,
      date: now,
      attachments: mail.attachments.map(({ name, type, path }) => ({
        name,
        type,
        cid: cidOf.get(path),
        open: async () => {
          const stream = await openStored(context, path)
          if (!stream) throw new Error(`The attachment ${name} is gone`)
          return stream
        },
      })),
    },
  }
}

/**
 * Records the outcome of an attempt. Nobody else has heard the answer of the server, so it is kept while the database is not available, and
 * recorded when it is back.
 */
async function settle(contextNow: () => Context, lease: Lease, outcome: Outcome): Promise<void> {
  for (let waitMs = 100; ; waitMs = Math.min(waitMs * 2, MAX_WAIT_MS)) {
    const context = contextNow()
    try {
      return await saveOutcome(context, lease, outcome)
    } catch (error) {
      if (!isOutage(error)) throw error
      context.log.warn({ err: error, comment_id: lease.comment_id }, 'the outcome of a mail is kept until the database is back')
      await sleep(waitMs)
    }
  }
}

/** Records the outcome of an attempt, and the time of the next one for recipients that are still queued. */
async function saveOutcome(context: Context, lease: Lease, outcome: Outcome): Promise<void> {
  const { db, now, metrics } = context
  const settled = await context.transaction(async () => {
    const mail = await outboundMail(db, lease.comment_id, true)
    if (!mail) return undefined
    const isMine = mail.lease === lease.lease
    const isLastAttempt = !outcome.fault && mail.attempts >= RETRY_SECONDS.length
    // Another worker may have recorded the outcome as unknown. That the server accepted the email is still true.
    const known = isMine ? outcome : { accepted: outcome.accepted, refused: new Map() }
    const recipients = mail.metadata.recipients.map((recipient) => recipientAfter(recipient, known, isLastAttempt))
    const status = emailAfter(mail.metadata.status, recipients)
    const transition = status && transitionTo(status, now)
    const metadata = { ...transition?.metadata, recipients, error: errorOf(recipients) }
    await updateEmail(db, lease.comment_id, { ...transition, metadata }, now)
    const tried = recipients.filter((_, index) => mail.metadata.recipients[index]?.status === 'queued')
    if (isMine) await endAttempt(context, mail, lease, outcome, recipients)
    await suppress(context, mail, goneAmong(known.refused), 'hard_bounce')
    return { status, states: tried.map(({ status }) => status) }
  })
  if (settled?.status) metrics.count(mails, { state: settled.status })
  for (const state of settled?.states ?? []) metrics.count(recipientStates, { state })
}

/** Gives the lease back, with the time of the next attempt, and records what the attempt says about the integration. */
async function endAttempt(
  context: Context,
  mail: OutboundMail,
  { comment_id, smtp_integration_id }: Lease,
  outcome: Outcome,
  recipients: readonly RecipientState[],
): Promise<void> {
  const { db, now, jobs } = context
  const { fault, others } = outcome
  // An attempt that the integration has failed does not count, and the integration decides about the next one.
  const seconds = fault ? 0 : RETRY_SECONDS[mail.attempts]
  const isQueued = recipients.some(({ status }) => status === 'queued')
  const retryAt = isQueued && seconds !== undefined ? new Date(now.getTime() + seconds * 1000) : null
  // Without queued recipients the stamp stays: the email is never sent again.
  await db.execute(sql`
    update outbound_emails set attempts = attempts + ${fault ? 0 : 1}, leased_until = null, due_at = ${retryAt && formatInstant(retryAt)}::timestamp,
      attempted_at = case when ${retryAt !== null} then null else attempted_at end
    where comment_id = ${comment_id}`)
  if (fault && others) await markFailing(context, { ...mail, ...fault, integration_id: smtp_integration_id }, others)
  else if (mail.failing_message !== null && isReached(outcome)) await resume(db, smtp_integration_id)
  if (retryAt && !fault) await jobs.send(sendEmail, { comment_id }, { startAfter: retryAt })
}

/** Every recipient that is still queued is suppressed. */
const FOR_NOBODY: Outcome = { accepted: new Set(), refused: new Map() }

const gone = (code: string, message: string) => failedForAll({ kind: 'permanent', code, enhanced: null, message })
const RECORD_GONE = gone('RECORD_GONE', 'The record was deleted before the mail was sent')
const INTEGRATION_GONE = gone('INTEGRATION_GONE', 'The SMTP integration was deleted, or is not for this table')

const NO_ANSWER: Failure = {
  kind: 'temporary',
  code: 'NO_ANSWER',
  enhanced: null,
  message: 'The server gave no answer for this recipient',
}

const INTERRUPTED: Failure = {
  kind: 'unknown',
  code: 'OUTCOME_UNKNOWN',
  enhanced: null,
  message: 'Sending was interrupted while the mail was handed over; it may have been delivered and is not sent again',
}

/** An error of the service. The metadata shows a reference to the log entry in place of its text. */
function unexpected({ log }: Context, error: unknown): Failure {
  const reference = randomUUID()
  log.error({ err: error, reference }, 'mail not sent')
  return { kind: 'temporary', code: 'INTERNAL', enhanced: null, message: `Something went wrong on our side (${reference})` }
}
