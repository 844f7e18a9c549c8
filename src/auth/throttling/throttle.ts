/**
 * Slows down guesses. Each attempt counts as a failure before it is checked, against buckets in the database, so that simultaneous guesses
 * to several processes are counted, too; a success is taken back. A full bucket delays further attempts, and forgets failures over time.
 */

import { BoundedMap } from '../../platform/collections/bounded-map.ts'
import { type Database, join, type Sql, sql } from '../../platform/database/database.ts'
import { labelled } from '../../platform/database/statements/statement.ts'
import { memo } from '../../platform/memo.ts'
import { tokenHash } from '../../platform/secrets/secrets.ts'
import { formatInstant } from '../../platform/time/time.ts'

export interface Pace {
  /** The number of failures that have no effect. */
  free: number
  /** One failure is forgotten each time this has passed. */
  forgetSeconds: number
  /** The delay after a further failure, which doubles with each one. Without it further attempts wait until enough is forgotten. */
  delay?: { firstSeconds: number; longestSeconds: number }
}

const DOUBLING = { firstSeconds: 1, longestSeconds: 300 }
const GUESSES_OF_ONE: Pace = { free: 5, forgetSeconds: 720, delay: DOUBLING }
const MAILS_TO_ONE: Pace = { free: 3, forgetSeconds: 1_200 }

/** The objects that failures are counted for. docs/authentication.md explains the choice to users. */
const PACES = {
  /** One account, from one network (an IPv4 address or an IPv6 /64). */
  pair: GUESSES_OF_ONE,
  /** One account, from all addresses: many of them can belong to one attacker. */
  account: { free: 20, forgetSeconds: 180, delay: DOUBLING },
  /** One network, for all accounts: a list of stolen passwords is tried against many accounts. */
  network: { free: 30, forgetSeconds: 120 },
  /** The passwords that are still checked for a network that has failed too often (strangers.ts). */
  checksForNetwork: { free: 10, forgetSeconds: 30 },
  /** One IPv6 /48, which one attacker can have as a whole, counts as four networks. */
  site: { free: 120, forgetSeconds: 30 },
  checksForSite: { free: 40, forgetSeconds: 7.5 },
  /** A browser that has proved to be the user's (known-device.ts). */
  device: GUESSES_OF_ONE,
  /** The current password, in a session. */
  session: GUESSES_OF_ONE,
  /** The token for the first owner, from one network. There is no limit for all: nobody elsewhere keeps the owner out. */
  setup: GUESSES_OF_ONE,
  /** Mails with a link for a new password. */
  mailsToAccount: MAILS_TO_ONE,
  /** Mails with an invitation. */
  invitesToUser: MAILS_TO_ONE,
  /** Mails to an address that somebody wants to have. */
  mailsToNewAddress: MAILS_TO_ONE,
  /** The changes of the address that one user asks for. */
  addressChanges: { free: 10, forgetSeconds: 360 },
  /** Requests for a new password from one network that are answered without a delay. */
  promptMails: { free: 10, forgetSeconds: 360 },
  /** All of them: 60 an hour. */
  mailsFromNetwork: { free: 60, forgetSeconds: 60 },
} satisfies Record<string, Pace>

/** What an attempt counts against, such as one address. */
export interface Bucket extends Pace {
  /** A hash, so that the table and the log have neither addresses nor what people type by mistake. */
  id: Buffer
}

export const bucket = (kind: keyof typeof PACES, subject: string): Bucket => ({ id: tokenHash(`${kind}\n${subject}`), ...PACES[kind] })

/** The same bucket for an attempt that any failure in it refuses, until all are forgotten. */
export const untouched = ({ id, forgetSeconds }: Bucket): Bucket => ({ id, free: 1, forgetSeconds })

/** When full buckets were last read and admit the next attempt: a process refuses repeated attempts without a query. */
const fullBuckets = memo((_: Database) => new BoundedMap<string, { readAt: number; admitsAt: number }>(10_000))
/** A full bucket is read again after this time, because attempts that are being checked may be taken back. */
const KNOWN_MS = 1_000

export const keyOf = ({ id, free }: Bucket) => `${free} ${id.toString('base64')}`

/**
 * Counts one attempt against all buckets, or against none of them if one is full.
 * @returns the seconds until the next attempt is admitted; 0 if this one was
 */
export const count = async (db: Database, buckets: readonly Bucket[], now: Date): Promise<number> =>
  Math.max(...(await waits(db, buckets, now)))

/** Counts as `count` does. @returns the seconds until each of the buckets admits an attempt; all 0 if this one was admitted */
export async function waits(db: Database, buckets: readonly Bucket[], now: Date): Promise<number[]> {
  const known = knownWaits(db, buckets, now)
  if (isRefused(known)) return known
  const full = fullBuckets(db)
  const judged = await db.write<Judged>(labelled('auth:throttle', counting(buckets, now)))
  const seconds = buckets.map((_, index) => Math.max(0, ...judged.filter(({ nth }) => nth === index).map(({ wait }) => wait)))
  for (const [index, one] of buckets.entries())
    if (seconds[index]) full.set(keyOf(one), { readAt: now.getTime(), admitsAt: now.getTime() + seconds[index] * 1000 })
  return isRefused(seconds) ? seconds : waitsOfMissed(db, buckets, judged, now)
}

export const isRefused = (seconds: readonly number[]): boolean => seconds.some((wait) => wait > 0)

