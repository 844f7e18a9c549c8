/** Rate limits. A process leases a slice of a window from the database and counts it down in memory. */

import type { Actor } from '../../actor.ts'
import { Batches } from '../../concurrency/batches.ts'
import { type Database, sql } from '../../database/database.ts'
import { isOutage } from '../../database/database-errors.ts'
import { labelled } from '../../database/statements/statement.ts'
import { perProcess } from '../../processes/per-process.ts'
import { formatInstant } from '../../time/time.ts'
import { openAddressWindows } from './address-windows.ts'

/** The part of a window's limit that one lease takes. The count over all processes is exact to within one slice for each. */
const SLICE = 0.05
/** The limit of an account is divided by this for the personal keys of a user, and for an address. */
const PERSONAL_PART = 4
/** How many leases one statement takes at most. */
const MOST_LEASES = 200

interface Window {
  id: string
  limit: number
  endsAt: number
  /** Requests that this process may still serve before it needs another lease. */
  left: number
  /** Requests that no process had leased when this process last asked. */
  unleased: number
  lease: Promise<undefined> | null
}

interface Taken {
  window: Window
  isExceeded: boolean
}

export interface Budget {
  limit: number
  remaining: number
  resetSeconds: number
  scope: 'account' | 'user' | 'address'
  /** True if this request exceeds the limit. */
  isExceeded: boolean
}

export interface Limits {
  /** Counts one request; null when there is no limit. It waits only for a lease. */
  take(actor: Actor, now: Date): Promise<Budget | null> | Budget | null
  /** Counts one request of an unknown caller, by address and in this process alone; null when there is no limit. */
  takeByAddress(ip: string, now: Date): Budget | null
}

declare module '../../context.ts' {
  interface Deps {
    limits: Limits
  }
}

export function createLimits(db: Database, { perMinute, perHour }: { perMinute: number; perHour: number }): Limits {
  const windows = new Map<string, Window>()
  const addressLimit = perProcess(Math.ceil(perMinute / PERSONAL_PART))
  const takeAddress = openAddressWindows(addressLimit)
  /** The seconds and the most requests of each window. */
  const limits = [[3600, perHour] as const, [60, perMinute] as const].filter(([, most]) => most > 0)
  /** Leases that are asked for together share a statement: of many accounts each needs new ones in every minute. */
  const leases = new Batches((asked: readonly Window[]) => leaseTogether(db, asked), { most: MOST_LEASES, isForAll: isOutage })
  let sweptAt = 0

  function windowOf(owner: string, seconds: number, limit: number, now: number): Window {
    const startsAt = Math.floor(now / 1000 / seconds) * seconds
    const key = `${owner}:${seconds}`
    const window = windows.get(key)
    // One that ends later was made by a clock that has been set back since.
    if (window && window.endsAt > now && window.endsAt <= now + seconds * 1000) return window
    const next = { id: `${key}:${startsAt}`, limit, endsAt: (startsAt + seconds) * 1000, left: 0, unleased: limit, lease: null }
    windows.set(key, next)
    return next
  }

  function takeFrom(window: Window): Taken {
    const isExceeded = window.left === 0
    if (!isExceeded) window.left--
    return { window, isExceeded }
  }

  function forgetEndedWindows(now: number): void {
    sweptAt = now
    for (const [key, { endsAt }] of windows) if (endsAt <= now) windows.delete(key)
  }

  /** Takes from each window. @returns the tightest; undefined if there is no limit */
  function takeFromAll(all: readonly Window[]): Taken | undefined {
    let tightest: Taken | undefined
    for (const window of all) {
      const taken = takeFrom(window)
      if (!tightest || isTighter(taken, tightest)) tightest = taken
    }
    return tightest
  }

  async function afterLeases<T>(all: readonly Window[], take: () => T): Promise<T> {
    // Others who wait for a lease may take all of it first.
    while (all.some(mustLease)) await Promise.all(all.filter(mustLease).map(leaseMore))
    return take()
  }

  function leaseMore(window: Window): Promise<undefined> {
    window.lease ??= leases.add(window).finally(() => {
      window.lease = null
    })
    return window.lease
  }

  return {
    take(actor, now) {
      const { owner, part, scope } = countOf(actor)
      const time = now.getTime()
      if (time - sweptAt > 60_000) forgetEndedWindows(time)
      const all = limits.map(([seconds, most]) => windowOf(owner, seconds, Math.ceil(most / part), time))
      const count = () => budgetOf(takeFromAll(all), scope, time)
      return all.some(mustLease) ? afterLeases(all, count) : count()
    },
    takeByAddress(ip, now) {
      if (perMinute === 0) return null
      const { remaining, endsAt, isExceeded } = takeAddress(ip, now.getTime())
      const resetSeconds = Math.max(1, Math.ceil((endsAt - now.getTime()) / 1000))
      return { limit: addressLimit, remaining, resetSeconds, scope: 'address', isExceeded }
    },
  }
}

