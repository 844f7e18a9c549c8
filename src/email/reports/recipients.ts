/** Changes of the recipients of an email after it was sent: by reports, by answers and by opens. */
import { updateEmail } from '../../comments/emails.ts'
import type { Context } from '../../platform/context.ts'
import type { RecipientState } from '../metadata.ts'
import { mails } from '../metrics.ts'
import { afterProof, emailAfter, errorOf } from '../outbound/outcome.ts'
import { lockMail, type OutboundMail } from '../queries.ts'
import { transitionTo } from '../states.ts'

type Changing = Pick<Context, 'db' | 'now' | 'metrics'>

/** Stores the recipients of an email whose rows are locked, with the state and the error that follow from them. */
export async function changeRecipients({ db, now, metrics }: Changing, email: OutboundMail, recipients: RecipientState[]): Promise<void> {
  const { metadata, comment_id } = email
  if (recipients.every((recipient, index) => recipient === metadata.recipients[index])) return
  const status = emailAfter(metadata.status, recipients)
  const transition = status && transitionTo(status, now)
  const isStatusChanged = recipients.some(({ status }, index) => status !== metadata.recipients[index]?.status)
  const changes = { ...transition?.metadata, recipients, ...(isStatusChanged && { error: errorOf(recipients) }) }
  const isChanged = await updateEmail(
    db,
    comment_id,
    { ...(isStatusChanged && { event: 'email.status' }), ...transition, metadata: changes },
    now,
  )
  if (isChanged && status) metrics.count(mails, { state: status })
}

/**
 * Marks recipients of unknown outcome as sent, because something proves that the server had taken the email: an open, or a message to its
 * reply address.
 * @param from the sender of the message; null for an open, which may be by any recipient. If it is not that of a recipient, it proves
 * nothing about an email that another recipient has for certain, and from a program it proves nothing at all
 */
export async function proveSent(context: Changing, commentId: number, from: string | null, { isAutomatic = false } = {}): Promise<void> {
  const email = await lockMail(context.db, commentId)
  const { recipients } = email?.metadata ?? { recipients: [] }
  if (!email || !recipients.some(({ status }) => status === 'unknown')) return
  const sender = recipients.find(({ email: address }) => address.toLowerCase() === from)
  const hasSent = recipients.some(({ status }) => status === 'sent' || status === 'bounced')
  if (sender ? sender.status === 'unknown' : !hasSent && !isAutomatic) await changeRecipients(context, email, afterProof(recipients))
}
