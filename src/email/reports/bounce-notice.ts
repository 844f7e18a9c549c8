/** Tells the user who has sent an email that it bounced, whether they follow the record or not. */
import { emitting } from '../../events/log.ts'
import { notificationEvents, notifying } from '../../notifications/notify.ts'
import { systemActor } from '../../platform/actor.ts'
import type { Context } from '../../platform/context.ts'
import { sql } from '../../platform/database/database.ts'
import { storable } from '../../platform/storable-text.ts'
import { isMember } from '../../spaces/membership.ts'
import type { RecipientState } from '../metadata.ts'
import type { OutboundMail } from '../queries.ts'

const MAX_SUBJECT = 100
/** How many of the recipients are named. */
const MAX_NAMED = 3

/** @param recipients their states after the report, in the order of the email */
export async function notifyOfBounces({ db, now }: Context, email: OutboundMail, recipients: readonly RecipientState[]): Promise<void> {
  const bounced = recipients.filter(({ status }, index) => status === 'bounced' && email.metadata.recipients[index]?.status !== 'bounced')
  if (!bounced.length || email.request.userId === undefined) return
  const notice = {
    event_type: 'EMAIL_BOUNCED' as const,
    message: `Your email ${titleOf(email)} could not be delivered to ${named(bounced)}.`,
    // The reason in plain words, and the words of the server.
    summary: [bounced[0]?.bounce?.reason, bounced[0]?.error?.message].filter(Boolean).join(': '),
  }
  const { account_id, space_id, table_id, record_id } = email
  const sender = sql`
    select u.id as user_id, ${account_id}::int as account_id, ${space_id}::int as space_id, ${table_id}::int as table_id,
      ${record_id}::int as record_id, null::int as task_id
    from users u where u.id = ${email.request.userId} and u.status <> 'deleted' and ${isMember(sql`u`, sql`${space_id}::int`)}`
  await db.write(sql`
    with notified as (${notifying(sender, notice, systemActor, now)}),
    emitted as (${emitting([notificationEvents(sql`notified`)], now)})
    select 1`)
}

function titleOf({ metadata }: OutboundMail): string {
  const subject = metadata.subject.trim()
  return subject ? `“${subject.length > MAX_SUBJECT ? `${storable(subject, MAX_SUBJECT)}…` : subject}”` : 'without a subject'
}

function named(recipients: readonly RecipientState[]): string {
  const addresses = recipients.slice(0, MAX_NAMED).map(({ email }) => email)
  const others = recipients.length - addresses.length
  return addresses.join(', ') + (others ? ` and ${others} more` : '')
}
