import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import pg from 'pg'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { EmbeddedPostgresError, openEmbeddedPostgres } from '../src/platform/database/embedded/embedded-postgres.ts'

let dataDir: string

beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), 'gridpost-embedded-'))
})

afterEach(async () => {
  for (const user of users.splice(0)) user.kill('SIGKILL')
  // A failed test may leave a server running: adopting and leaving it stops it.
  if (existsSync(join(dataDir, 'postgres', 'postmaster.pid'))) await (await open().catch(() => undefined))?.leave()
  rmSync(dataDir, { recursive: true, force: true })
})

const open = (dir = dataDir) => openEmbeddedPostgres({ dataDir: dir, settings: { fsync: 'off' } })

const users: ChildProcess[] = []

/** Starts another process that uses the database. */
async function startUser(): Promise<{ leave(): Promise<void>; kill(): Promise<void> }> {
  const program = fileURLToPath(new URL('support/use-postgres.ts', import.meta.url))
  const child = spawn(process.execPath, [program, dataDir], { stdio: ['pipe', 'pipe', 'inherit'] })
  users.push(child)
  await once(child.stdout, 'data')
  const ended = once(child, 'exit')
  return {
    leave: async () => {
      child.stdin.end()
      await ended
    },
    kill: async () => {
      child.kill('SIGKILL')
      await ended
    },
  }
}

async function ask<Row extends pg.QueryResultRow>(connection: pg.ClientConfig | string, text: string): Promise<Row[]> {
  const client = new pg.Client(connection)
  await client.connect()
  try {
    return (await client.query<Row>(text)).rows
  } finally {
    await client.end()
  }
}

const pidFile = () => join(dataDir, 'postgres', 'postmaster.pid')
const serverPid = () => Number.parseInt(readFileSync(pidFile(), 'utf8'), 10)
const isServerRunning = () => existsSync(pidFile())

async function killServer(): Promise<void> {
  const pid = serverPid()
  process.kill(pid, 'SIGKILL')
  // The workers of the server notice it a moment later; until then they hold the shared memory.
  await expect.poll(() => existsSync(`/proc/${pid}/cwd`)).toBe(false)
}

test('a first start creates a UTF-8 database with a built-in locale, a socket and no TCP port', async () => {
  const postgres = await open()
  const [row] = await ask(
    postgres.connection,
    `SELECT current_setting('server_version_num')::int / 10000 AS major, current_setting('listen_addresses') AS addresses,
       current_setting('jit') AS jit, pg_encoding_to_char(encoding) AS encoding, datlocprovider::text AS provider, datlocale AS locale
     FROM pg_database WHERE datname = current_database()`,
  )
  await postgres.leave()
  expect(row).toEqual({ major: 18, addresses: '', jit: 'off', encoding: 'UTF8', provider: 'b', locale: 'C.UTF-8' })
  expect(isServerRunning()).toBe(false)
})

test('the URL leads to the same database as the connection', async () => {
  const postgres = await open()
  await ask(postgres.connection, 'CREATE TABLE here (id int)')
  expect(await ask(postgres.url, `SELECT to_regclass('here')::text AS name`)).toEqual([{ name: 'here' }])
  await postgres.leave()
})

test('a second start continues with the data', async () => {
  const first = await open()
  await ask(first.connection, 'CREATE TABLE kept AS SELECT 7 AS value')
  await first.leave()
  const second = await open()
  expect(await ask(second.connection, 'SELECT value FROM kept')).toEqual([{ value: 7 }])
  await second.leave()
})

test('processes share one server, and the last to leave stops it', async () => {
  const postgres = await open()
  const pid = serverPid()
  const user = await startUser()
  expect(serverPid()).toBe(pid)
  await postgres.leave()
  expect(isServerRunning()).toBe(true)
  await user.leave()
  expect(isServerRunning()).toBe(false)
})

test('processes that start concurrently on an empty folder get the same server', async () => {
  const [postgres, ...others] = await Promise.all([open(), startUser(), startUser()])
  expect(
    await ask(postgres.connection, `SELECT count(*)::int AS users FROM pg_stat_activity WHERE application_name LIKE 'gridpost presence %'`),
  ).toEqual([{ users: 3 }])
  await Promise.all(others.map((user) => user.leave()))
  expect(isServerRunning()).toBe(true)
  await postgres.leave()
  expect(isServerRunning()).toBe(false)
})

test('a process killed with -9 no longer counts as soon as it is dead', async () => {
  for (let round = 0; round < 5; round++) {
    const [user, postgres] = await Promise.all([startUser(), open()])
    await user.kill()
    await postgres.leave()
    expect(isServerRunning()).toBe(false)
  }
})

