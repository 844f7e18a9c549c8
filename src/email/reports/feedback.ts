/** Reports of recipients and their providers on an email that has arrived: complaints and read receipts (feedback-report.ts). */
import type { Context } from '../../platform/context.ts'
import type { RecipientState } from '../metadata.ts'
import { afterProof } from '../outbound/outcome.ts'
import { lockMail, type Thread } from '../queries.ts'
import { suppress } from '../suppressions/service.ts'
import type { Feedback } from './feedback-report.ts'
import { changeRecipients } from './recipients.ts'
import { type ReportedEmail, refersTo } from './report-scope.ts'

/** True if the report is about the email: it returns its Message-ID or names one of its recipients. */
export const isFeedbackOn = (report: Feedback, email: ReportedEmail): boolean =>
  refersTo(report, email) || senderOf(report, email) !== undefined

/**
 * Notes a complaint or a read receipt with its recipient, if the report says who that is. The email itself stays as it is. After a
 * complaint nothing more is sent to the address.
 * @param receivedAt when the report came, `YYYY-MM-DD HH:MM:SS` in UTC
 */
export async function recordFeedback(context: Context, thread: Thread, report: Feedback, receivedAt: string): Promise<void> {
  const { db } = context
  const email = await lockMail(db, thread.comment_id)
  const address = email && senderOf(report, email.metadata)
  if (!email || address === undefined) return
  const sender = email.metadata.recipients.find((recipient) => recipient.email.toLowerCase() === address)
  // A replay says nothing new: an admin may have lifted the suppression since.
  if (report.kind === 'complaint' ? sender?.complaint : sender?.receipt) return
  const noted = email.metadata.recipients.map((recipient): RecipientState => {
    if (recipient.email.toLowerCase() !== address) return recipient
    return report.kind === 'complaint'
      ? { ...recipient, complaint: { at: receivedAt, type: report.type } }
      : { ...recipient, receipt: { at: receivedAt, disposition: report.type } }
  })
  const isProof = noted.some(({ email: named, status }) => status === 'unknown' && named.toLowerCase() === address)
  await changeRecipients(context, email, isProof ? afterProof(noted) : noted)
  if (report.kind === 'complaint') await suppress(context, email, [address], 'complaint')
}

/** The recipient of the email whom the report is from: the one that it names, or the only one there is. */
function senderOf(report: Feedback, email: ReportedEmail): string | undefined {
  const recipients = email.recipients.map((recipient) => recipient.email.toLowerCase())
  const named = recipients.find((address) => report.addresses.includes(address))
  return named ?? (recipients.length === 1 && refersTo(report, email) ? recipients[0] : undefined)
}
