/** Removes options from a table so large that a job clears its cells; every reader sees empty cells from the answer on. */
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { systemContext } from '../src/platform/context.ts'
import { sql } from '../src/platform/database/database.ts'
import { cleanUp, resumeCleanups } from '../src/tables/cells/cell-cleanup.ts'
import { testApp } from './support/app.ts'
import { fillTable, makeTable } from './support/tables.ts'

const app = await testApp()
const account = await app.account()
const as = app.as(account.admin)
const raw = (text: string) => sql([text] as unknown as TemplateStringsArray)

const ROWS = 12_000

/** Records use the options in turn; every seventh has none. */
async function dealsTable(options = ['New', 'Open', 'Won']): Promise<number> {
  const fields = [
    { name: 'Company', type: 'text' },
    { name: 'Stage', type: 'select', options },
    { name: 'Tags', type: 'multi_select', options: ['Red', 'Green', 'Blue'] },
  ]
  const { id } = await makeTable(app, account, { fields })
  await fillTable(app, id, ROWS, {
    company: "'Company ' || i",
    stage: 'case when i % 7 > 0 then 1 + i % 3 end',
    tags: 'case i % 4 when 0 then null when 1 then array[3] when 2 then array[3, 1] else array[2, 3, 1] end',
  })
  return id
}

const update = (table: number, field: string, body: object) => as.post(`/api/table/${table}/field/${field}/update`, body)
const empty = (table: number, field_id: string) =>
  cleanUp(systemContext(app.deps), { table_id: table, field_id, user_id: account.admin.id })
const count = async (table: number, where: string) =>
  (await app.db.read<{ n: number }>(raw(`select count(*) as n from t${table}.records where ${where}`)))[0]?.n
const removedOf = async (table: number, field: string) =>
  (await app.db.read<{ removed_options: number[] }>(sql`select removed_options from fields where table_id = ${table} and id = ${field}`))[0]
    ?.removed_options

/** Returns all lines, without the columns that say when and by whom a record was changed. */
async function exported(table: number): Promise<unknown> {
  const { body } = await as.get(`/api/table/${table}/export.csv`)
  const lines = String(body).trim().split('\r\n')
  expect(lines).toHaveLength(ROWS + 1)
  return lines.map((line) => line.split(',').slice(0, -4).join())
}

/** Returns everything that callers can read of the two fields. */
async function everythingOf(table: number): Promise<unknown> {
  const path = `/api/table/${table}/records`
  const query = async (body: object) =>
    (await as.post(`${path}/query`, { limit: 500, ...body })).body.map(({ id, stage, tags }: Record<string, unknown>) => [id, stage, tags])
  const counted = async (body: object) => (await as.post(`${path}/count`, body)).body.count
  const seen: unknown[] = []
  for (const column of ['stage', 'tags']) {
    for (const compare of ['is_empty', 'is_not_empty']) {
      seen.push(await counted({ filters: [{ column, compare }] }), await query({ filters: [{ column, compare }] }))
      seen.push(
        await counted({
          filter: {
            any: [
              { column, compare },
              { column: 'company', compare: '=', value: 'Company 5' },
            ],
          },
        }),
      )
    }
    for (const value of ['New', 'Open', 'Won', 'Red', 'Green', 'Blue'])
      for (const compare of ['=', '!=']) seen.push(await counted({ filters: [{ column, compare, value }] }))
  }
  for (const order_dir of ['A', 'D']) {
    const ids: number[] = []
    for (let cursor: string | null = ''; cursor !== null; ) {
      const page = await as.post(`${path}/query`, { order_by: 'stage', order_dir, limit: 1_000, cursor })
      expect(page.status, JSON.stringify(page.body)).toBe(200)
      ids.push(...page.body.map(({ id }: { id: number }) => id))
      cursor = page.headers.get('x-next-cursor')
    }
    expect(new Set(ids).size).toBe(ROWS)
    seen.push(ids)
  }
  const { body: groups } = await as.post(`${path}/groups`, { by: 'stage' })
  expect(groups.reduce((sum: number, group: { count: number }) => sum + group.count, 0)).toBe(ROWS)
  seen.push(groups, (await as.post(`${path}/groups`, { by: 'stage', filters: [{ column: 'tags', compare: 'is_empty' }] })).body)
  seen.push(await counted({ search: 'won' }), await counted({ search: 'blue' }), await counted({ search: 'red' }))
  for (const id of [1, 2, 5, 11]) seen.push((await as.get(`/api/table/${table}/record/${id}/get`)).body.data)
  const explained = (
    await as.post(`${path}/query`, { filters: [{ column: 'stage', compare: 'is_not_empty' }], explain: true, record_id: 2 })
  ).body
  expect(explained.record).toMatchObject({ id: 2 })
  seen.push(explained.record)
  seen.push(await exported(table))
  return seen
}

