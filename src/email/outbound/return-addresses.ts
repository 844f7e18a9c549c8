/** Return addresses: the envelope senders of the copies of an email, one for each recipient. */
import type { Context } from '../../platform/context.ts'
import { sql } from '../../platform/database/database.ts'
import { newHexToken, tokenHash } from '../../platform/secrets.ts'
import { formatInstant } from '../../platform/time.ts'
import { replyAddress } from '../headers.ts'
import type { OutboundMail } from '../queries.ts'

/**
 * Makes a return address for each recipient, new ones at each attempt, so that they need not be kept as they are.
 * @returns the addresses by recipient, as given
 */
export async function newReturnAddresses(
  { db, now, settings }: Context,
  mail: Pick<OutboundMail, 'comment_id'>,
  recipients: readonly string[],
): Promise<Map<string, string>> {
  const tokens = new Map(recipients.map((recipient) => [recipient, newHexToken(8)]))
  await db.query(
    sql`
      insert into reply_tokens (token_hash, account_id, space_id, table_id, record_id, comment_id, recipient, created_at)
      select t.hash, o.account_id, o.space_id, o.table_id, o.record_id, o.comment_id, t.recipient, ${formatInstant(now)}::timestamp
      from unnest(${[...tokens.values()].map(tokenHash)}::bytea[], ${recipients.map((recipient) => recipient.toLowerCase())}::text[]) t (hash, recipient)
      join outbound_emails o on o.comment_id = ${mail.comment_id}`,
    'new-return-addresses',
  )
  return new Map([...tokens].map(([recipient, token]) => [recipient, replyAddress(token, settings.catchDomain)]))
}
