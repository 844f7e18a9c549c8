import pg from 'pg'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { runFor } from '../src/platform/concurrency/current-account.ts'
import { type Database, openDatabase, type Sql, sql } from '../src/platform/database/database.ts'
import { PIPELINE_NAME } from '../src/platform/database/statements/pipelined-reads.ts'
import { labelled, shortRead } from '../src/platform/database/statements/statement.ts'
import { testDatabase } from './support/database.ts'

let db: Database
let other: pg.Client
beforeAll(async () => {
  const { connection } = await testDatabase()
  db = openDatabase(connection)
  other = new pg.Client(connection)
  await other.connect()
  await db.write(sql`create table things (id int primary key, name text)`)
  await db.write(sql`insert into things select n, 'thing ' || n from generate_series(1, 100) n`)
})
afterAll(async () => {
  await other.end()
  await db.close()
})

/** Returns the pid of the answering backend, if it serves the pipelined reads. */
async function pipelineBackend(): Promise<number | null> {
  const [row] = await db.read<{ pid: number }>(
    shortRead(
      'pipeline-backend',
      sql`select pid from pg_stat_activity where pid = pg_backend_pid() and application_name = ${PIPELINE_NAME}`,
    ),
  )
  return row?.pid ?? null
}
/** A statement is prepared from its third use on, and the first prepared one opens the connection. */
const pipelineOpen = () => expect.poll(pipelineBackend).not.toBe(null)

const nameOf = (id: number): Sql => sql`select name, pg_backend_pid() as pid from things where id = ${id}`
const names = (ids: number[]) => Promise.all(ids.map((id) => db.read<{ name: string; pid: number }>(shortRead('things', nameOf(id)))))

test('answers concurrent reads on one connection, each with its own rows', async () => {
  await pipelineOpen()
  for (let round = 0; round < 3; round++) await names([1])
  const ids = Array.from({ length: 100 }, (_, index) => index + 1)
  // On a busy machine some reads may go to the pool.
  const ask = async () => {
    const found = await names(ids)
    expect(found.map(([row]) => row?.name)).toEqual(ids.map((id) => `thing ${id}`))
    return new Set(found.map(([row]) => row?.pid)).size
  }
  await expect.poll(ask).toBe(1)
})

test('answers an account elsewhere after a large answer, so that its next ones do not delay others', async () => {
  await pipelineOpen()
  const pipeline = await pipelineBackend()
  const text = (length: number) => db.read<{ text: string }>(shortRead('text', sql`select repeat('x', ${length}) as text`))
  for (let round = 0; round < 3; round++) await text(1)
  const backendOf = (account: string) => runFor(account, pipelineBackend)
  expect(await backendOf('account 1')).toBe(pipeline)
  // On a busy machine a read may go to the pool, where it is nobody's concern.
  const asLargeReader = async () => {
    expect((await runFor('account 1', () => text(1_000_000)))[0]?.text).toHaveLength(1_000_000)
    return backendOf('account 1')
  }
  await expect.poll(asLargeReader).toBe(null)
  await expect.poll(() => backendOf('account 2')).toBe(pipeline)
})

test('keeps the error of one read from the others', async () => {
  const divided = (by: number) => db.read<{ value: number }>(shortRead('divided', sql`select 100 / ${by}::int as value`))
  await pipelineOpen()
  for (let round = 0; round < 3; round++) await divided(1)
  const found = await Promise.allSettled([divided(1), divided(0), divided(4)])
  expect(found.map((one) => (one.status === 'fulfilled' ? one.value[0]?.value : one.reason.code))).toEqual([100, '22012', 25])
})

test('moves a read that waits for a lock to the pool', async () => {
  // Other test files run on the same server.
  const waitingForLock = `select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock' and pid <> $1`
  await pipelineOpen()
  for (let round = 0; round < 3; round++) await names([1])
  await other.query('begin; lock table things in access exclusive mode')
  onTestFinished(async () => {
    await other.query('rollback')
  })
  const before = await pipelineBackend()
  const waiting = names([1])
  await expect.poll(async () => (await other.query(waitingForLock, [before])).rowCount).toBe(1)
  await expect.poll(pipelineBackend).toBe(before)
  await other.query('rollback')
  expect((await waiting)[0]?.[0]?.name).toBe('thing 1')
})

