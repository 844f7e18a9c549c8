/**
 * Prisma's client, made when it is first used. Its modules, its compiler of queries and their descriptions of the schema take 30 MB. A process that
 * only reads and looks for work needs none of them.
 */
import { createRequire } from 'node:module'
import type { PrismaPg } from '@prisma/adapter-pg'
import type pg from 'pg'
import type { PrismaClient } from '../../../generated/prisma/client.ts'

const require = createRequire(import.meta.url)

export interface PrismaOnDemand {
  /** The client on the pool. It is loaded synchronously, so that `Database.prisma` can be a property. */
  client(): PrismaClient
  close(): Promise<void>
}

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
  const adapter = require('@prisma/adapter-pg') as { PrismaPg: typeof PrismaPg }
  return new generated.PrismaClient({ adapter: new adapter.PrismaPg(pool), transactionOptions: { maxWait: 2_000, timeout: 30_000 } })
}