test('removed options are empty in every answer at once, and the answers stay the same once the cells have been cleared', async () => {
  for (const options of [
    ['New', 'Open', 'Won'],
    ['Lost', 'New', 'Open', 'Won'],
  ]) {
    const table = await dealsTable(['New', 'Open', 'Won'])
    // In the second round the options are not in the order of their ids.
    if (options.length > 3) expect((await update(table, 'stage', { options })).status).toBe(200)
    const left = options.filter((title) => title !== 'Won')
    const { status, body } = await update(table, 'stage', { options: left, force: true })
    expect(status, JSON.stringify(body)).toBe(200)
    expect(body).toMatchObject({ id: 'stage', options: left })
    expect(body).not.toHaveProperty('removed_options')
    expect((await update(table, 'tags', { options: ['Red', 'Green'], force: true })).status).toBe(200)
    expect([await count(table, 'stage = 3'), await count(table, '3 = any(tags)')]).toEqual([3_429, 9_000])

    const atOnce = await everythingOf(table)
    await empty(table, 'stage')
    await empty(table, 'tags')
    expect([await count(table, 'stage = 3'), await count(table, '3 = any(tags)'), await count(table, `tags = '{}'`)]).toEqual([0, 0, 0])
    expect([await removedOf(table, 'stage'), await removedOf(table, 'tags')]).toEqual([[], []])
    expect(await everythingOf(table)).toEqual(atOnce)
    expect(await count(table, `stage is null and version = 1 and id % 7 > 0`)).toBe(0)
    expect(await count(table, `version > 1 and updated_by is distinct from ${account.admin.id}`)).toBe(0)
  }
})

test('options that cells hold are not removed without force', async () => {
  const table = await dealsTable()
  expect((await update(table, 'stage', { options: ['New', 'Open'] })).status).toBe(409)
  expect((await update(table, 'stage', { options: ['New'], name: 'company', force: true })).status).toBe(409)
  expect(await removedOf(table, 'stage')).toEqual([])
  expect((await update(table, 'stage', { options: ['New', 'Open', 'Won', 'Lost'] })).status).toBe(200)
  expect((await update(table, 'stage', { options: ['New', 'Open', 'Won'] })).status).toBe(200)
  expect(await removedOf(table, 'stage')).toEqual([])
  expect(await count(table, 'version > 1')).toBe(0)
})

test('an option that is added during the job is a new one, and one that is removed during the job is empty, too', async () => {
  const table = await dealsTable()
  expect((await update(table, 'stage', { options: ['New', 'Open'], force: true })).status).toBe(200)
  expect((await update(table, 'stage', { options: ['New', 'Open', 'Won'] })).status).toBe(200)
  const won = { filters: [{ column: 'stage', compare: '=', value: 'Won' }] }
  expect((await as.post(`/api/table/${table}/records/count`, won)).body.count).toBe(0)
  expect((await as.post(`/api/table/${table}/record/2/update`, { data: { stage: 'Won' } })).body.data.stage).toBe('Won')
  expect((await update(table, 'stage', { options: ['New', 'Won'], force: true })).status).toBe(200)
  expect(await removedOf(table, 'stage')).toEqual([3, 2])
  await empty(table, 'stage')
  await empty(table, 'stage')
  expect(await removedOf(table, 'stage')).toEqual([])
  expect((await as.post(`/api/table/${table}/records/groups`, { by: 'stage' })).body).toEqual([
    { value: null, count: 8_570 },
    { value: 'New', count: 3_429 },
    { value: 'Won', count: 1 },
  ])
})

