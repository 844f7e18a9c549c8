/** Steps in around the statements of a database, also those on records: to change something at that moment, to count them, to read their plans. */
import type { Database } from '../../src/platform/database/database.ts'
import type { RecordsDatabase } from '../../src/platform/database/records-plane.ts'
import type { Statement } from '../../src/platform/database/statements/statement.ts'

type Queries = Pick<Database, 'read' | 'page' | 'write'>
/** `records` gives the handle whose functions run the statements on records; for records on the main server that is the database itself. */
type DatabaseQueries = Queries & Pick<Database, 'records'>

/** @param on runs statements on the same plane, without stepping in */
type Around = <T>(run: () => Promise<T>, statement: Statement, on: Queries) => Promise<T>

/** The database with the functions that run its statements now. They can be put back later (`Object.assign(db, queries)`). */
export function queriesOf(db: Database): Database {
  const { read, page, write, records } = db
  return Object.assign(Object.create(db), { read, page, write, records })
}

/** The same functions, which `around` calls. */
export function queriesAround(db: Database, around: Around): DatabaseQueries {
  const present = queriesOf(db)
  return {
    ...functionsAround(present, around),
    records(this: RecordsDatabase, tableId) {
      const on = present.records(tableId)
      if (!present.isElsewhere(tableId)) return this
      return { ...on, ...functionsAround(on, around) }
    },
  }
}

const functionsAround = (on: Queries, around: Around): Queries => ({
  read: (...parts) => around(() => on.read(...parts), parts[0], on),
  page: (...parts) => around(() => on.page(...parts), parts[0], on),
  write: (...parts) => around(() => on.write(...parts), parts[0], on),
})

/** The same functions, each of which waits for `before` first. */
export const queriesWith = (db: Database, before: (statement: Statement, on: Queries) => unknown): DatabaseQueries =>
  queriesAround(db, async (run, statement, on) => {
    await before(statement, on)
    return run()
  })

/** The same database, whose statements `around` calls. */
export function databaseAround(db: Database, around: Around): Database {
  const queries: Partial<Database> = queriesAround(db, around)
  return new Proxy(db, { get: (target, key) => Reflect.get(key in queries ? queries : target, key) })
}

/** The same database, whose statements wait for `before` first. */
export function databaseWith(db: Database, before: (statement: Statement) => unknown): Database {
  return databaseAround(db, async (run, statement) => {
    await before(statement)
    return run()
  })
}

/**
 * Whether an attempt to change a table begins with the statement. A change is attempted again while others hold locks, and given up after about
 * two seconds (alter-table.ts); a test that waits with an attempt until the others are ready does not depend on the speed of the machine.
 */
export const beginsChange = ({ text }: Statement): boolean => text.includes('update tables t set version = version + 1')
