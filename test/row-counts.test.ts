/** Tests the number of records of large tables, which is exact at every moment without a count. */
import { setImmediate as turn } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { systemContext } from '../src/platform/context.ts'
import { sql } from '../src/platform/database/database.ts'
import { countDueTables, countTable, recountAllTables, totalOf } from '../src/tables/row-counts.ts'
import { testApp } from './support/app.ts'
import { fillTable, makeTable } from './support/tables.ts'

const app = await testApp()
const account = await app.account()
const as = app.as(account.keys.account)
const { rpc } = as
const raw = (text: string) => sql([text] as unknown as TemplateStringsArray)

const LARGE = 20_500

async function dealsTable(rows: number): Promise<number> {
  const fields = [
    { name: 'Name', type: 'text' },
    { name: 'Amount', type: 'number' },
  ]
  const { id } = await makeTable(app, account, { fields })
  await fillTable(app, id, rows, { name: "'Deal ' || i", amount: 'i % 10' })
  await app.db.write(raw(`analyze t${id}.records`))
  return id
}

const run = (table: number, recount = false) => countTable(systemContext(app.deps), { table_id: table, recount })
const changesOf = (table: number) =>
  app.db.read<{ change: number; is_base: boolean }>(sql`select change, is_base from record_tallies where table_id = ${table} order by id`)
/** Records on a node have no stored count: they are counted whenever a count is asked for. */
const ifStored = <T>(table: number, expected: T, otherwise: T): T => (app.db.isElsewhere(table) ? otherwise : expected)
const totals = async (table: number) => {
  const counted = await as.post(`/api/table/${table}/records/count`, { filters: [{ column: 'amount', compare: '=', value: 1 }] })
  const page = await as.post(`/api/table/${table}/records/query`, { limit: 1, count: true })
  const unrestricted = await rpc.records.count.query({ table_id: table })
  expect(unrestricted).toMatchObject({ restricted: false, count: unrestricted.total })
  return [counted.body.total, Number(page.headers.get('x-total-count')), unrestricted.total]
}

/** Makes the stored count wrong, so that a test sees where it is used. */
const falsify = (table: number) => app.db.write(sql`update record_tallies set change = change + 1000 where table_id = ${table} and is_base`)

test('the sweep gives triggers to large tables, and small ones are counted', async () => {
  const [large, small] = [await dealsTable(LARGE), await dealsTable(10)]
  const sent: unknown[] = []
  const jobs = { ...app.deps.jobs, send: async (_: unknown, data: unknown) => void sent.push(data) }
  await countDueTables({ ...systemContext(app.deps), jobs })
  expect(sent).toEqual(ifStored(large, [{ table_id: large, recount: false }], []))
  expect(await totals(large)).toEqual([LARGE, LARGE, LARGE])
  await run(large)
  expect(await changesOf(large)).toEqual(ifStored(large, [{ change: LARGE, is_base: true }], []))
  expect(await totals(large)).toEqual([LARGE, LARGE, LARGE])
  await falsify(large)
  const wrong = ifStored(large, LARGE + 1000, LARGE)
  expect(await totals(large)).toEqual([wrong, wrong, wrong])

  sent.length = 0
  await countDueTables({ ...systemContext(app.deps), jobs })
  expect(sent).toEqual([])
  await recountAllTables({ ...systemContext(app.deps), jobs })
  expect(sent).toEqual(ifStored(large, [{ table_id: large, recount: true }], []))
  await run(large, true)
  expect(await totals(large)).toEqual([LARGE, LARGE, LARGE])
  expect(await totals(small)).toEqual([10, 10, 10])
  expect(await changesOf(small)).toEqual([])
})

