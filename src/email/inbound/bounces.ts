/** Records the bounces in delivery reports: of single recipients, and of the whole email (contract.md §6, Not a reply). */
import { updateEmail } from '../../comments/emails.ts'
import type { Context } from '../../platform/context.ts'
import { mails } from '../metrics.ts'
import { emailAfter, errorOf } from '../outbound/outcome.ts'
import { outboundMail, type Thread } from '../queries.ts'
import type { RecipientState } from '../schema.ts'
import { recipientCanBecome, transitionTo } from '../states.ts'
import { notifyOfBounces } from './bounce-notice.ts'
import type { DeliveryReport, ReportedRecipient } from './delivery-report.ts'

/**
 * Marks the recipients that the report names as bounced, and the email once no recipient has received it or still can. The reply address
 * identifies the email, because the report itself could name any email.
 * @throws Error when the report overtook the end of the attempt, so that its job is repeated
 */
export async function recordBounces(context: Context, thread: Thread, { recipients: reported }: DeliveryReport): Promise<void> {
  const { db, now, metrics } = context
  const email = await outboundMail(db, thread.comment_id, true)
  if (!email) return
  if (email.metadata.status === 'queued' && email.attempted_at !== null)
    throw new Error('A delivery report arrived before the email was marked as sent')
  const failed = reported.filter(({ action }) => action === 'failed')
  const recipients = email.metadata.recipients.map((recipient) => afterReport(recipient, failed, email.metadata.recipients.length))
  if (recipients.every((recipient, index) => recipient === email.metadata.recipients[index])) return
  const status = emailAfter(email.metadata.status, recipients)
  const transition = status && transitionTo(status, now)
  const metadata = { ...transition?.metadata, recipients, error: errorOf(recipients) }
  const isChanged = await updateEmail(db, thread.comment_id, { ...transition, metadata }, now)
  if (isChanged) await notifyOfBounces(context, email, recipients)
  if (isChanged && status) metrics.count(mails, { state: status })
}

function afterReport(recipient: RecipientState, failed: ReportedRecipient[], recipientCount: number): RecipientState {
  if (!recipientCanBecome(recipient.status, 'bounced')) return recipient
  // An email with one recipient may have been forwarded, so a report about another address is about that recipient, too.
  const failure = failed.find(({ address }) => address === recipient.email.toLowerCase()) ?? (recipientCount === 1 ? failed[0] : undefined)
  if (!failure) return recipient
  const message = failure.diagnostic ?? 'The mail could not be delivered'
  const code = /^\s*(\d{3})\b/.exec(message)?.[1] ?? 'BOUNCED'
  return { ...recipient, status: 'bounced', error: { code, enhanced: failure.status, message: message.slice(0, 500) } }
}