test('the server outlives its only user killed with -9, and the next start adopts it', async () => {
  const user = await startUser()
  const pid = serverPid()
  await user.kill()
  const postgres = await open()
  expect(serverPid()).toBe(pid)
  await postgres.leave()
  expect(isServerRunning()).toBe(false)
})

test('a process that starts while the last one leaves still gets a server', async () => {
  for (let round = 0; round < 5; round++) {
    const leaving = await open()
    const [, coming] = await Promise.all([leaving.leave(), open()])
    expect(await ask(coming.connection, 'SELECT 1 AS one')).toEqual([{ one: 1 }])
    await coming.leave()
    expect(isServerRunning()).toBe(false)
  }
})

test('a pid file left behind by a killed server is replaced', async () => {
  const user = await startUser()
  await user.kill()
  await killServer()
  const postgres = await open()
  expect(await ask(postgres.connection, 'SELECT 1 AS one')).toEqual([{ one: 1 }])
  await postgres.leave()
})

test('a pid file whose number now belongs to another process is replaced', async () => {
  await (await open()).leave()
  writeFileSync(pidFile(), `${process.pid}\n${join(dataDir, 'postgres')}\n1700000000\n5432\n${dataDir}\n\n  123  456\nready   \n`)
  const postgres = await open()
  expect(serverPid()).not.toBe(process.pid)
  await postgres.leave()
})

test('a server that dies under its user is restarted', async () => {
  const postgres = await open()
  await killServer()
  await expect.poll(() => ask(postgres.connection, 'SELECT 1 AS one')).toEqual([{ one: 1 }])
  await postgres.leave()
  expect(isServerRunning()).toBe(false)
})

test('a process that leaves while it restarts a dead server stops that server', async () => {
  const postgres = await open()
  const died = serverPid()
  await killServer()
  await expect.poll(() => [Number.NaN, died].includes(serverPid()), { interval: 1 }).toBe(false)
  await postgres.leave()
  expect(isServerRunning()).toBe(false)
})

test('the server runs in its own session, out of reach of Ctrl-C', async () => {
  const postgres = await open()
  const [, , , , group, session] = readFileSync(`/proc/${serverPid()}/stat`, 'utf8')
    .replace(/\(.*\)/, '()')
    .split(' ')
  await postgres.leave()
  expect(Number(group)).not.toBe(process.pid)
  expect(session).toBe(group)
})

test('a path too long for a socket works', async () => {
  const long = join(dataDir, 'a'.repeat(120))
  const postgres = await open(long)
  expect(Buffer.byteLength(postgres.connection.host)).toBeLessThan(60)
  expect(await ask(postgres.url, 'SELECT 1 AS one')).toEqual([{ one: 1 }])
  await postgres.leave()
  expect(existsSync(postgres.connection.host)).toBe(false)
})

test('a path with spaces, quotes, commas and letters of many scripts works', async () => {
  const odd = join(dataDir, `it's a "dir", näh 100% ok?`)
  const postgres = await open(odd)
  expect(await ask(postgres.url, 'SELECT 1 AS one')).toEqual([{ one: 1 }])
  await postgres.leave()
})

/** Returns the error, which must be one line. */
async function refusal(dir = dataDir): Promise<string> {
  const error = await open(dir).then(
    async (postgres) => {
      await postgres.leave()
      throw new Error('It was opened')
    },
    (thrown: unknown) => thrown,
  )
  expect(error).toBeInstanceOf(EmbeddedPostgresError)
  const { message } = error as Error
  expect(message).not.toContain('\n')
  return message
}

test('data of another major version give one clear line', async () => {
  mkdirSync(join(dataDir, 'postgres'))
  writeFileSync(join(dataDir, 'postgres', 'PG_VERSION'), '16\n')
  expect(await refusal()).toMatch(/was made by PostgreSQL 16, this release brings PostgreSQL 18/)
})

test('a folder without a database gives one clear line', async () => {
  mkdirSync(join(dataDir, 'postgres'))
  writeFileSync(join(dataDir, 'postgres', 'notes.txt'), 'not a database')
  expect(await refusal()).toMatch(/is broken: PG_VERSION is missing/)
})

test('a database with missing files gives one clear line', async () => {
  await (await open()).leave()
  rmSync(join(dataDir, 'postgres', 'global', 'pg_control'))
  expect(await refusal()).toMatch(/does not start: .*pg_control/)
})

test('a DATA_DIR that is a file gives one clear line', async () => {
  const file = join(dataDir, 'file')
  writeFileSync(file, '')
  expect(await refusal(file)).toMatch(/^DATA_DIR cannot be used: /)
})
