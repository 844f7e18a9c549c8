/** Sends queued emails: at most one delivery to each recipient, whatever fails in between (contract.md §6, At most one delivery). */
import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { z } from 'zod'
import { updateEmail } from '../../comments/emails.ts'
import type { Context } from '../../platform/context.ts'
import { sql } from '../../platform/database/database.ts'
import { textOfHtml } from '../../platform/html-text.ts'
import { isOutage } from '../../platform/http/errors.ts'
import { defineQueue } from '../../platform/jobs/queue.ts'
import { formatInstant } from '../../platform/time.ts'
import { inSpan } from '../../platform/tracing.ts'
import { readWithDefinition } from '../../tables/with-definition.ts'
import { replyAddress } from '../headers.ts'
import { type ServerRow, serverOf } from '../integrations.ts'
import { deliverySeconds, mails, recipients as recipientStates } from '../metrics.ts'
import { type OutboundMail, outboundMail, readRecord, threadOf } from '../queries.ts'
import type { RecipientState } from '../schema.ts'
import { transitionTo } from '../states.ts'
import { type ResolvedContent, resolveContent } from './content.ts'
import { fieldTexts } from './field-tokens.ts'
import { emailAfter, errorOf, failedForAll, type Outcome, recipientAfter } from './outcome.ts'
import { decryptTokens } from './secret-tokens.ts'
import { type Delivery, DeliveryError, deliver, type Failure, type Message } from './transport.ts'

const Email = z.object({ comment_id: z.int() })

/**
 * The job of a worker that dies is repeated within a minute or two, because its heartbeat stops. The long limit is for a large email over
 * a slow connection.
 */
export const sendEmail = defineQueue({ name: 'email.send', schema: Email, options: { expireInSeconds: 900, heartbeatSeconds: 30 } })

/** The seconds between attempts: seven attempts in about five hours. */
const RETRY_SECONDS = [5, 30, 120, 900, 3600, 14_400]

/** The longest pause between two tries to record an outcome: shorter than the time in which a job of a lost worker is repeated. */
const MAX_WAIT_MS = 500

/** Makes one attempt to send an email to the recipients that are still queued, and records its outcome. */
export async function sendQueued(context: Context, { comment_id }: z.infer<typeof Email>): Promise<void> {
  const mail = await outboundMail(context.db, comment_id)
  const waiting = mail?.metadata.recipients.filter(({ status }) => status === 'queued') ?? []
  if (!mail || !waiting.length) return
  // A worker died while it handed the email over. The email may have arrived, so it is not sent again.
  if (mail.attempted_at !== null) return settle(context, mail, failedForAll(INTERRUPTED))
  const { server, table_version } = mail
  if (table_version === null) return settle(context, mail, RECORD_GONE)
  if (server === null) return settle(context, mail, INTEGRATION_GONE)

  const texts = await readWithDefinition(context, { id: mail.table_id, version: table_version }, async (definition) => {
    const record = await readRecord(context.db, definition, mail.record_id)
    return record && fieldTexts(definition.fields, record)
  })
  if (!texts) return settle(context, mail, RECORD_GONE)

  const content = mail.metadata.recipients.some(({ status }) => status === 'sent' || status === 'unknown')
    ? // Recipients of a later attempt get the same content as those of the first.
      { subject: mail.metadata.subject, html: mail.content, unresolved: mail.metadata.unresolved }
    : resolveContent(mail.request, texts)
  const outcome = await attempt(context, mail, server, waiting, content)
  if (outcome) await settle(context, mail, outcome)
}

/** Hands the email over to the server. Returns undefined when another worker is sending it. */
async function attempt(
  context: Context,
  mail: OutboundMail,
  server: ServerRow,
  waiting: RecipientState[],
  content: ResolvedContent,
): Promise<Outcome | undefined> {
  try {
    const { message, envelopeFrom } = await compose(context, mail, content)
    const { accepted, refused } = await measured(context, server, () =>
      deliver(serverOf(context, server), { from: envelopeFrom, to: waiting.map(({ email }) => email) }, message, {
        allowPrivate: context.settings.smtpAllowPrivate,
        beforeContent: () => claim(context, mail.comment_id),
      }),
    )
    return { accepted: new Set(accepted.map((address) => address.toLowerCase())), refused: byAddress(refused), others: NO_ANSWER, content }
  } catch (error) {
    if (error instanceof AlreadyClaimed) return undefined
    // Any other error occurs before the content is handed over, so a retry cannot deliver twice.
    if (!(error instanceof DeliveryError)) return failedForAll(unexpected(context, error))
    const { failure, refused } = error
    return { ...failedForAll(failure), refused: byAddress(refused), ...(failure.kind === 'unknown' && { content }) }
  }
}

