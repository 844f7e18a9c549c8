/** Statements that are sent without a Sync between them: PostgreSQL runs them as one transaction, committed at the Sync behind the last. */
import pg from 'pg'
import { type Connection, type Named, type NamedStatement, type PageLimit, PreparedQuery, PrintedQuery } from './prepared-statements.ts'
import type { DataRow } from './printed-rows.ts'

/** For pg the statements are one query, which passes each message on to the statement that it answers. */
class PreparedGroup {
  /** Those that were sent, in the order of their answers. */
  readonly #sent: PreparedQuery[] = []
  readonly #queries: readonly PreparedQuery[]
  readonly #main: PreparedQuery | undefined
  /** How many of them were answered without an error. */
  #answered = 0
  /** Set by pg. */
  declare callback: (error: unknown) => void

  /** @param main the statement that observers see; the first by default */
  constructor(queries: readonly PreparedQuery[], main = queries[0]) {
    this.#queries = queries
    this.#main = main
  }

  /** The statement that the next message answers. */
  get #current(): PreparedQuery | undefined {
    return this.#sent[this.#answered]
  }

  /** pg notes under the name and the text of its query that a statement is parsed. */
  get name(): string | undefined {
    return this.#current?.name
  }

  get text(): string | undefined {
    return (this.#current ?? this.#main)?.text
  }

  submit(connection: Connection): void {
    connection.stream.cork()
    for (const query of this.#queries) if (query.prepareUnsynced(connection)) this.#sent.push(query)
    connection.sync()
    connection.stream.uncork()
  }

  handleRowDescription(message: unknown): void {
    this.#current?.handleRowDescription(message)
  }

  handleDataRow(message: DataRow): void {
    this.#current?.handleDataRow(message)
  }

  handleCommandComplete(message: unknown, connection: Connection): void {
    this.#current?.handleCommandComplete(message, connection)
    this.#answered++
  }

  handleReadyForQuery(connection: Connection): void {
    for (const query of this.#sent) query.handleReadyForQuery(connection)
    this.callback(undefined)
  }

  handleError(error: unknown, connection: Connection): void {
    // PostgreSQL has skipped the statements that follow, and has not parsed them.
    for (const { name } of this.#sent.slice(this.#answered)) delete connection.submittedNamedStatements[name]
    // A statement that this process has cancelled fails with its reason, even if the next one was hit.
    const cancelled = this.#sent.find((query) => query._canceledDueToError)
    this.callback(cancelled ? cancelled._canceledDueToError : error)
  }
}

/**
 * Runs the statements in one transaction, with one round trip.
 * @returns the result of each, or the error of one whose values could not be sent
 * @throws the error of the first statement that fails, or of the commit; then all are rolled back, unless the connection was lost
 */
export function runTogether(client: pg.ClientBase, statements: readonly NamedStatement[]): Promise<(pg.QueryResult | Error)[]> {
  // Observers of the connection know each statement by itself, from the caller that waits for it.
  const query: SendGroup = (pg.Client.prototype as unknown as { query: SendGroup }).query.bind(client)
  const queries = statements.map((statement) => new PreparedQuery(statement))
  return sentTogether(client, queries, query)
}

/**
 * Runs the statement as `runPrinted` does, and behind it another, with one round trip. The snapshot of the second is not older than that of
 * the first. Observers see one statement.
 * @throws the error of the one that fails
 */
export async function runPrintedThen(
  client: pg.ClientBase,
  { name = '', text, values }: Named,
  trailing: NamedStatement,
  limit: PageLimit,
): Promise<[pg.QueryResult, pg.QueryResult]> {
  const queries = [new PrintedQuery({ name, text, values }, limit), new PreparedQuery(trailing)]
  const results = await sentTogether(client, queries, client.query.bind(client) as unknown as SendGroup)
  for (const result of results) if (result instanceof Error) throw result
  return results as [pg.QueryResult, pg.QueryResult]
}

const BEGIN: NamedStatement = { name: 'begin', text: 'BEGIN', values: [] }

/**
 * Begins a transaction with the statement, with one round trip. Observers see the statement.
 * @throws the error of the statement; the transaction is then open and failed, unless the connection was lost
 */
export async function runBehindBegin(client: pg.ClientBase, statement: NamedStatement, isPrinted: boolean): Promise<pg.QueryResult> {
  const query = isPrinted ? new PrintedQuery(statement) : new PreparedQuery(statement)
  const [, result] = await sentTogether(client, [new PreparedQuery(BEGIN), query], client.query.bind(client) as unknown as SendGroup, query)
  if (result instanceof Error) throw result
  return result as pg.QueryResult
}

const COMMIT: NamedStatement = { name: 'commit', text: 'COMMIT', values: [] }

/**
 * Runs the statement and commits its transaction, with one round trip.
 * @returns the result of COMMIT
 * @throws the error of the statement, behind which the transaction is not committed, or of the commit
 */
export async function commitBehind(client: pg.ClientBase, statement: NamedStatement): Promise<pg.QueryResult> {
  const [, result] = await runTogether(client, [statement, COMMIT])
  return result as pg.QueryResult
}

type SendGroup = (group: PreparedGroup, values: undefined, callback: PreparedGroup['callback']) => void

function sentTogether(
  client: pg.ClientBase,
  queries: readonly PreparedQuery[],
  send: SendGroup,
  main?: PreparedQuery,
): Promise<(pg.QueryResult | Error)[]> {
  const { promise, resolve, reject } = Promise.withResolvers<(pg.QueryResult | Error)[]>()
  const results: (pg.QueryResult | Error)[] = []
  const { _types } = client as unknown as { _types: unknown }
  for (const [index, query] of queries.entries()) {
    query._result._types = _types
    query.callback = (error, result) => {
      results[index] = error ?? (result as pg.QueryResult)
    }
  }
  send(new PreparedGroup(queries, main), undefined, (error) => (error ? reject(error) : resolve(results)))
  return promise
}
