/** Sends leased emails: at most one delivery to each recipient, whatever fails in between (contract.md §6, At most one delivery). */
import { randomUUID } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import type { Context } from '../../platform/context.ts'
import { countRemoteImages } from '../../platform/mail/html.ts'
import { UnreadableSecret } from '../../platform/secrets/secrets.ts'
import { formatInstant } from '../../platform/time/time.ts'
import { inSpan } from '../../platform/tracing/tracing.ts'
import { domainOf } from '../address.ts'
import { signerOf } from '../authenticity/dkim-keys.ts'
import { type ResolvedContent, resolveContent } from '../composing/content.ts'
import { fieldTexts, ValuesTooLong } from '../composing/field-tokens.ts'
import { compose } from '../composing/message.ts'
import { envelopeIdOf } from '../headers.ts'
import { deliverySeconds } from '../metrics.ts'
import type { OutboundMail } from '../queries.ts'
import type { SmtpServer } from '../smtp/connections.ts'
import { DeliveryError, type Failure } from '../smtp/failure.ts'
import { type ServerRow, serverOf } from '../smtp/stored-server.ts'
import { type Delivery, deliver } from '../smtp/transport.ts'
import { SENDER_DISABLED } from './disabled-sender.ts'
import { patienceEnd } from './faults.ts'
import { endLease, type Lease, LeaseLost, releaseLeases } from './lease.ts'
import type { LoadedMail } from './loading.ts'
import { failedForAll, isReached, type Outcome } from './outcome.ts'
import type { Settling } from './settling.ts'
import type { ServerWait } from './slots.ts'
import type { Stamping } from './stamping.ts'

/** Records the steps of the attempts of a connection. */
export type Recorder = Settling & Stamping & { wait: ServerWait }

export interface Attempted {
  /** Whether the server was reached; undefined if no server was tried. */
  isReached: boolean | undefined
  /** Resolves when the outcome is recorded. The connection can be used for another email before. */
  recorded: Promise<void>
}

/** Makes one attempt to send an email to the recipients that are still queued. */
export async function attemptDelivery(context: Context, recorder: Recorder, lease: Lease, loaded: LoadedMail): Promise<Attempted> {
  const { mail, suppressed } = loaded
  const waiting = mail?.metadata.recipients.flatMap(({ status, email }) => (status === 'queued' ? [email] : [])) ?? []
  // The comment was deleted, and the email with it; or the email was cancelled.
  if (!mail || !waiting.length) return { isReached: undefined, recorded: endLease(context, lease) }
  const allowed = waiting.filter((email) => !suppressed.has(email.toLowerCase()))
  const obstacle = obstacleTo(mail, context.now) ?? (allowed.length ? undefined : FOR_NOBODY)
  const outcome = obstacle ?? (await attempt(context, recorder, lease, { ...loaded, mail }, allowed))
  if (!outcome) return { isReached: undefined, recorded: Promise.resolve() }
  const known = outcome.shown && { ...mail, metadata: { ...mail.metadata, ...outcome.shown } }
  const recorded = recorder.settle({ lease, outcome: { ...outcome, suppressed }, known })
  const wasTried = !obstacle && outcome.pauseSeconds === undefined
  return { isReached: wasTried ? isReached(outcome) : undefined, recorded }
}

function obstacleTo(mail: OutboundMail, now: Date): Outcome | undefined {
  const { attempted_at, table_version, server, is_sender_disabled, is_sender_lost, failing_message, from_domains, request } = mail
  // A worker died while it handed the email over. The email may have arrived, so it is not sent again.
  if (attempted_at !== null) return failedForAll(INTERRUPTED)
  if (table_version === null) return RECORD_GONE
  if (server === null) return INTEGRATION_GONE
  if (is_sender_disabled) return SENDER_DISABLED
  if (is_sender_lost) return SENDER_LOST
  // A scheduled or retried email may be older than the domains that the integration has now.
  const domain = domainOf(request.from.email)
  if (!from_domains?.includes(domain)) return gone('FROM_NOT_ALLOWED', `From domain not allowed: ${domain}`)
  return failing_message !== null && hasWaited(mail, now) ? gaveUp(failing_message) : undefined
}

/** True if the email has waited for its integration for as long as it may. */
const hasWaited = ({ waiting_since }: OutboundMail, now: Date) => waiting_since < formatInstant(patienceEnd(now))
const gaveUp = (message: string) => gone('INTEGRATION_FAILING', message)

/** An email that is still there. */
type Mail = LoadedMail & { mail: OutboundMail }

