/** Databases for tests. Files run at the same time, so each has its own clone; each test of a file has its own account. */
import pg from 'pg'
import { inject } from 'vitest'

export interface TestDatabase {
  connection: { host: string; port: number; user: string; database: string; ssl: false }
  /** The same connection in the form of DATABASE_URL. */
  url: string
}

let clone: Promise<TestDatabase> | undefined

/** The database of this test file, with all migrations and queues deployed. About 100 ms the first time. */
export function testDatabase(): Promise<TestDatabase> {
  clone ??= createDatabase('gridpost')
  return clone
}

/** Lets the next test file that shares this process have a database of its own. */
export function leaveTestDatabase(): void {
  clone = undefined
}

/** An empty database. */
export function emptyDatabase(): Promise<TestDatabase> {
  return createDatabase('template0')
}

let created = 0

async function createDatabase(template: string): Promise<TestDatabase> {
  const server = inject('postgres')
  const database = `test_${process.pid}_${Date.now().toString(36)}_${created++}`
  const client = new pg.Client({ ...server, database: 'postgres' })
  await client.connect()
  try {
    await client.query(`CREATE DATABASE ${database} TEMPLATE ${template}`)
  } finally {
    await client.end()
  }
  return {
    connection: { ...server, database, ssl: false },
    url: `postgresql://${server.user}@localhost:${server.port}/${database}?host=${encodeURIComponent(server.host)}`,
  }
}
