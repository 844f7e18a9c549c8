/** Writes of several requests that share a commit: each keeps its own result, its own error and its own wait. */

import { setImmediate as turn } from 'node:timers/promises'
import pg from 'pg'
import { expect, test, vi } from 'vitest'
import { currentAccount, runFor } from '../src/platform/concurrency/current-account.ts'
import { openDatabase, raw, sql } from '../src/platform/database/database.ts'
import { shortWrite } from '../src/platform/database/statements/statement.ts'
import { testApp } from './support/app.ts'
import { testDatabase } from './support/database.ts'
import { lockWaits } from './support/servers.ts'
import { makeTable } from './support/tables.ts'
import { taskSupport } from './support/tasks.ts'

const app = await testApp()
const { onRecord, holding } = taskSupport(app)

await app.db.write(sql`create table written (id int generated always as identity, value int check (value <> 13), xact xid8)`)
const write = (value: number, group = 'a') =>
  app.db.write<{ id: number; value: number; xact: string }>(
    shortWrite(
      'write',
      group,
      sql`insert into written (value, xact) values (${value}, pg_current_xact_id()) returning id, value, xact::text`,
    ),
  )
const stored = async () => (await app.db.read<{ value: number }>(sql`select value from written order by id`)).map(({ value }) => value)
/** A statement is prepared from its third use on, and only prepared ones are grouped. */
const prepare = async () => {
  for (let use = 0; use < 3; use++) await write(0)
  await app.db.write(sql`delete from written`)
}
const range = (count: number) => Array.from({ length: count }, (_, index) => index + 100)

test('commits writes that arrive together at once, and returns to each its own rows in their order', async () => {
  await prepare()
  const found = await Promise.all(range(20).map((value) => write(value)))
  expect(found.map(([row]) => row?.value)).toEqual(range(20))
  expect(new Set(found.map(([row]) => row?.xact)).size).toBe(1)
  expect(await stored()).toEqual(range(20))
})

test('commits a limited number at once, and other groups by themselves', async () => {
  await prepare()
  const found = await Promise.all([...range(40).map((value) => write(value)), write(1, 'b')])
  const counts = Map.groupBy(found.flat(), ({ xact }) => xact)
  expect([...counts.values()].map((rows) => rows.length).sort()).toEqual([1, 32, 8])
})

test('keeps the error of one write from the others', async () => {
  await prepare()
  const found = await Promise.allSettled([1, 2, 13, 4].map((value) => write(value)))
  expect(found.map((one) => (one.status === 'fulfilled' ? one.value[0]?.value : one.reason.code))).toEqual([1, 2, '23514', 4])
  expect((await stored()).sort()).toEqual([1, 2, 4])
})

test('keeps an error that only the commit finds from the others', async () => {
  await app.db.write(sql`create table distinct_values (value int unique deferrable initially deferred)`)
  const add = (value: number) => app.db.write(shortWrite('add', 'a', sql`insert into distinct_values values (${value})`))
  for (const value of [1, 2, 3]) await add(value)
  const found = await Promise.allSettled([4, 3, 5, 5].map((value) => add(value)))
  expect(found.map((one) => (one.status === 'fulfilled' ? 'stored' : one.reason.code)).sort()).toEqual([
    '23505',
    '23505',
    'stored',
    'stored',
  ])
  const rows = await app.db.read<{ value: number }>(sql`select value from distinct_values order by value`)
  expect(rows.map(({ value }) => value)).toEqual([1, 2, 3, 4, 5])
})

test('keeps a value that cannot be sent from the others', async () => {
  await prepare()
  const unsendable = {
    toPostgres: () => {
      throw new Error('unsendable')
    },
  } as unknown as number
  const found = await Promise.allSettled([write(1), write(unsendable), write(3)])
  expect(found.map((one) => (one.status === 'fulfilled' ? one.value[0]?.value : one.reason.message))).toEqual([1, 'unsendable', 3])
  expect(await stored()).toEqual([1, 3])
})

