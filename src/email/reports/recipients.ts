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

interface Proof {
  /** The recipient from whom it is for certain, in lower case; null if it may be from anybody who has the email. */
  from: string | null
  /** Whether a program has written it. From anybody it then proves nothing. */
  isAutomatic?: boolean
}

/**
 * Marks recipients of unknown outcome as sent, because something proves that the server had taken the email: an open, or a message to one of its
 * addresses. If it may be from anybody, it proves nothing about an email that another recipient has, or may have got as a copy of their own.
 */
export async function proveSent(context: Changing, commentId: number, { from, isAutomatic = false }: Proof): Promise<void> {
  const email = await lockMail(context.db, commentId)
  if (!email) return
  const { metadata, is_separate } = email
  const unknown = metadata.recipients.filter(({ status }) => status === 'unknown').map(({ email: address }) => address.toLowerCase())
  const hasOther =
    metadata.recipients.some(({ status }) => status === 'sent' || status === 'bounced') || (is_separate && unknown.length > 1)
  const proved = from === null ? (hasOther || isAutomatic ? undefined : unknown[0]) : unknown.find((address) => address === from)
  if (proved !== undefined) await changeRecipients(context, email, afterProof(metadata.recipients, proved, is_separate))
}
