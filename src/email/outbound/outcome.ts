/** The states of the recipients and of the email after an attempt to send it. */
import type { OutgoingMetadata, RecipientState } from '../metadata.ts'
import type { Failure } from '../smtp/failure.ts'
import { canBecome, type EmailStatus, RECIPIENT_STATES, type RecipientStatus, recipientCanBecome } from '../states.ts'

/** The answers of the server to an attempt. Addresses are in lower case. */
export interface Outcome {
  accepted: ReadonlySet<string>
  refused: ReadonlyMap<string, Failure>
  /** Addresses that are not tried, because the account sends them no mail. */
  suppressed?: ReadonlyMap<string, Failure>
  /** Counts for recipients that are neither accepted nor refused. Without it they stay as they are. */
  others?: Failure
  /** Set if the email was handed over: what its comment shows of it. */
  shown?: Pick<OutgoingMetadata, 'subject' | 'unresolved'>
  /** Set if the integration failed, and not the mail: the version of the integration that the attempt has used. */
  fault?: { version: number | null }
  /** Set if the attempt does not count, because no server was tried: the seconds until the next one. */
  pauseSeconds?: number
}

/** True if the connection and the sign-in worked: the server answered for a recipient, or refused the whole mail with a status. */
export const isReached = ({ accepted, refused, others, fault }: Outcome): boolean =>
  accepted.size > 0 || refused.size > 0 || (!fault && /^\d/.test(others?.code ?? ''))

/** The outcome of an attempt that failed for all recipients alike. */
export const failedForAll = (others: Failure): Outcome & { others: Failure } => ({ accepted: new Set(), refused: new Map(), others })

/** The state of a recipient after the attempt. A temporary failure leaves the recipient queued, unless it was the last attempt. */
export function recipientAfter(recipient: RecipientState, outcome: Outcome, isLastAttempt: boolean): RecipientState {
  const address = recipient.email.toLowerCase()
  if (outcome.accepted.has(address) && recipientCanBecome(recipient.status, 'sent')) return { ...recipient, status: 'sent', error: null }
  if (recipient.status !== 'queued') return recipient
  const failure = outcome.suppressed?.get(address) ?? outcome.refused.get(address) ?? outcome.others
  if (!failure) return recipient
  const { kind, ...error } = failure
  if (kind === 'unknown') return { ...recipient, status: 'unknown', error }
  return { ...recipient, status: kind === 'permanent' || isLastAttempt ? 'dropped' : 'queued', error }
}

/**
 * The recipients after a proof that the server had taken the email. Those of unknown outcome had the same answer: it answers once for all.
 */
export const afterProof = (recipients: readonly RecipientState[]): RecipientState[] =>
  recipients.map((recipient) => (recipient.status === 'unknown' ? { ...recipient, status: 'sent', error: null } : recipient))

/**
 * The recipients after an open, which may be by any of them: it proves nothing about an email that another recipient has for certain.
 * @returns undefined if it proves nothing new
 */
export function afterOpen(recipients: readonly RecipientState[]): RecipientState[] | undefined {
  const has = (...wanted: RecipientStatus[]) => recipients.some(({ status }) => wanted.includes(status))
  return has('unknown') && !has('sent', 'bounced') ? afterProof(recipients) : undefined
}

/** Returns the new state of an email whose recipients have changed; undefined if it stays in its state. */
export function emailAfter(before: EmailStatus, recipients: readonly RecipientState[]): EmailStatus | undefined {
  const status = statusOf(new Set(recipients.map(({ status }) => status)))
  return canBecome(before, status) ? status : undefined
}

function statusOf(statuses: ReadonlySet<RecipientStatus>): EmailStatus {
  const isReachable = [...statuses].some((status) => RECIPIENT_STATES[status].isReachable)
  if (!isReachable) return statuses.has('bounced') ? 'bounced' : 'dropped'
  // A delivery report proves that a server had accepted the email.
  if (statuses.has('sent') || statuses.has('bounced')) return 'sent'
  // An unknown outcome counts as sent, because the email may have arrived and is not sent again (contract.md §8).
  return statuses.has('queued') ? 'queued' : 'sent'
}

/** The error of an email: that of an unknown outcome once nothing is queued, else that of a bounce, else the first. */
export function errorOf(recipients: readonly RecipientState[]): RecipientState['error'] {
  const isQueued = recipients.some(({ status }) => status === 'queued')
  const of = (wanted: RecipientStatus) => recipients.find(({ status, error }) => status === wanted && error)?.error
  return (isQueued ? undefined : of('unknown')) ?? of('bounced') ?? recipients.find(({ error }) => error)?.error ?? null
}
