/**
 * The order in which messages are read, so that a flood waits behind itself. The accounts take turns, and so do the senders of an account.
 * Messages of nobody who has one waiting have places of their own (jobs.ts).
 */
import { type Database, sql } from '../../platform/database/database.ts'
import { formatInstant } from '../../platform/time.ts'

/** More waiting messages are not counted: those behind them wait for their turn with them. */
const MOST_COUNTED = 1_000
/** A message that has waited longer has lost its job, and delays nobody. */
const WAITING_MS = 24 * 3_600_000

/**
 * How many messages of its account go before a new one: of each sender as many as wait of its own sender, and one. It is 0 only if neither the
 * account nor, for whichever account, the sender has a message waiting.
 * @param from the sender's address, in lower case. Anybody can write any address, so what waits of it for other accounts counts as one
 */
export async function turnOf(db: Database, { from, tokens, now }: { from: string; tokens: Buffer[]; now: Date }): Promise<number> {
  const since = sql`${formatInstant(new Date(now.getTime() - WAITING_MS))}::timestamp`
  const [row] = await db.query<{ turn: number }>(
    sql`
      with of_accounts as (
        select distinct v.inbound_email_id as id from inbound_verdicts v
        where v.verdict is null and v.account_id in (select account_id from reply_tokens where token_hash = any(${tokens}::bytea[]))
        limit ${MOST_COUNTED}
      ), of_senders as (
        select e.from_email, count(*) as waiting from of_accounts a join inbound_emails e on e.id = a.id and e.received_at >= ${since} group by 1
      ), own (waiting) as (
        select coalesce((select waiting from of_senders where from_email = ${from}), 0)
      )
      select greatest(
        exists (select from inbound_emails where processed_at is null and from_email = ${from} and received_at >= ${since})::int,
        (select sum(least(s.waiting, own.waiting + 1)) from of_senders s, own)
      )::int as turn`,
    'inbound-turn',
  )
  return row?.turn ?? 0
}
