/** Databases for tests. Files run at the same time, so each has its own clone; each test of a file has its own account. */
import pg from 'pg'
import { inject } from 'vitest'
import { TWO_PHASES_TABLE } from '../../src/platform/database/nodes/two-phases.ts'
import { inDatabase, joinNodes } from './citus.ts'

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

/** Makes a cluster of the database, in which every new space is on a node. */
async function placeAllSpaces(servers: { host: string; port: number; user: string }[], database: string): Promise<void> {
  const [coordinator, ...workers] = servers.map((connection) => ({ connection: { ...connection, database, ssl: false as const } }))
  for (const { connection } of workers) await inDatabase({ connection }, 'postgres', [`CREATE DATABASE ${database}`])
  if (coordinator) await joinNodes({ coordinator, workers }, database)
  if (coordinator) await inDatabase(coordinator, database, PLACE_SPACES)
}

const PLACE_SPACES = [
  ...TWO_PHASES_TABLE,
  'set citus.enable_ddl_propagation = off',
  `create function gridpost_spaces.place() returns trigger language plpgsql as $$
    begin
      execute format('create table gridpost_spaces.s%s (id int primary key)', new.id);
      perform create_distributed_table(format('gridpost_spaces.s%s', new.id)::regclass, null, colocate_with => 'none');
      return null;
    end $$`,
  'create trigger place_space after insert on public.spaces for each row execute function gridpost_spaces.place()',
  // Like the trigger of a constraint, so that a comparison with the migrations leaves it out.
  `update pg_trigger set tgisinternal = true where tgname = 'place_space'`,
]

let created = 0

async function createDatabase(template: string): Promise<TestDatabase> {
  const server = inject('postgres')
  const database = `test_${process.pid}_${Date.now().toString(36)}_${created++}`
  const client = new pg.Client({ ...server, database: 'postgres' })
  await client.connect()
  try {
    await client.query(`CREATE DATABASE ${database} TEMPLATE ${template}`)
    const nodes = inject('nodes')
    if (nodes && template !== 'template0') {
      // Citus also writes catalogues that all databases of a node share. Of two files that join the nodes at once, one has failed.
      await client.query('select pg_advisory_lock(1)')
      await placeAllSpaces([server, ...nodes], database)
    }
  } finally {
    await client.end()
  }
  return {
    connection: { ...server, database, ssl: false },
    url: `postgresql://${server.user}@localhost:${server.port}/${database}?host=${encodeURIComponent(server.host)}`,
  }
}
