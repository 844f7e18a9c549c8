/** The connections of a pool, and statements on them: with which settings they are opened, and how a caller cancels a long one. */
import pg from 'pg'
import { FairQueue } from '../../concurrency/fair-queue.ts'
import { perProcess } from '../../processes/per-process.ts'
import { cancelQuery } from './cancel-query.ts'
import { type ObserveStatement, observeStatements } from './observe-statements.ts'
import { hasTooManyPrepared, type Named, type NamedTrailingRead, type PageLimit, runPrepared, runPrinted } from './prepared-statements.ts'
import { keepRefusals } from './refusals.ts'
import { closeIfSilent } from './silent-connections.ts'
import { runPrintedThen } from './statement-groups.ts'

export const MAX_LIFETIME_SECONDS = 600
/** Connections that queries never take, so that writes and short reads always find one. */
const KEPT_FREE = perProcess(2)
/** A query that waits for a slot holds no connection, so it may wait longer than a write waits for a connection. */
const QUERY_WAITS = { mostWaiting: 100, waitMs: 5_000 }

/**
 * Parallel workers take milliseconds to start and all requests share the cores, so only scans of large tables should use them. To compile
 * a statement takes longer than to run nearly all of them.
 */
const SESSION_OPTIONS = [
  ...['jit=off', 'parallel_setup_cost=5000', 'TimeZone=UTC', 'DateStyle=ISO', 'statement_timeout=10000', 'lock_timeout=5000'],
  'idle_in_transaction_session_timeout=30000',
]

/**
 * The settings of a pool and of its connections. A connection lives for ten minutes at most, because it keeps a catalogue cache of each
 * user table that it has used (docs/decisions/0001-typed-tables.md).
 */
export const poolSettings = (config: pg.PoolConfig, size: number) =>
  ({
    ...config,
    max: size,
    connectionTimeoutMillis: 2_000,
    maxLifetimeSeconds: MAX_LIFETIME_SECONDS,
    idleTimeoutMillis: 30_000,
    options: `${config.options ?? ''} ${SESSION_OPTIONS.map((option) => `-c ${option}`).join(' ')}`,
    types: wireTypes,
  }) satisfies pg.PoolConfig

/** Notices lost and silent connections of the pool, observes their statements, and replaces those that keep too many prepared ones. */
export function watchConnections(pool: pg.Pool, { observe, silentMs }: { observe: ObserveStatement | undefined; silentMs: number }): void {
  // The pool replaces an idle connection that the server has closed.
  pool.on('error', () => {})
  // pg listens for errors of idle connections only. Without a listener a connection that is lost while a request uses it would end the
  // process. The statement itself fails, so the listener has nothing to do.
  pool.on('connect', (client) => {
    client.on('error', () => {})
    keepRefusals(client)
    closeIfSilent(client, silentMs)
    if (observe) observeStatements(client, observe)
  })
  pool.on('release', (_, client) => {
    // The pool drops a connection that is ending. It has no active statement when it is released.
    if (hasTooManyPrepared(client)) client.end().catch(() => {})
  })
}

/** The queue of the queries on a pool. No account takes all slots, because a query may run for ten seconds. */
export function openQueryQueue(size: number): FairQueue {
  const slots = Math.max(1, size - KEPT_FREE)
  return new FairQueue({ slots, slotsOfAccount: Math.max(1, slots - KEPT_FREE), ...QUERY_WAITS })
}

/** Runs the printed statement with the read that follows, in one round trip. */
export async function runWithTrailing(
  client: pg.ClientBase,
  statement: Named,
  trailing: NamedTrailingRead,
  limit: PageLimit,
): Promise<pg.QueryResult> {
  const [printed, read] = await runPrintedThen(client, statement, trailing.statement, limit)
  trailing.answered(read.rows)
  return printed
}

/** @param limit of a printed page */
export const runStatement = (
  of: pg.Pool | pg.ClientBase,
  statement: Named,
  isPrinted = false,
  limit?: PageLimit,
): Promise<pg.QueryResult> => (isPrinted ? runPrinted(of, statement, limit) : runPrepared(of, statement))

/**
 * Runs statements on a connection of the pool, and cancels the one that is running when the signal aborts. The connection is released after
 * the cancel request, which must not hit the next statement.
 * @param use gets the connection, and a function that cancels the statement on it
 */
export async function withConnection<T>(
  pool: pg.Pool,
  signal: AbortSignal | undefined,
  use: (client: pg.PoolClient, cancel: () => void) => Promise<T>,
): Promise<T> {
  const client = await pool.connect()
  let cancelled: Promise<void> | undefined
  const cancel = () => {
    cancelled ??= cancelQuery(client)
  }
  signal?.addEventListener('abort', cancel, { once: true })
  try {
    signal?.throwIfAborted()
    return await use(client, cancel)
  } finally {
    signal?.removeEventListener('abort', cancel)
    await cancelled
    client.release()
  }
}

const INT8 = 20
const NUMERIC = 1700
const AS_TEXT = new Set([1082, 1083, 1114, 1184])

/** Dates stay text: pg's own parsers create Date objects in the time zone of the machine, at half the throughput. */
const wireTypes: pg.CustomTypesConfig = {
  getTypeParser: ((oid: number, format?: 'text' | 'binary') => {
    if (oid === INT8 || oid === NUMERIC) return Number
    if (AS_TEXT.has(oid)) return String
    return pg.types.getTypeParser(oid, format)
  }) as typeof pg.types.getTypeParser,
}
