/** The database of a process: one pool for Prisma and for hand-written SQL, transactions, and statements that a caller can cancel. */
import { createRequire } from 'node:module'
import type * as runtime from '@prisma/client-runtime-utils'
import pg from 'pg'
import { currentAccount } from '../concurrency/current-account.ts'
import { tooBusy } from '../errors.ts'
import { type Models, prismaOnDemand } from './prisma-on-demand.ts'
import { NOTHING_ELSEWHERE, type Placement, type RecordsDatabase, recordsOnNode } from './records-plane.ts'
import { GroupedWrites } from './statements/grouped-writes.ts'
import type { ObserveStatement } from './statements/observe-statements.ts'
import { openPipelinedReads } from './statements/pipelined-reads.ts'
import {
  MAX_LIFETIME_SECONDS,
  openQueryQueue,
  poolSettings,
  runStatement,
  runWithTrailing,
  watchConnections,
  withConnection,
} from './statements/pooled-statements.ts'
import { limitOfList, limitOfRecords, type Named, PreparedNames } from './statements/prepared-statements.ts'
import type { PrintedRows } from './statements/printed-rows.ts'
import { closeIfSilent } from './statements/silent-connections.ts'
import { type PageOptions, type ReadOptions, type Statement, type StreamedValue, type Written, written } from './statements/statement.ts'
import { runStreamed } from './statements/streamed-writes.ts'
import { TransactionPool } from './transaction-pool.ts'
import { inNewTransaction, openTransaction, type Transaction } from './transactions.ts'

// Required, because an import would be a second instance of the package, whose values Prisma's client does not know.
const { DbNull, empty, join, raw, sql } = createRequire(import.meta.url)('@prisma/client-runtime-utils') as typeof runtime
// `sql` binds every value; fragments compose. `DbNull` sets a JSON column to NULL; Prisma does not accept a plain null for it.
export { DbNull, empty, join, raw, sql }
export type Sql = runtime.Sql

/** The name as a quoted identifier. Names come from the field list or the code, never directly from a caller. */
export function ident(name: string): Sql {
  if (name.includes('\0')) throw new Error('An identifier cannot contain NUL')
  return raw(`"${name.replaceAll('"', '""')}"`)
}

/** The name of the table that holds the records: `"t101".records`. */
export const recordsOf = (tableId: number): Sql => sql`${ident(`t${tableId}`)}.records`
/** The name of the table that holds their history: `"t101".history`. */
export const historyOf = (tableId: number): Sql => sql`${ident(`t${tableId}`)}.history`

export interface Database extends RecordsDatabase {
  /** Runs `fn` in a transaction. All statements inside, also Prisma's, use its connection; an inner transaction joins the outer one. */
  transaction<T>(fn: () => Promise<T>): Promise<T>
  /** Runs a statement that changes rows behind all others of the open transaction, right before its commit; without one, at once. */
  writeLast(statement: Statement): Promise<void>
  /** The handle for statements on the records of a space alone, which name no system table; usually this database. */
  records(tableId: number): RecordsDatabase
  /**
   * True if the records of the table are on another server, so that a statement on both planes is better run as two. Both ways give the
   * same answer, wherever the records are.
   */
  isElsewhere(tableId: number): boolean
  /** True if the server coordinates nodes on which spaces can be placed. */
  readonly hasNodes: boolean
  /**
   * Call it before a change of the table's columns, in the transaction of the change. If the records are elsewhere, all nodes take part
   * in that.
   * @throws AppError 503 if one of them does not answer
   */
  requireNodes(tableId: number): void
  /** Looks again on which nodes the records are, so that `records` and `isElsewhere` know of a new table. Does nothing without nodes. */
  refreshPlacement(): Promise<void>
  /** How busy the connections are at this moment. */
  load(): DatabaseLoad
  /** Whether the caller runs inside a transaction. */
  inTransaction(): boolean
  /**
   * Calls back after each statement whose text contains the marker, or after the commit of the transaction that it belongs to.
   * There is one watcher.
   */
  watch(marker: string, committed: () => void): void
  /** Prisma's models, in the open transaction of the caller or else on the pool. */
  readonly prisma: Models
  /**
   * Opens a connection outside of the pool, for LISTEN, COPY and concurrent index builds. The caller ends it. If it is lost, its
   * statements fail, and it emits `end`.
   * @param silentMs the time without an answer after which a statement counts as lost, if it may take longer than usual
   */
  connect(silentMs?: number): Promise<pg.Client>
  /** Closes the connections of the pool to a server that does not answer, so that their statements fail. New ones are opened. */
  abandon(): void
  close(): Promise<void>
}