test('the field can be deleted during the job, but not converted', async () => {
  const table = await dealsTable()
  expect((await update(table, 'stage', { options: ['New'], force: true })).status).toBe(200)
  const refused = await as.post(`/api/table/${table}/field/stage/changeType`, { type: 'text' })
  expect(refused.status).toBe(409)
  expect(refused.body.message).toContain('Removed options are still being cleared')
  expect((await as.post(`/api/table/${table}/field/tags/changeType`, { type: 'text', dry_run: true })).status).toBe(200)
  expect((await as.post(`/api/table/${table}/field/stage/delete`)).status).toBe(200)
  await empty(table, 'stage')
})

test('an interrupted job resumes, and the clock finds a lost one', async () => {
  const table = await dealsTable()
  expect((await update(table, 'stage', { options: ['New', 'Open'], force: true })).status).toBe(200)
  const context = systemContext(app.deps)
  let updates = 0
  const write: typeof context.db.write = (statement) => {
    if (statement.text.includes('set "stage"') && updates++ === 5) throw new Error('the plug was pulled')
    return context.db.write(statement)
  }
  const db = new Proxy(context.db, { get: (target, key) => (key === 'write' ? write : Reflect.get(target, key)) })
  await expect(cleanUp({ ...context, db }, { table_id: table, field_id: 'stage', user_id: null })).rejects.toThrow('the plug was pulled')
  expect(await count(table, 'stage = 3')).toBeGreaterThan(0)
  expect(await removedOf(table, 'stage')).toEqual([3])

  const jobs = async () =>
    (await app.db.read(sql`select from pgboss.job where name = 'tables.change-leftovers' and (data->>'table_id')::int = ${table}`)).length
  expect(await jobs()).toBe(1)
  await resumeCleanups(context)
  expect(await jobs()).toBe(2)
  await Promise.all([empty(table, 'stage'), empty(table, 'stage')])
  expect(await count(table, 'stage = 3')).toBe(0)
  expect(await removedOf(table, 'stage')).toEqual([])
})

test.each([true, false])('a vacuum is waited for, as long as Postgres needs to stop it (force: %s)', async (force) => {
  const table = await dealsTable()
  const vacuum = await app.db.connect()
  await vacuum.query(`begin; lock table t${table}.records in share update exclusive mode`)
  if (!force) await app.db.write(raw(`update t${table}.records set stage = null where stage = 3`))
  const changed = update(table, 'stage', { options: ['New', 'Open'], force })
  const isAnswered = await Promise.race([changed.then(() => true), sleep(2_500).then(() => false)])
  const { status } = await as.post(`/api/table/${table}/records/create`, { data: { company: 'Meanwhile' } })
  await vacuum.query('rollback')
  await vacuum.end()
  expect([isAnswered, status]).toEqual([false, 200])
  expect((await changed).status).toBe(200)
})

test('the job blocks no writer, neither when options are removed nor while it runs', async () => {
  const table = await dealsTable()
  const held = await app.db.connect()
  await held.query(`begin; update t${table}.records set company = 'Held' where id = 5`)
  // The change waits for writers that have already begun, and tells them from those that already use the new options.
  const refused = await update(table, 'stage', { options: ['New', 'Open'], force: true })
  expect(refused.status).toBe(503)
  expect(await removedOf(table, 'stage')).toEqual([])
  expect(await count(table, 'stage = 3')).toBe(3_429)
  await held.query('commit')
  expect((await update(table, 'stage', { options: ['New', 'Open'], force: true })).status).toBe(200)

  await held.query(`begin; update t${table}.records set company = 'Held again' where id = 11000`)
  const job = empty(table, 'stage')
  for (let n = 0; n < 5; n++) expect((await as.post(`/api/table/${table}/records/create`, { data: { company: `${n}` } })).status).toBe(200)
  await held.query('commit')
  await held.end()
  await job
  expect(await count(table, 'stage = 3')).toBe(0)
})
