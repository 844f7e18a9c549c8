/**
 * The two planes of statements: those on the records of users alone, and those on the system tables. The records of a space may be on
 * another server, a node, which does not have the system tables (docs/decisions/0030-two-planes.md).
 */
import type { PrintedRows } from './statements/printed-rows.ts'
import type { PageOptions, ReadOptions, Statement, Written } from './statements/statement.ts'

/** The reads of a server that has records. */
export interface RecordsNode {
  /**
   * Runs one statement in the open transaction, or else on a connection of its own. Dates, times and timestamps are returned as text in
   * the format of the wire, int8 and numeric as numbers.
   */
  read<Row>(statement: Statement, options?: ReadOptions): Promise<Row[]>
  /**
   * Reads the rows of a page as PostgreSQL prints them: it is written from them without an object for a row.
   * @throws AppError 400 with more than 32 MB, of which no more is read then
   */
  page(statement: Statement, options?: PageOptions): Promise<PrintedRows>
}

/**
 * Runs statements that name tables `t<id>.*` of one space and no system table. Reads outside of a transaction are asked of the server
 * that has the space. Writes, and everything inside a transaction, run on the main server, so that they commit with the rows of system
 * tables.
 */
export interface RecordsDatabase extends RecordsNode {
  /** Runs one statement that changes rows, in the open transaction or as one of its own. */
  write<Row = unknown>(statement: Statement): Promise<Written<Row>>
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
   * The server that has the records of the table; undefined for the main server. It answers at once, so it may be out of date: the main
   * server runs any statement on records that are elsewhere, only not as fast.
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

/**
 * The handle for records on a node.
 * @param inOneStatement runs one statement as a transaction, so that the node takes part in it
 */
export function recordsOnNode(
  main: RecordsDatabase & { inTransaction(): boolean },
  node: PlacedRecords,
  inOneStatement: <T>(fn: () => Promise<T>) => Promise<T>,
): RecordsDatabase {
  async function onMain<T>(statement: Statement, run: () => Promise<T>): Promise<T> {
    await node.enlist?.(statement)
    return run()
  }
  function read<T>(statement: Statement, run: (on: RecordsNode) => Promise<T>): Promise<T> {
    return main.inTransaction() ? onMain(statement, () => run(main)) : run(node)
  }
  return {
    read: (...asked) => read(asked[0], (on) => on.read(...asked)),
    // A trailing read names system tables.
    page: (statement, { trailing: _, ...options } = {}) => read(statement, (on) => on.page(statement, options)),
    write: <Row>(statement: Statement) => inOneStatement(() => onMain(statement, () => main.write<Row>(statement))),
  }
}
