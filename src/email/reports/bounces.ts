/** Records what delivery reports say about the recipients of an email, and so about the email (contract.md §6, Not a reply). */
import type { Context } from '../../platform/context.ts'
import { storable } from '../../platform/storable-text.ts'
import type { RecipientState } from '../metadata.ts'
import { afterProof } from '../outbound/outcome.ts'
import { lockMail, type Thread } from '../queries.ts'
import { recipientCanBecome } from '../states.ts'
import { suppress } from '../suppressions/service.ts'
import { bounceCause } from './bounce-cause.ts'
import { notifyOfBounces } from './bounce-notice.ts'
import { changeRecipients } from './recipients.ts'
import type { DeliveryReport, ReportedRecipient } from './report.ts'
import { reportedAbout } from './report-scope.ts'

/**
 * Marks the recipients that the report names as bounced, and the email once no recipient has received it or still can. A delay is kept with
 * its recipient and changes nothing else. The reply address identifies the email, because the report itself could name any email. Addresses
 * that take no mail are suppressed in the same transaction.
 * @param receivedAt when the report came, `YYYY-MM-DD HH:MM:SS` in UTC
 * @returns the effect of its failures
 * @throws Error when the report overtook the end of the attempt, so that its job is repeated
 */
export async function recordBounces(context: Context, thread: Thread, report: DeliveryReport, receivedAt: string): Promise<Reported> {
  const { db } = context
  const email = await lockMail(db, thread.comment_id)
  if (!email) return NOTHING
  const { metadata } = email
  const reported = reportedAbout(report, metadata)
  const isOvertaken = metadata.recipients.some((recipient) => recipient.status === 'queued' && reported.has(recipient.email.toLowerCase()))
  if (isOvertaken && email.attempted_at !== null)
    throw new Error('A delivery report arrived before the outcome of the attempt was recorded')
  const changed = metadata.recipients.map((recipient) => {
    const said = reported.get(recipient.email.toLowerCase())
    return said ? afterReport(recipient, said, receivedAt) : recipient
  })
  // Only a server that had taken the email reports on it.
  const isProof = changed.some(({ status }, index) => status !== 'unknown' && metadata.recipients[index]?.status === 'unknown')
  await changeRecipients(context, email, isProof ? afterProof(changed) : changed)
  await notifyOfBounces(context, email, changed)
  const gone = changed.filter((recipient, index) => recipient !== metadata.recipients[index] && recipient.bounce?.kind === 'hard')
  await suppress(
    context,
    email,
    gone.map(({ email: address }) => address),
    'hard_bounce',
  )
  const failed = changed.filter((recipient) => reported.get(recipient.email.toLowerCase())?.action === 'failed')
  return { isAboutRecipient: failed.length > 0, hasBounced: failed.some(({ status }) => status === 'bounced') }
}

/** The failures of a report. */
interface Reported {
  /** Whether one of the failures is about a recipient of the email. */
  isAboutRecipient: boolean
  /** Whether a recipient has bounced because of one of them, now or before. */
  hasBounced: boolean
}

const NOTHING: Reported = { isAboutRecipient: false, hasBounced: false }

/** The state of a recipient after what the report says about it; the same object if it changes nothing. */
function afterReport(recipient: RecipientState, said: ReportedRecipient, receivedAt: string): RecipientState {
  const error = { code: said.code ?? 'BOUNCED', enhanced: said.status, message: storable(said.diagnostic ?? UNDELIVERED, 500) }
  switch (said.action) {
    case 'failed':
      if (!recipientCanBecome(recipient.status, 'bounced')) return recipient
      return { ...recipient, status: 'bounced', error, bounce: bounceCause(said) }
    case 'delayed':
      if (!recipientCanBecome(recipient.status, 'bounced')) return recipient
      return { ...recipient, delay: { at: receivedAt, ...error, code: said.code ?? 'DELAYED' } }
    default:
      return recipient.status === 'unknown' ? { ...recipient, status: 'sent', error: null } : recipient
  }
}

const UNDELIVERED = 'The mail could not be delivered'