/** Whose requests are counted together: those of an account's keys, of a user's sessions, or of a user's keys (contract.md §1). */
function countOf({ kind, accountId, userId }: Actor): { owner: string; part: number; scope: Budget['scope'] } {
  if (kind === 'account') return { owner: `a${accountId}`, part: 1, scope: 'account' }
  if (kind === 'session') return { owner: `s${userId}`, part: 1, scope: 'user' }
  return { owner: `u${userId}`, part: PERSONAL_PART, scope: 'user' }
}

function budgetOf(tightest: Taken | undefined, scope: Budget['scope'], now: number): Budget | null {
  if (!tightest) return null
  const { window, isExceeded } = tightest
  const resetSeconds = Math.max(1, Math.ceil((window.endsAt - now) / 1000))
  return { limit: window.limit, remaining: remaining(window), resetSeconds, scope, isExceeded }
}

const mustLease = ({ left, unleased }: Window) => left === 0 && unleased > 0

const remaining = (window: Window) => window.left + window.unleased

/** Whether `a` says more to the caller: it is exceeded, or has fewer requests left, or ends later. */
function isTighter(a: Taken, b: Taken): boolean {
  if (a.isExceeded !== b.isExceeded) return a.isExceeded
  const more = remaining(a.window) - remaining(b.window)
  return more === 0 ? a.window.endsAt > b.window.endsAt : more < 0
}

/**
 * Leases a slice of each window in one statement. If two processes lease the last slice at once, the second gets what remains. All
 * processes take the rows in the same order, so that none of two waits for the other.
 */
async function leaseTogether(db: Database, windows: readonly Window[]): Promise<undefined[]> {
  const slices = windows.map(sliceOf)
  const rows = await db.write<{ id: string; used: number }>(
    labelled(
      'limits:lease',
      sql`insert into rate_windows as w (id, used, expires_at)
      select l.id, l.slice, l.ends_at
      from unnest(${windows.map(({ id }) => id)}::text[], ${slices}::int[],
        ${windows.map(({ endsAt }) => formatInstant(new Date(endsAt)))}::timestamp[]) as l (id, slice, ends_at)
      order by l.id
      on conflict (id) do update set used = w.used + excluded.used
      returning id, used`,
    ),
  )
  const usedBy = new Map(rows.map(({ id, used }) => [id, used]))
  for (const window of windows) {
    const slice = sliceOf(window)
    const used = usedBy.get(window.id) ?? window.limit + slice
    window.left = Math.max(0, slice - Math.max(0, used - window.limit))
    window.unleased = Math.max(0, window.limit - used)
  }
  return windows.map(() => undefined)
}

const sliceOf = ({ limit }: Window) => Math.min(Math.max(1, Math.ceil(limit * SLICE)), limit)

/** Deletes the windows that have ended. */
export async function deleteExpiredWindows(db: Database, now: Date): Promise<void> {
  await db.write(sql`delete from rate_windows where expires_at < ${formatInstant(now)}::timestamp`)
}
