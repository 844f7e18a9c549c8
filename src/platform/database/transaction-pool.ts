import { AsyncLocalStorage } from 'node:async_hooks'
import type pg from 'pg'
import { isTracing } from '../tracing/tracing.ts'
import { FairPool } from './fair-pool.ts'
import { openTransaction } from './transactions.ts'

/** Prisma knows only the pool, so the pool runs Prisma's statements in the open transaction of the caller. */
export class TransactionPool extends FairPool {
  override connect(): Promise<pg.PoolClient>
  override connect(callback: Parameters<pg.Pool['connect']>[0]): void
  override connect(callback?: Parameters<pg.Pool['connect']>[0]): Promise<pg.PoolClient> | undefined {
    if (!callback) return super.connect()
    // A statement that has waited gets its connection in the request that releases it, and its span would be there, too.
    super.connect(isTracing() ? AsyncLocalStorage.bind(callback) : callback)
    return undefined
  }

  override query = ((...statement: Parameters<pg.Pool['query']>) => {
    const transaction = openTransaction()
    return transaction ? transaction.client().then((client) => client.query(...statement)) : super.query(...statement)
  }) as pg.Pool['query']
}
