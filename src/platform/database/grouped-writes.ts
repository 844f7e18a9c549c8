/**
 * Short writes of several requests that share one commit. While a commit is under way, the writes that arrive wait and leave together: one
 * write to the socket, one wake-up of a PostgreSQL process and one flush of the log for all of them (measured in
 * docs/decisions/0023-grouped-writes.md).
 */
import pg from 'pg'
import { currentParty, runFor } from '../concurrency/party.ts'
import type { ObserveStatement } from './observe-statements.ts'
import type { NamedStatement } from './prepared-statements.ts'
import { runTogether } from './statement-groups.ts'
import { WriteGroups } from './write-groups.ts'

/** The statements of one commit at most. */
const MOST_TOGETHER = 32
/** Statements that wait longer for a lock are rolled back together, and each runs alone, so that only the blocked one waits on. */
const LOCK_TIMEOUT: NamedStatement = { name: 'grouped-writes', text: "select set_config('lock_timeout', '50', true)", values: [] }

/** Sent after an error: only a server that has rolled back and lives on answers. */
const ARE_YOU_THERE: NamedStatement = { name: 'after-error', text: 'select', values: [] }

interface Waiting {
  statement: NamedStatement
  /** The party of the caller, which pays for the connection. */
  party: string
  resolve(result: pg.QueryResult): void
  reject(error: unknown): void
}

export class GroupedWrites {
  readonly #groups = new WriteGroups<Waiting>(MOST_TOGETHER, (writes) => this.#commit(writes))
  readonly #pool: pg.Pool
  readonly #observe: ObserveStatement | undefined

  constructor(pool: pg.Pool, observe: ObserveStatement | undefined) {
    this.#pool = pool
    this.#observe = observe
  }

  /**
   * Runs the statement in a transaction with others of the group. If one of them fails, all are rolled back and each runs alone, so the
   * result or error is that of the statement itself.
   * @param name of the group. Groups do not wait for each other
   */
  run(name: string, statement: NamedStatement): Promise<pg.QueryResult> {
    const { promise, resolve, reject } = Promise.withResolvers<pg.QueryResult>()
    const write = { statement, party: currentParty(), resolve, reject }
    this.#groups.add(name, write)
    return this.#observe ? observed(promise, this.#observe(statement.text)) : promise
  }

  async #commit(writes: readonly Waiting[]): Promise<void> {
    // This runs in the context of the caller who came first, perhaps long ago.
    const connected = runFor((writes[0] as Waiting).party, () => this.#pool.connect())
    const client = await connected.catch((error: Error) => rejectAll(writes, error))
    if (!client) return
    const isAlone = writes.length === 1
    const before = isAlone ? [] : [LOCK_TIMEOUT]
    try {
      const results = await runTogether(client, [...before, ...writes.map(({ statement }) => statement)])
      client.release()
      settle(writes, results.slice(before.length))
    } catch (thrown) {
      const error = thrown as Error
      const isGood = isAnswer(error) && (await isThere(client))
      client.release(isGood ? undefined : error)
      // All at once: one that is blocked by a lock must not delay the others.
      if (isGood && !isAlone) for (const write of writes) void this.#commit([write])
      else rejectAll(writes, error)
    }
  }
}

function settle(writes: readonly Waiting[], results: readonly (pg.QueryResult | Error)[]): void {
  for (const [index, { resolve, reject }] of writes.entries()) {
    const result = results[index] as pg.QueryResult | Error
    if (result instanceof Error) reject(result)
    else resolve(result)
  }
}

function rejectAll(writes: readonly Waiting[], error: Error): undefined {
  for (const { reject } of writes) reject(error)
}

/** The shutdown of a server, which ends the connection perhaps after the commit. */
const SHUTDOWN = /^(57P|08)/

/** True if the server answered with an error. After a lost connection nobody knows whether the transaction was committed. */
const isAnswer = (error: unknown): boolean => error instanceof pg.DatabaseError && !SHUTDOWN.test(error.code ?? '57P')

/**
 * False if the server ended the connection after its error, for example because the disk of its log is full: the commit may have been
 * written. The error itself cannot show this, because its severity is in the language of the server.
 */
const isThere = (client: pg.ClientBase): Promise<boolean> =>
  runTogether(client, [ARE_YOU_THERE]).then(
    () => true,
    () => false,
  )

function observed<Result>(promise: Promise<Result>, answered: (error?: unknown) => void): Promise<Result> {
  promise.then(() => answered(), answered)
  return promise
}
