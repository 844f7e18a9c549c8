/** The emails of one connection. The next ones are leased and loaded while the last ones are sent, so that it need not wait for them. */
import type { Context } from '../../platform/context.ts'
import { isOutage } from '../../platform/database/database-errors.ts'
import { type Lease, releaseLeases } from './lease.ts'
import { type LoadedMail, loadFirst, recordKey } from './loading.ts'
import type { Slot } from './slots.ts'

/** Leased emails of an integration that share a connection. */
export interface Sending extends Slot {
  integrationId: number
  /** The leases that are not ended yet, and have to be renewed. */
  held: Set<Lease>
  /** How many emails the connection was to get; fewer of them mean that no other was due. */
  asked: number
  /** Leases more emails for the connection: none if it is needed for others. */
  leaseMore(most: number): Promise<Lease[]>
}

export interface Prefetch {
  /**
   * The next email, once those of the same record that it refers to are recorded; undefined at the end.
   * @param most how many emails are leased at once if few are left
   * @throws if the database is not available
   */
  next(most: number): Promise<{ lease: Lease; loaded: LoadedMail } | undefined>
  /** Keeps the lease of an email that was sent until its outcome is recorded. @param recorded it does not reject */
  hold(lease: Lease, recorded: Promise<void>): void
  /** Gives back the emails that are not sent yet, for another connection, and takes no more. */
  giveBack(): Promise<void>
  /** Resolves when the outcomes of all emails that were sent are recorded. */
  recorded(): Promise<void>
}

/** The most emails that one connection has at once, because the leases of a killed worker delay its emails for half a minute. */
const MOST_HELD = 50

/** @param context makes the context of a statement */
export function openPrefetch(context: () => Context, { held, asked, leaseMore }: Pick<Sending, 'held' | 'asked' | 'leaseMore'>): Prefetch {
  /** The emails that are not sent yet. The loaded ones come first. */
  const waiting = [...held]
  const loaded = new Map<Lease, LoadedMail>()
  /** The records of the emails that are loaded and whose outcome is not recorded. */
  const records = new Map<Lease, string | undefined>()
  const unrecorded = new Set<Promise<void>>()
  let ahead: Promise<void> | undefined
  let [size, hasMore] = [waiting.length, waiting.length >= asked]

  async function next(most: number) {
    while (waiting.length || ahead) {
      const [lease] = waiting
      const mail = lease && loaded.get(lease)
      if (mail) {
        waiting.shift()
        loaded.delete(lease)
        if (isTimeForMore()) ahead = leaseAhead(Math.min(most, MOST_HELD - held.size))
        return { lease, loaded: mail }
      }
      if (ahead) await ahead
      else {
        // The next emails may belong to the same records and refer to the emails before.
        await recorded()
        await load()
      }
    }
    return undefined
  }

  /** True when half of the emails are sent and the others can go without waiting. A server that takes one mail a turn gets no second. */
  const isTimeForMore = () => hasMore && !ahead && size > 1 && waiting.length <= size / 2 && waiting.every((lease) => loaded.has(lease))

  async function leaseAhead(most: number): Promise<void> {
    try {
      const leases = most > 0 ? await leaseMore(most) : []
      for (const lease of leases) held.add(lease)
      waiting.push(...leases)
      // After `giveBack` there must not be more.
      if (!hasMore) return await giveBack()
      ;[size, hasMore] = [leases.length, leases.length === most]
      await load()
    } catch (error) {
      // The emails that could not be loaded are tried again when it is their turn.
      hasMore = false
      context().log.warn({ err: error }, 'next mails not loaded ahead')
    } finally {
      ahead = undefined
    }
  }

  /** Loads the next emails. One that cannot be loaded is left out, for which each is tried alone. */
  async function load(): Promise<void> {
    const [first, ...others] = waiting.filter((lease) => !loaded.has(lease))
    if (!first) return
    const mails = await loadSome(first, others)
    for (const lease of [first, ...others]) {
      const mail = mails.get(lease.comment_id)
      if (!mail) continue
      loaded.set(lease, mail)
      records.set(lease, recordKey(mail.mail))
    }
  }

  async function loadSome(first: Lease, others: readonly Lease[]): Promise<Map<number, LoadedMail>> {
    try {
      return await loadFirst(context(), [first, ...others], new Set(records.values()))
    } catch (error) {
      if (isOutage(error)) throw error
      if (others.length) return loadSome(first, [])
      waiting.splice(waiting.indexOf(first), 1)
      held.delete(first)
      // Its lease expires, and a worker takes the email again.
      context().log.error({ err: error, comment_id: first.comment_id }, 'mail not sent')
      return new Map()
    }
  }

  async function giveBack(): Promise<void> {
    hasMore = false
    const left = waiting.splice(0)
    if (!left.length) return
    for (const lease of left) held.delete(lease)
    // If this fails, the leases expire.
    await releaseLeases(context(), left).catch((error) => context().log.error({ err: error }, 'leases of mails not given back'))
  }

  function hold(lease: Lease, recording: Promise<void>): void {
    const ended = recording.then(() => {
      held.delete(lease)
      records.delete(lease)
      unrecorded.delete(ended)
    })
    unrecorded.add(ended)
  }

  const recorded = async () => void (await Promise.all(unrecorded))

  return { next, hold, giveBack, recorded }
}
