/** The open streams of one process: whose they are, which tables they name, and what each of them may be sent. */

import { reauthenticate, type StreamCaller } from '../platform/access/reauthenticate.ts'
import type { Actor } from '../platform/actor.ts'
import type { Database } from '../platform/database/database.ts'
import { formatInstant } from '../platform/time/time.ts'
import { type Burst, burstOf, burstsOf, byFirst, isOfTable, openThrottle, type Throttle } from './coalescing.ts'
import { heardOf, isStillHeard, type LiveTables, liveTables, type NamedTables, namesNone, narrow, reachOfTables } from './live-tables.ts'
import { type EventPosition, isAfter, type StoredEvent } from './order.ts'
import { eventsByUser, maySee, type Reach, reachOf } from './visibility.ts'

export interface Subscriber extends StreamCaller {
  actor: Actor
  /** The tables of which the stream also hears what happens to records, definitions, views and members. */
  tables?: NamedTables | undefined
  /** Called once, before everything else. @param id the position of the stream, to continue from before the first event arrives */
  open(id: number): void
  send(events: readonly StoredEvent[]): void
  /** Called at intervals. @param id the position up to which everything has been sent */
  beat(id: number): void
  /** Resolves when the backlog has been written, so that more can be sent. */
  drained(): Promise<void>
  /** Ends the stream: the credentials have ended, or the caller should reconnect. */
  end(why: 'ended' | 'again'): void
}

export interface Stream extends Subscriber {
  /** The key or user whose limit it counts for. */
  caller: string
  /** The position up to which it has been served. */
  position: EventPosition
  /** Whether it has caught up and gets its events from the feed. */
  isLive: boolean
  /** The version of its account's access at which its caller was last checked. */
  version?: string | undefined
  /** When its key or session ends by itself, as far as known. */
  expiresAt?: string | null
  live?: Live | undefined
}

/** Of a stream that names tables. */
interface Live {
  tables: LiveTables
  throttle: Throttle
}

/** Events in their order, of which those after `start` have not been sent. */
export interface Page {
  start: EventPosition
  end: EventPosition
  events: readonly StoredEvent[]
  /** Those that streams hear without naming a table. */
  told: readonly StoredEvent[]
  bursts: ReadonlyMap<number, readonly Burst[]>
}

export function pageOf(events: readonly StoredEvent[], { start, end }: Pick<Page, 'start' | 'end'>): Page {
  return { start, end, events, told: events.filter((event) => !isOfTable(event)), bursts: burstsOf(events.filter(isOfTable)) }
}

export interface OpenStreams {
  all: ReadonlySet<Stream>
  add(subscriber: Subscriber, position: EventPosition): Stream
  remove(stream: Stream): void
  end(stream: Stream, why: 'ended' | 'again'): void
  /** The streams that a caller has. */
  countOf(actor: Actor): number
  /** The tables that the streams name. */
  tableIds(): number[]
  /** Those of the streams whose callers may see something of the page. Without a table a stream costs nothing for those of others. */
  concernedBy(page: Page, among: readonly Stream[]): Stream[]
  /**
   * Reads who may see the events, and checks the callers of the streams whose rights may have changed since they were last checked. Both
   * come after the events were read, so no event is sent that was committed after the answer to a revocation.
   */
  reachNow(events: readonly StoredEvent[], receivers: readonly Stream[]): Promise<Reach>
  /** Notes that the stream has been served up to the position, unless it was already. */
  advance(stream: Stream, to: EventPosition): void
  /** Sends to each of the streams what it may see of the page. */
  send(page: Page, receivers: readonly Stream[], reach: Reach): void
  /** Ends those of the streams whose key was revoked or whose session has ended, and updates the actors and tables of the others. */
  recheck(some: readonly Stream[]): Promise<void>
}

