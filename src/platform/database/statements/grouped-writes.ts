/**
 * Short writes of several requests that share one commit. While a commit is under way, the writes that arrive wait and leave together: one
 * write to the socket, one wake-up of a PostgreSQL process and one flush of the log for all of them (measured in
 * docs/decisions/0023-grouped-writes.md).
 */
import pg from 'pg'
import { Batches } from '../../concurrency/batches.ts'
import { currentAccount, runFor } from '../../concurrency/current-account.ts'
import type { ObserveStatement } from './observe-statements.ts'
import type { NamedStatement } from './prepared-statements.ts'
import { runTogether } from './statement-groups.ts'

/** The statements of one commit at most. */
const MOST_TOGETHER = 32
/** Statements that wait longer for a lock are rolled back together, and each runs alone, so that only the blocked one waits on. */
const LOCK_TIMEOUT: NamedStatement = { name: 'grouped-writes', text: "select set_config('lock_timeout', '50', true)", values: [] }

/** Sent after an error: only a server that has rolled back and lives on answers. */
const ARE_YOU_THERE: NamedStatement = { name: 'after-error', text: 'select', values: [] }

/** A commit that takes longer waits for a lock or is slow, so that later writes no longer wait for it. */
const LATE_MS = 20

interface Write {
  statement: NamedStatement
  /** The account of the caller, which pays for the connection. */
  account: string
}

export class GroupedWrites {
  readonly #batches = new Batches((writes: readonly Write[]) => this.#commit(writes), {
    most: MOST_TOGETHER,
    lateMs: LATE_MS,
    // What fails the writes together is handled here.
    isForAll: () => true,
  })
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
    const answer = this.#batches.add({ statement, account: currentAccount() }, name)
    return this.#observe ? observed(answer, this.#observe(statement.text)) : answer
  }

  async #commit(writes: readonly Write[]): Promise<(pg.QueryResult | Promise<pg.QueryResult>)[]> {
    // This runs in the context of the caller who came first, perhaps long ago.
    const client = await runFor((writes[0] as Write).account, () => this.#pool.connect())
    const isAlone = writes.length === 1
    const before = isAlone ? [] : [LOCK_TIMEOUT]
    try {
      const results = await runTogether(client, [...before, ...writes.map(({ statement }) => statement)])
      client.release()
      return results.slice(before.length).map(answerOf)
    } catch (thrown) {
      const error = thrown as Error
      const isGood = isAnswer(error) && (await isThere(client))
      client.release(isGood ? undefined : error)
      if (!isGood || isAlone) throw error
      // All at once: one that is blocked by a lock must not delay the others.
      return writes.map((write) => this.#commitAlone(write))
    }
  }

  async #commitAlone(write: Write): Promise<pg.QueryResult> {
    const [result] = await this.#commit([write])
    return result as pg.QueryResult | Promise<pg.QueryResult>
  }
}

/** An error is that of a statement whose values could not be sent. */
const answerOf = (result: pg.QueryResult | Error) => (result instanceof Error ? Promise.reject(result) : result)

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
