/**
 * Leases on queued emails. A worker leases an email before it connects, and renews the lease while it works; the lease of a killed worker
 * expires, and another worker repeats the attempt. Just before the end of the content the worker stamps the attempt: from then on the
 * email may arrive, so it is never repeated.
 */
import type { Context } from '../../platform/context.ts'
import { type Database, type Sql, sql } from '../../platform/database/database.ts'
import { formatInstant } from '../../platform/time.ts'
import { DEFAULT_MAX_CONNECTIONS } from '../schema.ts'
import { patienceEnd } from './faults.ts'

/** A leased email. Of two workers that believe to have leased it, only the one whose number is stored may hand it over. */
export interface Lease {
  comment_id: number
  account_id: number
  smtp_integration_id: number
  lease: number
  /** The trace in which the email was queued. */
  traceparent: string | null
}

interface Load {
  /** How many emails this process can take. */
  limit: number
  /** The account of each email that this process is sending. */
  accountIds: readonly number[]
  /** The integrations whose server was not reached last time: they get one connection until it is. */
  unreachedIds: readonly number[]
}

/** How many emails of one account a process sends at once, so that accounts whose servers hang leave room for the others. */
const PER_ACCOUNT = 20

const LEASE = sql`interval '30 seconds'`
/** How often a lease is renewed, so that one failed renewal does not end it. */
export const RENEW_MS = 10_000
/** After this time a stamped attempt counts as interrupted. A worker that has only lost the database records its outcome before. */
const INTERRUPTED_AFTER = sql`interval '60 seconds'`

/** Any number that no other feature uses. */
const CLAIM_LOCK = 7_405_012

/** The condition that an email waits for an attempt. */
const isDue = (now: Date): Sql => sql`due_at <= ${formatInstant(now)}::timestamp and (leased_until is null or leased_until < localtimestamp)
  and (attempted_at is null or attempted_at < localtimestamp - ${INTERRUPTED_AFTER})`

/**
 * Leases emails that are due, within the connections and the rate of their integrations. Accounts take turns, those with the fewest emails
 * under way first, and so do the integrations of an account.
 */
export async function leaseDue({ db, now, transaction }: Context, load: Load): Promise<Lease[]> {
  const some = await db.query(sql`select 1 from outbound_emails where ${isDue(now)} limit 1`)
  if (!some.length) return []
  return transaction(async () => {
    // Two processes that count free connections at the same time would both take them.
    await db.query(sql`select pg_advisory_xact_lock(${CLAIM_LOCK}::bigint)`)
    return db.query<Lease>(leasing(now, load))
  })
}

/** The integrations are found one by one in the index, because one of them can have a hundred thousand emails waiting. */
const leasing = (now: Date, { limit, accountIds, unreachedIds }: Load): Sql => sql`
  with recursive integrations (id) as (
    (select smtp_integration_id from outbound_emails where due_at is not null order by smtp_integration_id limit 1)
    union all
    select (select o.smtp_integration_id from outbound_emails o where o.due_at is not null and o.smtp_integration_id > i.id
      order by o.smtp_integration_id limit 1)
    from integrations i where i.id is not null
  ), held as (
    select smtp_integration_id, count(*) as connections from outbound_emails where leased_until > localtimestamp group by 1
  ), free as (
    select w.id, least(
      case when w.id = any(${unreachedIds}::int[]) or i.failing_since is not null then 1 else coalesce(i.max_connections, ${DEFAULT_MAX_CONNECTIONS}) end - coalesce(h.connections, 0),
      coalesce(${allowedByRate}, 1000)) as mails, coalesce(i.paused_until > localtimestamp, false) as is_paused
    from integrations w left join smtp_integrations i on i.id = w.id left join held h on h.smtp_integration_id = w.id
    where w.id is not null
  ), due as (
    select o.*, row_number() over (partition by o.smtp_integration_id order by o.due_at, o.comment_id) as turn
    from free f cross join lateral (
      select comment_id, account_id, smtp_integration_id, due_at from outbound_emails
      where smtp_integration_id = f.id and ${isDue(now)}
        and (not f.is_paused or coalesce(waiting_since, created_at) < ${formatInstant(patienceEnd(now))}::timestamp) order by due_at, comment_id limit greatest(f.mails, 0)
    ) o
  ), turns as (
    select d.comment_id, d.due_at, coalesce(b.mails, 0) + row_number() over (partition by account_id order by turn, due_at, comment_id) as place
    from due d left join (select account_id, count(*) as mails from unnest(${accountIds}::int[]) account_id group by 1) b using (account_id)
  ), leased as (
    update outbound_emails o set leased_until = localtimestamp + ${LEASE}, lease = (random() * 2147483646)::int
    from (select comment_id from turns where place <= ${PER_ACCOUNT} order by place, due_at, comment_id limit ${limit}) t
    -- A concurrent cancel may have changed the row since it was found.
    where o.comment_id = t.comment_id and ${isDue(now)}
    returning o.comment_id, o.account_id, o.smtp_integration_id, o.lease, o.traceparent
  ), rated as (
    update smtp_integrations i set rate_at = greatest(i.rate_at, localtimestamp) + l.mails * 60.0 / i.rate_per_minute * interval '1 second'
    from (select smtp_integration_id, count(*) as mails from leased group by 1) l
    where i.id = l.smtp_integration_id and i.rate_per_minute is not null
  )
  select comment_id, account_id, smtp_integration_id, lease, traceparent from leased`

