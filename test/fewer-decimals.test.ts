/**
 * Removes digits from a number field whose table is so large that a job rounds its cells; every reader sees rounded cells from the answer
 * on.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { importRecords } from '../src/csv/import.ts'
import { readRecord } from '../src/email/queries.ts'
import { systemContext } from '../src/platform/context.ts'
import { sql } from '../src/platform/database/database.ts'
import { cleanUp, resumeCleanups } from '../src/tables/cells/cell-cleanup.ts'
import { tableDefinition } from '../src/tables/definition-cache.ts'
import { testApp } from './support/app.ts'
import { fillTable, makeTable } from './support/tables.ts'

const app = await testApp()
const account = await app.account()
const as = app.as(account.admin)
const raw = (text: string) => sql([text] as unknown as TemplateStringsArray)

const ROWS = 12_000

/** Amounts from -5.00 to 4.99, equally frequent, also with one digit or none; every seventh record has no amount. */
async function dealsTable(decimals: number | null = 2): Promise<number> {
  const fields = [
    { name: 'Company', type: 'text' },
    { name: 'Amount', type: 'number', decimals },
  ]
  const { id } = await makeTable(app, account, { fields })
  const amount = 'case when i % 7 > 0 then trim_scale((i * 37 % 1000 - 500) / 100.0) end'
  await fillTable(app, id, ROWS, { company: "'Company ' || i", amount })
  return id
}

const update = (table: number, body: object) => as.post(`/api/table/${table}/field/amount/update`, body)
const round = (table: number) => cleanUp(systemContext(app.deps), { table_id: table, field_id: 'amount', user_id: account.admin.id })
const count = async (table: number, where: string) =>
  (await app.db.read<{ n: number }>(raw(`select count(*) as n from t${table}.records where ${where}`)))[0]?.n
const isRounding = async (table: number) =>
  (await app.db.read<{ is_rounding: boolean }>(sql`select is_rounding from fields where table_id = ${table} and id = 'amount'`))[0]
    ?.is_rounding
const TOO_LONG = 'amount <> round(amount, 1)'

/** Returns everything that callers can read of the field. */
async function everythingOf(table: number): Promise<unknown> {
  const path = `/api/table/${table}/records`
  const counted = async (body: object) => (await as.post(`${path}/count`, body)).body.count
  const seen: unknown[] = []
  for (const compare of ['is_empty', 'is_not_empty']) seen.push(await counted({ filters: [{ column: 'amount', compare }] }))
  for (const value of [-5, -4.3, -0.1, 0, 0.1, 1.2, 1.25, 1.3, 4.9, 5, 900])
    for (const compare of ['=', '!=', '>', '>=', '<', '<=']) seen.push(await counted({ filters: [{ column: 'amount', compare, value }] }))
  for (const value of ['1.2', '.25', '-']) seen.push(await counted({ filters: [{ column: 'amount', compare: 'contains', value }] }))
  seen.push(
    await counted({
      filter: {
        any: [
          { column: 'amount', compare: '=', value: 1.3 },
          { column: 'company', compare: '=', value: 'Company 5' },
        ],
      },
    }),
  )
  for (const order_dir of ['A', 'D']) {
    const pages: unknown[] = []
    for (let cursor: string | null = ''; cursor !== null; ) {
      const page = await as.post(`${path}/query`, { fields: ['amount'], order_by: 'amount', order_dir, limit: 1_000, cursor })
      expect(page.status, JSON.stringify(page.body)).toBe(200)
      pages.push(...page.body)
      cursor = page.headers.get('x-next-cursor')
    }
    expect(new Set(pages.map((row) => (row as { id: number }).id)).size).toBe(ROWS)
    seen.push(pages)
    seen.push((await as.post(`${path}/query`, { order_by: 'amount', order_dir, limit: 50, offset: 6_000, fields: ['amount'] })).body)
  }
  for (const id of [1, 2, 5, 7, 11]) seen.push((await as.get(`/api/table/${table}/record/${id}/get`)).body.data)
  const query = { filters: [{ column: 'amount', compare: '>', value: 2.1 }], explain: true, record_id: 2 }
  seen.push((await as.post(`${path}/query`, query)).body.record)
  // The preview of a mail contains the cell, too.
  const definition = await tableDefinition(app.db, { id: table, version: -1 })
  for (const id of [1, 2, 5]) seen.push((await readRecord(app.db, definition, id))?.amount)
  const { body: file } = await as.get(`/api/table/${table}/export.csv`)
  const lines = String(file).trim().split('\r\n')
  expect(lines).toHaveLength(ROWS + 1)
  // The columns that say when and by whom a record was changed are left out.
  seen.push(lines.map((line) => line.split(',').slice(0, -4).join()))
  return seen
}

