/** A connection that waits for notifications (LISTEN), and is opened again whenever it is lost. */
import type { FastifyBaseLogger } from 'fastify'
import type pg from 'pg'
import { type Database, ident } from './database.ts'

/** How often to reconnect while the connection is lost. */
const RETRY_MS = 500
const PROBE_MS = 15_000

export interface Listener {
  /** Connects at the first call. Resolves when the first attempt has succeeded or failed. */
  start(): Promise<void>
  /** Ends the connection, also one that is still being opened. */
  close(): Promise<void>
}

export interface ListenerOptions {
  channel: string
  log: FastifyBaseLogger
  /** Called with the text of each notification; it may be empty. */
  onNotification(text: string): void
  /** Called after each connect: notifications may have been missed. */
  onConnect(): void
  /** Called when the connection is lost, and after each failed attempt to open it again. */
  onLost?(): void
}

export function openListener(db: Database, { channel, log, onNotification, onConnect, onLost }: ListenerOptions): Listener {
  const listen = `listen ${ident(channel).sql}`
  let client: pg.Client | undefined
  let started: Promise<void> | undefined
  let connecting: Promise<void> | undefined
  let timer: NodeJS.Timeout | undefined
  let isClosed = false

  function connect(): Promise<void> {
    connecting = open()
    return connecting
  }

  async function open(): Promise<void> {
    let fresh: pg.Client | undefined
    try {
      fresh = await db.connect()
      if (isClosed) return void (await fresh.end())
      fresh.on('notification', ({ payload }) => onNotification(payload ?? ''))
      fresh.once('end', lost)
      await fresh.query(listen)
      client = fresh
      if (isClosed) return
      onConnect()
      again(probe, PROBE_MS)
    } catch (error) {
      log.warn({ err: error, channel }, 'cannot listen, retrying')
      fresh?.removeListener('end', lost)
      fresh?.end().catch(() => {})
      lost()
    }
  }

  function lost(): void {
    client = undefined
    if (isClosed) return
    onLost?.()
    again(connect, RETRY_MS)
  }

  /** Closes the connection if it does not answer: it can be broken without an error. */
  function probe(): void {
    const asked = client
    if (!asked) return
    again(() => asked.connection.stream.destroy(), PROBE_MS)
    asked.query(listen).then(
      () => again(probe, PROBE_MS),
      () => {},
    )
  }

  function again(fn: () => unknown, delayMs: number): void {
    clearTimeout(timer)
    if (!isClosed) timer = setTimeout(fn, delayMs).unref()
  }

  return {
    async start() {
      if (isClosed) return
      started ??= connect()
      await started
    },
    async close() {
      isClosed = true
      clearTimeout(timer)
      // A connection that is still being opened would outlive the database of the process.
      await connecting
      await client?.end()
    },
  }
}
