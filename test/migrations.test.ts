import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { z } from 'zod'
import { compareWithSchema } from '../scripts/catalogue.ts'
import { diffSchemas } from '../scripts/schema-engine.ts'
import { queues } from '../src/background.ts'
import { deploy } from '../src/platform/database/migrations/deploy.ts'
import { MIGRATIONS_DIR, MigrationError, readMigrations, status } from '../src/platform/database/migrations/migrations.ts'
import { DEAD_LETTERS, defineQueue } from '../src/platform/jobs/queue.ts'
import { queueSchema } from '../src/platform/jobs/queue-schema.ts'
import { emptyDatabase, type TestDatabase, testDatabase } from './support/database.ts'

let migrationsDir: string

beforeEach(() => {
  migrationsDir = mkdtempSync(join(tmpdir(), 'gridpost-migrations-'))
})

afterEach(() => rmSync(migrationsDir, { recursive: true, force: true }))

function write(name: string, sql: string): void {
  mkdirSync(join(migrationsDir, name), { recursive: true })
  writeFileSync(join(migrationsDir, name, 'migration.sql'), sql)
}

async function using<T>({ connection }: TestDatabase, use: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client(connection)
  await client.connect()
  try {
    return await use(client)
  } finally {
    await client.end()
  }
}

const exists = (database: TestDatabase, table: string) =>
  using(database, async (client) => (await client.query('SELECT to_regclass($1) IS NOT NULL AS found', [table])).rows[0].found)

test('a connection that is lost during a deploy gives one line', async () => {
  const database = await emptyDatabase()
  // The first deploy is held up by this lock, in the middle of a migration.
  write('1_first', 'SELECT pg_advisory_xact_lock(1); CREATE TABLE first (id int)')
  await using(database, async (client) => {
    await client.query('SELECT pg_advisory_lock(1)')
    const failing = deploy(database.connection, { migrationsDir }).catch((error: unknown) => error)
    await vi.waitFor(
      async () => {
        const { rowCount } = await client.query(`
        SELECT pg_terminate_backend(pid) FROM pg_stat_activity
        WHERE application_name = 'gridpost deploy' AND datname = current_database() AND wait_event = 'advisory'`)
        expect(rowCount).toBe(1)
      },
      { timeout: 60_000 },
    )
    const error = (await failing) as Error
    expect(error).toBeInstanceOf(MigrationError)
    expect(error.message).toMatch(/^Migration 1_first failed and was rolled back: terminating connection/)
  })
  expect(await exists(database, 'first')).toBe(false)

  await using(database, async (client) => {
    await client.query('SELECT pg_advisory_lock(72707369)')
    const failing = deploy(database.connection, { migrationsDir }).catch((error: unknown) => error)
    await vi.waitFor(
      async () => {
        const { rowCount } = await client.query(`
        SELECT pg_terminate_backend(pid) FROM pg_stat_activity
        WHERE application_name = 'gridpost deploy' AND datname = current_database() AND wait_event = 'advisory'`)
        expect(rowCount).toBe(1)
      },
      { timeout: 60_000 },
    )
    expect(await failing).toMatchObject({
      message: expect.stringMatching(/^The database went away while it was being prepared: terminating/),
    })
  })
})

test('a second deploy has nothing to do', async () => {
  const database = await emptyDatabase()
  const names = readMigrations().map(({ name }) => name)
  expect(await deploy(database.connection)).toEqual(names)
  expect(await deploy(database.connection)).toEqual([])
  expect(await using(database, (client) => status(client))).toEqual({ applied: names, pending: [] })
})

test('only one of two concurrent deploys works, and both succeed', async () => {
  const database = await emptyDatabase()
  const applied = await Promise.all([deploy(database.connection), deploy(database.connection), deploy(database.connection)])
  expect(applied.flat()).toEqual(readMigrations().map(({ name }) => name))
})

test('status lists the missing migrations before the first deploy', async () => {
  const database = await emptyDatabase()
  const { applied, pending } = await using(database, (client) => status(client))
  expect(applied).toEqual([])
  expect(pending.map(({ name }) => name)).toEqual(readMigrations().map(({ name }) => name))
})

test('a migration that was changed after it was applied is refused by name', async () => {
  const database = await emptyDatabase()
  write('1_first', 'CREATE TABLE first (id int)')
  await deploy(database.connection, { migrationsDir })
  write('1_first', 'CREATE TABLE first (id bigint)')
  await expect(deploy(database.connection, { migrationsDir })).rejects.toThrow(/^Migration 1_first was changed after it had been applied/)
})

