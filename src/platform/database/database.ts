import { AsyncLocalStorage } from 'node:async_hooks'
import { PrismaPg } from '@prisma/adapter-pg'
import pg from 'pg'
import { Prisma, PrismaClient } from '../../../generated/prisma/client.ts'
import { tooBusy } from '../http/errors.ts'
import { Semaphore } from '../semaphore.ts'
import { cancel } from './cancel-query.ts'
import { openLane } from './pipelined-reads.ts'
import { askPrepared, PreparedNames } from './prepared-statements.ts'

/** Hand-written SQL: `sql` binds every value; fragments compose. */
export const { sql, join, raw, empty } = Prisma
/** What empties a column of JSON; a bare null is not taken. */
export const { DbNull } = Prisma
export type Sql = Prisma.Sql
/** What can be run: fragments as `sql` composes them, or a text that is kept, with its values. */
export type Statement = Pick<Sql, 'text' | 'values'>
export type Tx = Prisma.TransactionClient

/** A name as a quoted identifier. Names come from the field list or the code, never straight from a caller. */
export function ident(name: string): Sql {
  if (name.includes('\0')) throw new Error('An identifier cannot contain NUL')
  return raw(`"${name.replaceAll('"', '""')}"`)
}

/** `"t101".records`: where the records of a table are. */
export const recordsOf = (tableId: number): Sql => sql`${ident(`t${tableId}`)}.records`

export interface Database {
  /**
   * Runs one statement: on the transaction under way, or else on the pool. Dates, times and timestamps come as the text of
   * the wire, int8 and numeric as numbers.
   * @param label says that the same text comes often: it is then planned once a connection, not each time. Where a text names columns
   *   of a user table, the label names the table's version
   * @param signal for a statement that may take long: the statement is cancelled when the signal aborts, and runs only when one of
   *   the permits for such statements is free
   */
  query<Row>(statement: Statement, label?: string, signal?: AbortSignal): Promise<Row[]>
  /**
   * Like `query`, for reads by key that are sure to be short: outside a transaction they share one connection, on which a long one
   * would delay all the others (pipelined-reads.ts).
   */
  lookUp<Row>(statement: Statement, label: string): Promise<Row[]>
  /** Like `query`, answering how many rows were changed. */
  execute(statement: Statement): Promise<number>
  /** All or nothing. What runs inside, `query` included, uses its one connection; a transaction inside joins it. */
  transaction<T>(fn: (tx: Tx) => Promise<T>): Promise<T>
  /** Whether a transaction is under way here. */
  inTransaction(): boolean
  /**
   * Calls back when a statement whose text holds the marker has taken effect: after it, or after the transaction that it is part of.
   * There is one watcher.
   */
  watch(marker: string, committed: () => void): void
  /** Prisma for plain rows: the transaction under way, or else the client on the pool. */
  readonly prisma: Tx
  /** A connection of its own, for LISTEN, COPY and concurrent index builds. The caller ends it. */
  connect(): Promise<pg.Client>
  close(): Promise<void>
}

interface Underway {
  client?: pg.PoolClient
  tx?: Tx
  /** Whether a statement that is watched for was part of it. */
  hasWatched?: boolean
}

interface Manner {
  isShortRead?: boolean
  signal?: AbortSignal | undefined
}

const underway = new AsyncLocalStorage<Underway>()

const MAX_LIFETIME_SECONDS = 600
/** Connections that queries never take, so that writes and short reads always find one. */
const KEPT_FREE = 2
/** A query that waits for a permit holds no connection, so it may wait longer than a write waits for a connection. */
const PERMIT_WAIT_MS = 5_000

/**
 * Opens the pool. One pool serves Prisma and hand-written statements; connections live ten minutes at most, because
 * each keeps a catalogue cache of every user table it has touched (docs/decisions/0001-typed-tables.md).
 */
