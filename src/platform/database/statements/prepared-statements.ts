/** Frequent statements are prepared and described once for each connection (measured in docs/decisions/0006-prepared-statements.md). */
import { createHash } from 'node:crypto'
import pg from 'pg'
import { BoundedMap } from '../../collections/bounded-map.ts'
import { AppError } from '../../errors.ts'
import { memo } from '../../memo.ts'
import { type DataRow, PrintedRows } from './printed-rows.ts'
import { type ColumnDescription, RowReader } from './row-reader.ts'
import type { Statement, TrailingRead } from './statement.ts'

/** PostgreSQL keeps a prepared statement as long as its connection, so only the texts that were used last are prepared … */
const MAX_PREPARED = 200
/** … each under the labels that were used last … */
const MAX_LABELS = 3
/** … and only from the third use on: a walk over 2,000 tables prepares nothing. */
const PREPARED_FROM_USE = 3
/**
 * A connection with more prepared statements than this is replaced: callers choose fields, and each choice makes a text that may become one
 * of those 200. A statement of sixty fields takes 250 KB of PostgreSQL's memory.
 */
const MOST_ON_CONNECTION = 300

interface Use {
  name: string
  count: number
}

/** Decides which texts are worth preparing, by how often they were used lately. */
export class PreparedNames {
  /** By text, then by label: a text rarely has more than one label. */
  readonly #uses = new BoundedMap<string, BoundedMap<string, Use>>(MAX_PREPARED)

  /**
   * Counts a use of the statement.
   * @param label tells statements apart that have the same text but another meaning, such as one before and after a change of a table
   * @returns the name to prepare the statement under; undefined while it is rare
   */
  nameOf(label: string, text: string): string | undefined {
    const use = this.#uses.get(text)?.get(label) ?? this.#add(label, text)
    use.count++
    return use.count >= PREPARED_FROM_USE ? use.name : undefined
  }

  /** The statement with its name, if it has a label and is not rare. */
  named({ text, values, label }: Statement): Named {
    return { text, values, name: label === undefined ? undefined : this.nameOf(label, text) }
  }

  /** The read with its name; undefined while it is rare. */
  trailing({ statement, answered }: TrailingRead): NamedTrailingRead | undefined {
    const { name, text, values } = this.named(statement)
    return name === undefined ? undefined : { statement: { name, text, values }, answered }
  }

  #add(label: string, text: string): Use {
    const use = { name: createHash('sha1').update(`${label} ${text}`).digest('base64url'), count: 0 }
    const uses = this.#uses.get(text) ?? new BoundedMap<string, Use>(MAX_LABELS)
    uses.set(label, use)
    this.#uses.set(text, uses)
    return use
  }
}

/** A statement, and the name under which it is prepared. */
export interface NamedStatement {
  name: string
  text: string
  values: unknown[]
}

/** A read that runs behind a printed statement on its connection. */
export interface NamedTrailingRead {
  statement: NamedStatement
  answered(rows: unknown[]): void
}

/** A row description. */
interface Description {
  /** In the properties in which pg (8.23.1, pinned) stores it. */
  columns: ColumnDescription
  /** Made at the first row. */
  reader: RowReader | undefined
}

interface Result extends ColumnDescription {
  /** The parsers of the connection. */
  _types?: unknown
  rows: object[] | PrintedRows
}

/** The members of pg's connection that its types do not declare. */
export interface Connection {
  stream: { cork(): void; uncork(): void }
  /** Names whose Parse was sent and not answered. */
  submittedNamedStatements: Record<string, unknown>
  describe(message: unknown): void
  sync(): void
}

/** The members of pg's Query that its types do not declare. */
const PgQuery = pg.Query as unknown as new (
  text: string,
  values: unknown[],
) => {
  name: string
  text: string
  _result: Result
  _canceledDueToError: unknown
  callback: (error: Error | null, result?: pg.QueryResult) => void
  hasBeenParsed(connection: Connection): boolean
  prepare(connection: Connection): void
  handleRowDescription(message: unknown): void
  handleDataRow(message: DataRow): void
  handleCommandComplete(message: unknown, connection: Connection): void
  handleReadyForQuery(connection: Connection): void
}

/**
 * The descriptions that a connection has received; the same connection except that it asks for none; and both without the Sync that ends
 * a transaction.
 */
const knownBy = memo((connection: Connection) => {
  const silent = { describe: () => {} }
  // If a value cannot be sent, pg closes the prepared statement and still takes it for prepared.
  const unsynced = { sync: () => {}, close: () => {} }
  const as = (changes: object) => Object.assign(Object.create(connection) as Connection, changes)
  return {
    descriptions: new Map<string, Description>(),
    silent: as(silent),
    unsynced: as(unsynced),
    silentUnsynced: as({ ...silent, ...unsynced }),
  }
})

/**
 * A named statement that requests its row description only once for each connection. pg requests it each time, and the names and types
 * of twenty columns cost as much as the rest of a short statement. The description of a prepared statement cannot change: Postgres
 * refuses to run an outdated one (0A000).
 */
