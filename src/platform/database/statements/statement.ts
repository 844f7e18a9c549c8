/** Statements. How one runs is said where it is defined; its caller says what it does: read, page, write or transaction (database.ts). */
import { randomBytes } from 'node:crypto'
import type { Prisma } from '../../../../generated/prisma/client.ts'

/** A statement with its values: composed by `sql`, or a text that was printed before. */
export interface Statement extends Pick<Prisma.Sql, 'text' | 'values'> {
  /**
   * Marks a text that is run often: each connection prepares it once. The label of a text that names columns of a user table contains the
   * table's version.
   */
  readonly label?: string | undefined
  /** Set for a short read by key, on whose connection a long statement would delay all others (pipelined-reads.ts). */
  readonly isShort?: true
  /** Set for a write that may share a commit with others of the group (grouped-writes.ts). */
  readonly group?: string
  /** One of the values of a write, which is sent while it is read. */
  readonly streamed?: StreamedValue
}

/** A value of type bytea that is sent while it is read (streamed-writes.ts). A statement may have one, and names it in `streamed`. */
export class StreamedValue {
  readonly bytes: number
  /** Reads them from their beginning. A piece may be overwritten as soon as the next one is asked for. */
  readonly pieces: () => AsyncIterable<Uint8Array>
  /** Stands in the message where the bytes go. */
  readonly mark = randomBytes(16)

  constructor(bytes: number, pieces: () => AsyncIterable<Uint8Array>) {
    this.bytes = bytes
    this.pieces = pieces
  }

  /** Called by pg, which sends what it returns. */
  toPostgres(): Buffer {
    return this.mark
  }
}

/** A statement that is run often. @param label as in `Statement`; undefined if its text should not be prepared */
export const labelled = (label: string | undefined, { text, values }: Statement): Statement => ({ text, values, label })

/** A short read by key. Outside a transaction all requests share one connection for them. */
export const shortRead = (label: string, { text, values }: Statement): Statement => ({ text, values, label, isShort: true })

/**
 * A short write that is the whole change. Outside a transaction, writes of one group that arrive together share a commit; a write that
 * fails does not make the others fail.
 * @param group a name, for writes that may wait for each other: those of one table
 */
export const shortWrite = (label: string, group: string, { text, values }: Statement): Statement => ({ text, values, label, group })

/** A write with a value that is sent while it is read. */
export const streamedWrite = (streamed: StreamedValue, { text, values }: Statement): Statement => ({ text, values, streamed })

/** The group of writes of a table's records, and of what is on them. */
export const writesOfTable = (tableId: number): string => `table ${tableId}`
/** The group of an account's writes that are on no record. */
export const writesOfAccount = (accountId: number): string => `account ${accountId}`

/**
 * A short read that a page takes along: it runs behind it on the same connection and sees nothing older, without a round trip of its own.
 * It is left out while its text is rare, and where the records are on a node.
 */
export interface TrailingRead {
  statement: Statement
  /** Gets the rows, before the page is answered. */
  answered(rows: unknown[]): void
}

export interface ReadOptions {
  /** For a statement that may take long: it waits for one of the slots for such statements, and is cancelled when the signal aborts. */
  signal?: AbortSignal | undefined
}

export interface PageOptions extends ReadOptions {
  trailing?: TrailingRead | undefined
  /** True for a page that is not one answer, such as a part of an export, and may have more than 32 MB. */
  isPart?: boolean
}

/** The rows that a write returns, and the number of rows that it has changed. */
export type Written<Row> = Row[] & { readonly changed: number }

/** The number is not enumerable, so that the rows are a list like any other. */
export const written = <Row>(rows: Row[], rowCount: number | null): Written<Row> =>
  Object.defineProperty(rows, 'changed', { value: rowCount ?? 0 }) as Written<Row>
