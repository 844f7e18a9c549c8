/** Starts and scripts with a database role that lacks rights end with one line that says what is missing. */
import pg from 'pg'
import { afterAll, expect, inject, test } from 'vitest'
import { emptyDatabase, type TestDatabase, testDatabase } from './support/database.ts'
import { programs } from './support/programs.ts'

const admin = new pg.Client({ ...inject('postgres'), database: 'postgres' })
await admin.connect()
const role = `limited_${process.pid}_${Date.now().toString(36)}`
await admin.query(`create role ${role} login`)
afterAll(() => admin.end())

/** Runs a program as the role. @returns its only line on standard error */
async function refusal({ url }: TestDatabase, script: string, args: string[]): Promise<string> {
  const limited = programs({
    DATABASE_URL: url.replace(/\/\/[^@]+@/, `//${role}@`),
    SECRET_KEY: 'a key for tests, long enough to be one',
  })
  const { code, stdout, stderr } = await limited.run(script, args)
  await limited.cleanUp()
  expect({ code, stdout, lines: stderr.split('\n').length }, stderr).toEqual({ code: 1, stdout: '', lines: 2 })
  return stderr.trimEnd()
}

async function onDatabase({ connection }: TestDatabase, statement: string): Promise<void> {
  const client = new pg.Client(connection)
  await client.connect()
  await client.query(statement)
  await client.end()
}

const PROGRAMS: [script: string, args: string[]][] = [
  ['../src/main', []],
  ['migrate', ['deploy']],
  ['seed', []],
  ['admin', ['create-account', '--name', 'A', '--owner', 'B', '--email', 'b@example.com']],
]

test.each(PROGRAMS)('%s without CREATE on the database names the right and how to grant it', async (script, args) => {
  const database = await emptyDatabase()
  const { database: name } = database.connection
  expect(await refusal(database, script, args)).toContain(
    `The database role ${role} lacks the right CREATE on the database ${name}, which creating tables needs: GRANT CREATE ON DATABASE "${name}" TO "${role}"`,
  )
})

test.each(PROGRAMS)('%s without CREATE on the schema public says so', async (script, args) => {
  const database = await emptyDatabase()
  await admin.query(`grant create on database ${database.connection.database} to ${role}`)
  expect(await refusal(database, script, args)).toMatch(
    /The database role lacks a right: permission denied for schema public; docs\/operations\.md/,
  )
})

test('a role that may not read the tables of another owner is told so', async () => {
  const database = await testDatabase()
  await admin.query(`grant create on database ${database.connection.database} to ${role}`)
  await onDatabase(database, `grant create on schema public to ${role}`)
  expect(await refusal(database, 'migrate', ['status'])).toMatch(/permission denied for table _prisma_migrations/)
  await onDatabase(database, `grant select on _prisma_migrations to ${role}; grant usage on schema pgboss to ${role}`)
  expect(await refusal(database, 'admin', ['create-account', '--name', 'A', '--owner', 'B', '--email', 'b@example.com'])).toMatch(
    // With Citus a table that exists is asked for its owner first.
    /The database role lacks a right: (permission denied for |must be owner of )/,
  )
})

test('a read-only database is named', async () => {
  const database = await emptyDatabase()
  await admin.query(`grant create on database ${database.connection.database} to ${role}`)
  await onDatabase(database, `grant create on schema public to ${role}`)
  await admin.query(`alter role ${role} in database ${database.connection.database} set default_transaction_read_only = on`)
  expect(await refusal(database, '../src/main', [])).toBe(
    'Gridpost cannot start. The database is read-only: connect to the primary, and make it accept writes',
  )
})
