/** What becomes of the emails of a sender who is disabled before they are sent (contract.md §9, People of an account). */
import type { UserRef } from '../../accounts/user-status.ts'
import type { Context } from '../../platform/context.ts'
import { type Sql, sql } from '../../platform/database/database.ts'
import { labelled } from '../../platform/database/statements/statement.ts'
import { type OutboundMail, senderId } from '../queries.ts'
import { DROPPED_AT_ONCE, dropWaiting } from './dropping.ts'
import { failedForAll } from './outcome.ts'

/** The outcome of an email whose sender may do nothing any more. */
export const SENDER_DISABLED = failedForAll({
  kind: 'permanent',
  code: 'SENDER_DISABLED',
  enhanced: null,
  message: 'The sender was disabled before the mail was sent',
})

/**
 * Drops the emails that the user has sent, in a session or with a personal key, and that wait. A worker that has leased one
 * of them loses it; one that is being handed over keeps it, and its next attempt, if there is one, drops it.
 * @returns how many came into the state `dropped`; `count` them once the transaction is committed
 */
export const dropMailsOf = (context: Context, user: UserRef): Promise<number> =>
  dropWaiting(context, labelled('mails-of-sender', waitingOf(user)), SENDER_DISABLED, { isReported: true })

/** Leaves out an email that a worker has locked: it is being leased or has just been handed over. */
const waitingOf = ({ id, account_id }: UserRef): Sql => sql`
  select o.comment_id, c.metadata
  from outbound_emails o join record_comments c on c.id = o.comment_id
  where o.account_id = ${account_id} and o.due_at is not null and o.attempted_at is null and ${senderId} = ${id}
  order by o.comment_id limit ${DROPPED_AT_ONCE} for update of o, c skip locked`

/** Makes the actor the one who answers for an email whose sender was disabled, so that it can be sent, and its reports are theirs. */
export async function takeOver({ db, actor }: Context, { comment_id, is_sender_disabled }: OutboundMail): Promise<void> {
  if (!is_sender_disabled) return
  await db.write(sql`
    update outbound_emails set request = request || jsonb_build_object('userId', ${actor.userId}::int) where comment_id = ${comment_id}`)
}