test('a failed migration is rolled back entirely, earlier ones stay, and the next deploy continues', async () => {
  const database = await emptyDatabase()
  write('1_first', 'CREATE TABLE first (id int)')
  write('2_second', 'CREATE TABLE second (id int); SELECT 1/0')
  const failing = deploy(database.connection, { migrationsDir })
  await expect(failing).rejects.toThrow(MigrationError)
  await expect(failing).rejects.toThrow('Migration 2_second failed and was rolled back: division by zero')
  expect(await exists(database, 'first')).toBe(true)
  expect(await exists(database, 'second')).toBe(false)
  write('2_second', 'CREATE TABLE second (id int)')
  expect(await deploy(database.connection, { migrationsDir })).toEqual(['2_second'])
})

test('migrations of a later release are no error', async () => {
  const database = await emptyDatabase()
  write('1_first', 'SELECT 1')
  write('2_later', 'SELECT 2')
  await deploy(database.connection, { migrationsDir })
  rmSync(join(migrationsDir, '2_later'), { recursive: true })
  expect(await deploy(database.connection, { migrationsDir })).toEqual([])
})

test('a deploy waits for a busy table without blocking others', async () => {
  const database = await emptyDatabase()
  write('1_first', 'CREATE TABLE busy (id int)')
  await deploy(database.connection, { migrationsDir })
  write('2_second', 'ALTER TABLE busy ADD COLUMN more int')
  await using(database, async (reader) => {
    await reader.query('BEGIN')
    await reader.query('SELECT * FROM busy')
    const deploying = deploy(database.connection, { migrationsDir })
    // Waits until a second attempt is blocked: the first one has let other statements pass.
    const attempts = new Set<string>()
    await using(database, (watcher) =>
      vi.waitFor(
        async () => {
          const { rows } = await watcher.query<{ began: string }>(
            `SELECT xact_start::text AS began FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`,
          )
          for (const { began } of rows) attempts.add(began)
          expect(attempts.size).toBeGreaterThan(1)
        },
        { timeout: 60_000 },
      ),
    )
    await reader.query('COMMIT')
    expect(await deploying).toEqual(['2_second'])
  })
})

test('a deploy that deadlocks with running work is rolled back and done again', async () => {
  const database = await emptyDatabase()
  write('1_first', 'CREATE TABLE first (id int); CREATE TABLE second (id int)')
  await deploy(database.connection, { migrationsDir })
  write('2_second', 'ALTER TABLE first ADD COLUMN more int; ALTER TABLE second ADD COLUMN more int')
  await using(database, async (worker) => {
    // PostgreSQL ends the transaction that is the first to look for a deadlock.
    await worker.query(`SET deadlock_timeout = '1min'`)
    await worker.query('BEGIN')
    await worker.query('SELECT * FROM second')
    const deploying = deploy(database.connection, { migrationsDir })
    await using(database, (watcher) =>
      vi.waitFor(
        async () => {
          const { rowCount } = await watcher.query(
            `SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`,
          )
          expect(rowCount).toBe(1)
        },
        { timeout: 60_000 },
      ),
    )
    await worker.query('SELECT * FROM first')
    await worker.query('COMMIT')
    expect(await deploying).toEqual(['2_second'])
  })
})

test('queues are created with their options, which later deploys update', async () => {
  const database = await emptyDatabase()
  const queue = (retryLimit: number) => defineQueue({ name: 'letters', schema: z.object({}), options: { retryLimit } })
  await deploy(database.connection, { prepare: queueSchema([queue(3)]) })
  await deploy(database.connection, { prepare: queueSchema([queue(4)]) })
  const { rows } = await using(database, (client) =>
    client.query('SELECT name, retry_limit, dead_letter, notify FROM pgboss.queue WHERE name = $1', ['letters']),
  )
  expect(rows).toEqual([{ name: 'letters', retry_limit: 4, dead_letter: DEAD_LETTERS, notify: true }])
})

test('a deploy that changes no option of a queue writes no row of it', async () => {
  const database = await testDatabase()
  const versions = () =>
    using(
      database,
      async (client) => (await client.query<{ name: string }>('SELECT name, xmin::text FROM pgboss.queue ORDER BY name')).rows,
    )
  const before = await versions()
  expect(before.map(({ name }) => name).sort()).toEqual([...queues.map(({ name }) => name), DEAD_LETTERS].sort())
  await deploy(database.connection, { prepare: queueSchema(queues) })
  expect(await versions()).toEqual(before)
})

