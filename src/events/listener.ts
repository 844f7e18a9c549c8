/** The one connection of a process that hears when another has committed events. */
import type { FastifyBaseLogger } from 'fastify'
import type pg from 'pg'
import type { Database } from '../platform/database/database.ts'
import { CHANNEL } from './log.ts'

/** While the connection is away, the events are looked for this often instead. */
const RETRY_MS = 1_000
const PROBE_MS = 15_000

export interface Listener {
  /** Connects, once; resolves when that has succeeded or failed for the first time. */
  start(): Promise<void>
  /** Ends the connection, also one that is only being made. */
  close(): Promise<void>
}

/** @param wake called when there may be something new, also each time that the connection comes back */
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
      log.warn({ err: error }, 'not listening for events, trying again')
      fresh?.removeListener('end', lost)
      fresh?.end().catch(() => {})
      lost()
    }
  }

  /** What was told of meanwhile is looked for. */
  function lost(): void {
    client = undefined
    if (isClosed) return
    wake()
    again(connect, RETRY_MS)
  }

  /** A connection can be dead without a word; it is closed when it does not answer. */
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
      // A connection on its way would outlive the database of the process.
      await connecting
      await client?.end()
    },
  }
}
