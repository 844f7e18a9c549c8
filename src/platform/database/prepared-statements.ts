/** Frequent statements are prepared and described once for each connection (measured in docs/decisions/0006-prepared-statements.md). */
import { createHash } from 'node:crypto'
import pg from 'pg'
import { BoundedMap } from '../bounded-map.ts'
import { memo } from '../memo.ts'

/** A connection never drops a prepared statement by itself, so only the texts that were used last are prepared … */
const MAX_PREPARED = 200
/** … each under the labels that were used last … */
const MAX_LABELS = 3
/** … and only from the third use on: a walk over 2,000 tables prepares nothing. */
const PREPARED_FROM_USE = 3

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
    const uses = this.#uses.get(text) ?? new BoundedMap<string, Use>(MAX_LABELS)
    const use = uses.get(label) ?? { name: createHash('sha1').update(`${label} ${text}`).digest('base64url'), count: 0 }
    use.count++
    uses.set(label, use)
    this.#uses.set(text, uses)
    return use.count >= PREPARED_FROM_USE ? use.name : undefined
  }
}

/** A statement, and the name under which it is prepared. */
export interface NamedStatement {
  name: string
  text: string
  values: unknown[]
}

/** The properties in which pg (8.23.1, pinned) stores a row description. */
interface Description {
  fields: unknown[]
  _parsers: unknown[]
  _prebuiltEmptyResultObject: object
}

type Connection = { describe(message: unknown): void }

/** The members of pg's Query that its types do not declare. */
const PgQuery = pg.Query as unknown as new (
  text: string,
  values: unknown[],
) => {
  name: string
  _result: Description
  _accumulateRows: boolean
  hasBeenParsed(connection: Connection): boolean
  prepare(connection: Connection): void
  handleRowDescription(message: unknown): void
}

/** The descriptions that a connection has received, and the same connection except that it asks for none. */
const knownBy = memo((connection: Connection) => ({
  descriptions: new Map<string, Description>(),
  silent: Object.assign(Object.create(connection) as Connection, { describe: () => {} }),
}))

/**
 * A named statement that requests its row description only once for each connection. pg requests it each time, and the names and types
 * of twenty columns cost as much as the rest of a short statement. The description of a prepared statement cannot change: Postgres
 * refuses to run an outdated one (0A000).
 */
class PreparedQuery extends PgQuery {
  #known: ReturnType<typeof knownBy> | undefined

  /** pg would copy an object with the name, property by property, which costs 2 % of a small request. */
  constructor({ name, text, values }: NamedStatement) {
    super(text, values)
    this.name = name
  }

  override prepare(connection: Connection): void {
    this.#known = knownBy(connection)
    const description = this.hasBeenParsed(connection) ? this.#known.descriptions.get(this.name) : undefined
    if (description) {
      Object.assign(this._result, description)
      this._accumulateRows = true
    }
    super.prepare(description ? this.#known.silent : connection)
  }

  override handleRowDescription(message: unknown): void {
    super.handleRowDescription(message)
    const { fields, _parsers, _prebuiltEmptyResultObject } = this._result
    this.#known?.descriptions.set(this.name, { fields, _parsers, _prebuiltEmptyResultObject })
  }
}

/** Runs the statement. pg resolves no promise for a custom query object, so the result comes by a callback. */
export function runPrepared(client: pg.Pool | pg.ClientBase, statement: NamedStatement): Promise<pg.QueryResult> {
  const { promise, resolve, reject } = Promise.withResolvers<pg.QueryResult>()
  const answered = (error: Error | undefined, result: pg.QueryResult) => (error ? reject(error) : resolve(result))
  client.query(new PreparedQuery(statement) as never, undefined as never, answered as never)
  return promise
}
