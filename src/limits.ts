/** Rate limits: a process leases a slice of a window from the database and counts it down by itself (design.md §4). */
import type { Actor } from './access.ts'
import { type Database, sql } from './db.ts'
import { AppError } from './errors.ts'
import { formatInstant } from './time.ts'

/** A slice is this part of a window's limit: the sum over all processes is exact to within one slice each. */
const SLICE = 0.05
/** Sessions and personal keys get this part of what an account key gets. */
const PERSONAL_PART = 4

interface Window {
  id: string
  limit: number
  endsAt: number
  /** Requests that this process may still serve without asking. */
  left: number
  /** What the others had not taken when this process last asked. */
  unleased: number
  lease: Promise<void> | null
}

export interface Budget {
  limit: number
  remaining: number
  resetSeconds: number
  scope: 'account' | 'user'
}

export interface Limits {
  /** Counts one request. @throws AppError 429 with Retry-After */
  take(actor: Actor, now: Date): Promise<Budget | null>
}

export function createLimits(db: Database, { perMinute, perHour }: { perMinute: number; perHour: number }): Limits {
  const windows = new Map<string, Window>()
  let sweptAt = 0

  async function takeFrom(owner: string, seconds: number, limit: number, now: number): Promise<Window> {
    const startsAt = Math.floor(now / 1000 / seconds) * seconds
    const key = `${owner}:${seconds}`
    let window = windows.get(key)
    if (!window || window.endsAt <= now) {
      window = { id: `${key}:${startsAt}`, limit, endsAt: (startsAt + seconds) * 1000, left: 0, unleased: limit, lease: null }
      windows.set(key, window)
    }
    while (window.left === 0 && window.unleased > 0) {
      window.lease ??= leaseMore(db, window)
      await window.lease
    }
    if (window.left > 0) window.left--
    else
      throw new AppError('TOO_MANY_REQUESTS', 'Too many requests', {
        retryAfterSeconds: Math.max(1, Math.ceil((window.endsAt - now) / 1000)),
      })
    return window
  }

  return {
    async take(actor, now) {
      const isAccount = actor.kind === 'account'
      const part = isAccount ? 1 : PERSONAL_PART
      const scope = isAccount ? 'account' : 'user'
      const owner = isAccount ? `a${actor.accountId}` : `u${actor.userId}`
      const time = now.getTime()
      if (time - sweptAt > 60_000) {
        sweptAt = time
        for (const [key, { endsAt }] of windows) if (endsAt <= time) windows.delete(key)
      }
      const taken: Window[] = []
      if (perHour > 0) taken.push(await takeFrom(owner, 3600, Math.ceil(perHour / part), time))
      if (perMinute > 0) taken.push(await takeFrom(owner, 60, Math.ceil(perMinute / part), time))
      // The window that runs out first is the one to tell of; the minute, unless the hour is nearly used up.
      const tightest = taken.reduce<Window | null>((best, window) => (!best || remaining(window) <= remaining(best) ? window : best), null)
      return (
        tightest && {
          limit: tightest.limit,
          remaining: remaining(tightest),
          resetSeconds: Math.ceil((tightest.endsAt - time) / 1000),
          scope,
        }
      )
    },
  }
}

const remaining = (window: Window) => window.left + window.unleased

/** One statement takes a slice; of two processes that take the last, the second gets what is left of it. */
async function leaseMore(db: Database, window: Window): Promise<void> {
  try {
    const slice = Math.min(Math.max(1, Math.ceil(window.limit * SLICE)), window.limit)
    const [row] = await db.query<{ used: number }>(
      sql`insert into rate_windows (id, used, expires_at) values (${window.id}, ${slice}, ${formatInstant(new Date(window.endsAt))}::timestamp)
        on conflict (id) do update set used = rate_windows.used + ${slice} where rate_windows.used < ${window.limit}
        returning used`,
      'limits:lease',
    )
    window.left = row ? slice - Math.max(0, row.used - window.limit) : 0
    window.unleased = row ? Math.max(0, window.limit - row.used) : 0
  } finally {
    window.lease = null
  }
}
