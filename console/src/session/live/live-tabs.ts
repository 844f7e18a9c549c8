/**
 * The tabs of a browser share one stream, because a browser opens six connections to a service at most. A lock elects the tab that holds
 * it; the others tell it which tables they show, and get its events. When that tab ends, another one gets the lock and goes on.
 */
import type { Client } from '../client.ts'
import { createStream, type LiveEvent } from './live-stream.ts'
import { followedTables, type Shown, staleTables } from './shown-tables.ts'

export type LiveListener = (event: LiveEvent) => void

export interface Live {
  /** Tells what changes for the person, and in these tables, until the answer is called. */
  subscribe(listener: LiveListener, tableIds?: readonly number[]): () => void
  end(): void
}

type Message =
  | { kind: 'shows'; tab: string; shown: readonly Shown[] }
  | { kind: 'who shows' }
  | { kind: 'event'; event: LiveEvent; lastId: string | undefined }
  | { kind: 'last'; lastId: string }

/** A page that is put together shows and leaves tables within moments. */
const SETTLED_MS = 20

/** Events that are told of a table only if the stream names it. */
const isOfTable = ({ type }: LiveEvent): boolean => /^(records?|table|view|members)\./.test(type)

/** @param userId the person, because a browser that signs in as another one must not share what it hears */
export function createLive(client: Client, userId: number): Live {
  const name = `gridpost-live-${userId}`
  const channel = new BroadcastChannel(name)
  const tab = `${performance.timeOrigin}-${Math.random()}`
  /** Absent on pages that came by http from another machine: there each tab in sight has a stream of its own. */
  const locks = navigator.locks as LockManager | undefined
  const listeners = new Map<LiveListener, readonly number[]>()
  const shown = new Map<number, Shown>()
  /** What the other tabs show. */
  const shownElsewhere = new Map<string, readonly Shown[]>()
  /** When the person lost the right to read a table. One who has it again opens the table again. */
  const lost = new Map<number, number>()
  let lastId: string | undefined
  let heardAt = 0
  let followed: readonly number[] | undefined
  let leave: AbortController | undefined
  let isHolder = false
  let timer: ReturnType<typeof setTimeout> | undefined

  const stream = createStream(client, {
    heard(event, id) {
      // A stream begins with `ready` only if it does not go on after an event: what was read before may be old.
      tell(event.type === 'ready' ? { type: 'reset' } : event, id)
    },
    lost(tableIds) {
      for (const id of tableIds) {
        lost.set(id, Date.now())
        tell({ type: 'table.lost', table_id: id }, lastId)
      }
    },
  })

  const post = (message: Message) => channel.postMessage(message)
  const ownTables = () => [...new Set([...listeners.values()].flat())]

  function tell(event: LiveEvent, id: string | undefined): void {
    post({ kind: 'event', event, lastId: id })
    hear(event, id)
  }

  function hear(event: LiveEvent, id: string | undefined): void {
    lastId = id ?? lastId
    heardAt = Date.now()
    for (const [listener, tableIds] of [...listeners]) {
      const { table_id: tableId } = event
      const isMeant = isOfTable(event) ? tableId === undefined || tableIds.includes(tableId) : true
      if (isMeant) listener(event)
    }
  }

  /** Follows what the tabs show. Tables that nobody shows any more go with the next change only, since each one opens the stream anew. */
  function followShown(): void {
    if (!isHolder) return
    const everywhere = [...shown.values(), ...[...shownElsewhere.values()].flat()]
    const readable = everywhere.filter(({ id, since }) => since > (lost.get(id) ?? 0))
    const wanted = followedTables(readable)
    if (followed && wanted.every((id) => followed?.includes(id))) return
    const stale = followed ? staleTables(readable, wanted, followed, heardAt) : []
    followed = wanted
    stream.follow(wanted, lastId)
    // What happened there since they are shown is before the event that the stream goes on after.
    for (const id of stale) tell({ type: 'reset', table_id: id }, lastId)
  }

  async function hold({ signal }: AbortController): Promise<void> {
    isHolder = true
    followShown()
    // Tabs that have ended without a word do not answer.
    shownElsewhere.clear()
    post({ kind: 'who shows' })
    await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()))
    isHolder = false
    followed = undefined
    shownElsewhere.clear()
    stream.rest()
  }

  function join(): void {
    if (leave || (!locks && document.hidden)) return
    const own = new AbortController()
    leave = own
    if (!locks) return void hold(own)
    locks
      .request(name, { signal: own.signal }, async () => {
        if (!own.signal.aborted) await hold(own)
      })
      // A request that is given up ends so; there is no other reason that could be mended here.
      .catch((error: unknown) => {
        if (!own.signal.aborted) reportError(error)
      })
  }

  /** A tab that listens to nothing lets another one hold the stream. */
  function settle(): void {
    const tableIds = ownTables()
    for (const id of [...shown.keys()]) if (!tableIds.includes(id)) shown.delete(id)
    post({ kind: 'shows', tab, shown: [...shown.values()] })
    if (listeners.size) join()
    else part()
    followShown()
  }

  function part(): void {
    leave?.abort()
    leave = undefined
  }

  function later(): void {
    clearTimeout(timer)
    timer = setTimeout(settle, SETTLED_MS)
  }

  channel.onmessage = ({ data }: MessageEvent<Message>) => {
    if (data.kind === 'event') hear(data.event, data.lastId)
    else if (data.kind === 'last') lastId ??= data.lastId
    else if (data.kind === 'who shows') post({ kind: 'shows', tab, shown: [...shown.values()] })
    else {
      shownElsewhere.set(data.tab, data.shown)
      if (!isHolder) return
      if (lastId !== undefined) post({ kind: 'last', lastId })
      followShown()
    }
  }

  const hide = () => post({ kind: 'shows', tab, shown: [] })
  /** The tables of the tab that is looked at go before those of others. A page that was put away and comes back has heard nothing. */
  const show = ({ type, persisted }: Event & { persisted?: boolean }) => {
    if (!locks && document.hidden) part()
    if (type === 'visibilitychange' && document.hidden) return
    for (const one of shown.values()) one.seen = Date.now()
    if (persisted || (!locks && !isHolder)) hear({ type: 'reset' }, undefined)
    later()
  }
  /** A connection that was lost without a word may seem to be open. */
  const reconnect = () => {
    if (isHolder && followed) stream.follow(followed, lastId)
  }
  addEventListener('pagehide', hide)
  addEventListener('pageshow', show)
  document.addEventListener('visibilitychange', show)
  addEventListener('online', reconnect)

  return {
    subscribe(listener, tableIds = []) {
      // The same function may listen in two places.
      const own: LiveListener = (event) => listener(event)
      listeners.set(own, tableIds)
      const now = Date.now()
      for (const id of tableIds) if (!shown.has(id)) shown.set(id, { id, since: now, seen: now })
      later()
      return () => {
        listeners.delete(own)
        later()
      }
    },
    end() {
      listeners.clear()
      settle()
      clearTimeout(timer)
      removeEventListener('pagehide', hide)
      removeEventListener('pageshow', show)
      document.removeEventListener('visibilitychange', show)
      removeEventListener('online', reconnect)
      channel.close()
    },
  }
}
