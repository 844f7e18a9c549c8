/** The connection on which a process is notified of events that other processes have committed. */
import type { FastifyBaseLogger } from 'fastify'
import type pg from 'pg'
import type { Database } from '../platform/database/database.ts'
import { CHANNEL } from './log.ts'

/** How often to reconnect, and to look for events, while the connection is lost. */
const RETRY_MS = 1_000
const PROBE_MS = 15_000

export interface Listener {
  /** Connects at the first call. Resolves when the first attempt has succeeded or failed. */
  start(): Promise<void>
  /** Ends the connection, also one that is still being opened. */
  close(): Promise<void>
}

/** @param wake called when there may be new events, also after each reconnect */
export function openListener(db: Database, log: FastifyBaseLogger, wake: () => void): Listener {
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
      fresh.on('notification', wake)
      fresh.on('error', () => {})
      fresh.once('end', lost)
      await fresh.query(`listen ${CHANNEL}`)
      client = fresh
      if (isClosed) return
      wake()
      again(probe, PROBE_MS)
    } catch (error) {
      log.warn({ err: error }, 'cannot listen for events, retrying')
      fresh?.removeListener('end', lost)
      fresh?.end().catch(() => {})
      lost()
    }
  }

  /** Looks for events whose notifications were missed, and reconnects. */
  function lost(): void {
    client = undefined
    if (isClosed) return
    wake()
    again(connect, RETRY_MS)
  }

  /** Closes the connection if it does not answer: it can be broken without an error. */
  function probe(): void {
    const asked = client
    if (!asked) return
    again(() => asked.connection.stream.destroy(), PROBE_MS)
    asked.query(`listen ${CHANNEL}`).then(
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