test('fewer decimals are read, filtered, sorted and exported at once, and the results stay the same once the cells have been rounded', async () => {
  const table = await dealsTable()
  const { status, body } = await update(table, { decimals: 1, force: true })
  expect(status, JSON.stringify(body)).toBe(200)
  expect(Object.keys(body).sort()).toEqual(['admin_only', 'always_hidden', 'decimals', 'id', 'name', 'required', 'type', 'version'])
  expect(body.decimals).toBe(1)
  const tooLong = await count(table, TOO_LONG)
  expect(tooLong).toBeGreaterThan(9_000)

  const atOnce = (await everythingOf(table)) as unknown[]
  expect(await count(table, TOO_LONG)).toBe(tooLong)
  const equal = async (value: number) =>
    (await app.db.read<{ n: number }>(raw(`select count(*) as n from t${table}.records where round(amount, 1) = ${value}`)))[0]?.n
  const asked = async (value: number) =>
    (await as.post(`/api/table/${table}/records/count`, { filters: [{ column: 'amount', compare: '=', value }] })).body.count
  for (const value of [1.3, -1.3, 0, -0.1]) expect([value, await asked(value)]).toEqual([value, await equal(value)])
  expect(await asked(1.25)).toBe(0)

  await round(table)
  expect([await count(table, TOO_LONG), await isRounding(table)]).toEqual([0, false])
  expect(await everythingOf(table)).toEqual(atOnce)
  expect(await count(table, 'version > 1')).toBe(tooLong)
  expect(await count(table, `version > 1 and updated_by is distinct from ${account.admin.id}`)).toBe(0)
})

test('fewer decimals apply to cells that are written during the job, and leave the version of a cell that is written back as read', async () => {
  const table = await dealsTable()
  expect((await update(table, { decimals: 1, force: true })).status).toBe(200)
  const made = await as.post(`/api/table/${table}/records/create`, { data: { amount: 0.25 } })
  expect(made.body.data.amount).toBe(0.3)
  const other = await as.post(`/api/table/${table}/record/1/update`, { data: { company: 'Other' } })
  expect(other.body.data).toEqual({ company: 'Other', amount: -4.6 })
  expect(await count(table, 'id = 1 and amount = -4.63')).toBe(1)
  await round(table)
  expect((await as.get(`/api/table/${table}/record/1/get`)).body.data).toEqual({ company: 'Other', amount: -4.6 })
})

test('fewer decimals cannot change again, nor can the type of the field, until the cells have been rounded', async () => {
  const table = await dealsTable()
  expect((await update(table, { decimals: 1, force: true })).status).toBe(200)
  for (const body of [{ decimals: 0, force: true }, { decimals: 0 }, { decimals: 3 }, { decimals: null }]) {
    const refused = await update(table, body)
    expect([refused.status, refused.body.message]).toEqual([409, 'The cells are still being rounded; retry later'])
  }
  expect((await as.post(`/api/table/${table}/field/amount/changeType`, { type: 'text', dry_run: true })).status).toBe(409)
  expect((await update(table, { decimals: 1, name: 'Sum', required: true })).body).toMatchObject({
    name: 'Sum',
    decimals: 1,
    required: true,
  })
  await round(table)
  expect((await update(table, { decimals: 0, force: true })).body.decimals).toBe(0)
  await round(table)
  // Two changes round twice: 0.45 becomes 0.5 first.
  expect([await count(table, 'amount = 1'), await count(table, 'amount <> round(amount)')]).toEqual([
    await count(table, `id % 7 > 0 and round(round(trim_scale((id * 37 % 1000 - 500) / 100.0), 1)) = 1`),
    0,
  ])
  expect((await update(table, { decimals: null })).status).toBe(200)
})

test('fewer decimals without force are refused while a cell has more digits, and apply at once when none has', async () => {
  const table = await dealsTable()
  const refused = await update(table, { decimals: 1 })
  expect([refused.status, refused.body]).toMatchObject([
    409,
    { message: 'decimals: records have more digits; send force: true to change them', issues: [{ path: ['decimals'] }] },
  ])
  await expect(as.rpc.fields.update.mutate({ table_id: table, field_id: 'amount', decimals: 1 })).rejects.toThrow(
    'records have more digits',
  )
  expect((await update(table, { decimals: 1, name: 'company', force: true })).status).toBe(409)
  expect([await count(table, 'version > 1'), await isRounding(table)]).toEqual([0, false])
  await app.db.write(raw(`update t${table}.records set amount = round(amount, 1)`))
  expect((await update(table, { decimals: 1 })).body.decimals).toBe(1)
  expect(await isRounding(table)).toBe(false)
  expect(await as.rpc.fields.update.mutate({ table_id: table, field_id: 'amount', decimals: null })).not.toHaveProperty('decimals')
})

