/**
 * The event feed of one process. It reads the events once, in order, and sends each to the open streams whose callers may see it. Before
 * the first stream opens it neither reads nor listens.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { FastifyBaseLogger } from 'fastify'
import { reauthenticate, type StreamCaller } from '../platform/access/reauthenticate.ts'
import type { Actor } from '../platform/actor.ts'
import { Semaphore } from '../platform/concurrency/semaphore.ts'
import type { Database } from '../platform/database/database.ts'
import { openListener } from '../platform/database/listener.ts'
import { AppError, unavailable } from '../platform/errors.ts'
import { perProcess } from '../platform/processes/per-process.ts'
import { formatInstant } from '../platform/time/time.ts'
import { CHANNEL } from './log.ts'
import { BATCH, type EventPosition, isAfter, lastPosition, positionOf, readEvents, type StoredEvent } from './order.ts'
import { eventsByUser, maySee, type Reach, reachOf } from './visibility.ts'

export interface Subscriber extends StreamCaller {
  actor: Actor
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

declare module '../platform/context.ts' {
  interface Deps {
    /** Sends events to the open streams of this process. */
    feed: Feed
  }
}

export interface Feed {
  /**
   * Opens a stream of the events that are committed from now on, or after `lastEventId`. If that event was deleted, a `reset` comes first.
   * @returns closes the stream
   * @throws AppError 429 for more than `maxStreams` of one key or user
   */
  subscribe(subscriber: Subscriber, lastEventId: number | undefined): Promise<() => void>
  /** The number of open streams. */
  size(): number
  /** Ends all streams. */
  close(): Promise<void>
}

interface Stream extends Subscriber {
  /** The key or user whose limit it counts for. */
  caller: string
  /** The position up to which it has been served. */
  position: EventPosition
  /** Whether it has caught up and gets its events from the feed. */
  isLive: boolean
}

export interface FeedOptions {
  log: FastifyBaseLogger
  clock: () => Date
  /** The maximum for one key or user in this process. */
  maxStreams: number
  /** Awaited before events are sent: a client that reads because of an event must find the change on a replica as well. */
  settled?: (() => Promise<void>) | undefined
  /** How often streams send a heartbeat and their credentials are checked; 15 seconds by default. */
  beatMs?: number
}

const BEAT_MS = 15_000
/** How long a revoked key or an ended session may still get events. */
const RECHECK_MS = 2_000
const RETRY_MS = 1_000
/** How long to wait between reads while an open transaction holds events back. */
const HELD_BACK_MS = { first: 10, most: 250 }
/** After sending, the feed pauses for longer than it took: events of that time are sent together, and requests are not delayed. */
const REST = { leastMs: 60, factor: 3, mostMs: 120 }
const REPLAYS_AT_ONCE = perProcess(4)

