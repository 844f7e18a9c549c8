/**
 * The order in which messages are read, so that a flood delays only itself. The accounts take turns, and so do the senders of an account.
 * Some slots are only for messages of an account and a sender that have no other message waiting (jobs.ts).
 */
import { type Sql, sql } from '../../platform/database/database.ts'
import { formatInstant } from '../../platform/time/time.ts'

/** Only this many waiting messages of an account are counted. Every message after them gets about the same priority. */
const MOST_COUNTED = 1_000
/** A message that has waited longer has lost its job, and delays nobody. */
const WAITING_MS = 24 * 3_600_000

/**
 * As an expression in SQL: how many waiting messages of the same account are read before a new one. If n messages of its own sender wait,
 * then up to n + 1 of each sender go first. The result is 0 only if the account has no message waiting, and the sender has none waiting for
 * any account.
 * @param from the sender's address, in lower case. An address is easily forged, so its messages to other accounts count as one at most
 */
export function turnOf({ from, tokens, now }: { from: string; tokens: Buffer[]; now: Date }): Sql {
  const since = sql`${formatInstant(new Date(now.getTime() - WAITING_MS))}::timestamp`
  return sql`(
      with of_accounts as (
        -- The accounts are found once; with a join PostgreSQL looks them up for each waiting message.
        select distinct v.inbound_email_id as id from inbound_verdicts v
        where v.verdict is null
          and v.account_id = any(array(select account_id from reply_tokens where token_hash = any(${tokens}::bytea[])))
        limit ${MOST_COUNTED}
      ), of_senders as (
        select e.from_email, count(*) as waiting
        from of_accounts a join inbound_emails e on e.id = a.id and e.received_at >= ${since} group by 1
      ), own (waiting) as (
        select coalesce((select waiting from of_senders where from_email = ${from}), 0)
      )
      select greatest(
        exists (select from inbound_emails where processed_at is null and from_email = ${from} and received_at >= ${since})::int,
        (select sum(least(s.waiting, own.waiting + 1)) from of_senders s, own)
      )::int
    )`
}
