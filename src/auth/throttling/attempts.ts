/** Runs attempts, such as one of a password, and delays those of a throttle that is full (throttle.ts). */
import type { Database } from '../../platform/database/database.ts'
import { AppError } from '../../platform/errors.ts'
import { memo } from '../../platform/memo.ts'
import { perProcess } from '../../platform/processes/per-process.ts'
import { type Bucket, count, keyOf, takeBack } from './throttle.ts'

/**
 * Runs one attempt and counts it against the buckets, unless it succeeds or cannot be made.
 * @param buckets the narrowest first: a success empties it
 * @param lane whose attempts run one after the other, so that simultaneous correct ones do not delay each other
 * @param check returns null if the attempt fails
 * @throws AppError 429 with Retry-After; what `check` throws
 */
export function attempt<T>(
  db: Database,
  buckets: readonly [Bucket, ...Bucket[]],
  now: Date,
  check: () => Promise<T | null>,
  lane: Bucket = buckets[0],
): Promise<T | null> {
  return inTurn(db, lane, async () => {
    const waitSeconds = await count(db, buckets, now)
    if (waitSeconds > 0) throw tooManyFailures(waitSeconds)
    return checkCounted(db, buckets, check)
  })
}

/**
 * Runs an attempt that was counted against the buckets, and takes it back unless it fails.
 * @param sharing those of the buckets in which the earlier failures of the first one were counted as well
 */
export async function checkCounted<T>(
  db: Database,
  buckets: readonly [Bucket, ...Bucket[]],
  check: () => Promise<T | null>,
  sharing: readonly Bucket[] = [],
): Promise<T | null> {
  const result = await check().catch(async (error: unknown) => {
    await takeBack(db, buckets)
    throw error
  })
  if (result !== null) await takeBack(db, buckets, { emptied: buckets[0], sharing })
  return result
}

export const tooManyFailures = (retryAfterSeconds: number, message = 'Too many failed sign-ins, please wait') =>
  new AppError('TOO_MANY_REQUESTS', message, { retryAfterSeconds })

/**
 * How long an answer still waits that is given a second after its attempt has come, so that its time does not show what was done.
 * @param startedAt when the attempt has come, by `performance.now()`
 */
export const restOfSecond = (startedAt: number): number => Math.max(0, Math.ceil(startedAt + 1_000 - performance.now()))

/** The latest pending attempt of each bucket in this process, and how many there are. */
const pendingAttempts = memo((_: Database) => new Map<string, { last: Promise<unknown>; size: number }>())

const MOST_PENDING = perProcess(16)

/**
 * Runs the function after all earlier ones of the bucket in this process.
 * @param whenFull answers in place of it if too many wait; throws AppError 429 by default
 */
export async function inTurn<T>(db: Database, one: Bucket, fn: () => Promise<T>, whenFull: () => T = refuseWaiting): Promise<T> {
  const pending = pendingAttempts(db)
  const key = keyOf(one)
  const queue = pending.get(key) ?? { last: Promise.resolve(), size: 0 }
  if (queue.size >= MOST_PENDING) return whenFull()
  const mine = queue.last.then(fn, fn)
  pending.set(key, { last: mine, size: queue.size + 1 })
  try {
    return await mine
  } finally {
    const { last, size } = pending.get(key) ?? { last: mine, size: 1 }
    if (size > 1) pending.set(key, { last, size: size - 1 })
    else pending.delete(key)
  }
}

export function refuseWaiting(): never {
  throw tooManyFailures(1)
}