export function openDatabase(config: pg.PoolConfig, { size = 10 }: { size?: number } = {}): Database {
  const connection: pg.PoolConfig = {
    ...config,
    max: size,
    connectionTimeoutMillis: 2_000,
    maxLifetimeSeconds: MAX_LIFETIME_SECONDS,
    idleTimeoutMillis: 30_000,
    // Workers take milliseconds to start, and all requests share the cores: they are for scans of whole tables, not for thousands of rows.
    options:
      '-c parallel_setup_cost=5000 -c TimeZone=UTC -c DateStyle=ISO -c statement_timeout=10000 -c lock_timeout=5000 -c idle_in_transaction_session_timeout=30000',
    types: wireTypes,
  }
  const pool = new TransactionPool(connection)
  // An idle connection that the server closes is only noise: the pool opens another.
  pool.on('error', () => {})
  // pg listens for errors of idle connections only. Without a listener a connection that is lost while a request uses it ends the process;
  // the statement under way fails by itself, so there is nothing left to do here.
  pool.on('connect', (client) => client.on('error', () => {}))
  const prisma = new PrismaClient({ adapter: new PrismaPg(pool), transactionOptions: { maxWait: 2_000, timeout: 30_000 } })

  const prepared = new PreparedNames()
  let watched: { marker: string; committed: () => void } | undefined

  const queries = new Semaphore(Math.max(1, size - KEPT_FREE), tooBusy)
  const lane = openLane(connection, { maxLifetimeSeconds: MAX_LIFETIME_SECONDS })

  async function run({ text, values }: Statement, label?: string, manner: Manner = {}): Promise<pg.QueryResult> {
    const result = await ask(text, values, label, manner)
    if (watched && text.includes(watched.marker)) {
      const transaction = underway.getStore()
      if (transaction?.tx) transaction.hasWatched = true
      else watched.committed()
    }
    return result
  }

  async function ask(text: string, values: unknown[], label: string | undefined, { isShortRead, signal }: Manner): Promise<pg.QueryResult> {
    const client = underway.getStore()?.client
    const name = label === undefined ? undefined : prepared.nameOf(label, text)
    const askOf = (of: pg.Pool | pg.ClientBase) => (name ? askPrepared(of, { name, text, values }) : of.query({ text, values }))
    if (client) return askOf(client)
    if (signal) return queries.run(() => askUntil(signal, askOf), { signal, timeoutMs: PERMIT_WAIT_MS })
    return (isShortRead && name && (await lane.ask({ name, text, values }))) || askOf(pool)
  }

  /** Cancels the statement when the signal aborts. The cancel request must not reach the next statement, so the connection waits for it. */
  async function askUntil(signal: AbortSignal, askOf: (client: pg.ClientBase) => Promise<pg.QueryResult>): Promise<pg.QueryResult> {
    const { promise, resolve, reject } = Promise.withResolvers<pg.PoolClient>()
    pool.connect((error, client) => (client ? resolve(client) : reject(error)))
    const client = await promise
    let cancelled: Promise<void> | undefined
    const onAbort = () => {
      cancelled = cancel(client)
    }
    signal.addEventListener('abort', onAbort, { once: true })
    try {
      signal.throwIfAborted()
      return await askOf(client)
    } finally {
      signal.removeEventListener('abort', onAbort)
      await cancelled
      client.release()
    }
  }

  return {
    query: async <Row>(statement: Statement, label?: string, signal?: AbortSignal) =>
      (await run(statement, label, { signal })).rows as Row[],
    lookUp: async <Row>(statement: Statement, label: string) => (await run(statement, label, { isShortRead: true })).rows as Row[],
    execute: async (statement) => (await run(statement)).rowCount ?? 0,
    transaction: <T>(fn: (tx: Tx) => Promise<T>) => {
      const outer = underway.getStore()?.tx
      if (outer) return fn(outer)
      const store: Underway = {}
      return underway.run(store, () =>
        prisma
          .$transaction((tx) => {
            store.tx = tx
            return fn(tx)
          })
          // Whatever was left running by `fn` must not reach a connection that is somebody else's by now.
          .finally(() => {
            delete store.client
            delete store.tx
          })
          .then((result) => {
            if (store.hasWatched) watched?.committed()
            return result
          }),
      )
    },
    watch: (marker, committed) => {
      watched = { marker, committed }
    },
    inTransaction: () => underway.getStore()?.tx !== undefined,
    get prisma() {
      return underway.getStore()?.tx ?? prisma
    },
    connect: async () => {
      const { max: _, ...single } = connection
      const client = new pg.Client(single)
      await client.connect()
      return client
    },
    close: async () => {
      await lane.close()
      await prisma.$disconnect()
      await pool.end()
    },
  }
}

/** Tells the transaction that asks for a connection which one it got, so that hand-written statements run on it too. */
class TransactionPool extends pg.Pool {
  override connect(): Promise<pg.PoolClient>
  override connect(callback: Parameters<pg.Pool['connect']>[0]): void
  override connect(callback?: Parameters<pg.Pool['connect']>[0]): Promise<pg.PoolClient> | undefined {
    if (callback) {
      super.connect(callback)
      return undefined
    }
    return super.connect().then((client) => {
      const store = underway.getStore()
      if (store) store.client = client
      return client
    })
  }
}

const INT8 = 20
const NUMERIC = 1700
const AS_TEXT = new Set([1082, 1083, 1114, 1184])

/** Dates stay text: pg's own parsers make Date objects, at half the throughput, in the zone of the machine. */
const wireTypes: pg.CustomTypesConfig = {
  getTypeParser: ((oid: number, format?: 'text' | 'binary') => {
    if (oid === INT8 || oid === NUMERIC) return Number
    if (AS_TEXT.has(oid)) return String
    return pg.types.getTypeParser(oid, format)
  }) as typeof pg.types.getTypeParser,
}

/** The instant of a request as the database keeps it: without fractions. */
export const toTheSecond = (instant: Date) => new Date(Math.trunc(instant.getTime() / 1000) * 1000)
