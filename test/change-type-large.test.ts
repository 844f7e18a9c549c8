/** Converts a field of a table that is too large to be scanned under a lock. */
import { expect, test } from 'vitest'
import { check } from '../src/conversions/job/check.ts'
import { convert } from '../src/conversions/job/convert.ts'
import { adapt } from '../src/indexes/service.ts'
import { systemContext } from '../src/platform/context.ts'
import { sql } from '../src/platform/database/database.ts'
import type { Statement } from '../src/platform/database/statements/statement.ts'
import { indexBuilder } from '../src/tables/ddl.ts'
import { withBuildLock } from '../src/tables/index-builds.ts'
import { testApp } from './support/app.ts'
import { watchedContext } from './support/context.ts'
import { runConversion } from './support/conversions.ts'
import { fillTable, makeTable } from './support/tables.ts'

const app = await testApp()
const account = await app.account()
const as = app.as(account.owner)
const raw = (text: string) => sql([text] as unknown as TemplateStringsArray)

/** Creates a table with the text field `cell`, whose records hold their ids, or another expression of `i`. */
async function tableOf(records: number, cell = 'i::text'): Promise<number> {
  const { id } = await makeTable(app, account, { fields: [{ name: 'Cell', type: 'text' }] })
  await fillTable(app, id, records, { cell })
  return id
}

const changeType = async (table: number, body: object) => (await as.post(`/api/table/${table}/field/cell/changeType`, body)).body
/** Starts a conversion, and lets it count the cells. */
async function counted(table: number, body: object) {
  const { job_id } = await changeType(table, body)
  await check(systemContext(app.deps), { conversion_id: job_id })
  return { job_id }
}
/** Runs a conversion to its end. */
async function ended(table: number, body: object) {
  const { job_id } = await changeType(table, body)
  await runConversion(systemContext(app.deps), job_id)
  return job(job_id)
}
const job = async (id: number) => (await as.get(`/api/job/${id}`)).body
const set = (table: number, id: number, cell: string) => as.post(`/api/table/${table}/record/${id}/update`, { data: { cell } })

async function cellsOf(table: number, ids: number[]): Promise<unknown[]> {
  const rows = await app.db.read<{ cell: unknown }>(
    sql`select r.cell from ${raw(`t${table}.records`)} r where id = any(${ids}::int[]) order by id`,
  )
  return rows.map(({ cell }) => cell)
}

/** Lists the columns and indexes that a conversion has added to the records table. */
const besides = (table: number) =>
  app.db.read(sql`
    select c.relname as name from pg_class c join pg_index i on i.indexrelid = c.oid
    where i.indrelid = to_regclass(${`t${table}.records`}) and c.relname like '~%'
    union all select attname from pg_attribute where attrelid = to_regclass(${`t${table}.records`}) and attname like '~%' and not attisdropped`)

const watched = (before: Parameters<typeof watchedContext>[1]) => watchedContext(app.deps, before)

const looksForChanged = ({ text }: Statement) => text.startsWith('select id') && text.includes('is distinct from version')
const holdsWriters = ({ text }: Statement) => text.includes(' in exclusive mode')

test('writes during the conversion are found by an index, also while other writers wait', async () => {
  const table = await tableOf(100_000)
  const { job_id } = await counted(table, { type: 'number' })
  const plans: { isUnderLock: boolean; plan: string }[] = []
  let isUnderLock = false
  const context = watched(async (statement, { db }) => {
    if (looksForChanged(statement)) {
      if (!plans.length) expect((await set(table, 5, '5.5')).status).toBe(200)
      const lines = await db.read<{ 'QUERY PLAN': string }>(sql`explain ${statement}`)
      plans.push({ isUnderLock, plan: lines.map((line) => line['QUERY PLAN']).join('\n') })
    }
    if (holdsWriters(statement)) {
      for (const [id, cell] of [
        [5, '5.25'],
        [99_999, '0.5'],
      ] as const)
        expect((await set(table, id, cell)).status).toBe(200)
      isUnderLock = true
    }
  })
  await convert(context, { conversion_id: job_id })
  expect(await job(job_id)).toMatchObject({ state: 'done' })
  expect(plans.map((plan) => plan.isUnderLock)).toEqual(expect.arrayContaining([false, true]))
  for (const { plan } of plans) {
    // On a node the name of the index ends with the number of its shard.
    expect(plan).toMatch(new RegExp(`"~${job_id} changed(_\\d+)?"`))
    expect(plan).not.toContain('Seq Scan')
  }
  expect(await cellsOf(table, [1, 5, 99_998, 99_999])).toEqual([1, 5.25, 99_998, 0.5])
  expect(await besides(table)).toEqual([])
})