export class PreparedQuery extends PgQuery {
  #known: ReturnType<typeof knownBy> | undefined
  #description: Description | undefined

  /** pg would copy an object with the name, property by property, which costs 2 % of a small request. */
  constructor({ name, text, values }: NamedStatement) {
    super(text, values)
    this.name = name
  }

  override prepare(connection: Connection): void {
    super.prepare(this.#describes(connection) ? connection : knownBy(connection).silent)
  }

  /**
   * Sends everything but the Sync, so that the next statement belongs to the same transaction.
   * @returns false if a value could not be sent; the callback has got the error
   */
  prepareUnsynced(connection: Connection): boolean {
    const { unsynced, silentUnsynced } = knownBy(connection)
    let isSent = true
    const { callback } = this
    this.callback = (error) => {
      isSent = false
      callback(error)
    }
    super.prepare(this.#describes(connection) ? unsynced : silentUnsynced)
    this.callback = callback
    return isSent
  }

  /** Takes the description that is known. @returns false if there is one */
  #describes(connection: Connection): boolean {
    this.#known = knownBy(connection)
    const description = this.hasBeenParsed(connection) ? this.#known.descriptions.get(this.name) : undefined
    if (!description) return true
    this.#description = description
    Object.assign(this._result, description.columns)
    return false
  }

  override handleRowDescription(message: unknown): void {
    super.handleRowDescription(message)
    const { fields, _parsers, _prebuiltEmptyResultObject } = this._result
    this.#description = { columns: { fields, _parsers, _prebuiltEmptyResultObject }, reader: undefined }
    this.#known?.descriptions.set(this.name, this.#description)
  }

  /** Makes an object of the row without the strings that pg would make of each value. Nobody listens for its event of the row. */
  override handleDataRow(row: DataRow): void {
    const description = this.#description
    if (this._canceledDueToError || !description) return
    try {
      description.reader ??= new RowReader(description.columns)
      ;(this._result.rows as object[]).push(description.reader.read(row))
    } catch (error) {
      this._canceledDueToError = error
    }
  }
}

/** True if the connection keeps so many prepared statements that another one should take its place. */
export function hasTooManyPrepared(client: pg.ClientBase): boolean {
  return knownBy((client as unknown as { connection: Connection }).connection).descriptions.size > MOST_ON_CONNECTION
}

/** Runs the statement. */
export function runPrepared(client: pg.Pool | pg.ClientBase, { name = '', text, values }: Named): Promise<pg.QueryResult> {
  return runQuery(client, new PreparedQuery({ name, text, values }))
}

/** pg resolves no promise for a custom query object, so the result comes by a callback. */
export function runQuery(client: pg.Pool | pg.ClientBase, query: PreparedQuery): Promise<pg.QueryResult> {
  const { promise, resolve, reject } = Promise.withResolvers<pg.QueryResult>()
  const answered = (error: Error | undefined, result: pg.QueryResult) => (error ? reject(error) : resolve(result))
  client.query(query as never, undefined as never, answered as never)
  return promise
}

/** The bytes of a page that a caller asks for, as PostgreSQL prints it. */
export const MOST_PAGE_MB = 32

/** A page may not have more than 32 MB: it is an error, and what follows is not kept. */
export interface PageLimit {
  /** Cancels the statement on the server. */
  cancel(): void
  /** What the caller can do about it. */
  advice: string
}

/** For a page of records. */
export const limitOfRecords = (cancel: () => void): PageLimit => ({
  cancel,
  advice: 'ask for fewer records with limit, or for fewer fields with fields',
})
/** For a page of another list. */
export const limitOfList = (cancel: () => void): PageLimit => ({ cancel, advice: 'ask for fewer rows with limit' })

/** Keeps the rows as they were printed: no parser is called, and nothing is made of a value. */
export class PrintedQuery extends PreparedQuery {
  readonly #rows = new PrintedRows()
  readonly #limit: PageLimit | undefined

  constructor(statement: NamedStatement, limit?: PageLimit) {
    super(statement)
    this._result.rows = this.#rows
    this.#limit = limit
  }

  override handleDataRow(row: DataRow): void {
    if (this._canceledDueToError) return
    row.addTo(this.#rows)
    if (!this.#limit || this.#rows.bytes <= MOST_PAGE_MB * 1_048_576) return
    const { advice, cancel } = this.#limit
    this._canceledDueToError = new AppError('BAD_REQUEST', `The page has more than ${MOST_PAGE_MB} MB; ${advice}`)
    this.#rows.free()
    cancel()
  }
}

/** A statement that has a name if it is prepared. */
export interface Named extends Omit<NamedStatement, 'name'> {
  name?: string | undefined
}

/** Runs the statement. */
export function runPrinted(
  client: pg.Pool | pg.ClientBase,
  { name = '', text, values }: Named,
  limit?: PageLimit,
): Promise<pg.QueryResult> {
  return runQuery(client, new PrintedQuery({ name, text, values }, limit))
}