/** @param remembersAccess false: callers are checked before each sending */
export function openStreams(db: Database, { clock, remembersAccess }: { clock: () => Date; remembersAccess: boolean }): OpenStreams {
  const streams = new Set<Stream>()
  const byTable = new Map<number, Set<Stream>>()

  function add(subscriber: Subscriber, position: EventPosition): Stream {
    const stream: Stream = { ...subscriber, position, caller: callerOf(subscriber.actor), isLive: false }
    streams.add(stream)
    if (!subscriber.tables) return stream
    const throttle = openThrottle({ send: (events) => stream.send(events), mark: () => stream.beat(stream.position.id) })
    stream.live = { tables: liveTables(subscriber.tables), throttle }
    for (const id of subscriber.tables.keys()) {
      const naming = byTable.get(id) ?? new Set()
      byTable.set(id, naming.add(stream))
    }
    return stream
  }

  /** @returns whether the stream was open */
  function remove(stream: Stream): boolean {
    stream.live?.throttle.close()
    for (const id of stream.tables?.keys() ?? []) {
      const naming = byTable.get(id)
      naming?.delete(stream)
      if (!naming?.size) byTable.delete(id)
    }
    return streams.delete(stream)
  }

  function end(stream: Stream, why: 'ended' | 'again'): void {
    if (remove(stream)) stream.end(why)
  }

  /** A client that reconnects is told that it may read none of its tables. */
  function endIfSilent(stream: Stream): void {
    if (!stream.live || !namesNone(stream.live.tables)) return
    stream.live.throttle.flush()
    end(stream, 'again')
  }

  function concernedBy({ told, bursts }: Page, among: readonly Stream[]): Stream[] {
    const accounts = new Set(told.map(({ account_id }) => account_id))
    const naming = new Set([...bursts.keys()].flatMap((id) => [...(byTable.get(id) ?? [])]))
    const spaces = [...bursts.values()].flatMap(([burst]) => (burst?.first.table_id === null ? (burst.first.space_id ?? []) : []))
    const namesOneOf = (tables: NamedTables) => spaces.length > 0 && [...tables.values()].some((space) => spaces.includes(space))
    return among.filter(
      (stream) => accounts.has(stream.actor.accountId) || naming.has(stream) || (stream.tables && namesOneOf(stream.tables)),
    )
  }

  function advance(stream: Stream, to: EventPosition): void {
    if (isAfter(to, stream.position)) stream.position = to
  }

  function send(page: Page, receivers: readonly Stream[], reach: Reach): void {
    const byUser = eventsByUser(page.told, reach)
    for (const stream of receivers) {
      const { isOwner, userId } = stream.actor
      const possible = isOwner ? page.told : byUser.get(userId)
      if (streams.has(stream) && (possible || stream.live)) sendVisible(stream, { ...page, told: possible ?? [] }, reach)
    }
  }

  function sendVisible(stream: Stream, page: Page, reach: Reach): void {
    const { position, live } = stream
    const known = page.told.filter((event) => isAfter(event, position) && maySee(stream.actor, event, reach))
    advance(stream, page.end)
    if (!live) {
      if (known.length) stream.send(known)
      return
    }
    // A stream that was resumed may be ahead of the feed of this process.
    const isAhead = isAfter(position, page.start)
    const bursts = isAhead ? burstsOf(page.events.filter((event) => isOfTable(event) && isAfter(event, position))) : page.bursts
    live.throttle.take([...known.map(burstOf), ...heardOf(live.tables, bursts)].sort(byFirst))
    endIfSilent(stream)
  }

  async function reachNow(events: readonly StoredEvent[], receivers: readonly Stream[]): Promise<Reach> {
    const reach = await reachOf(db, events, [...new Set(receivers.map(({ actor }) => actor.userId))])
    const now = formatInstant(clock())
    const isUnchanged = ({ version, expiresAt, actor }: Stream) =>
      remembersAccess && version !== undefined && version === reach.versions.get(actor.accountId) && !(expiresAt && expiresAt <= now)
    const unsure = receivers.filter((stream) => !isUnchanged(stream))
    if (unsure.length) await recheck(unsure)
    for (const stream of unsure) stream.version = reach.versions.get(stream.actor.accountId)
    return reach
  }

  async function recheck(some: readonly Stream[]): Promise<void> {
    const callers = await reauthenticate(db, some, clock())
    for (const [index, stream] of some.entries()) {
      const caller = callers[index]
      if (caller) Object.assign(stream, caller)
      else end(stream, 'ended')
    }
    await recheckTables(some.filter((stream) => streams.has(stream) && stream.live))
  }

  /** Takes from the streams the tables that their callers may not read any more, and what has not been sent of these. */
  async function recheckTables(some: readonly Stream[]): Promise<void> {
    if (!some.length) return
    const ids = new Set(some.flatMap(({ tables }) => [...(tables?.keys() ?? [])]))
    const reach = await reachOfTables(db, [...ids], [...new Set(some.map(({ actor }) => actor.userId))])
    for (const stream of some) {
      if (!stream.live) continue
      const { tables, throttle } = stream.live
      narrow(tables, stream.actor, reach)
      throttle.drop((burst) => !isStillHeard(tables, burst))
      endIfSilent(stream)
    }
  }

  return {
    ...{ all: streams, add, remove, end, concernedBy, reachNow, advance, send, recheck },
    countOf: (actor) => [...streams].filter(({ caller }) => caller === callerOf(actor)).length,
    tableIds: () => [...byTable.keys()],
  }
}

const callerOf = ({ keyId, userId }: Actor) => (keyId === null ? `user:${userId}` : `key:${keyId}`)
