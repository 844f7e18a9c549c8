/** What a sender may still do with an email: cancel it while it waits, and send it again to recipients that were dropped. */
import { audit } from '../../audit/log.ts'
import { type Authorship, isAuthor } from '../../comments/authorship.ts'
import { discardSent, readEmail, updateEmail } from '../../comments/emails.ts'
import type { RecordComment } from '../../comments/schema.ts'
import type { Context } from '../../platform/context.ts'
import { sql } from '../../platform/database/database.ts'
import { conflict, forbidden, notFound } from '../../platform/errors.ts'
import type { OutgoingMetadata, RecipientState } from '../metadata.ts'
import { mails } from '../metrics.ts'
import { lockMail, type OutboundMail } from '../queries.ts'
import { transitionTo } from '../states.ts'
import { takeOver } from './disabled-sender.ts'
import { reschedule } from './lease.ts'
import { emailAfter, errorOf } from './outcome.ts'
import { sendEmail } from './queue.ts'

/** An email_out comment that the caller may change. */
export interface EmailRow extends Authorship {
  comment_id: number
  space_id: number
  table_id: number
}

const CANCELLED = { code: 'CANCELLED', enhanced: null, message: 'The email was cancelled before it was sent' }

/**
 * Cancels an email that waits to be sent. The locks of the rows decide between this and a worker that claims the email.
 * @param discard whether its comment is deleted as well, so that its sender can write it anew
 * @returns false if it was cancelled before
 * @throws AppError 409 for an email that is being sent, or has left the state `queued`; 403 if somebody else than the sender discards it
 */
export async function cancel(
  context: Context,
  row: EmailRow,
  { discard }: { discard?: boolean | null | undefined },
): Promise<{ ok: boolean }> {
  const { db, actor, now, metrics } = context
  if (discard && !isAuthor(row, actor)) throw forbidden()
  const ok = await context.transaction(async () => {
    const { metadata, is_claimed } = await lockEmail(context, row)
    if (metadata.status === 'dropped' && metadata.error?.code === CANCELLED.code) return false
    if (metadata.status !== 'queued') throw conflict(`Only a queued email can be cancelled; this one is ${metadata.status}`)
    if (is_claimed) throw conflict('The email is being sent, so it cannot be cancelled')
    const recipients = metadata.recipients.map((recipient) => (recipient.status === 'queued' ? dropped(recipient) : recipient))
    // Without an answer of the server, an earlier attempt may have reached some of the recipients.
    if (emailAfter('queued', recipients) !== 'dropped')
      throw conflict('The email may have reached some of its recipients, so it cannot be cancelled')
    if (discard) await takeBack(context, row.comment_id)
    else {
      const { from, event, metadata: state } = transitionTo('dropped', now)
      await updateEmail(db, row.comment_id, { from, event, metadata: { ...state, recipients, error: CANCELLED } }, now)
      await reschedule(context, row.comment_id, null)
    }
    await audit(context, 'email.cancelled', { ...entryOf(row), ...(discard && { detail: { discarded: true } }) })
    return true
  })
  if (ok) metrics.count(mails, { state: 'dropped' })
  return { ok }
}

/** Nothing of the email is left but the reply address, which nobody has got. */
async function takeBack(context: Context, commentId: number): Promise<void> {
  await context.db.write(sql`delete from outbound_emails where comment_id = ${commentId}`)
  await discardSent(context, commentId)
}

/**
 * Queues an email again, for the recipients that were dropped. Field tokens are resolved anew, unless somebody has the email already. The
 * email of a sender who was disabled becomes the caller's.
 * @throws AppError 409 if no recipient was dropped, and while the email is being sent to others
 */
export async function retry(context: Context, row: EmailRow): Promise<RecordComment> {
  const { db, now, jobs, metrics } = context
  const { comment, status } = await context.transaction(async () => {
    const mail = await lockEmail(context, row)
    const { metadata, is_claimed } = mail
    if (!metadata.recipients.some(({ status }) => status === 'dropped')) throw conflict('No recipient of the email was dropped')
    if (is_claimed) throw conflict('The email is being sent to other recipients, so it cannot be retried now')
    const recipients = metadata.recipients.map((recipient) => (recipient.status === 'dropped' ? requeued(recipient) : recipient))
    const status = emailAfter(metadata.status, recipients)
    const changes = { ...stateAfterRetry(metadata, status, now), recipients, error: errorOf(recipients) }
    await updateEmail(db, row.comment_id, { event: 'email.status', metadata: changes }, now)
    await takeOver(context, mail)
    await reschedule(context, row.comment_id, now)
    await jobs.send(sendEmail, { comment_id: row.comment_id })
    await audit(context, 'email.retried', entryOf(row))
    const comment = await readEmail(db, row.comment_id)
    if (!comment) throw notFound('Comment')
    return { comment, status }
  })
  if (status) metrics.count(mails, { state: status })
  return comment
}

async function lockEmail({ db }: Context, { comment_id }: EmailRow): Promise<OutboundMail> {
  const mail = await lockMail(db, comment_id)
  if (!mail) throw notFound('Comment')
  return mail
}

const dropped = (recipient: RecipientState): RecipientState => ({ ...recipient, status: 'dropped', error: CANCELLED })
const requeued = (recipient: RecipientState): RecipientState => ({ ...recipient, status: 'queued', error: null })

/** The state and the stamps of a retried email. It goes at once, whatever its `sendAt` was, and was first sent when it was first sent. */
function stateAfterRetry({ sendAt, sentAt }: OutgoingMetadata, status: OutgoingMetadata['status'] | undefined, now: Date): object {
  return {
    ...(sendAt !== undefined && { sendAt: null }),
    ...(status && { ...transitionTo(status, now).metadata, droppedAt: null, bouncedAt: null, ...(sentAt !== null && { sentAt }) }),
  }
}

const entryOf = ({ comment_id, space_id, table_id }: EmailRow) => ({ id: comment_id, spaceId: space_id, tableId: table_id })
