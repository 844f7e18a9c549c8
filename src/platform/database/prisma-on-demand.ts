/**
 * Prisma's client, made when it is first used. Its modules, its compiler of queries and their descriptions of the schema take 30 MB. A
 * process that only reads, looks for work or changes records needs none of them.
 */
import { createRequire } from 'node:module'
import type { PrismaPg } from '@prisma/adapter-pg'
import type { SqlDriverAdapter, SqlDriverAdapterFactory } from '@prisma/driver-adapter-utils'
import type pg from 'pg'
import type { PrismaClient } from '../../../generated/prisma/client.ts'
import { openTransaction } from './transactions.ts'

const require = createRequire(import.meta.url)

type Unbatched<Model> = Omit<Model, 'findUnique' | 'findUniqueOrThrow'>

/**
 * The models of the client. They have no `findUnique`, because Prisma joins such reads of several callers in one statement, which can run
 * in the transaction of only one of them; `findFirst` does the same. Nor do they have transactions of Prisma's own.
 */
export type Models = { readonly [Name in keyof PrismaClient as Name extends `$${string}` ? never : Name]: Unbatched<PrismaClient[Name]> }

export interface PrismaOnDemand {
  /** The client, loaded synchronously, so that `Database.prisma` can be a property. */
  client(): Models
  close(): Promise<void>
}

/** @param pool whose `query` uses the connection of the caller's open transaction */
export function prismaOnDemand(pool: pg.Pool): PrismaOnDemand {
  let client: PrismaClient | undefined
  return {
    client() {
      client ??= newClient(pool)
      return client
    },
    close: async () => client?.$disconnect(),
  }
}

function newClient(pool: pg.Pool): PrismaClient {
  const generated = require('../../../generated/prisma/client.ts') as { PrismaClient: typeof PrismaClient }
  const postgres = require('@prisma/adapter-pg') as { PrismaPg: typeof PrismaPg }
  return new generated.PrismaClient({ adapter: joiningTransactions(new postgres.PrismaPg(pool)) })
}

/** A write that Prisma makes of several statements begins a transaction; inside the transaction of the caller it is a part of that one. */
function joiningTransactions(factory: PrismaPg): SqlDriverAdapterFactory {
  const { provider, adapterName } = factory
  return {
    provider,
    adapterName,
    async connect() {
      const adapter: SqlDriverAdapter = await factory.connect()
      const startTransaction = adapter.startTransaction.bind(adapter)
      adapter.startTransaction = async (isolationLevel) =>
        openTransaction() ? partOfTransaction(adapter) : startTransaction(isolationLevel)
      return adapter
    },
  }
}

/** Its end is left to the caller: after an error PostgreSQL refuses everything but a rollback. */
const partOfTransaction = (adapter: SqlDriverAdapter): Awaited<ReturnType<SqlDriverAdapter['startTransaction']>> => ({
  provider: adapter.provider,
  adapterName: adapter.adapterName,
  options: { usePhantomQuery: true },
  queryRaw: (query) => adapter.queryRaw(query),
  executeRaw: (query) => adapter.executeRaw(query),
  commit: async () => {},
  rollback: async () => {},
})
