/**
 * Leases on queued emails. A worker leases an email before it connects, and renews the lease while it works; the lease of a killed worker
 * expires, and another worker repeats the attempt. Just before the end of the content the worker stamps the attempt: from then on the
 * email may arrive, so it is never repeated.
 */

import type { Context } from '../../platform/context.ts'
import { type Database, type Sql, sql } from '../../platform/database/database.ts'
import { labelled } from '../../platform/database/statements/statement.ts'
import { formatInstant } from '../../platform/time/time.ts'
import { DEFAULT_MAX_CONNECTIONS } from '../schema.ts'
import { patienceEnd } from './faults.ts'
import { PER_ACCOUNT, type Slot } from './slots.ts'

/** A leased email. Of two workers that believe to have leased it, only the one whose number is stored may hand it over. */
export interface Lease {
  comment_id: number
  account_id: number
  smtp_integration_id: number
  /** Emails with the same number go over one connection, one after the other. */
  lease: number
  /** The trace in which the email was queued. */
  traceparent: string | null
}

interface Load {
  /** How many connections this process can take. */
  limit: number
  /** The connections that this process has. */
  slots: readonly Slot[]
  /** The accounts that get no more connections for now. */
  fullAccountIds?: readonly number[]
  /** The integrations whose server was not reached last time: they get one connection until it is. */
  unreachedIds: readonly number[]
  /** How many emails a connection takes at once, by integration; one by default. */
  mailsPerConnection?: ReadonlyMap<number, number>
}

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
 * Leases emails that are due, within the connections and the rate of their integrations. Accounts take turns, those with the fewest
 * connections first, and so do the integrations of an account.
 * @returns the leases grouped by connection, each group in the order in which its emails are due
 */
export async function leaseDue({ db, now, transaction }: Context, load: Load): Promise<Lease[]> {
  const some = await db.read(labelled('some-mail-due', sql`select 1 from outbound_emails where ${isDue(now)} limit 1`))
  if (!some.length) return []
  return transaction(async () => {
    // Two processes that count free connections at the same time would both take them.
    await claim(db)
    return db.write<Lease>(labelled('lease-mails', leasing(now, load)))
  })
}

/** Waits until no other process claims emails. */
const claim = (db: Database) => db.write(labelled('claim-mails', sql`select pg_advisory_xact_lock(${CLAIM_LOCK}::bigint)`))

/** The integrations are found one by one in the index, because one of them can have a hundred thousand emails waiting. */
const leasing = (now: Date, { limit, slots, fullAccountIds = [], unreachedIds, mailsPerConnection = new Map() }: Load): Sql => sql`
  with recursive integrations (id) as (
    (select smtp_integration_id from outbound_emails where due_at is not null order by smtp_integration_id limit 1)
    union all
    select (select o.smtp_integration_id from outbound_emails o where o.due_at is not null and o.smtp_integration_id > i.id
      order by o.smtp_integration_id limit 1)
    from integrations i where i.id is not null
  ), held as (
    select smtp_integration_id, count(distinct lease) as connections from outbound_emails where leased_until > localtimestamp group by 1
  ), free as (
    select w.id,
      case when x.is_tried then 1 else coalesce(i.max_connections, ${DEFAULT_MAX_CONNECTIONS}) end
        - coalesce(h.connections, 0) as connections,
      case when x.is_tried or i.rate_per_minute is not null then 1 else coalesce(p.mails, 1) end as mails_each,
      coalesce(${allowedByRate}, 1000) as allowed, coalesce(i.paused_until > localtimestamp, false) as is_paused
    from integrations w left join smtp_integrations i on i.id = w.id left join held h on h.smtp_integration_id = w.id
      left join unnest(${[...mailsPerConnection.keys()]}::int[], ${[...mailsPerConnection.values()]}::int[]) p (id, mails) on p.id = w.id
      cross join lateral (select w.id = any(${unreachedIds}::int[]) or i.failing_since is not null as is_tried) x
    where w.id is not null
  ), due as (
    select o.*, f.connections, row_number() over (partition by o.smtp_integration_id order by o.due_at, o.comment_id) as turn
    from free f cross join lateral (
      select comment_id, account_id, smtp_integration_id, due_at from outbound_emails
      where smtp_integration_id = f.id and ${isDue(now)}
        and (not f.is_paused or coalesce(waiting_since, created_at) < ${formatInstant(patienceEnd(now))}::timestamp)
      order by due_at, comment_id limit greatest(least(f.connections * f.mails_each, f.allowed), 0)
    ) o
  ), by_connection as (
    select account_id, smtp_integration_id, (turn - 1) % connections as connection, min(due_at) as due_at,
      array_agg(comment_id order by turn) as comment_ids
    from due group by 1, 2, 3
  ), turns as (
    select d.comment_ids, d.due_at,
      coalesce(b.used, 0) + row_number() over (partition by account_id order by connection, due_at, comment_ids) as slot,
      coalesce(b.waiting, 0) as waiting
    from by_connection d
    left join (
      select account_id, count(*) filter (where not is_waiting) as used, count(*) filter (where is_waiting) as waiting
      from unnest(${slots.map(({ accountId }) => accountId)}::int[], ${slots.map(({ isWaiting }) => isWaiting)}::boolean[])
        b (account_id, is_waiting)
      group by 1
    ) b using (account_id)
    where account_id <> all(${fullAccountIds}::int[])
  ), taken as materialized (
    select comment_ids, (random() * 2147483646)::int as lease
    from turns where slot <= ${PER_ACCOUNT} order by slot + waiting, due_at, comment_ids limit ${limit}
  ), locked as materialized (
    -- All workers wait for this statement, so it leaves out an email that a cancel or the end of an attempt has locked.
    select o.comment_id, t.lease from (select lease, unnest(comment_ids) as comment_id from taken) t
      join outbound_emails o on o.comment_id = t.comment_id
    for update of o skip locked
  ), leased as (
    update outbound_emails o set leased_until = localtimestamp + ${LEASE}, lease = l.lease
    from locked l
    -- A concurrent cancel may have changed the row since it was found.
    where o.comment_id = l.comment_id and ${isDue(now)}
    returning o.comment_id, o.account_id, o.smtp_integration_id, o.lease, o.traceparent, o.due_at
  ), rates as materialized (
    -- In the order of ids, as settling.ts locks integrations; otherwise the two could deadlock.
    select i.id, l.mails from (select smtp_integration_id, count(*) as mails from leased group by 1) l
      join smtp_integrations i on i.id = l.smtp_integration_id and i.rate_per_minute is not null
    order by i.id for update of i
  ), rated as (
    update smtp_integrations i set rate_at = greatest(i.rate_at, localtimestamp) + r.mails * 60.0 / i.rate_per_minute * interval '1 second'
    from rates r
    where i.id = r.id and i.rate_per_minute is not null
  )
  select comment_id, account_id, smtp_integration_id, lease, traceparent from leased order by lease, due_at, comment_id`

