/**
 * Coalesces the events of live tables: a stream gets the first one of a table at once, and then at most one message each 250 ms for what
 * happens in between (contract.md §10, Live tables).
 */

import { type EventPosition, isAfter, type StoredEvent } from './order.ts'

/** The minimum time between two messages of a table on a stream. */
const DISTANCE_MS = 250

/** Events that become one message when a stream has to wait before it may send them. */
export interface Burst {
  /** The table, or a negative number for the space, whose messages keep the distance; undefined for other events, which keep none. */
  source: number | undefined
  /** Bursts with the same key become one. */
  key: string
  first: StoredEvent
  second: StoredEvent | undefined
  last: StoredEvent
  events: number
  /** How many records were written, each time that they were. */
  writes: number
}

export const isOfTable = ({ audience }: StoredEvent): boolean => audience?.length === 0

const isOfRecords = ({ type }: StoredEvent): boolean => type.startsWith('record')

export const sourceOfSpace = (spaceId: number): number => -spaceId

const sourceOf = ({ table_id, space_id }: StoredEvent): number => table_id ?? sourceOfSpace(space_id ?? 0)

/** Changes of records become one message; of other events only equal ones do, because none may be lost. */
const keyOf = (event: StoredEvent): string =>
  isOfRecords(event) ? `records:${event.table_id}` : `${event.type}:${sourceOf(event)}:${event.view_id ?? ''}`

/** The burst of one event. */
export const burstOf = (event: StoredEvent): Burst => ({
  ...(isOfTable(event) ? { source: sourceOf(event), key: keyOf(event) } : { source: undefined, key: `event:${event.id}` }),
  ...{ first: event, second: undefined, last: event, events: 1, writes: event.count ?? 1 },
})

/** The bursts of a page of events of live tables, by their source. Every stream that hears of the source gets the same objects. */
export function burstsOf(events: readonly StoredEvent[]): ReadonlyMap<number, readonly Burst[]> {
  const found = new Map<number, Map<string, Burst>>()
  for (const event of events) {
    const burst = burstOf(event)
    const source = burst.source ?? 0
    const known = found.get(source) ?? new Map<string, Burst>()
    found.set(source, known)
    known.set(burst.key, joined(known.get(burst.key), burst))
  }
  return new Map([...found].map(([source, bursts]) => [source, [...bursts.values()]]))
}

const joined = (one: Burst | undefined, other: Burst): Burst =>
  one
    ? {
        ...{ source: one.source, key: one.key, first: one.first, second: one.second ?? other.first, last: other.last },
        ...{ events: one.events + other.events, writes: one.writes + other.writes },
      }
    : other

/** The burst without its first event. */
function restOf({ second, first, events, writes, ...burst }: Burst): Burst | undefined {
  return second && { ...burst, first: second, second: undefined, events: events - 1, writes: writes - (first.count ?? 1) }
}

export const byFirst = (one: Burst, other: Burst): number => (isAfter(one.first, other.first) ? 1 : -1)

/**
 * The message of a burst: its only event, or one that stands for all. A stream can be resumed after each message, so its id is that of the
 * last event, unless one that is sent later came before that: then it is that of the first.
 * @param next the first event that is sent after it
 */
function messageOf(burst: Burst, next: EventPosition | undefined): StoredEvent {
  const { first, last, events } = burst
  if (events === 1) return first
  const position = next && isAfter(last, next) ? first : last
  return isOfRecords(last) ? merged(burst, position) : position
}

/** The messages by the last event of their burst: a thousand streams send the same object, whose text is made once. */
const messages = new WeakMap<StoredEvent, Map<string, StoredEvent>>()

function merged({ last, writes }: Burst, { id, xact_id }: EventPosition): StoredEvent {
  const key = `${id}:${writes}`
  const known = messages.get(last) ?? new Map<string, StoredEvent>()
  messages.set(last, known)
  const message = known.get(key) ?? {
    ...{ ...last, id, xact_id, type: 'records.changed' as const, count: writes },
    ...{ record_id: null, change_id: null, user_id: null, fields: null },
  }
  known.set(key, message)
  return message
}

export interface Throttle {
  /** Sends what may be sent now, and the rest at most `DISTANCE_MS` later. @param bursts in the order of their first events */
  take(bursts: readonly Burst[]): void
  /** Whether something waits to be sent. */
  isHolding(): boolean
  /** Forgets what waits and fulfils the condition. */
  drop(condition: (burst: Burst) => boolean): void
  /** Sends at once what waits. */
  flush(): void
  /** Forgets what waits. */
  close(): void
}

/**
 * What one stream may send, and when. As long as something waits, everything that came after it waits as well, so that a stream that is
 * resumed after a message has got everything before it.
 * @param mark tells the client that everything has been sent, if the id of the last message does not say so
 */
export function openThrottle({ send, mark }: { send: (events: readonly StoredEvent[]) => void; mark: () => void }): Throttle {
  const held = new Map<string, Burst>()
  /** When each source may send again. */
  const quietUntil = new Map<number, number>()
  /** The first event that waits. */
  let from: EventPosition | undefined
  let flushAt = 0
  let timer: NodeJS.Timeout | undefined

  function take(bursts: readonly Burst[]): void {
    const now = performance.now()
    const sent = bursts.flatMap((burst) => sendable(burst, now) ?? [])
    if (sent.length) send(sent)
    if (from) schedule(now)
  }

  /** The first event of the burst, if it may be sent now. The rest is held. */
  function sendable(burst: Burst, now: number): StoredEvent | undefined {
    const { source, first } = burst
    const dueAt = source === undefined ? 0 : (quietUntil.get(source) ?? 0)
    if (dueAt > now || (from && isAfter(first, from))) {
      hold(burst, dueAt)
      return undefined
    }
    if (source !== undefined) quietUntil.set(source, now + DISTANCE_MS)
    const rest = restOf(burst)
    if (rest) hold(rest, now + DISTANCE_MS)
    return first
  }

  function hold(burst: Burst, dueAt: number): void {
    held.set(burst.key, joined(held.get(burst.key), burst))
    if (!from || isAfter(from, burst.first)) from = burst.first
    flushAt = Math.max(flushAt, dueAt)
  }

  function schedule(now: number): void {
    timer ??= setTimeout(() => {
      timer = undefined
      const woken = performance.now()
      if (woken < flushAt) schedule(woken)
      else flush()
    }, flushAt - now)
  }

  function flush(): void {
    const bursts = [...held.values()].sort(byFirst)
    close()
    const quiet = performance.now() + DISTANCE_MS
    for (const { source } of bursts) if (source !== undefined) quietUntil.set(source, quiet)
    const sent = bursts.map((burst, index) => messageOf(burst, bursts[index + 1]?.first))
    if (!sent.length) return
    send(sent)
    const end = bursts.reduce((last, burst) => (isAfter(burst.last, last) ? burst.last : last), (bursts[0] as Burst).last)
    if (sent.at(-1)?.id !== end.id) mark()
  }

  function close(): void {
    clearTimeout(timer)
    timer = undefined
    held.clear()
    from = undefined
    flushAt = 0
  }

  return {
    take,
    flush,
    close,
    isHolding: () => from !== undefined,
    drop(condition) {
      for (const [key, burst] of held) if (condition(burst)) held.delete(key)
    },
  }
}
