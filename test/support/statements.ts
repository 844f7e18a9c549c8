/** Steps in before the statements of a database: to change something at that moment, to count them, to read their plans. */
import type { Database, Statement } from '../../src/platform/database/database.ts'

type Queries = Pick<Database, 'query' | 'queryPrinted' | 'writeShort'>

/** The functions that run statements, to be put back later. */
export const queriesOf = ({ query, queryPrinted, writeShort }: Queries): Queries => ({ query, queryPrinted, writeShort })

/** The same functions, each of which waits for `before` first. */
export function queriesWith({ query, queryPrinted, writeShort }: Queries, before: (statement: Statement) => unknown): Queries {
  return {
    query: async (...parts) => {
      await before(parts[0])
      return query(...parts)
    },
    queryPrinted: async (...parts) => {
      await before(parts[0])
      return queryPrinted(...parts)
    },
    writeShort: async (...parts) => {
      await before(parts[0])
      return writeShort(...parts)
    },
  }
}

/** The same database, whose statements wait for `before` first. */
export function databaseWith(db: Database, before: (statement: Statement) => unknown): Database {
  const queries: Partial<Database> = queriesWith(db, before)
  return new Proxy(db, { get: (target, key) => Reflect.get(key in queries ? queries : target, key) })
}
