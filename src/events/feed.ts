/**
 * The event feed of one process. It reads the events once, in order, and sends each to the open streams whose callers may see it. Before
 * the first stream opens it neither reads nor listens.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { FastifyBaseLogger } from 'fastify'
import { Semaphore } from '../platform/concurrency/semaphore.ts'
import type { Database } from '../platform/database/database.ts'
import { openListener } from '../platform/database/listener.ts'
import { AppError, unavailable } from '../platform/errors.ts'
import { perProcess } from '../platform/processes/per-process.ts'
import { formatInstant } from '../platform/time/time.ts'
import { CHANNEL } from './log.ts'
import { openStreams, pageOf, type Stream, type Subscriber } from './open-streams.ts'
import { type EventPage, type EventPosition, isAfter, lastPosition, positionOf, readEvents, type StoredEvent } from './order.ts'

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

export interface FeedOptions {
  log: FastifyBaseLogger
  clock: () => Date
  /** The maximum for one key or user in this process. */
  maxStreams: number
  /** Awaited before events are sent: a client that reads because of an event must find the change on a replica as well. */
  settled?: (() => Promise<void>) | undefined
  /** True, the default: callers are checked when the access of their account has another version; false: before each sending. */
  remembersAccess?: boolean
  /** How often streams send a heartbeat and their credentials are checked; 15 seconds by default. */
  beatMs?: number
}

const BEAT_MS = 15_000
const RETRY_MS = 1_000
/** How long to wait between reads while an open transaction holds events back. */
const HELD_BACK_MS = { first: 10, most: 250 }
/** After sending, the feed pauses for longer than it took: events of that time are sent together, and requests are not delayed. */
const REST = { leastMs: 60, factor: 3, mostMs: 120 }
const REPLAYS_AT_ONCE = perProcess(4)

export function openFeed(db: Database, { log, clock, maxStreams, settled, remembersAccess = true, beatMs = BEAT_MS }: FeedOptions): Feed {
  const streams = openStreams(db, { clock, remembersAccess })
  const listener = openListener(db, { channel: CHANNEL, log, onNotification: wake, onConnect: wake, onLost: wake })
  const replays = new Semaphore(REPLAYS_AT_ONCE)
  let position: EventPosition = { xact_id: 0, id: 0 }
  let isDue = false
  let isRunning = false
  let isClosed = false
  let beating: NodeJS.Timeout | undefined

  async function subscribe(subscriber: Subscriber, lastEventId: number | undefined): Promise<() => void> {
    if (!streams.all.size) await start()
    const known = lastEventId === undefined ? undefined : await positionOf(db, lastEventId)
    if (isClosed) throw unavailable('The service is stopping')
    if (streams.countOf(subscriber.actor) >= maxStreams)
      throw new AppError('TOO_MANY_REQUESTS', 'Too many open streams', { retryAfterSeconds: 60 })

    const stream = streams.add(subscriber, known ?? position)
    stream.open(stream.position.id)
    if (lastEventId !== undefined && !known) stream.send([resetAt(position)])
    if (isAfter(position, stream.position)) void catchUp(stream)
    else stream.isLive = true
    wake()
    return () => void streams.remove(stream)
  }

  /** Without streams the feed does not advance, so the first one starts it at the last event. */
  async function start(): Promise<void> {
    await listener.start()
    const last = await lastPosition(db)
    // If another stream has opened in the meantime, the position stays.
    if (!streams.all.size) position = last
    if (isClosed) return
    beating ??= setInterval(beat, beatMs).unref()
  }

  const resetAt = ({ xact_id, id }: EventPosition): StoredEvent => ({
    ...{ xact_id, id, type: 'reset', at: formatInstant(clock()), account_id: 0, audience: null },
    ...{ space_id: null, table_id: null, record_id: null, task_id: null, comment_id: null },
    ...{ user_id: null, change_id: null, count: null, fields: null, view_id: null },
  })

  /** Reads new events. Calls during a read lead to one more read. */
  function wake(): void {
    isDue = true
    if (!isRunning) void run()
  }

  async function run(): Promise<void> {
    isRunning = true
    let heldBackMs = HELD_BACK_MS.first
    while (isDue && streams.all.size && !isClosed) {
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
    const tableIds = streams.tableIds()
    const page = await readEvents(db, position, { tableIds })
    const { events, end, isHeldBack, isFull } = page
    const start = position
    const hasAdvanced = isAfter(end, start)
    if (events.length && settled) await settled()
    // The position is set before the events are sent: a stream that opens in between begins after them.
    position = end
    if (hasAdvanced) await sleep(await deliver(page, start, new Set(tableIds)))
    if (isHeldBack) await sleep(heldBackMs)
    // A full page is followed by more events, and there is no notification when events are no longer held back.
    isDue ||= isHeldBack || isFull
    return isHeldBack && !hasAdvanced ? Math.min(2 * heldBackMs, HELD_BACK_MS.most) : HELD_BACK_MS.first
  }

  /**
   * Sends the events to the live streams.
   * @param tableIds the live tables of which there are events
   * @returns how long to pause, in milliseconds
   */
  async function deliver({ events, end, isFull }: EventPage, start: EventPosition, tableIds: ReadonlySet<number>): Promise<number> {
    const live = [...streams.all].filter(({ isLive }) => isLive)
    // Of tables that were named first after the read had begun the page has no events.
    const isLate = ({ tables }: Stream) => tables !== undefined && [...tables.keys()].some((id) => !tableIds.has(id))
    const page = pageOf(events, { start, end })
    const present = live.filter((stream) => !isLate(stream))
    const concerned = streams.concernedBy(page, present)
    const reach = concerned.length ? await untilItWorks(() => streams.reachNow(events, concerned)) : undefined
    const began = performance.now()
    if (reach) streams.send(page, concerned, reach)
    for (const stream of present) streams.advance(stream, end)
    for (const stream of live.filter(isLate)) void catchUp(stream)
    const restMs = REST.factor * (performance.now() - began)
    return Math.min(isFull ? restMs : Math.max(REST.leastMs, restMs), REST.mostMs)
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
    stream.isLive = false
    try {
      while (streams.all.has(stream) && isAfter(position, stream.position)) {
        const goal = position
        await replays.run(async () => {
          const { position: start, tables } = stream
          const { events, end, isFull } = await readEvents(db, start, { upTo: goal, tableIds: [...(tables?.keys() ?? [])] })
          const page = pageOf(events, { start, end: isFull ? end : goal })
          streams.send(page, [stream], await streams.reachNow(events, [stream]))
          stream.position = page.end
        })
        await stream.drained()
      }
      stream.isLive = true
    } catch (error) {
      log.warn({ err: error }, 'a stream could not catch up')
      streams.end(stream, 'again')
    }
  }

  async function beat(): Promise<void> {
    if (!streams.all.size) return
    wake()
    await streams.recheck([...streams.all]).catch((error) => log.warn({ err: error }, 'streams not checked'))
    // What is held is sent within a moment, and the position is before it until then.
    for (const stream of streams.all) if (!stream.live?.throttle.isHolding()) stream.beat(stream.position.id)
  }

  return {
    subscribe,
    size: () => streams.all.size,
    async close() {
      isClosed = true
      clearInterval(beating)
      for (const stream of streams.all) streams.end(stream, 'again')
      await listener.close()
    },
  }
}