test('does not count an answer as missing while this process is too busy to read it', async () => {
  await pipelineOpen()
  const before = await pipelineBackend()
  for (let round = 0; round < 3; round++) await names([1])
  const whileBusy = async (busyMs: number) => {
    const first = names([1])
    // Waits until the statement has been sent.
    await new Promise((resolve) => setImmediate(() => setImmediate(resolve)))
    for (const busyUntil = performance.now() + busyMs; performance.now() < busyUntil; );
    const second = names([2])
    return (await Promise.all([first, second])).map(([rows]) => rows?.[0])
  }
  // On a busy machine PostgreSQL may not have answered yet either; the answer is then missing indeed.
  let found = await whileBusy(100)
  for (const busyMs of [400, 1_600]) if (found.some((row) => row?.pid !== before)) found = await whileBusy(busyMs)
  expect(found).toEqual([1, 2].map((id) => ({ name: `thing ${id}`, pid: before })))
})

test('repeats pending reads elsewhere when the connection is lost, and opens another', async () => {
  await pipelineOpen()
  const before = await pipelineBackend()
  // The read ends the server process that it is sent to, if that is the one of the pipeline.
  const ending = (id: number) =>
    db.read<{ name: string }>(
      shortRead(
        'ending',
        sql`select name from things where id = ${id} and case when id = ${id} and pg_backend_pid() = ${before} then pg_terminate_backend(${before}::int) else true end`,
      ),
    )
  for (let round = 0; round < 3; round++) await ending(0)
  expect(await ending(7)).toEqual([{ name: 'thing 7' }])
  await pipelineOpen()
  expect(await pipelineBackend()).not.toBe(before)
})

test('reads inside a transaction the rows that the transaction has written', async () => {
  for (let round = 0; round < 3; round++) await names([1])
  await db.transaction(async () => {
    await db.write(sql`insert into things values (101, 'only here')`)
    expect((await names([101]))[0]?.[0]?.name).toBe('only here')
  })
})

describe('a page', () => {
  const NEVER = new AbortController().signal
  const page = sql`select id, pg_backend_pid() as pid from things order by id limit 3`

  test('takes a trailing read along on its connection, once that is prepared', async () => {
    const read = async () => {
      const found: { least: number; pid: number }[] = []
      const statement = shortRead('trailing', sql`select min(id) as least, pg_backend_pid() as pid from things`)
      const trailing = { statement, answered: (rows: unknown[]) => void found.push(...(rows as typeof found)) }
      const rows = await db.page(labelled('page', page), { signal: NEVER, trailing })
      return found.map(({ least, pid }) => ({ least, isBehind: pid === Number(rows.textOf(0, 1)) }))
    }
    expect([await read(), await read()]).toEqual([[], []])
    expect(await read()).toEqual([{ least: 1, isBehind: true }])
  })

  test('of a transaction is read on its connection', async () => {
    await db.transaction(async () => {
      const [{ pid } = { pid: 0 }] = await db.read<{ pid: number }>(sql`select pg_backend_pid() as pid`)
      expect(Number((await db.page(labelled('page', page), { signal: NEVER })).textOf(0, 1))).toBe(pid)
    })
  })

  test('of a caller who has hung up is not sent', async () => {
    const reason = new Error('The caller has hung up')
    await expect(db.page(labelled('page', page), { signal: AbortSignal.abort(reason) })).rejects.toBe(reason)
  })

  test('that has more than 32 MB is refused', async () => {
    await db.write(sql`create table texts as select n as id, repeat('x', 1000000) as text from generate_series(1, 40) n`)
    const ask = db.page(labelled('texts', sql`select id, text from texts`), { signal: NEVER })
    await expect(ask).rejects.toThrow('The page has more than 32 MB; ask for fewer records with limit, or for fewer fields with fields')
  })
})