/** The seconds for which this process knows, without a query, that each of the buckets is full. */
export function knownWaits(db: Database, buckets: readonly Bucket[], now: Date): number[] {
  const full = fullBuckets(db)
  return buckets.map((one) => {
    const { readAt = 0, admitsAt = 0 } = full.get(keyOf(one)) ?? {}
    const ageMs = now.getTime() - readAt
    // Below 0 the clock has been set back since.
    return ageMs >= 0 && ageMs < KNOWN_MS ? Math.max(0, Math.ceil((admitsAt - now.getTime()) / 1000)) : 0
  })
}

/** Another request has added the row of a bucket in the meantime: what it counted is only seen by a new statement. */
async function waitsOfMissed(db: Database, buckets: readonly Bucket[], judged: Judged[], now: Date): Promise<number[]> {
  const isMissed = (index: number) => judged.some(({ nth, is_missed }) => nth === index && is_missed)
  const missed = buckets.filter((_, index) => isMissed(index))
  if (!missed.length) return buckets.map(() => 0)
  const waitsOfThese = await waits(db, missed, now)
  const others = buckets.filter((_, index) => !isMissed(index))
  if (isRefused(waitsOfThese)) await takeBack(db, others)
  return buckets.map((one) => waitsOfThese[missed.indexOf(one)] ?? 0)
}

interface Judged {
  /** The index of the bucket. */
  nth: number
  /** Seconds until the bucket admits an attempt; 0 or less if it does now. */
  wait: number
  /** Whether the attempt was admitted, but not counted against this bucket. */
  is_missed: boolean
}

/**
 * One statement. It locks rows in the order of their ids, and never waits for the lock of a row that it has not seen, so that two of them
 * cannot block each other. A refused attempt writes nothing: a flood from ever new addresses adds no rows.
 */
function counting(buckets: readonly Bucket[], now: Date): Sql {
  const at = sql`${formatInstant(now)}::timestamp`
  const asked = buckets.map(
    (one, index) => sql`(${one.id}::bytea, ${index}::int, ${one.free}::float8, ${one.delay?.firstSeconds ?? null}::float8,
      ${one.delay?.longestSeconds ?? null}::float8, ${one.forgetSeconds}::float8, ${mostFailures(one)}::float8)`,
  )
  return sql`
    with asked (id, nth, free, first_wait, longest_wait, forget, most) as (values ${join(asked)}),
    stored as (
      select id, failures, failed_at from sign_in_failures where id in (select id from asked) order by id for update
    ),
    aged as (
      select a.*, s.failures as stored, greatest(0, extract(epoch from ${at} - s.failed_at))::float8 as seconds,
        -- It was written before the clock was set back.
        s.failed_at > ${at} + interval '1 hour' as is_invalid
      from asked a left join stored s using (id)
    ),
    remembered as (
      select *, case when stored is null or is_invalid then 0 else greatest(0, stored - seconds / forget) end as failures from aged
    ),
    judged as (
      select *, case when failures + 1 <= free then 0
        when first_wait is null then greatest(1, ceil((failures + 1 - free) * forget - 1e-6))
        else ceil(least(longest_wait, first_wait * power(2, greatest(0, failures - free))) - seconds) end as wait
      from remembered
    ),
    counted as (
      update sign_in_failures f set failures = least(j.most, j.failures + 1), failed_at = ${at} from judged j
      where f.id = j.id and not exists (select from judged where wait > 0)
    ),
    added as (
      insert into sign_in_failures (id, failures, failed_at)
      select id, 1, ${at} from judged where stored is null and not exists (select from judged where wait > 0) order by id
      on conflict do nothing returning id
    )
    select nth, wait, stored is null and not exists (select from added a where a.id = judged.id) as is_missed from judged`
}

/** Further failures would not make the delay longer, only the time until they are forgotten. */
const mostFailures = ({ free, delay }: Pace) => (delay ? free + 1 + Math.log2(delay.longestSeconds / delay.firstSeconds) : free)

/**
 * Takes an attempt back that was not a failure.
 * @param emptied a bucket whose earlier failures are forgotten, too
 * @param sharing buckets in which these were counted as well, and are forgotten
 */
export async function takeBack(
  db: Database,
  buckets: readonly Bucket[],
  { emptied, sharing = [] }: { emptied?: Bucket; sharing?: readonly Bucket[] } = {},
): Promise<void> {
  for (const one of buckets) fullBuckets(db).delete(keyOf(one))
  const [ids, shared] = [buckets, sharing].map((some) => some.map(({ id }) => id))
  await db.write(sql`
    with stored as (select id, failures from sign_in_failures where id = any(${ids}::bytea[]) order by id for update),
    own as (select failures from stored where id = ${emptied?.id ?? null}::bytea)
    update sign_in_failures f set failures = greatest(0, f.failures - case when f.id = any(${shared}::bytea[])
      or f.id = ${emptied?.id ?? null}::bytea then greatest(1, (select failures from own)) else 1 end)
    from stored where f.id = stored.id`)
}

/** After this time the fullest bucket has forgotten all failures. */
const FORGOTTEN_HOURS = 6

export async function deleteForgottenFailures(db: Database, now: Date): Promise<void> {
  await db.write(sql`
    delete from sign_in_failures where id in (
      select id from sign_in_failures
      where failed_at < ${formatInstant(now)}::timestamp - make_interval(hours => ${FORGOTTEN_HOURS}::int) for update skip locked)`)
}
