/** Transactions on connections of a pool. Hand-written statements and Prisma's take part in the one that their caller has opened. */
import { AsyncLocalStorage } from 'node:async_hooks'
import type pg from 'pg'
import { runStatement } from './pooled-statements.ts'
import type { Named } from './prepared-statements.ts'
import { runBehindBegin } from './statement-groups.ts'

const transactions = new AsyncLocalStorage<Transaction>()

/** The open transaction of the caller. */
export function openTransaction(): Transaction | undefined {
  const transaction = transactions.getStore()
  return transaction?.isOver ? undefined : transaction
}

/**
 * Runs `fn` in a transaction of its own.
 * @param committed called after the commit
 */
export async function inNewTransaction<Result>(
  pool: pg.Pool,
  fn: () => Promise<Result>,
  committed: (transaction: Transaction) => void,
): Promise<Result> {
  const transaction = new Transaction(pool)
  try {
    const result = await transactions.run(transaction, fn)
    await transaction.commit()
    committed(transaction)
    return result
  } catch (error) {
    await transaction.rollBack()
    throw error
  }
}

/** It takes a connection for its first statement, and begins in the round trip of that statement. Without statements it costs nothing. */
export class Transaction {
  readonly #pool: pg.Pool
  #begun: Promise<pg.PoolClient> | undefined
  /** Statements that `fn` did not wait for must not run on the connection after the end, when another transaction may use it. */
  #isOver = false
  /** Whether it has run a statement with the watched marker. */
  wroteMarker = false

  constructor(pool: pg.Pool) {
    this.#pool = pool
  }

  get isOver(): boolean {
    return this.#isOver
  }

  async run(statement: Named, isPrinted = false): Promise<pg.QueryResult> {
    if (this.#begun) return runStatement(await this.#begun, statement, isPrinted)
    const { name, text, values } = statement
    if (name === undefined) return runStatement(await this.client(), statement, isPrinted)
    let first: Promise<pg.QueryResult> | undefined
    this.#begun = this.#pool.connect().then((client) => {
      first = runBehindBegin(client, { name, text, values }, isPrinted)
      // The caller gets its error below, and the loss of the connection meets every later statement.
      first.catch(() => {})
      return client
    })
    await this.#begun
    return first as unknown as Promise<pg.QueryResult>
  }

  /** Its connection, on which it has begun. */
  client(): Promise<pg.PoolClient> {
    this.#begun ??= this.#begin()
    return this.#begun
  }

  async #begin(): Promise<pg.PoolClient> {
    const client = await this.#pool.connect()
    try {
      await client.query('BEGIN')
      return client
    } catch (error) {
      client.release(error as Error)
      throw error
    }
  }

  /** @throws if it could not be committed, or if a statement had failed, after which PostgreSQL answers COMMIT with a rollback */
  async commit(): Promise<void> {
    this.#isOver = true
    const client = await this.#begun
    if (!client) return
    this.#begun = undefined
    const { command } = await client.query('COMMIT').catch((error) => {
      client.release(error)
      throw error
    })
    client.release()
    if (command !== 'COMMIT') throw new Error('The transaction was rolled back, because a statement in it had failed')
  }

  /** Does nothing after `commit`, which has given the connection back. */
  async rollBack(): Promise<void> {
    this.#isOver = true
    const client = await this.#begun?.catch(() => undefined)
    this.#begun = undefined
    await client?.query('ROLLBACK').then(
      () => client.release(),
      (error) => client.release(error),
    )
  }
}