/** A connection that an integration has already. */
interface LeasedConnection {
  integrationId: number
  lease: number
}

/**
 * Leases the next emails of an integration for a connection that it has, with the same number, so that it stays one connection for all
 * workers. There are none if the integration has a rate, fails, or may have fewer connections now.
 * @returns the leases in the order in which their emails are due
 */
export async function leaseNext({ db, now, transaction }: Context, connection: LeasedConnection, most: number): Promise<Lease[]> {
  return transaction(async () => {
    // The other emails of the connection may end meanwhile, and another worker must not take it for free.
    await claim(db)
    return db.write<Lease>(labelled('lease-next-mails', leasingNext(now, connection, most)))
  })
}

/** A number is never given to an email twice, because a stamp with it could then belong to an attempt that was given up. */
const leasingNext = (now: Date, { integrationId, lease }: LeasedConnection, most: number): Sql => sql`
  with locked as materialized (
    select comment_id from outbound_emails
    where smtp_integration_id = ${integrationId} and ${isDue(now)} and lease is distinct from ${lease} and exists (
      select from smtp_integrations i
      where i.id = ${integrationId} and i.rate_per_minute is null and i.failing_since is null
        and coalesce(i.paused_until <= localtimestamp, true)
        and i.max_connections > (
          select count(distinct h.lease) from outbound_emails h
          where h.leased_until > localtimestamp and h.smtp_integration_id = ${integrationId} and h.lease <> ${lease}))
    order by due_at, comment_id limit ${most} for update skip locked
  ), leased as (
    update outbound_emails o set leased_until = localtimestamp + ${LEASE}, lease = ${lease} from locked l where o.comment_id = l.comment_id
    returning o.comment_id, o.account_id, o.smtp_integration_id, o.lease, o.traceparent, o.due_at
  )
  select comment_id, account_id, smtp_integration_id, lease, traceparent from leased order by due_at, comment_id`

/**
 * How many emails the rate of the integration `i` allows now; null without a rate. `rate_at` is the time until which the emails so far use
 * up the rate. It may be ahead by a second, or by the time of one email.
 */
const allowedByRate = sql`floor(i.rate_per_minute / 60.0 * greatest(1, 60.0 / i.rate_per_minute) + 0.001
  - i.rate_per_minute / 60.0 * extract(epoch from greatest(i.rate_at - localtimestamp, interval '0')))::int`

/**
 * The rows of a statement that belong to the leases: `l` has their ids and numbers. The arrays are sub-selects, so that PostgreSQL keeps
 * one plan for all of their lengths. Where it knows the length it plans each time, which takes longer than a stamp.
 */
const leased = (leases: readonly Lease[]): Sql => sql`
  unnest((select ${leases.map(({ comment_id }) => comment_id)}::int[]), (select ${leases.map(({ lease }) => lease)}::int[]))
    l (comment_id, lease)`

/** Leaves out an email that another transaction has locked: it is renewed the next time, and the two cannot deadlock. */
export async function renewLeases(db: Database, leases: readonly Lease[]): Promise<void> {
  await db.write(sql`
    update outbound_emails o set leased_until = localtimestamp + ${LEASE}
    from (
      select o.comment_id from outbound_emails o join ${leased(leases)} on l.comment_id = o.comment_id and l.lease = o.lease
      where o.leased_until is not null for update of o skip locked
    ) mine
    where o.comment_id = mine.comment_id`)
}