declare module '../context.ts' {
  interface Shared {
    db: Database
  }
}

/** Counts of connections, and of those who wait for one. */
export interface DatabaseLoad {
  busy: number
  idle: number
  max: number
  /** Statements and transactions that wait for a connection. */
  waiting: number
  /** Queries of records, which need a permit before they get a connection. */
  queries: { running: number; waiting: number }
}

/** Twice the longest time of a statement. */
const SILENT_MS = 20_000

interface DatabaseOptions {
  /** The most connections of the pool; 10 by default. */
  size?: number
  /** Observes the statements of all connections but those of `connect`. */
  observe?: ObserveStatement
  /** How long the server may leave a statement of the pool without an answer. */
  silentMs?: number | undefined
  /** Where the records of spaces are; all on this server by default. */
  placement?: Placement | undefined
}

/** Opens the pool, which serves Prisma and hand-written statements. */
export function openDatabase(
  config: pg.PoolConfig,
  { size = 10, observe, silentMs: usualSilentMs = SILENT_MS, placement = NOTHING_ELSEWHERE }: DatabaseOptions = {},
): Database {
  const connection = poolSettings(config, size)
  const pool = new TransactionPool(connection)
  watchConnections(pool, { observe, silentMs: usualSilentMs })
  const prisma = prismaOnDemand(pool)

  const prepared = new PreparedNames()
  let watched: { marker: string; committed: () => void } | undefined
  const queries = openQueryQueue(size)
  const groupedWrites = new GroupedWrites(pool, observe)
  const pipelinedReads = openPipelinedReads(connection, { maxLifetimeSeconds: MAX_LIFETIME_SECONDS, observe, silentMs: usualSilentMs })

  async function read<Row>(statement: Statement, { signal }: ReadOptions = {}): Promise<Row[]> {
    const { rows } = await (statement.isShort ? readShort(statement, false) : readLong(prepared.named(statement), signal))
    return rows as Row[]
  }

  async function page(statement: Statement, options: PageOptions = {}): Promise<PrintedRows> {
    const { rows } = await (statement.isShort ? readShort(statement, true) : readPage(prepared.named(statement), options))
    return rows as unknown as PrintedRows
  }

  async function write<Row>(statement: Statement): Promise<Written<Row>> {
    const { streamed, group } = statement
    const { rows, rowCount } = await (streamed ? writeStreamed(statement, streamed) : writeNamed(prepared.named(statement), group))
    const transaction = openTransaction()
    if (watched && statement.text.includes(watched.marker)) {
      if (transaction) transaction.wroteMarker = true
      else watched.committed()
    }
    return written(rows, rowCount)
  }

  /** Every small request waits for this, so it takes as few promises as it can. */
  async function readShort(statement: Statement, isPrinted: boolean): Promise<pg.QueryResult> {
    const { name, text, values } = prepared.named(statement)
    const transaction = openTransaction()
    const shared = name !== undefined && !transaction && (await pipelinedReads.run({ name, text, values }, isPrinted))
    return shared || (transaction ?? pooled).run({ name, text, values }, isPrinted)
  }

  const pooled = { run: (statement: Named, isPrinted: boolean) => runStatement(pool, statement, isPrinted) }

  function readLong(statement: Named, signal: AbortSignal | undefined): Promise<pg.QueryResult> {
    const transaction = openTransaction()
    if (transaction) return transaction.run(statement)
    return signal ? inSlot(signal, (connected) => runStatement(connected, statement)) : runStatement(pool, statement)
  }

  function readPage(statement: Named, { signal, trailing, isPart }: PageOptions): Promise<pg.QueryResult> {
    const transaction = openTransaction()
    if (transaction) return transaction.run(statement, true)
    if (isPart) return runStatement(pool, statement, true)
    if (!signal)
      return withConnection(pool, undefined, (connected, cancel) => runStatement(connected, statement, true, limitOfList(cancel)))
    const next = trailing && prepared.trailing(trailing)
    return inSlot(signal, (connected, cancel) => {
      const limit = limitOfRecords(cancel)
      return next ? runWithTrailing(connected, statement, next, limit) : runStatement(connected, statement, true, limit)
    })
  }

  function writeNamed(statement: Named, group: string | undefined): Promise<pg.QueryResult> {
    const transaction = openTransaction()
    if (transaction) return transaction.run(statement)
    const { name, text, values } = statement
    return group !== undefined && name ? groupedWrites.run(group, { name, text, values }) : runStatement(pool, statement)
  }

  async function writeStreamed({ text, values }: Statement, streamed: StreamedValue): Promise<pg.QueryResult> {
    const transaction = openTransaction()
    const run = (client: pg.ClientBase) => runStreamed(client, { text, values, streamed })
    return transaction ? run(await transaction.client()) : withConnection(pool, undefined, run)
  }

  /** Runs a statement that may take long in one of the slots for these, on a connection of its own. */
  const inSlot = (signal: AbortSignal, use: Parameters<typeof withConnection<pg.QueryResult>>[2]): Promise<pg.QueryResult> =>
    queries.run(currentAccount(), () => withConnection(pool, signal, use), { signal, refusal: tooBusy })

  const committed = ({ wroteMarker }: Transaction) => {
    if (wroteMarker) watched?.committed()
  }

  /** Runs `fn`, which runs one statement, in a transaction without the round trips of BEGIN and COMMIT, or in the open one. */
  const inOneStatement = <T>(fn: () => Promise<T>): Promise<T> =>
    openTransaction() ? fn() : inNewTransaction(pool, fn, { committed, isOneStatement: true })

  return {
    read,
    page,
    write,
    async writeLast(statement) {
      const transaction = openTransaction()
      if (transaction) transaction.last.push(() => this.write(statement))
      else await this.write(statement)
    },
    transaction: <T>(fn: () => Promise<T>) => (openTransaction() ? fn() : inNewTransaction(pool, fn, { committed })),
    records(tableId) {
      const node = placement.nodeOf(tableId)
      // `this` may be the database with reads on replicas.
      return node ? recordsOnNode(this, node, inOneStatement) : this
    },
    isElsewhere: (tableId) => placement.nodeOf(tableId) !== undefined,
    get hasNodes() {
      return placement.hasNodes === true
    },
    requireNodes: (tableId) => {
      if (placement.nodeOf(tableId)) placement.enlistAll?.(tableId)
    },
    refreshPlacement: async () => placement.refresh?.(),
    watch: (marker, committed) => {
      watched = { marker, committed }
    },
    load: () => ({
      busy: pool.totalCount - pool.idleCount,
      idle: pool.idleCount,
      max: size,
      waiting: pool.waiting,
      queries: { running: queries.taken, waiting: queries.waiting },
    }),
    inTransaction: () => openTransaction() !== undefined,
    get prisma() {
      return prisma.client()
    },
    connect: async (silentMs = usualSilentMs) => {
      const { max: _, ...single } = connection
      const client = new pg.Client(single)
      // Without a listener the loss of the connection would end the process. The statement that is running fails as well.
      client.on('error', () => {})
      await client.connect()
      if (Number.isFinite(silentMs)) closeIfSilent(client, silentMs)
      return client
    },
    abandon: () => {
      pipelinedReads.abandon()
      pool.abandon()
    },
    close: async () => {
      await pipelinedReads.close()
      await prisma.close()
      await pool.end()
    },
  }
}

/** The instant without its fraction of a second, as the database stores it. */
export const toTheSecond = (instant: Date) => new Date(Math.trunc(instant.getTime() / 1000) * 1000)