test('options are made from the values of all records, 500 at most', async () => {
  const table = await tableOf(45_000, `'part ' || i / 20000`)
  expect(await ended(table, { type: 'select' })).toMatchObject({ state: 'done', converts: 45_000 })
  expect(await cellsOf(table, [1, 20_000, 40_000])).toEqual([1, 2, 3])

  const colourful = await tableOf(45_000, '(i / 20000 * 1000 + i % 200)::text')
  expect(await ended(colourful, { type: 'multi_select' })).toMatchObject({
    state: 'refused',
    error: expect.stringContaining('more than 500'),
  })
})

test('the job counts all cells that fail, and names the first 100 by id, wherever they are', async () => {
  const fails = (...ids: number[]) => ids.map((id) => ({ record_id: id, value: 'x' }))
  const everyNth = await tableOf(45_000, `case when i % 900 = 0 or i > 44950 then 'x' else i::text end`)
  const expected = [
    ...Array.from({ length: 49 }, (_, index) => 900 * (index + 1)),
    ...Array.from({ length: 50 }, (_, index) => 44_951 + index),
  ]
  expect(await ended(everyNth, { type: 'number', dry_run: true })).toEqual({
    state: 'done',
    done: 45_000,
    total: 45_000,
    error: null,
    converts: 45_000 - 99,
    fails: fails(...expected),
    failing: 99,
  })
  const edges = await tableOf(45_000, `case when i in (1, 20000, 20001, 45000) then 'x' when i % 2 = 0 then null else i::text end`)
  expect(await ended(edges, { type: 'number', dry_run: true })).toEqual({
    state: 'done',
    done: 45_000,
    total: 45_000,
    error: null,
    converts: 22_498,
    fails: fails(1, 20_000, 20_001, 45_000),
    failing: 4,
  })
  const all = await tableOf(45_000, `'x'`)
  expect(await ended(all, { type: 'date', dry_run: true })).toEqual({
    state: 'done',
    done: 45_000,
    total: 45_000,
    error: null,
    converts: 0,
    fails: fails(...Array.from({ length: 100 }, (_, index) => index + 1)),
    failing: 45_000,
  })
  const sparse = await tableOf(2, `'x'`)
  await app.db.write(raw(`update t${sparse}.records set id = 2147483647 where id = 2`))
  expect(await ended(sparse, { type: 'date', dry_run: true })).toMatchObject({ fails: fails(1, 2_147_483_647), failing: 2 })
})

test('an unfinished index is rebuilt, belongs to no view, and is dropped with the job', async () => {
  const table = await tableOf(21_000)
  const { job_id } = await counted(table, { type: 'number' })
  const broken = watched(async (statement) => {
    if (holdsWriters(statement)) throw new Error('the plug was pulled')
  })
  await expect(convert(broken, { conversion_id: job_id })).rejects.toThrow('the plug was pulled')
  const index = `t${table}."~${job_id} changed"`
  const isValid = async () =>
    (await app.db.read<{ v: boolean }>(sql`select indisvalid as v from pg_index where indexrelid = to_regclass(${index})`))[0]?.v
  expect(await isValid()).toBe(true)
  await app.db.write(sql`update pg_index set indisvalid = false where indexrelid = to_regclass(${index})`)

  const { body: listed } = await as.get(`/api/table/${table}/indexes`)
  expect(JSON.stringify(listed)).not.toContain('~')
  await adapt(systemContext(app.deps), { table_id: table })
  expect(await isValid()).toBe(false)

  await set(table, 7, '7.5')
  let wasValid: boolean | undefined
  const context = watched(async (statement) => {
    if (holdsWriters(statement)) wasValid = await isValid()
  })
  await convert(context, { conversion_id: job_id })
  expect(wasValid).toBe(true)
  expect(await job(job_id)).toMatchObject({ state: 'done' })
  expect(await cellsOf(table, [7, 8])).toEqual([7.5, 8])
  expect(await besides(table)).toEqual([])
})