export function openFeed(db: Database, { log, clock, maxStreams, settled, beatMs = BEAT_MS }: FeedOptions): Feed {
  const streams = new Set<Stream>()
  const listener = openListener(db, { channel: CHANNEL, log, onNotification: wake, onConnect: wake, onLost: wake })
  const replays = new Semaphore(REPLAYS_AT_ONCE)
  let position: EventPosition = { xact_id: 0, id: 0 }
  let checkedAt = -RECHECK_MS
  let isDue = false
  let isRunning = false
  let isClosed = false
  let beating: NodeJS.Timeout | undefined

  async function subscribe(subscriber: Subscriber, lastEventId: number | undefined): Promise<() => void> {
    if (!streams.size) await start()
    const known = lastEventId === undefined ? undefined : await positionOf(db, lastEventId)
    if (isClosed) throw unavailable('The service is stopping')
    const caller = callerOf(subscriber.actor)
    if ([...streams].filter((stream) => stream.caller === caller).length >= maxStreams)
      throw new AppError('TOO_MANY_REQUESTS', 'Too many open streams', { retryAfterSeconds: 60 })

    const stream: Stream = { ...subscriber, caller, position: known ?? position, isLive: false }
    streams.add(stream)
    stream.open(stream.position.id)
    if (lastEventId !== undefined && !known) stream.send([resetAt(position)])
    if (isAfter(position, stream.position)) void catchUp(stream)
    else stream.isLive = true
    wake()
    return () => void streams.delete(stream)
  }

  /** Without streams the feed does not advance, so the first one starts it at the last event. */
  async function start(): Promise<void> {
    await listener.start()
    const last = await lastPosition(db)
    // If another stream has opened in the meantime, the position stays.
    if (!streams.size) position = last
    if (isClosed) return
    beating ??= setInterval(beat, beatMs).unref()
  }

  const resetAt = ({ xact_id, id }: EventPosition): StoredEvent => ({
    ...{ xact_id, id, type: 'reset', at: formatInstant(clock()), account_id: 0, audience: null },
    ...{ space_id: null, table_id: null, record_id: null, task_id: null, comment_id: null },
  })

  /** Reads new events. Calls during a read lead to one more read. */
  function wake(): void {
    isDue = true
    if (!isRunning) void run()
  }

  async function run(): Promise<void> {
    isRunning = true
    let heldBackMs = HELD_BACK_MS.first
    while (isDue && streams.size && !isClosed) {
      isDue = false
      try {
        heldBackMs = await advance(heldBackMs)
      } catch (error) {
        if (isClosed) break
        log.warn({ err: error }, 'events not read, retrying')
        await sleep(RETRY_MS)
        isDue = true
      }
    }
    isRunning = false
  }

  /** Reads one page and sends it. If events are held back, waits. @returns how long the next such wait takes, in milliseconds */
  async function advance(heldBackMs: number): Promise<number> {
    const { events, isHeldBack } = await readEvents(db, position)
    const last = events.at(-1)
    if (last) {
      if (settled) await settled()
      // The position is set before the events are sent: a stream that opens in between begins after them.
      position = last
      await sleep(await deliver(events, last))
    }
    if (isHeldBack) await sleep(heldBackMs)
    // A full page is followed by more events, and there is no notification when events are no longer held back.
    isDue ||= isHeldBack || events.length === BATCH
    return isHeldBack && !last ? Math.min(2 * heldBackMs, HELD_BACK_MS.most) : HELD_BACK_MS.first
  }

  /** Sends the events to the live streams. @returns how long to pause, in milliseconds */
  async function deliver(events: readonly StoredEvent[], last: EventPosition): Promise<number> {
    const accounts = new Set(events.map(({ account_id }) => account_id))
    const live = [...streams].filter(({ isLive }) => isLive)
    const concerned = live.filter(({ actor }) => accounts.has(actor.accountId))
    const reach = await untilItWorks(async () => {
      if (performance.now() - checkedAt > RECHECK_MS) await recheck()
      return reachOf(db, events, [...new Set(concerned.map(({ actor }) => actor.userId))])
    })
    const began = performance.now()
    const byUser = eventsByUser(events, reach)
    for (const stream of concerned) {
      const { isOwner, userId } = stream.actor
      const possible = isOwner ? events : byUser.get(userId)
      if (possible) sendVisible(stream, possible, reach)
    }
    for (const stream of live) if (isAfter(last, stream.position)) stream.position = last
    return Math.min(Math.max(REST.leastMs, REST.factor * (performance.now() - began)), REST.mostMs)
  }

  function sendVisible(stream: Stream, events: readonly StoredEvent[], reach: Reach): void {
    if (!streams.has(stream)) return
    const known = events.filter((event) => isAfter(event, stream.position) && maySee(stream.actor, event, reach))
    if (known.length) stream.send(known)
  }

  /** Retries until `fn` succeeds: events that were read must not be lost while the database is unavailable. */
  async function untilItWorks<T>(fn: () => Promise<T>): Promise<T> {
    for (;;) {
      try {
        return await fn()
      } catch (error) {
        if (isClosed) throw error
        log.warn({ err: error }, 'events not sent, retrying')
        await sleep(RETRY_MS)
      }
    }
  }

  /** Sends missed events to a stream, page by page and as fast as the client reads, until it has reached the position of the feed. */
  async function catchUp(stream: Stream): Promise<void> {
    try {
      while (streams.has(stream) && isAfter(position, stream.position)) {
        const goal = position
        await replays.run(async () => {
          // A slow client can take its time for a page.
          if (performance.now() - checkedAt > RECHECK_MS) await recheck()
          const { events } = await readEvents(db, stream.position, goal)
          sendVisible(stream, events, await reachOf(db, events, [stream.actor.userId]))
          stream.position = events.length === BATCH ? (events.at(-1) as EventPosition) : goal
        })
        await stream.drained()
      }
      stream.isLive = true
    } catch (error) {
      log.warn({ err: error }, 'a stream could not catch up')
      end(stream, 'again')
    }
  }

  /** Ends the streams of revoked keys and ended sessions, and updates the actors of the others. */
  async function recheck(): Promise<void> {
    const all = [...streams]
    const actors = await reauthenticate(db, all, clock())
    checkedAt = performance.now()
    for (const [index, stream] of all.entries()) {
      const actor = actors[index]
      if (actor) stream.actor = actor
      else end(stream, 'ended')
    }
  }

  async function beat(): Promise<void> {
    if (!streams.size) return
    wake()
    await recheck().catch((error) => log.warn({ err: error }, 'streams not checked'))
    for (const stream of streams) stream.beat(stream.position.id)
  }

  function end(stream: Stream, why: 'ended' | 'again'): void {
    if (streams.delete(stream)) stream.end(why)
  }

  return {
    subscribe,
    size: () => streams.size,
    async close() {
      isClosed = true
      clearInterval(beating)
      for (const stream of streams) end(stream, 'again')
      await listener.close()
    },
  }
}

const callerOf = ({ keyId, userId }: Actor) => (keyId === null ? `user:${userId}` : `key:${keyId}`)