test('fewer decimals are applied by a job that resumes after an interruption, and that the clock finds if it was lost', async () => {
  const table = await dealsTable()
  expect((await update(table, { decimals: 1, force: true })).status).toBe(200)
  const context = systemContext(app.deps)
  await expect(
    cleanUp({ ...context, db: after(5, table, () => Promise.reject(new Error('the plug was pulled'))) }, jobOf(table)),
  ).rejects.toThrow('the plug was pulled')
  expect(await count(table, TOO_LONG)).toBeGreaterThan(0)
  expect(await isRounding(table)).toBe(true)
  const jobs = async () =>
    (await app.db.read(sql`select from pgboss.job where name = 'tables.change-leftovers' and (data->>'table_id')::int = ${table}`)).length
  expect(await jobs()).toBe(1)
  await resumeCleanups(context)
  expect(await jobs()).toBe(2)
  await Promise.all([round(table), round(table)])
  expect([await count(table, TOO_LONG), await isRounding(table)]).toEqual([0, false])
})

const jobOf = (table: number) => ({ table_id: table, field_id: 'amount', user_id: account.admin.id })

/** A database that runs a function before the n-th step of the job. */
function after(n: number, table: number, happens: () => Promise<unknown>) {
  let steps = 0
  const { db } = app.deps
  const write: typeof db.write = async (statement) => {
    if (statement.text.includes(`update "t${table}".records set "amount"`) && steps++ === n) await happens()
    return db.write(statement)
  }
  return new Proxy(db, { get: (target, key) => (key === 'write' ? write : Reflect.get(target, key)) })
}

test('fewer decimals do not change the cells of another field that takes the same name during the job', async () => {
  const table = await dealsTable()
  expect((await update(table, { decimals: 0, force: true })).status).toBe(200)
  const anew = async () => {
    expect((await as.post(`/api/table/${table}/field/amount/delete`)).status).toBe(200)
    expect((await as.post(`/api/table/${table}/fields/create`, { name: 'Amount', type: 'number' })).body.id).toBe('amount')
    await app.db.write(raw(`update t${table}.records set amount = 0.25`))
  }
  await cleanUp({ ...systemContext(app.deps), db: after(3, table, anew) }, jobOf(table))
  expect(await count(table, 'amount = 0.25')).toBe(ROWS)
  // The new field does not count as rounded either when the old field's job ends.
  expect((await update(table, { decimals: 1, force: true })).status).toBe(200)
  expect(await isRounding(table)).toBe(true)
})

test('fewer decimals block no writer, neither when they are requested nor while the job runs', async () => {
  const table = await dealsTable()
  const held = await app.db.connect()
  await held.query(`begin; update t${table}.records set company = 'Held' where id = 5`)
  // The change waits for writers that have already begun, and tells them from those that already use the new decimals.
  for (const force of [true, false]) expect((await update(table, { decimals: 1, force })).status).toBe(503)
  expect([await isRounding(table), await count(table, 'version > 1')]).toEqual([false, 0])
  await held.query('commit')
  expect((await update(table, { decimals: 1, force: true })).status).toBe(200)

  await held.query(`begin; update t${table}.records set company = 'Held again' where id = 11000`)
  const job = round(table)
  for (let n = 0; n < 5; n++) expect((await as.post(`/api/table/${table}/records/create`, { data: { company: `${n}` } })).status).toBe(200)
  await held.query('commit')
  await held.end()
  await job
  expect(await count(table, TOO_LONG)).toBe(0)
})

test('fewer decimals wait for a vacuum until Postgres has cancelled it', async () => {
  const table = await dealsTable()
  const vacuum = await app.db.connect()
  await vacuum.query(`begin; lock table t${table}.records in share update exclusive mode`)
  const changed = update(table, { decimals: 1, force: true })
  const isAnswered = await Promise.race([changed.then(() => true), sleep(2_500).then(() => false)])
  const { status } = await as.post(`/api/table/${table}/records/create`, { data: { company: 'Meanwhile' } })
  await vacuum.query('rollback')
  await vacuum.end()
  expect([isAnswered, status]).toEqual([false, 200])
  expect((await changed).status).toBe(200)
})

test('fewer decimals apply to an import, also to one that is running when the job ends', async () => {
  const table = await dealsTable()
  expect((await update(table, { decimals: 1, force: true })).status).toBe(200)
  async function* file() {
    yield Buffer.from('Amount\r\n0.25\r\n')
    await round(table)
    yield Buffer.from('0.35\r\n')
  }
  const ref = { id: table, name: '', space_id: account.space, account_id: account.id, version: -1, role: 'admin' as const }
  expect(await importRecords(systemContext(app.deps), ref, file(), { maxBytes: 100 })).toMatchObject({ value: { created: 2 } })
  expect(await count(table, `id > ${ROWS} and amount in (0.3, 0.4)`)).toBe(2)
})
