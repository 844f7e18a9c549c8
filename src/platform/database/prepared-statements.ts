/** Statements that come often, prepared once a connection, and described once (measured in docs/decisions/0006-prepared-statements.md). */
import { createHash } from 'node:crypto'
import pg from 'pg'

/** Connections never drop a prepared statement by themselves, so only this many texts, the latest, are prepared … */
const MAX_PREPARED = 200
/** Of one text, the latest labels. */
const MAX_LABELS = 3
/** … and only once they have come this often: a walk over 2,000 tables prepares nothing. */
const PREPARED_FROM_USE = 3

interface Use {
  label: string
  name: string
  count: number
}

/** Which texts are worth preparing, by how often they came lately. */
export class PreparedNames {
  /** By text: rarely has one more than one label. */
  readonly #uses = new Map<string, Use[]>()

  /**
   * The name to prepare the statement under; undefined while it is rare.
   * @param label tells apart what has the same text but another meaning, such as columns of a table before and after a change
   */
  nameOf(label: string, text: string): string | undefined {
    const uses = this.#uses.get(text) ?? []
    let use = uses.find((one) => one.label === label)
    if (!use) {
      use = { label, name: createHash('sha1').update(`${label} ${text}`).digest('base64url'), count: 0 }
      uses.push(use)
      if (uses.length > MAX_LABELS) uses.shift()
    }
    use.count++
    // The map keeps the order of insertion: what was used last stands last, and goes last.
    this.#uses.delete(text)
    this.#uses.set(text, uses)
    const [oldest] = this.#uses.size > MAX_PREPARED ? this.#uses.keys() : []
    if (oldest !== undefined) this.#uses.delete(oldest)
    return use.count >= PREPARED_FROM_USE ? use.name : undefined
  }
}

/** What pg (8.23.1, pinned) keeps of a description of rows. */
interface Description {
  fields: unknown[]
  _parsers: unknown[]
  _prebuiltEmptyResultObject: object
}

type Connection = { describe(message: unknown): void }

/** The parts of pg's own query that its types do not show. */
const PgQuery = pg.Query as unknown as new (
  config: pg.QueryConfig,
) => {
  name: string
  _result: Description
  _accumulateRows: boolean
  hasBeenParsed(connection: Connection): boolean
  prepare(connection: Connection): void
  handleRowDescription(message: unknown): void
}

interface Known {
  descriptions: Map<string, Description>
  /** The connection, but that it asks for no description. */
  silent: Connection
}

const knownOf = new WeakMap<Connection, Known>()

function known(connection: Connection): Known {
  const there = knownOf.get(connection)
  if (there) return there
  const silent = Object.assign(Object.create(connection) as Connection, { describe: () => {} })
  const made = { descriptions: new Map<string, Description>(), silent }
  knownOf.set(connection, made)
  return made
}

/**
 * A named statement that asks for the description of its rows only once a connection. pg asks each time, and telling and reading
 * the names and types of twenty columns costs as much as the rest of a short statement. The description of a prepared statement
 * cannot change: Postgres refuses to run it instead (0A000).
 */
class PreparedQuery extends PgQuery {
  #known: Known | undefined

  override prepare(connection: Connection): void {
    this.#known = known(connection)
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

/** A statement with the name that it is prepared under. */
export interface NamedStatement {
  name: string
  text: string
  values: unknown[]
}

/** Runs it. Handed to pg as a query of its own making, it is answered through a callback. */
export function askPrepared(client: pg.Pool | pg.ClientBase, statement: NamedStatement): Promise<pg.QueryResult> {
  const { promise, resolve, reject } = Promise.withResolvers<pg.QueryResult>()
  const answered = (error: Error | undefined, result: pg.QueryResult) => (error ? reject(error) : resolve(result))
  client.query(new PreparedQuery(statement) as never, undefined as never, answered as never)
  return promise
}