describe('the drift check', () => {
  const schemaSql = async () => {
    const { connection } = await testDatabase()
    return diffSchemas(connection, null, readFileSync(new URL('../prisma/schema.prisma', import.meta.url), 'utf8'))
  }

  test('finds that the committed migrations give the schema', async () => {
    const { connection } = await testDatabase()
    const { drift, extras } = await compareWithSchema(connection, await schemaSql())
    expect(drift).toEqual([])
    expect(extras).toContain('unlogged table rate_windows')
  })

  test('finds a column that no migration creates, and an index that the schema lacks', async () => {
    const { connection } = await testDatabase()
    cpSync(MIGRATIONS_DIR, migrationsDir, { recursive: true })
    write('9_stray', 'CREATE INDEX stray ON tasks (title)')
    const { drift } = await compareWithSchema(
      connection,
      `${await schemaSql()}; ALTER TABLE tasks ADD COLUMN "forgotten" text`,
      migrationsDir,
    )
    expect(drift).toEqual([
      'only in the schema: column tasks.forgotten text',
      'only in the migrations: index stray CREATE INDEX stray ON public.tasks USING btree (title)',
    ])
  })

  test('finds a missing hand-written constraint', async () => {
    const { connection } = await testDatabase()
    cpSync(MIGRATIONS_DIR, migrationsDir, { recursive: true })
    write('9_lost', 'DROP INDEX views_one_default_per_table')
    const { drift } = await compareWithSchema(connection, await schemaSql(), migrationsDir)
    expect(drift).toEqual([expect.stringContaining('but not made: ^index views_one_default_per_table')])
  })
})

describe('the rules between columns hold in the database', () => {
  const columns = [
    'status',
    'completed_at',
    'due_date',
    'due_time',
    'reminder_offset_mins',
    'reminder_time',
    'space_id',
    'table_id',
    'record_id',
  ]
  const insert = async (values: Record<string, unknown>) => {
    const { status = 'open', ...others } = values
    const row: Record<string, unknown> = { status, ...others }
    return using(await testDatabase(), (client) =>
      client.query(
        `INSERT INTO tasks (account_id, creator_user_id, assignee_user_id, title, ${columns.join(', ')})
         VALUES (1, 1, 1, 'Call', ${columns.map((_, index) => `$${index + 1}`).join(', ')})`,
        columns.map((column) => row[column] ?? null),
      ),
    )
  }

  test.each([
    ['a time needs a date', { due_time: '10:00' }, 'tasks_due_time_check'],
    [
      'there is one kind of reminder',
      { due_date: '2026-01-01', due_time: '10:00', reminder_offset_mins: 5, reminder_time: '09:00' },
      'tasks_one_reminder_check',
    ],
    ['an offset needs a time', { due_date: '2026-01-01', reminder_offset_mins: 5 }, 'tasks_reminder_offset_check'],
    ['a reminder time needs a date', { reminder_time: '09:00' }, 'tasks_reminder_time_check'],
    [
      'a reminder time excludes a due time',
      { due_date: '2026-01-01', due_time: '10:00', reminder_time: '09:00' },
      'tasks_reminder_time_check',
    ],
    ['done needs an instant', { status: 'done' }, 'tasks_completed_check'],
    ['open has no instant', { completed_at: '2026-01-01 00:00:00' }, 'tasks_completed_check'],
    ['a task stands on a record or nowhere', { space_id: 1, table_id: 2 }, 'tasks_place_check'],
    ['a status is open or done', { status: 'lost' }, 'tasks_status_check'],
  ])('%s', async (_, values, constraint) => {
    await expect(insert(values)).rejects.toMatchObject({ code: '23514', constraint })
  })

  test.each([
    ['a task with nothing but a title', {}],
    ['a dated task with a time of day', { due_date: '2026-01-01', reminder_time: '09:00' }],
    ['a timed task with an offset', { due_date: '2026-01-01', due_time: '10:00', reminder_offset_mins: 0 }],
    ['a task done on a record', { status: 'done', completed_at: '2026-01-01 00:00:00', space_id: 1, table_id: 2, record_id: 3 }],
  ])('%s is accepted', async (_, values) => {
    await expect(insert(values)).resolves.toMatchObject({ rowCount: 1 })
  })
})