/**
 * Thrown when the lease has ended, or the table of the email was deleted, or another worker has leased the email, because this one had lost
 * the database for longer than its lease.
 */
export class LeaseLost extends Error {}

/** The condition that the table of the email `o` is there. A server may take minutes to ask for the content, in which it can be deleted. */
const hasTable = sql`exists (
  select from tables t join spaces s on s.id = t.space_id where t.id = o.table_id and t.deleted_at is null and s.deleted_at is null)`

/** Stamps the attempt just before the end of the content is sent, unless its lease has ended meanwhile. @throws LeaseLost */
export async function stampAttempt({ db }: Context, { comment_id, lease }: Lease): Promise<void> {
  const { changed: stamped } = await db.write(sql`
    update outbound_emails o set attempted_at = localtimestamp
    where comment_id = ${comment_id} and lease = ${lease} and leased_until is not null and attempted_at is null and ${hasTable}`)
  if (!stamped) throw new LeaseLost()
}

/**
 * Stamps several attempts in one statement, which never waits for a locked row. If it waited and its worker was killed, PostgreSQL would
 * still run it once the lock was free, and the email would count as interrupted although it was not handed over.
 * @param withComments also leaves out an email whose comment another transaction has locked, and locks the comments of the others
 * @returns for each lease its state: stamped, lost, or with a row that is locked by another transaction or deleted
 */
export async function stampAttempts(
  { db }: Context,
  leases: readonly Lease[],
  withComments: boolean,
): Promise<('stamped' | 'lost' | 'locked')[]> {
  const rows = await db.write<{ comment_id: number; lease: number; is_stamped: boolean }>(
    labelled(
      'stamp-attempts',
      sql`
      with mine as materialized (
        select o.comment_id, l.lease,
          (o.lease = l.lease and o.leased_until is not null and o.attempted_at is null and ${hasTable}) is true as is_stamped
        from outbound_emails o join ${leased(leases)} on l.comment_id = o.comment_id
        ${withComments ? sql`join record_comments c on c.id = o.comment_id for no key update of o, c` : sql`for no key update of o`}
        skip locked
      ), stamped as (
        update outbound_emails o set attempted_at = localtimestamp from mine m where o.comment_id = m.comment_id and m.is_stamped
      )
      select comment_id, lease, is_stamped from mine`,
    ),
  )
  const keyOf = ({ comment_id, lease }: Pick<Lease, 'comment_id' | 'lease'>) => `${comment_id} ${lease}`
  const found = new Map(rows.map((row) => [keyOf(row), row.is_stamped ? 'stamped' : 'lost'] as const))
  return leases.map((lease) => found.get(keyOf(lease)) ?? 'locked')
}

/** Ends leases before their attempts were completed, so that any worker can take the emails again. */
export async function releaseLeases({ db }: Context, leases: readonly Lease[]): Promise<void> {
  await db.write(sql`
    update outbound_emails o set leased_until = null from ${leased(leases)} where o.comment_id = l.comment_id and o.lease = l.lease`)
}

/**
 * Takes the emails of an integration from their workers, so that attempts that are not stamped yet end without a delivery. Leaves out those
 * that another transaction has locked: they are being stamped, or have ended.
 */
export async function withdrawLeases(db: Database, integrationId: number): Promise<void> {
  await db.write(sql`
    update outbound_emails o set leased_until = null from (
      select comment_id from outbound_emails
      where smtp_integration_id = ${integrationId} and due_at is not null and leased_until is not null and attempted_at is null
      for update skip locked
    ) mine
    where o.comment_id = mine.comment_id`)
}

/** Ends the lease of an email that nothing is to be done for any more. */
export async function endLease({ db }: Context, { comment_id, lease }: Lease): Promise<void> {
  await db.write(sql`
    update outbound_emails set due_at = null, leased_until = null where comment_id = ${comment_id} and lease = ${lease}`)
}

/** Takes an email from its worker, if it has one that is not heard of any more, and makes it due at the instant; null: never again. */
export async function reschedule({ db }: Context, commentId: number, dueAt: Date | null): Promise<void> {
  const at = dueAt && formatInstant(dueAt)
  await db.write(sql`
    update outbound_emails set due_at = ${at}::timestamp, waiting_since = coalesce(${at}::timestamp, waiting_since),
      leased_until = null, lease = null, attempted_at = null, attempts = 0
    where comment_id = ${commentId}`)
}

/** Makes those of the emails due that a process of an earlier release has queued. */
export async function makeDue({ db, now }: Context, commentIds: readonly number[]): Promise<void> {
  await db.write(
    labelled(
      'make-due',
      sql`
      update outbound_emails o set due_at = ${formatInstant(now)}::timestamp from record_comments c
      where o.comment_id = any(${commentIds}::int[]) and o.due_at is null and c.id = o.comment_id
        and c.metadata @? '$.recipients[*] ? (@.status == "queued")'`,
    ),
  )
}