/** Hands the email over to the server. Returns undefined when another worker is sending it. */
async function attempt(context: Context, recorder: Recorder, lease: Lease, loaded: Mail, to: string[]): Promise<Outcome | undefined> {
  const { mail } = loaded
  try {
    const content = await contentOf(loaded)
    return content ? await handOver(context, recorder, lease, loaded, to, content) : RECORD_GONE
  } catch (error) {
    // If the table was deleted meanwhile, the lease has not ended, and the next attempt drops the email.
    if (error instanceof LeaseLost) return void (await releaseLeases(context, [lease]))
    // The worker stops. Another one takes up the email at once.
    if (context.signal.aborted && error === context.signal.reason) return void (await releaseLeases(context, [lease]))
    if (error instanceof UnreadableSecret) return hasWaited(mail, context.now) ? TOKENS_LOST : TOKENS_UNREADABLE
    if (error instanceof ValuesTooLong) return failedForAll(error.failure)
    // Any error occurs before the end of the content is sent, so a retry cannot deliver twice.
    return failedForAll(unexpected(context, error))
  }
}

/** The content with the values that the record has now; undefined if the record does not exist. */
async function contentOf({ mail, record }: Mail): Promise<ResolvedContent | undefined> {
  const { metadata, content, request } = mail
  const found = await record()
  if (!found) return undefined
  // Recipients of a later attempt get the same content as those of the first.
  const hasGone = metadata.recipients.some(({ status }) => status === 'sent' || status === 'unknown')
  if (hasGone) return { subject: metadata.subject, html: content, unresolved: metadata.unresolved }
  return resolveContent(request, fieldTexts(found.fields, found.row, request.timeZone ?? 'UTC'))
}

async function handOver(
  context: Context,
  recorder: Recorder,
  lease: Lease,
  { mail, thread }: Mail,
  to: string[],
  content: ResolvedContent,
): Promise<Outcome> {
  const { message, envelopeFrom } = compose(context, mail, thread, content)
  const characters = message.html.length + message.text.length
  const beforeEnd = async () => {
    recorder.wait.end()
    await recorder.stamp({ lease, change: changeTo(mail, content) })
    recorder.wait.begin(characters)
  }
  try {
    const server = serverOf(context, mail.server as ServerRow)
    const envelope = { from: envelopeFrom, to, id: envelopeIdOf(mail.metadata.messageId) }
    const dkim = await signerOf(context, mail.dkim)
    const options = { allowPrivate: context.settings.smtpAllowPrivate, beforeEnd, signal: context.signal, dkim }
    recorder.wait.begin(characters)
    const { accepted, refused } = await measured(context, server, () => deliver(server, envelope, message, options))
    const shown = { subject: content.subject, unresolved: content.unresolved }
    return { accepted: new Set(accepted.map((address) => address.toLowerCase())), refused: byAddress(refused), others: NO_ANSWER, shown }
  } catch (error) {
    if (!(error instanceof DeliveryError)) throw error
    const { failure, refused, isFault } = error
    // A fault of the integration is no reason to drop the mail, even if the server calls it permanent.
    if (isFault) return { ...failedForAll({ ...failure, kind: 'temporary' }), fault: { version: mail.integration_version } }
    return { ...failedForAll(failure), refused: byAddress(refused) }
  } finally {
    recorder.wait.end()
  }
}

/** Notes how long the dialogue with the server took, in the metrics and in a span. */
async function measured({ metrics }: Context, { host, port }: SmtpServer, dialogue: () => Promise<Delivery>): Promise<Delivery> {
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

/** How the comment changes to show the content; undefined if it shows it already. */
function changeTo(mail: OutboundMail, { html, ...metadata }: ResolvedContent) {
  const { subject, unresolved } = mail.metadata
  const isShown = mail.content === html && isDeepStrictEqual({ subject, unresolved }, metadata)
  return isShown ? undefined : { metadata: { ...metadata, remoteImages: countRemoteImages(html) }, content: html }
}

const byAddress = (refused: DeliveryError['refused']) => new Map(refused.map(({ address, failure }) => [address.toLowerCase(), failure]))

/** Every recipient that is still queued is suppressed. */
const FOR_NOBODY: Outcome = { accepted: new Set(), refused: new Map() }

const gone = (code: string, message: string) => failedForAll({ kind: 'permanent', code, enhanced: null, message })
const RECORD_GONE = gone('RECORD_GONE', 'The record was deleted before the mail was sent')
const INTEGRATION_GONE = gone('INTEGRATION_GONE', 'The SMTP integration was deleted, or is not for this table')
const SENDER_LOST = gone('SENDER_NOT_ALLOWED', 'The sender lost the right to send this mail before its time came')

const UNREADABLE: Failure = {
  kind: 'permanent',
  code: 'TOKENS_UNREADABLE',
  enhanced: null,
  message: 'The reply address of the mail was encrypted with another SECRET_KEY',
}
const TOKENS_LOST = failedForAll(UNREADABLE)
/** The operator may restore the key. Newer mails of the integration go on meanwhile. */
const TOKENS_UNREADABLE: Outcome = { ...failedForAll({ ...UNREADABLE, kind: 'temporary' }), pauseSeconds: 900 }

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