test('a refused job drops its index', async () => {
  const table = await tableOf(21_000)
  const { job_id } = await counted(table, { type: 'number' })
  const context = watched(async (statement) => {
    if (holdsWriters(statement)) expect((await set(table, 7, 'seven')).status).toBe(200)
  })
  await convert(context, { conversion_id: job_id })
  expect(await job(job_id)).toMatchObject({ state: 'refused', failing: 1, fails: [{ record_id: 7, value: 'seven' }] })
  expect(await cellsOf(table, [7])).toEqual(['seven'])
  expect(await besides(table)).toEqual([])
})

test('a job waits until it may build on the table', async () => {
  const table = await tableOf(21_000)
  const { job_id } = await counted(table, { type: 'number' })
  const context = systemContext(app.deps)
  const { promise: isRefused, resolve } = Promise.withResolvers<void>()
  let tries = 0
  const connect = () => {
    if (++tries === 2) resolve()
    return context.db.connect()
  }
  const db = new Proxy(context.db, { get: (target, key) => (key === 'connect' ? connect : Reflect.get(target, key)) })
  let running: Promise<void> | undefined
  await withBuildLock(app.db, table, async () => {
    running = convert({ ...context, db }, { conversion_id: job_id })
    await isRefused
    expect(await job(job_id)).toMatchObject({ state: 'running' })
  })
  await running
  expect(await job(job_id)).toMatchObject({ state: 'done' })
})

test('a build is interrupted by a change of the table, and starts again', async () => {
  const table = await tableOf(21_000)
  const { job_id } = await counted(table, { type: 'number' })
  const old = await app.db.connect()
  try {
    // A build waits for snapshots that are older than itself.
    await old.query('begin isolation level repeatable read')
    await old.query('select count(*) from tables')
    const running = convert(systemContext(app.deps), { conversion_id: job_id })
    const builders = () =>
      app.db.read(sql`select from pg_stat_activity where application_name = ${indexBuilder(table)} and state = 'active'`)
    await expect.poll(builders).toHaveLength(1)
    const added = await as.post(`/api/table/${table}/fields/create`, { name: 'Added', type: 'text' })
    expect(added.status, JSON.stringify(added.body)).toBe(200)
    await old.query('rollback')
    await running
  } finally {
    await old.end()
  }
  expect(await job(job_id)).toMatchObject({ state: 'done' })
  expect(await besides(table)).toEqual([])
})

test('a long conversion lets that of another account go first, and goes on where it was', async () => {
  const table = await tableOf(900)
  const { job_id } = await counted(table, { type: 'number' })
  const other = await app.account()
  const small = await makeTable(app, other, { records: [{ name: '7' }] })
  const { body } = await app.as(other.owner).post(`${small.path}/field/name/changeType`, { type: 'number' })
  await check(systemContext(app.deps), { conversion_id: body.job_id })
  const jobsOf = (id: number) =>
    app.db.read(sql`
      select data->'turn' as turn, priority from pgboss.job
      where name = 'tables.convert-field' and data->>'conversion_id' = ${String(id)} order by created_on`)

  await convert(systemContext(app.deps), { conversion_id: job_id }, { turnMs: 0 })
  const { state, done } = await job(job_id)
  expect([state, done > 0, done < 900]).toEqual(['running', true, true])
  expect(await jobsOf(job_id)).toEqual([
    { turn: 0, priority: 0 },
    { turn: 1, priority: -1 },
  ])
  expect(await jobsOf(body.job_id)).toEqual([{ turn: 0, priority: 0 }])
  await convert(systemContext(app.deps), { conversion_id: body.job_id }, { turnMs: 0 })
  expect((await app.as(other.owner).get(`/api/job/${body.job_id}`)).body).toMatchObject({ state: 'done', done: 1 })

  // Nobody else waits any more, so that it ends in this turn.
  await convert(systemContext(app.deps), { conversion_id: job_id, turn: 1 }, { turnMs: 0 })
  expect(await job(job_id)).toMatchObject({ state: 'done', done: 900 })
  expect(await cellsOf(table, [1, 450, 900])).toEqual([1, 450, 900])
  expect(await besides(table)).toEqual([])
})