/**
 * How many emails the rate of the integration `i` allows now; null without a rate. `rate_at` is the time until which the emails so far use
 * up the rate. It may be ahead by a second, or by the time of one email.
 */
const allowedByRate = sql`floor(i.rate_per_minute / 60.0 * greatest(1, 60.0 / i.rate_per_minute) + 0.001
  - i.rate_per_minute / 60.0 * extract(epoch from greatest(i.rate_at - localtimestamp, interval '0')))::int`

export async function renewLeases(db: Database, leases: readonly Lease[]): Promise<void> {
  await db.execute(sql`
    update outbound_emails o set leased_until = localtimestamp + ${LEASE}
    from unnest(${leases.map(({ comment_id }) => comment_id)}::int[], ${leases.map(({ lease }) => lease)}::int[]) l (comment_id, lease)
    where o.comment_id = l.comment_id and o.lease = l.lease and o.leased_until is not null`)
}

/** Thrown when another worker has leased the email, because this one had lost the database for longer than its lease. */
export class LeaseLost extends Error {}

/** Stamps the attempt just before the end of the content is sent. @throws LeaseLost */
export async function stampAttempt({ db }: Context, { comment_id, lease }: Lease): Promise<void> {
  const stamped = await db.execute(sql`
    update outbound_emails set attempted_at = localtimestamp
    where comment_id = ${comment_id} and lease = ${lease} and attempted_at is null`)
  if (!stamped) throw new LeaseLost()
}

/** Gives an email back whose attempt has not come to its end. */
export async function releaseLease({ db }: Context, { comment_id, lease }: Lease): Promise<void> {
  await db.execute(sql`update outbound_emails set leased_until = null where comment_id = ${comment_id} and lease = ${lease}`)
}

/** Ends the lease of an email that nothing is to be done for any more. */
export async function endLease({ db }: Context, { comment_id, lease }: Lease): Promise<void> {
  await db.execute(sql`
    update outbound_emails set due_at = null, leased_until = null where comment_id = ${comment_id} and lease = ${lease}`)
}

/** Takes an email from its worker, if it has one that is not heard of any more, and makes it due at the instant; null: never again. */
export async function reschedule({ db }: Context, commentId: number, dueAt: Date | null): Promise<void> {
  const at = dueAt && formatInstant(dueAt)
  await db.execute(sql`
    update outbound_emails set due_at = ${at}::timestamp, waiting_since = coalesce(${at}::timestamp, waiting_since),
      leased_until = null, lease = null, attempted_at = null, attempts = 0
    where comment_id = ${commentId}`)
}

/** Makes an email due that a process of an earlier release has queued. */
export async function makeDue({ db, now }: Context, commentId: number): Promise<void> {
  await db.execute(sql`
    update outbound_emails o set due_at = ${formatInstant(now)}::timestamp from record_comments c
    where o.comment_id = ${commentId} and o.due_at is null and c.id = o.comment_id
      and c.metadata @? '$.recipients[*] ? (@.status == "queued")'`)
}