test('fails all writes of a connection that is lost, and repeats none of them', async () => {
  await prepare()
  const end = () => app.db.write(shortWrite('end', 'a', sql`select pg_terminate_backend(pg_backend_pid())`))
  for (let use = 0; use < 3; use++) await end().catch(() => {})
  const found = await Promise.allSettled([write(1), end(), write(3)])
  expect(found.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected'])
  expect(await stored()).toEqual([])
  expect((await write(4))[0]?.value).toBe(4)
})

test('repeats none if the server ends the connection with an error in its own language', async () => {
  await prepare()
  const end = () => app.db.write(shortWrite('end', 'a', sql`select pg_terminate_backend(pg_backend_pid())`))
  for (let use = 0; use < 3; use++) await end().catch(() => {})
  const { query } = pg.Client.prototype
  vi.spyOn(pg.Client.prototype, 'query').mockImplementation(function (this: pg.Client, ...args: unknown[]) {
    const { connection } = this as unknown as { connection: NodeJS.EventEmitter }
    connection.prependOnceListener('errorMessage', (error) => Object.assign(error, { severity: 'PANIK', code: '53100' }))
    return (query as (...of: unknown[]) => unknown).apply(this, args)
  } as never)
  const found = await Promise.allSettled([write(1), end(), write(3)])
  vi.restoreAllMocks()
  expect(found.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected'])
  expect(await stored()).toEqual([])
})

test('counts a statement once that ran again alone', async () => {
  const { connection } = await testDatabase()
  const texts: string[] = []
  const db = openDatabase(connection, { observe: (text) => () => texts.push(text) })
  const divide = (by: number) => db.write(shortWrite('divide', 'a', sql`select 1 / ${by}::int`))
  for (let use = 0; use < 3; use++) await divide(1)
  texts.length = 0
  const found = await Promise.allSettled([divide(1), divide(0), divide(2)])
  expect(found.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled'])
  expect(texts).toHaveLength(3)
  await db.close()
})

test('takes a connection in the name of a caller who waits, not of the one who came first', async () => {
  await prepare()
  const accounts: string[] = []
  const { connect } = pg.Pool.prototype
  vi.spyOn(pg.Pool.prototype, 'connect').mockImplementation(function (this: pg.Pool, ...args: unknown[]) {
    accounts.push(currentAccount())
    return (connect as (...of: unknown[]) => unknown).apply(this, args)
  } as never)
  const first = runFor('first', () => write(1))
  await turn()
  await Promise.all([first, runFor('second', () => write(2))])
  vi.restoreAllMocks()
  expect(accounts).toEqual(['first', 'second'])
})

test('belongs to the open transaction of its caller', async () => {
  await prepare()
  const undone = app.db.transaction(async () => {
    await write(1)
    throw new Error('undone')
  })
  await expect(undone).rejects.toThrow('undone')
  expect(await stored()).toEqual([])
})

test('lets only the write wait that a lock blocks', async () => {
  const { member, table, record, other } = await onRecord()
  const create = (on: number) => app.as(member).post(`/api/tasks/onRecord/${table}/${on}/create`, { title: 'Call' })
  for (let use = 0; use < 3; use++) await create(other)
  const release = await holding(raw(`select 1 from t${table}.records where id = ${record} for update`))
  const ended: string[] = []
  const noting = async (name: string, request: Promise<{ status: number }>) => {
    expect((await request).status).toBe(200)
    ended.push(name)
  }
  const blocked = [noting('blocked', create(record)), noting('blocked', create(record))]
  await expect.poll(lockWaits).toHaveLength(2)
  await Promise.all(range(5).map(() => noting('free', create(other))))
  expect(ended).toEqual(['free', 'free', 'free', 'free', 'free'])
  await release()
  await Promise.all(blocked)
})

test('creates every record once, with its own values, while one of them is refused by the database', async () => {
  const account = await app.account()
  const { id, path } = await makeTable(app, account)
  const create = (name: string) => app.as(account.member).post(`${path}/records/create`, { data: { name } })
  for (let use = 0; use < 3; use++) await create('first')
  await app.db.write(raw(`alter table t${id}.records add check (name <> 'record 17')`))
  const answers = await Promise.all(range(30).map((_, index) => create(`record ${index}`)))
  const names = range(30).map((_, index) => `record ${index}`)
  expect(answers.map(({ status, body }) => (status === 200 ? body.data.name : status))).toEqual(
    names.map((name) => (name === 'record 17' ? 500 : name)),
  )
  const rows = await app.db.read<{ id: number; name: string }>(raw(`select id, name from t${id}.records where name like 'record%'`))
  const created = answers.flatMap(({ status, body }) => (status === 200 ? [[body.id, body.data.name]] : []))
  expect(rows.map((row) => [row.id, row.name]).sort()).toEqual(created.sort())
})

test('lets one of several updates win that name the same version, and repeats none', async () => {
  const { member, table, record } = await onRecord()
  const update = (name: string, version: number) =>
    app.as(member).post(`/api/table/${table}/record/${record}/update`, { data: { name } }, { 'if-match': `"${version}"` })
  for (let version = 1; version <= 3; version++) expect((await update(`name ${version}`, version)).status).toBe(200)
  const answers = await Promise.all(range(10).map((_, index) => update(`last ${index}`, 4)))
  expect(answers.map(({ status }) => status).sort()).toEqual([200, ...range(9).map(() => 409)])
  const { body, headers } = await app.as(member).get(`/api/table/${table}/record/${record}/get`)
  expect(body.data.name).toBe(answers.find(({ status }) => status === 200)?.body.data.name)
  expect(headers.get('etag')).toBe('"5"')
})

test('writes the events and notifications of each task and comment once', async () => {
  const { account, member, viewer, table, record, path } = await onRecord()
  const task = () => app.as(member).post(`${path}/create`, { title: 'Call', assignee_user_id: viewer.id })
  const comment = () => app.as(member).post(`/api/table/${table}/record/${record}/comments/create`, { content: `@{${viewer.id}:Vera}` })
  for (let use = 0; use < 3; use++) await Promise.all([task(), comment()])
  const answers = await Promise.all(range(10).flatMap(() => [task(), comment()]))
  expect(answers.map(({ status }) => status)).toEqual(range(20).map(() => 200))
  expect(new Set(answers.map(({ body }) => `${body.title ?? 'comment'} ${body.id}`)).size).toBe(20)
  const counted = async (of: string) => (await app.db.read(raw(of))).length
  expect(await counted(`select 1 from notifications where user_id = ${viewer.id}`)).toBe(26)
  expect(await counted(`select 1 from events where account_id = ${account.id} and type = 'notification'`)).toBe(26)
  expect(await counted(`select 1 from events where account_id = ${account.id} and type in ('task.created', 'comment.created')`)).toBe(26)
})
