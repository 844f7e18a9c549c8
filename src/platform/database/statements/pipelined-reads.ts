/**
 * One pipelined connection that the short reads of all requests share. Statements of one turn of the event loop are sent in one write,
 * and Postgres answers them without sleeping in between: the system calls and wake-ups of a round trip are half of what a small request
 * costs (measured in docs/decisions/0008-pipelined-reads.md).
 */
import type { Socket } from 'node:net'
import pg from 'pg'
import { BoundedMap } from '../../collections/bounded-map.ts'
import { currentAccount } from '../../concurrency/current-account.ts'
import { type ObserveStatement, observeStatements } from './observe-statements.ts'
import { hasTooManyPrepared, limitOfRecords, type NamedStatement, runPrepared, runPrinted } from './prepared-statements.ts'
import { closeIfSilent, cutConnection } from './silent-connections.ts'

/** If no answer arrives in this time, a statement is probably blocked on a lock; later reads use the pool. */
const STUCK_AFTER_MS = 20
/** A statement that delays the others longer than this is cancelled and sent again on the pool, whose limits are higher. */
const TIMEOUT_MS = 1_000
const LOCK_TIMEOUT_MS = 50
/** More than these timeouts, after which the server answers. */
const SILENT_MS = 3_000
const LOCK_TIMEOUT = '55P03'
const CANCELED = '57014'
/**
 * The prepared statement does not exist. pg (8.23.1) takes a name for prepared as soon as the statement is sent. If PostgreSQL cannot
 * parse it, the next use of the name in the same turn is sent without the text.
 */
const NOT_PREPARED = '26000'
/** A read that fails with one of these is sent again on the pool, which gives the real answer or the real error. */
const SENT_AGAIN = new Set([LOCK_TIMEOUT, CANCELED, NOT_PREPARED])
/**
 * A larger answer, such as a record with long texts, delays all answers behind it. For some time further reads of its account use the
 * pool, where they delay only each other. It is larger than the piece in which small answers of several accounts arrive together.
 */
const LARGE_BYTES = 262_144
const AWAY_MS = 30_000
const MOST_AWAY = 1_000
/** The shared connection cannot be told to stop. A page that turns out to be larger is sent again on the pool, which can. */
const LIMIT = limitOfRecords(() => {})
/** How long no new connection is tried after one could not be opened, or was closed by a timeout. */
const RECONNECT_AFTER_MS = 1_000

/** The name of the connection in pg_stat_activity. */
export const PIPELINE_NAME = 'gridpost pipelined reads'

export interface PipelinedReads {
  /**
   * Sends the statement together with the others of this turn of the event loop. The statement must only read.
   * @returns null if the pipeline cannot take the statement now; the promise is null if the statement has to be sent again elsewhere
   */
  run(statement: NamedStatement, isPrinted?: boolean): Promise<pg.QueryResult | null> | null
  /** Closes the connection to a server that does not answer. */
  abandon(): void
  close(): Promise<void>
}

interface Pipeline {
  client: pg.Client
  stream: Socket
  openedAt: number
  /** How many statements were sent and not answered yet. */
  pending: number
  answered: number
  /** How many bytes had been received when a statement was last answered. */
  receivedBefore: number
  isStuck: boolean
  watch: NodeJS.Timeout | undefined
}

const NOTHING_SENT = { pending: 0, answered: 0, receivedBefore: 0, isStuck: false, watch: undefined }

interface PipelineOptions {
  maxLifetimeSeconds: number
  observe: ObserveStatement | undefined
  silentMs: number
}

/** Connects at the first statement, and again after the connection was lost, has reached its lifetime or keeps too many statements. */
export function openPipelinedReads(config: pg.ClientConfig, { maxLifetimeSeconds, observe, silentMs }: PipelineOptions): PipelinedReads {
  let open: Pipeline | undefined
  let opening: Promise<void> | undefined
  let mayOpenAt = 0
  let isClosed = false
  /** Until when the reads of an account use the pool. */
  const awayUntil = new BoundedMap<string, number>(MOST_AWAY)

  async function connect(): Promise<void> {
    const client = new pg.Client({
      ...config,
      lock_timeout: LOCK_TIMEOUT_MS,
      statement_timeout: TIMEOUT_MS,
      application_name: PIPELINE_NAME,
      pipeline: true,
    })
    const forget = () => {
      if (open?.client === client) open = undefined
    }
    if (observe) observeStatements(client, observe)
    client.on('error', forget)
    client.on('end', forget)
    try {
      await client.connect()
      const { stream } = (client as unknown as { connection: { stream: Socket } }).connection
      if (isClosed) return await client.end()
      closeIfSilent(client, Math.min(SILENT_MS, silentMs))
      open = { client, stream, openedAt: performance.now(), ...NOTHING_SENT }
    } catch {
      // Until the next attempt reads go to the pool, which reports what is wrong with the database.
      mayOpenAt = performance.now() + RECONNECT_AFTER_MS
    } finally {
      opening = undefined
    }
  }

  return {
    run(statement, isPrinted) {
      const now = performance.now()
      if (!open) {
        if (!isClosed && now >= mayOpenAt) opening ??= connect()
        return null
      }
      const account = currentAccount()
      if (open.isStuck || now < (awayUntil.get(account) ?? 0)) return null
      const noteAnswer = (bytes: number) => {
        if (bytes > LARGE_BYTES) awayUntil.set(account, performance.now() + AWAY_MS)
      }
      if (now - open.openedAt <= maxLifetimeSeconds * 1000 && !hasTooManyPrepared(open.client))
        return send(open, statement, noteAnswer, isPrinted)
      const { client } = open
      open = undefined
      // pg ends the connection after it has answered the pending statements.
      client.end().catch(() => {})
      return null
    },
    abandon() {
      if (open) cutConnection(open.client)
    },
    async close() {
      isClosed = true
      await opening
      await open?.client.end()
    },
  }
}

/** @param noteAnswer gets the size of the answer */
async function send(
  pipeline: Pipeline,
  statement: NamedStatement,
  noteAnswer: (bytes: number) => void,
  isPrinted = false,
): Promise<pg.QueryResult | null> {
  pipeline.pending++
  pipeline.watch ??= watch(pipeline)
  if (!pipeline.stream.writableCorked) {
    pipeline.stream.cork()
    setImmediate(() => pipeline.stream.uncork())
  }
  try {
    return await (isPrinted ? runPrinted(pipeline.client, statement, LIMIT) : runPrepared(pipeline.client, statement))
  } catch (error) {
    const { severity, code = '' } = error instanceof pg.DatabaseError ? error : {}
    if (severity === 'ERROR' && !SENT_AGAIN.has(code)) throw error
    // The statement was not run to its end, or the connection was lost. A read can be sent again.
    return null
  } finally {
    pipeline.pending--
    pipeline.answered++
    pipeline.isStuck = false
    noteAnswer(pipeline.stream.bytesRead - pipeline.receivedBefore)
    pipeline.receivedBefore = pipeline.stream.bytesRead
  }
}

/**
 * Checks at intervals whether answers still arrive while statements are pending. The immediate runs after the socket was read: if this
 * process was busy for longer than the interval, answers that have arrived in the meantime are counted first.
 */
function watch(pipeline: Pipeline): NodeJS.Timeout {
  const { answered } = pipeline
  return setTimeout(() => {
    setImmediate(() => {
      pipeline.isStuck = pipeline.pending > 0 && pipeline.answered === answered
      pipeline.watch = pipeline.pending > 0 ? watch(pipeline) : undefined
    })
  }, STUCK_AFTER_MS)
}
