/** Drops emails that wait, because something that they need is gone. */
import { updateEmails } from '../../comments/emails.ts'
import type { Context } from '../../platform/context.ts'
import { sql } from '../../platform/database/database.ts'
import type { Statement } from '../../platform/database/statements/statement.ts'
import type { OutgoingMetadata } from '../metadata.ts'
import { transitionTo } from '../states.ts'
import { emailAfter, errorOf, type Outcome, recipientAfter } from './outcome.ts'

/** How many emails are locked and changed in one statement. */
export const DROPPED_AT_ONCE = 500

/**
 * Drops emails for the recipients that are still queued.
 * @param waiting locks and selects `comment_id` and `metadata` of at most DROPPED_AT_ONCE emails that are due or will be
 * @param isReported whether streams hear of it
 * @returns how many came into the state `dropped`
 */
export async function dropWaiting(
  { db, now }: Pick<Context, 'db' | 'now'>,
  waiting: Statement,
  outcome: Outcome,
  { isReported }: { isReported: boolean },
): Promise<number> {
  let dropped = 0
  for (;;) {
    const mails = await db.read<{ comment_id: number; metadata: OutgoingMetadata }>(waiting)
    if (!mails.length) return dropped
    const changes = mails.map(({ comment_id, metadata }) => {
      const recipients = metadata.recipients.map((recipient) => recipientAfter(recipient, outcome, true))
      const status = emailAfter(metadata.status, recipients)
      if (status === 'dropped') dropped++
      return {
        commentId: comment_id,
        metadata: { ...(status && transitionTo(status, now).metadata), recipients, error: errorOf(recipients) },
        isTransition: isReported && status !== undefined,
      }
    })
    await updateEmails(db, changes, now)
    await db.write(sql`
      update outbound_emails set due_at = null, leased_until = null, lease = null
      where comment_id = any(${mails.map(({ comment_id }) => comment_id)}::int[])`)
  }
}