test('every way to create and delete records is recorded, also direct SQL, and a rollback is not', async () => {
  const table = await dealsTable(0)
  await run(table)
  const record = await rpc.records.create.mutate({ table_id: table, data: { name: 'One', amount: 1 } })
  await rpc.records.createBatch.mutate({ table_id: table, records: Array.from({ length: 7 }, () => ({ data: { amount: 1 } })) })
  const csv = `Name,Amount\r\n${'Imported,1\r\n'.repeat(25)}`
  const imported = await as.send(`/api/table/${table}/import`, { method: 'POST', headers: { 'content-type': 'text/csv' }, body: csv })
  expect(imported.status, JSON.stringify(await imported.body)).toBe(200)
  expect(
    (await as.send(`/api/table/${table}/import`, { method: 'POST', headers: { 'content-type': 'text/csv' }, body: `${csv}x,y,z` })).status,
  ).toBe(400)
  expect(await totals(table)).toEqual([33, 33, 33])
  await rpc.records.delete.mutate({ table_id: table, record_id: record.id })
  await app.db.write(raw(`insert into t${table}.records (created_at, updated_at) select now(), now() from generate_series(1, 4)`))
  await app.db.write(raw(`delete from t${table}.records where id in (select id from t${table}.records order by id limit 2)`))
  await app.db.write(raw(`delete from t${table}.records where id < 0`))
  await app.db.write(raw(`update t${table}.records set amount = 2`))
  await expect(
    app.db.transaction(async () => {
      await app.db.write(raw(`delete from t${table}.records`))
      throw new Error('undone')
    }),
  ).rejects.toThrow('undone')
  expect(await totals(table)).toEqual([34, 34, 34])
  expect((await changesOf(table)).map(({ change }) => change)).toEqual(ifStored(table, [0, 1, 7, 25, -1, 4, -2], []))
  await run(table)
  expect(await changesOf(table)).toEqual(ifStored(table, [{ change: 34, is_base: true }], []))
  await app.db.write(raw(`truncate t${table}.records`))
  expect(await totals(table)).toEqual([0, 0, 0])
  await app.db.write(raw(`insert into t${table}.records (created_at, updated_at) values (now(), now())`))
  expect(await totals(table)).toEqual([1, 1, 1])
  await run(table)
  expect(await changesOf(table)).toEqual(ifStored(table, [{ change: 1, is_base: true }], []))
})

test('the number stays exact while records are created and deleted and the changes are recorded, summed up and recounted', async () => {
  const table = await dealsTable(300)
  let isOver = false
  const writer = async (seed: number) => {
    for (let turn = 0; turn < 25; turn++) {
      const { rows } = await rpc.records.createBatch.mutate({
        table_id: table,
        records: Array.from({ length: 1 + ((turn * seed) % 4) }, () => ({ data: {} })),
      })
      if ((turn + seed) % 3 > 0) await rpc.records.delete.mutate({ table_id: table, record_id: rows[0]?.id ?? 0 })
    }
  }
  const compare = async () => {
    let compared = 0
    for (; !isOver; compared++) {
      const [seen] = await app.db.read(
        sql`select ${totalOf(app.db, table)} as total, (select count(*) from ${raw(`t${table}.records`)}) as count`,
      )
      expect(seen).toMatchObject({ total: (seen as { count: number }).count })
    }
    return compared
  }
  const keep = async (recount: boolean) => {
    for (; !isOver; await turn()) await run(table, recount)
  }
  const around = Promise.all([compare(), keep(true), keep(false)])
  await Promise.all([1, 2, 3, 4].map(writer))
  isOver = true
  expect((await around)[0]).toBeGreaterThan(0)
  await run(table, true)
  const [{ count } = { count: 0 }] = await app.db.read<{ count: number }>(raw(`select count(*) as count from t${table}.records`))
  expect(await totals(table)).toEqual([count, count, count])
})

test('creating the triggers waits only briefly for a writer', async () => {
  const table = await dealsTable(50)
  const writer = await app.db.connect()
  await writer.query('begin')
  await writer.query(`insert into t${table}.records (created_at, updated_at) values (now(), now())`)
  await run(table)
  expect(await changesOf(table)).toEqual([])
  expect(await totals(table)).toEqual([50, 50, 50])
  await writer.query('commit')
  await run(table)
  expect(await changesOf(table)).toEqual(ifStored(table, [{ change: 51, is_base: true }], []))
  await writer.end()
})

test('a deleted table is skipped, and its counts are deleted with it', async () => {
  const { purge } = await import('../src/tables/purge.ts')
  const table = await dealsTable(50)
  await run(table)
  await as.post(`/api/table/${table}/delete`)
  await purge({ ...systemContext(app.deps), now: new Date(Date.now() + 8 * 86_400_000) }, { table_id: table })
  expect(await changesOf(table)).toEqual([])
  await run(table)
  await run(table, true)
  expect(await changesOf(table)).toEqual([])
})
