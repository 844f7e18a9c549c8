/**
 * Slows down guesses. Each attempt counts as a failure before it is checked, against buckets in the database, so that simultaneous guesses
 * to several processes are counted, too; a success is taken back. A full bucket delays further attempts, and forgets failures over time.
 */

import { BoundedMap } from '../platform/collections/bounded-map.ts'
import { type Database, join, type Sql, sql } from '../platform/database/database.ts'
import { labelled } from '../platform/database/statements/statement.ts'
import { memo } from '../platform/memo.ts'
import { tokenHash } from '../platform/secrets/secrets.ts'
import { formatInstant } from '../platform/time/time.ts'

interface Pace {
  /** The number of failures that have no effect. */
  free: number
  /** The delay after the first further failure. It doubles with each one. */
  firstWaitSeconds: number
  longestWaitSeconds: number
  /** One failure is forgotten each time this has passed. */
  forgetSeconds: number
}

const GUESSES_OF_ONE: Pace = { free: 5, firstWaitSeconds: 1, longestWaitSeconds: 300, forgetSeconds: 720 }

/** The objects that failures are counted for. docs/authentication.md explains the choice to users. */
const PACES = {
  /** One account, from one address. */
  accountFromAddress: GUESSES_OF_ONE,
  /** One account, from all addresses: many of them can belong to one attacker. */
  account: { free: 20, firstWaitSeconds: 1, longestWaitSeconds: 300, forgetSeconds: 180 },
  /** One address, for all accounts: a list of stolen passwords is tried against many accounts. */
  address: { free: 30, firstWaitSeconds: 1, longestWaitSeconds: 60, forgetSeconds: 120 },
  everyone: { free: 600, firstWaitSeconds: 1, longestWaitSeconds: 1, forgetSeconds: 6 },
  /** A browser that has proved to be the user's (known-device.ts). */
  device: GUESSES_OF_ONE,
  /** The current password, in a session. */
  session: GUESSES_OF_ONE,
  /** Mails with a link for a new password: three at once to one account, then one every 20 minutes. */
  mailsToAccount: { free: 3, firstWaitSeconds: 1_200, longestWaitSeconds: 1_200, forgetSeconds: 1_200 },
  /** Mails with an invitation to one person. */
  invitesToUser: { free: 3, firstWaitSeconds: 1_200, longestWaitSeconds: 1_200, forgetSeconds: 1_200 },
  mailsFromAddress: { free: 10, firstWaitSeconds: 30, longestWaitSeconds: 300, forgetSeconds: 360 },
  mailsForEveryone: { free: 600, firstWaitSeconds: 1, longestWaitSeconds: 1, forgetSeconds: 6 },
} satisfies Record<string, Pace>

/** What an attempt counts against, such as one address. */
export interface Bucket extends Pace {
  /** A hash, so that the table and the log have neither addresses nor what people type by mistake. */
  id: Buffer
}

export const bucket = (kind: keyof typeof PACES, subject = ''): Bucket => ({ id: tokenHash(`${kind}\n${subject}`), ...PACES[kind] })

/** When full buckets admit the next attempt, in milliseconds: a process refuses repeated attempts without a query. */
const fullBuckets = memo((_: Database) => new BoundedMap<string, number>(10_000))

export const keyOf = ({ id }: Bucket) => id.toString('base64')

/**
 * Counts one attempt against all buckets, or against none of them if one is full.
 * @returns the seconds until the next attempt is admitted; 0 if this one was
 */
export async function count(db: Database, buckets: readonly Bucket[], now: Date): Promise<number> {
  const fullUntil = fullBuckets(db)
  const known = Math.max(...buckets.map((one) => secondsUntil(fullUntil.get(keyOf(one)), one, now)))
  if (known > 0) return known
  const judged = await db.write<Judged>(labelled('auth:throttle', counting(buckets, now)))
  for (const { nth, wait } of judged) {
    const one = buckets[nth]
    if (one && wait > 0) fullUntil.set(keyOf(one), now.getTime() + wait * 1000)
  }
  const waitSeconds = Math.max(...judged.map(({ wait }) => wait))
  return waitSeconds > 0 ? waitSeconds : countMissed(db, buckets, judged, now)
}

/** Another request has added the row of a bucket in the meantime: what it counted is only seen by a new statement. */
async function countMissed(db: Database, buckets: readonly Bucket[], judged: Judged[], now: Date): Promise<number> {
  const isMissed = (_: Bucket, index: number) => judged.some(({ nth, is_missed }) => nth === index && is_missed)
  const missed = buckets.filter(isMissed)
  if (!missed.length) return 0
  const waitSeconds = await count(db, missed, now)
  if (waitSeconds > 0)
    await takeBack(
      db,
      buckets.filter((one) => !missed.includes(one)),
    )
  return waitSeconds
}

/** A time further ahead than any delay comes from a clock that has been set back since. */
function secondsUntil(time: number | undefined, { longestWaitSeconds }: Pace, now: Date): number {
  const seconds = Math.ceil(((time ?? 0) - now.getTime()) / 1000)
  return seconds <= longestWaitSeconds ? seconds : 0
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
    (one, index) => sql`(${one.id}::bytea, ${index}::int, ${one.free}::float8, ${one.firstWaitSeconds}::float8,
      ${one.longestWaitSeconds}::float8, ${one.forgetSeconds}::float8, ${mostFailures(one)}::float8)`,
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
const mostFailures = ({ free, firstWaitSeconds, longestWaitSeconds }: Pace) => free + 1 + Math.log2(longestWaitSeconds / firstWaitSeconds)

/** Takes an attempt back that was not a failure. @param emptied a bucket whose earlier failures are forgotten, too */
export async function takeBack(db: Database, buckets: readonly Bucket[], emptied?: Bucket): Promise<void> {
  const ids = buckets.map(({ id }) => id)
  await db.write(sql`
    with stored as (select id from sign_in_failures where id = any(${ids}::bytea[]) order by id for update)
    update sign_in_failures f set failures = case when f.id = ${emptied?.id ?? null}::bytea then 0 else greatest(0, f.failures - 1) end
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
