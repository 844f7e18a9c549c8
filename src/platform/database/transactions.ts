/** Transactions on connections of a pool. Hand-written statements and Prisma's take part in the one that their caller has opened. */
import { AsyncLocalStorage } from 'node:async_hooks'
import type pg from 'pg'
import { cancelQuery } from './statements/cancel-query.ts'
import { runStatement } from './statements/pooled-statements.ts'
import type { Named, NamedStatement } from './statements/prepared-statements.ts'
import { explainRefusal, forgetRefusal } from './statements/refusals.ts'
import { cutConnection } from './statements/silent-connections.ts'
import { commitBehind, runBehindBegin } from './statements/statement-groups.ts'

const transactions = new AsyncLocalStorage<Transaction>()

/** Statements that leave nothing to commit. A SELECT may lock rows. */
export const WRITES_NOTHING = /^\s*(select|savepoint|rollback|release|set|lock)\b/i

/** The open transaction of the caller. */
export function openTransaction(): Transaction | undefined {
  const transaction = transactions.getStore()
  return transaction?.isOver ? undefined : transaction
}

interface TransactionOptions {
  /** Called after the commit. */
  committed(transaction: Transaction): void
  /** True for a transaction of one statement, which is sent without BEGIN and COMMIT. */
  isOneStatement?: boolean
}

/** Runs `fn` in a transaction of its own. */
export async function inNewTransaction<Result>(
  pool: pg.Pool,
  fn: () => Promise<Result>,
  { committed, isOneStatement = false }: TransactionOptions,
): Promise<Result> {
  const transaction = new Transaction(pool, isOneStatement)
  try {
    const result = await transactions.run(transaction, async () => {
      const done = await fn()
      for (const run of transaction.last) await run()
      return done
    })
    await transaction.commit()
    committed(transaction)
    return result
  } catch (error) {
    await transaction.rollBack(error)
    throw transaction.explain(error)
  } finally {
    for (const node of transaction.nodes ?? []) node.leave(transaction)
  }
}

/** Another server that takes part in transactions. */
export interface Participant {
  /** @returns what to throw in place of an error that the server has caused; other errors as they are */
  explain(error: unknown): unknown
  /** The transaction has ended. */
  leave(transaction: Transaction): void
}

/** It takes a connection for its first statement, and begins in the round trip of that statement. Without statements it costs nothing. */
export class Transaction {
  readonly #pool: pg.Pool
  readonly #isOneStatement: boolean
  #begun: Promise<pg.PoolClient> | undefined
  /** Its connection, until that is given back. */
  #client: pg.PoolClient | undefined
  /** Statements that `fn` did not wait for must not run on the connection after the end, when another transaction may use it. */
  #isOver = false
  /** Whether it has run a statement with the watched marker. */
  wroteMarker = false
  /** The nodes on whose records it has run statements. */
  nodes: Set<Participant> | undefined
  /** How many of its statements have written records on nodes. */
  nodeWrites = 0
  #writes = 0
  /** Statements that run behind all others, right before the commit. */
  readonly last: (() => Promise<unknown>)[] = []
  /** Runs before the commit if both nodes and this server were written, so that both or neither commit. */
  beforeCommit: NamedStatement | undefined

  constructor(pool: pg.Pool, isOneStatement: boolean) {
    this.#pool = pool
    this.#isOneStatement = isOneStatement
  }

  get isOver(): boolean {
    return this.#isOver
  }

  async run(statement: Named, isPrinted = false): Promise<pg.QueryResult> {
    if (!WRITES_NOTHING.test(statement.text)) this.#writes++
    if (this.#isOneStatement) return this.#runAlone(statement, isPrinted)
    if (this.#begun) return runStatement(await this.#begun, statement, isPrinted)
    const { name, text, values } = statement
    if (name === undefined) return runStatement(await this.#begunClient(), statement, isPrinted)
    let first: Promise<pg.QueryResult> | undefined
    this.#begun = this.#connect().then((client) => {
      first = runBehindBegin(client, { name, text, values }, isPrinted)
      // The caller gets its error below, and the loss of the connection meets every later statement.
      first.catch(() => {})
      return client
    })
    await this.#begun
    return first as unknown as Promise<pg.QueryResult>
  }

  async #runAlone(statement: Named, isPrinted: boolean): Promise<pg.QueryResult> {
    this.#begun = this.#connect()
    return runStatement(await this.#begun, statement, isPrinted)
  }

  /** The connection on which the transaction has begun, for a statement of Prisma. */
  client(): Promise<pg.PoolClient> {
    this.#writes++
    return this.#begunClient()
  }

  #begunClient(): Promise<pg.PoolClient> {
    this.#begun ??= this.#begin()
    return this.#begun
  }

  async #begin(): Promise<pg.PoolClient> {
    const client = await this.#connect()
    try {
      await client.query('BEGIN')
      return client
    } catch (error) {
      this.#release(error as Error)
      throw error
    }
  }

  async #connect(): Promise<pg.PoolClient> {
    this.#client = await this.#pool.connect()
    forgetRefusal(this.#client)
    return this.#client
  }

  #release(error?: Error): void {
    this.#client?.release(error)
    this.#client = undefined
  }

  explain(error: unknown): unknown {
    for (const node of this.nodes ?? []) {
      const explained = node.explain(error)
      if (explained !== error) return explained
    }
    return error
  }

  /** Makes its running statement fail now. The connection is closed, because the server may not be able to end the statement. */
  abandon(): void {
    if (!this.#client) return
    // If the cancel request fails, the statement ends by its own timeout.
    cancelQuery(this.#client).catch(() => {})
    cutConnection(this.#client)
  }

  /** @throws if it could not be committed, or if a statement had failed, after which PostgreSQL answers COMMIT with a rollback */
  async commit(): Promise<void> {
    this.#isOver = true
    const client = await this.#begun
    if (!client) return
    this.#begun = undefined
    if (this.#isOneStatement) return this.#release()
    const isOnBoth = this.nodeWrites > 0 && this.#writes > this.nodeWrites
    const committed = isOnBoth && this.beforeCommit ? commitBehind(client, this.beforeCommit) : client.query('COMMIT')
    const { command } = await committed.catch((error) => {
      this.#release(error)
      throw error
    })
    this.#release()
    if (command !== 'COMMIT') throw new Error('The transaction was rolled back, because a statement in it had failed')
  }

  /** Does nothing after `commit`, which has given the connection back. Without a BEGIN it only shows that the connection is good. */
  async rollBack(cause: unknown): Promise<void> {
    this.#isOver = true
    const client = await this.#begun?.catch(() => undefined)
    this.#begun = undefined
    if (client && this.nodes) explainRefusal(cause, client)
    await client?.query('ROLLBACK').then(
      () => this.#release(),
      (error) => this.#release(error),
    )
  }
}