const byAddress = (refused: DeliveryError['refused']) => new Map(refused.map(({ address, failure }) => [address.toLowerCase(), failure]))

/** Notes how long the dialogue with the server took, in the metrics and in a span. */
async function measured({ metrics }: Context, { host, port }: ServerRow, dialogue: () => Promise<Delivery>): Promise<Delivery> {
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

/** Thrown when another worker is sending this email, because the queue took that worker for dead and repeated its job. */
class AlreadyClaimed extends Error {}

/** Lets one worker pass, just before the content is sent: from then on a second attempt could be a second delivery. */
async function claim({ db, now }: Context, commentId: number): Promise<void> {
  const claimed = await db.execute(sql`
    update outbound_emails set attempted_at = ${formatInstant(now)}::timestamp where comment_id = ${commentId} and attempted_at is null`)
  if (!claimed) throw new AlreadyClaimed()
}

async function compose(
  { db, settings, storage, now, publicUrl }: Context,
  mail: OutboundMail,
  { subject, html }: ResolvedContent,
): Promise<{ message: Message; envelopeFrom: string }> {
  const { messageId } = mail.metadata
  const { from, recipients } = mail.request
  const tokens = decryptTokens(settings.secretKey, messageId, mail.tokens_encrypted)
  const replyTo = replyAddress(tokens.reply, settings.catchDomain)
  const thread = await threadOf(db, mail.table_id, mail.record_id, mail.comment_id)
  const pixel = mail.disable_pixel ? '' : `<img src="${publicUrl()}/email/pixel/${tokens.pixel}.png" width="1" height="1" alt="" />`
  return {
    envelopeFrom: mail.reply_as_envelope ? replyTo : from.email,
    message: {
      from,
      to: recipients.filter(({ kind }) => kind === 'to'),
      cc: recipients.filter(({ kind }) => kind === 'cc'),
      replyTo,
      subject,
      html: html + pixel,
      text: textOfHtml(html),
      messageId,
      inReplyTo: thread.at(-1) ?? null,
      references: thread,
      date: now,
      attachments: mail.attachments.map(({ name, type, path }) => ({
        name,
        type,
        open: async () => {
          const stream = await storage.read(path)
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
async function settle(context: Context, mail: OutboundMail, outcome: Outcome): Promise<void> {
  for (let waitMs = 100; ; waitMs = Math.min(waitMs * 2, MAX_WAIT_MS)) {
    try {
      return await saveOutcome(context, mail, outcome)
    } catch (error) {
      if (!isOutage(error)) throw error
      context.log.warn({ err: error, comment_id: mail.comment_id }, 'the outcome of a mail is kept until the database is back')
      await sleep(waitMs)
    }
  }
}

/** Records the outcome of an attempt, and queues the next attempt for recipients that are still queued. */
async function saveOutcome(context: Context, { comment_id }: OutboundMail, outcome: Outcome): Promise<void> {
  const { db, now, jobs, metrics } = context
  const settled = await context.transaction(async () => {
    const mail = await outboundMail(db, comment_id, true)
    if (!mail) return undefined
    const isLastAttempt = mail.attempts >= RETRY_SECONDS.length
    const recipients = mail.metadata.recipients.map((recipient) => recipientAfter(recipient, outcome, isLastAttempt))
    const status = emailAfter(mail.metadata.status, recipients)
    const transition = status && transitionTo(status, now)
    const { html, ...sent } = outcome.content ?? { html: undefined }
    const metadata = { ...transition?.metadata, recipients, error: errorOf(recipients), ...sent }
    await updateEmail(db, comment_id, { ...transition, metadata, ...(html !== undefined && { content: html }) }, now)
    const isWaiting = recipients.some(({ status }) => status === 'queued')
    // Without queued recipients the claim stays, so that no other worker can send the email.
    await db.execute(sql`
      update outbound_emails set attempts = attempts + 1, attempted_at = case when ${isWaiting} then null else attempted_at end
      where comment_id = ${comment_id}`)
    const seconds = RETRY_SECONDS[mail.attempts]
    if (isWaiting && seconds !== undefined)
      await jobs.send(sendEmail, { comment_id }, { startAfter: new Date(now.getTime() + seconds * 1000) })
    const tried = recipients.filter((_, index) => mail.metadata.recipients[index]?.status === 'queued')
    return { status, states: tried.map(({ status }) => status) }
  })
  if (settled?.status) metrics.count(mails, { state: settled.status })
  for (const state of settled?.states ?? []) metrics.count(recipientStates, { state })
}

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
