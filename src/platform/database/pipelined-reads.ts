/**
 * One connection that the short reads of all requests share. What is asked in one turn of the event loop is sent in one write, and
 * Postgres answers it without going to sleep in between: the system calls and wake-ups of a trip are half of what a small request
 * costs (measured in docs/decisions/0008-pipelined-reads.md).
 */
import type { Socket } from 'node:net'
import pg from 'pg'
import { askPrepared, type NamedStatement } from './prepared-statements.ts'

/** Answers come in the order of the questions. When none comes for so long, one of them is waiting for a lock: others go around. */
const STUCK_AFTER_MS = 20
/** What holds up the others for longer than this is given up, and asked again on the pool, where patience is longer. */
const PATIENCE = '-c lock_timeout=50 -c statement_timeout=1000'
const LOCK_TIMEOUT = '55P03'
const CANCELED = '57014'
/**
 * The statement does not exist. pg (8.23.1) takes a name for prepared as soon as it is sent, so when Postgres cannot parse a statement, the next
 * use of its name in the same turn is sent without the text.
 */
const NOT_PREPARED = '26000'
/** A statement that failed with one of these is asked again on the pool, which tells the caller what is really wrong. */
const ASK_ELSEWHERE = new Set([LOCK_TIMEOUT, CANCELED, NOT_PREPARED])
/** After a connection could not be opened. */
const RETRY_AFTER_MS = 1_000

/** What pg_stat_activity calls the connection. */
export const LANE_NAME = 'gridpost lane'

export interface Lane {
  /** Asks with whatever else is asked in this turn; null when the lane cannot take it now. The statement only reads. */
  ask(statement: NamedStatement): Promise<pg.QueryResult | null> | null
  close(): Promise<void>
}

interface Open {
  client: pg.Client
  stream: Socket
  openedAt: number
  /** Sent and not answered yet. */
  waiting: number
  answered: number
  isStuck: boolean
  watch: NodeJS.Timeout | undefined
}

/** Opens its connection when it is first asked for something, and again after it was lost or has grown old. */
export function openLane(config: pg.ClientConfig, { maxLifetimeSeconds }: { maxLifetimeSeconds: number }): Lane {
  let open: Open | undefined
  let opening: Promise<void> | undefined
  let mayOpenAt = 0
  let isClosed = false

  async function connect(): Promise<void> {
    const client = new pg.Client({ ...config, options: `${config.options ?? ''} ${PATIENCE}`, application_name: LANE_NAME, pipeline: true })
    const lose = () => {
      if (open?.client === client) open = undefined
    }
    client.on('error', lose)
    client.on('end', lose)
    try {
      await client.connect()
      const { stream } = (client as unknown as { connection: { stream: Socket } }).connection
      if (isClosed) return await client.end()
      open = { client, stream, openedAt: performance.now(), waiting: 0, answered: 0, isStuck: false, watch: undefined }
    } catch {
      // Whoever asks goes to the pool meanwhile, and is told there what is wrong.
      mayOpenAt = performance.now() + RETRY_AFTER_MS
    } finally {
      opening = undefined
    }
  }

  async function send(lane: Open, statement: NamedStatement): Promise<pg.QueryResult | null> {
    lane.waiting++
    lane.watch ??= watch(lane)
    if (!lane.stream.writableCorked) {
      lane.stream.cork()
      setImmediate(() => lane.stream.uncork())
    }
    try {
      return await askPrepared(lane.client, statement)
    } catch (error) {
      const { severity, code } = error instanceof pg.DatabaseError ? error : {}
      if (severity === 'ERROR' && !(code && ASK_ELSEWHERE.has(code))) throw error
      // Given up, or the connection is lost: what only reads can be asked again elsewhere.
      return null
    } finally {
      lane.waiting--
      lane.answered++
      lane.isStuck = false
    }
  }

  return {
    ask(statement) {
      const now = performance.now()
      if (!open) {
        if (!isClosed && now >= mayOpenAt) opening ??= connect()
        return null
      }
      if (open.isStuck) return null
      const lane = open
      if (now - lane.openedAt > maxLifetimeSeconds * 1000) {
        open = undefined
        // It answers what it was asked, then it ends.
        lane.client.end().catch(() => {})
        return null
      }
      return send(lane, statement)
    },
    async close() {
      isClosed = true
      await opening
      await open?.client.end()
    },
  }
}

/**
 * Looks from time to time whether answers come while some are waited for. Those that have come but could not be read, because this process
 * was busy for longer, are read between the timer and the immediate: the clock alone would send the others around for nothing.
 */
function watch(lane: Open): NodeJS.Timeout {
  const { answered } = lane
  return setTimeout(() => {
    setImmediate(() => {
      lane.isStuck = lane.waiting > 0 && lane.answered === answered
      lane.watch = lane.waiting > 0 ? watch(lane) : undefined
    })
  }, STUCK_AFTER_MS)
}
