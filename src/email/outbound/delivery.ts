/** Sends leased emails: at most one delivery to each recipient, whatever fails in between (contract.md §6, At most one delivery). */
import type { Context } from '../../platform/context.ts'
import { formatInstant } from '../../platform/time.ts'
import { domainOf } from '../address.ts'
import { type ResolvedContent, resolveContent } from '../composing/content.ts'
import { fieldTexts, ValuesTooLong } from '../composing/field-tokens.ts'
import type { OutboundMail } from '../queries.ts'
import type { Failure } from '../smtp/failure.ts'
import { patienceEnd } from './faults.ts'
import { handOver, type Mail, unexpected } from './handover.ts'
import { endLease, type Lease, LeaseLost, releaseLeases } from './lease.ts'
import type { LoadedMail } from './loading.ts'
import { failedForAll, isReached, type Outcome } from './outcome.ts'
import type { Settling } from './settling.ts'
import type { Stamping } from './stamping.ts'

/** Records the steps of attempts. */
export type Recorder = Settling & Stamping

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
  // A worker died while it handed the email over.
  if (mail.attempted_at !== null) return { isReached: undefined, recorded: recorder.settle({ lease, outcome: interrupted(mail) }) }
  const obstacle = obstacleTo(mail, context.now) ?? (allowed.length ? undefined : FOR_NOBODY)
  const outcome = obstacle ?? (await attempt(context, recorder, lease, { ...loaded, mail }, allowed))
  if (!outcome) return { isReached: undefined, recorded: Promise.resolve() }
  const recorded = recorder.settle({ lease, outcome: { ...outcome, suppressed } })
  return { isReached: obstacle ? undefined : isReached(outcome), recorded }
}

function obstacleTo(mail: OutboundMail, now: Date): Outcome | undefined {
  const { table_version, server, failing_message, from_domains, request } = mail
  if (table_version === null) return RECORD_GONE
  if (server === null) return INTEGRATION_GONE
  // A scheduled or retried email may be older than the domains that the integration has now.
  const domain = domainOf(request.from.email)
  if (!from_domains?.includes(domain)) return gone('FROM_NOT_ALLOWED', `From domain not allowed: ${domain}`)
  return failing_message !== null && hasWaited(mail, now) ? gaveUp(failing_message) : undefined
}

/** The email may have arrived, so it is not sent again to those to whom the worker was handing it over. Copies for others were not begun. */
function interrupted({ handed_over, metadata }: OutboundMail): Outcome {
  if (!handed_over) return failedForAll(INTERRUPTED)
  const addressAt = (position: number) => metadata.recipients[position]?.email.toLowerCase() ?? ''
  const accepted = new Set(handed_over.delivered.map(addressAt))
  return { accepted, refused: new Map([[addressAt(handed_over.current), INTERRUPTED]]) }
}

/** True if the email has waited for its integration for as long as it may. */
const hasWaited = ({ waiting_since }: OutboundMail, now: Date) => waiting_since < formatInstant(patienceEnd(now))
const gaveUp = (message: string) => gone('INTEGRATION_FAILING', message)

/** Hands the email over to the server. Returns undefined when another worker is sending it. */
async function attempt(context: Context, recorder: Recorder, lease: Lease, loaded: Mail, to: string[]): Promise<Outcome | undefined> {
  try {
    const content = await contentOf(loaded)
    return content ? await handOver({ context, recorder, lease, loaded, to, content }) : RECORD_GONE
  } catch (error) {
    if (error instanceof LeaseLost) return undefined
    // The worker stops. Another one takes up the email at once.
    if (context.signal.aborted && error === context.signal.reason) return void (await releaseLeases(context, [lease]))
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

/** Every recipient that is still queued is suppressed. */
const FOR_NOBODY: Outcome = { accepted: new Set(), refused: new Map() }

const gone = (code: string, message: string) => failedForAll({ kind: 'permanent', code, enhanced: null, message })
const RECORD_GONE = gone('RECORD_GONE', 'The record was deleted before the mail was sent')
const INTEGRATION_GONE = gone('INTEGRATION_GONE', 'The SMTP integration was deleted, or is not for this table')

const INTERRUPTED: Failure = {
  kind: 'unknown',
  code: 'OUTCOME_UNKNOWN',
  enhanced: null,
  message: 'Sending was interrupted while the mail was handed over; it may have been delivered and is not sent again',
}
