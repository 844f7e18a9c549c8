/**
 * The two planes of statements: those on the records of users alone, and those on the system tables. The records of a space may be on
 * another server, a node, which does not have the system tables (docs/decisions/0030-two-planes.md).
 */
import type { Prisma } from '../../../generated/prisma/client.ts'
import type { PrintedRows } from './printed-rows.ts'

/** A statement with its values: composed by `sql`, or a text that was printed before. */
export type Statement = Pick<Prisma.Sql, 'text' | 'values'>

/**
 * A short read that a statement with a signal takes along: it runs behind it on the same connection and sees nothing older, without a round trip
 * of its own. It is left out while its text is rare, and where the records are on a node.
 */
export interface TrailingRead {
  statement: Statement
  label: string
  /** Gets the rows, before the statement itself is answered. */
  answered(rows: unknown[]): void
}

/** The reads of a server that has records. */
export interface RecordsNode {
  /**
   * Runs one statement in the open transaction, or else on the pool. Dates, times and timestamps are returned as text in the format of
   * the wire, int8 and numeric as numbers.
   * @param label marks a text that is run often: each connection prepares it once. The label of a text that names columns of a user
   *   table contains the table's version
   * @param signal for a statement that may take long: the statement is cancelled when the signal aborts, and runs only when one of
   *   the places for such statements is free
   */
  query<Row>(statement: Statement, label?: string, signal?: AbortSignal): Promise<Row[]>
  /**
   * Like `query`, with the values as Postgres prints them: a page is written from them without an object for a row.
   * @throws AppError 400 with a signal and more than 32 MB, of which no more is read then
   */
  queryPrinted(statement: Statement, label?: string, signal?: AbortSignal, trailing?: TrailingRead): Promise<PrintedRows>
  /**
   * Like `query`, for short reads by key. Outside a transaction they share one connection, on which a long statement would delay all
   * others (pipelined-reads.ts).
   */
  readShort<Row>(statement: Statement, label: string): Promise<Row[]>
  /** Like `readShort`, with the rows of `queryPrinted`. */
  readShortPrinted(statement: Statement, label: string): Promise<PrintedRows>
}

/**
 * Runs statements that name tables `t<id>.*` of one space and no system table. Reads outside of a transaction are asked of the server that has
 * the space. Writes, and everything inside a transaction, run on the main server, so that they commit with the rows of system tables.
 */
export interface RecordsDatabase extends RecordsNode {
  /**
   * Like `query`, for a short write that is the whole change. Outside a transaction, writes of one group that arrive together share a
   * commit; a write that fails does not make the others fail (grouped-writes.ts).
   * @param group a name, for writes that may wait for each other: those of one table
   */
  writeShort<Row>(statement: Statement, label: string, group: string): Promise<Row[]>
  /** Like `query`. @returns the number of changed rows */
  execute(statement: Statement): Promise<number>
}

/** The records of a table on a node. */
export interface PlacedRecords extends RecordsNode {
  /**
   * Lets the node take part in the transaction of a statement on the main server that names the records. Called before the statement.
   * @throws AppError 503 if the statement would wait for a node that does not answer
   */
  enlist?(statement: Statement): Promise<void>
}

/** Where the records of spaces are. */
export interface Placement {
  /**
   * The server that has the records of the table; undefined for the main server. It answers at once, so it may be out of date: the main server
   * runs any statement on records that are elsewhere, only not as fast.
   */
  nodeOf(tableId: number): PlacedRecords | undefined
  /** True if spaces can be placed on nodes at all. */
  readonly hasNodes?: boolean
  /**
   * Lets all nodes take part in the transaction. Called before it changes the columns of a table on a node.
   * @throws AppError 503 if one of them does not answer
   */
  enlistAll?(tableId: number): void
  /** Looks where the records are, after a table was created. */
  refresh?(): Promise<void>
}

/** All records are on the main server. */
export const NOTHING_ELSEWHERE: Placement = { nodeOf: () => undefined }

/** The handle for records on a node. */
export function recordsOnNode(main: RecordsDatabase & { inTransaction(): boolean }, node: PlacedRecords): RecordsDatabase {
  async function onMain<T>(statement: Statement, run: () => Promise<T>): Promise<T> {
    await node.enlist?.(statement)
    return run()
  }
  function read<T>(statement: Statement, run: (on: RecordsNode) => Promise<T>): Promise<T> {
    return main.inTransaction() ? onMain(statement, () => run(main)) : run(node)
  }
  return {
    query: (...asked) => read(asked[0], (on) => on.query(...asked)),
    // A trailing read names system tables.
    queryPrinted: (statement, label, signal) => read(statement, (on) => on.queryPrinted(statement, label, signal)),
    readShort: (...asked) => read(asked[0], (on) => on.readShort(...asked)),
    readShortPrinted: (...asked) => read(asked[0], (on) => on.readShortPrinted(...asked)),
    writeShort: (...asked) => onMain(asked[0], () => main.writeShort(...asked)),
    execute: (statement) => onMain(statement, () => main.execute(statement)),
  }
}
