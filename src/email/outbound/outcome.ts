/** The states of the recipients and of the email after an attempt to send it. */
import type { RecipientState } from '../schema.ts'
import { canBecome, type EmailStatus, recipientCanBecome } from '../states.ts'
import type { ResolvedContent } from './content.ts'
import type { Failure } from './transport.ts'

/** One failure for all recipients, or the answers of the server for each. Addresses are in lower case. */
export type Outcome =
  | { everyone: Failure }
  | { accepted: ReadonlySet<string>; refused: ReadonlyMap<string, Failure>; content: ResolvedContent }

/** The state of a recipient after the attempt. A temporary failure leaves the recipient queued, unless it was the last attempt. */
export function recipientAfter(recipient: RecipientState, outcome: Outcome, isLastAttempt: boolean): RecipientState {
  const address = recipient.email.toLowerCase()
  const isAccepted = 'accepted' in outcome && outcome.accepted.has(address)
  if (isAccepted && recipientCanBecome(recipient.status, 'sent')) return { ...recipient, status: 'sent', error: null }
  if (recipient.status !== 'queued') return recipient
  const { kind, ...error } = 'everyone' in outcome ? outcome.everyone : (outcome.refused.get(address) ?? NO_ANSWER)
  if (kind === 'unknown') return { ...recipient, status: 'unknown', error }
  return { ...recipient, status: kind === 'permanent' || isLastAttempt ? 'dropped' : 'queued', error }
}

/** Returns the new state of the email: sent once one recipient has received it, dropped once none is queued; undefined for no change. */
export function emailAfter(before: EmailStatus, recipients: readonly RecipientState[]): EmailStatus | undefined {
  const has = (wanted: RecipientState['status']) => recipients.some(({ status }) => status === wanted)
  if (!has('sent') && has('queued')) return undefined
  const status = has('sent') ? 'sent' : 'dropped'
  return canBecome(before, status) ? status : undefined
}

const NO_ANSWER: Failure = {
  kind: 'temporary',
  code: 'NO_ANSWER',
  enhanced: null,
  message: 'The server gave no answer for this recipient',
}
