/** Changes a table between two statements of a request that reads it. */
import { setTimeout } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { check } from '../src/conversions/job/check.ts'
import { exportRecords } from '../src/csv/export.ts'
import { importRecords } from '../src/csv/import.ts'
import { systemContext } from '../src/platform/context.ts'
import { raw, sql } from '../src/platform/database/database.ts'
import { query } from '../src/records/query/run.ts'
import type { RecordsQuery } from '../src/records/schema.ts'
import { testApp } from './support/app.ts'
import { runConversion } from './support/conversions.ts'
import { databaseWith } from './support/statements.ts'
import { makeTable } from './support/tables.ts'

const app = await testApp()
const account = await app.account()

async function made(path: string, body: object) {
  const answer = await app.as(account.owner).post(path, body)
  expect(answer.status, `${path} ${JSON.stringify(answer.body)}`).toBe(200)
  return answer.body
}
const tableOf = async (fields: object[], records: object[] = []) => (await makeTable(app, account, { fields, records })).id

/** A context for the current definition of the table that runs a change just before its first statement with the words. */
async function changedBefore(table: number, words: string, change: () => Promise<unknown>) {
  const context = systemContext(app.deps)
  let isChanged = false
  const db = databaseWith(context.db, async ({ text }) => {
    if (isChanged || !text.includes(words)) return
    isChanged = true
    await change()
  })
  const [found] = await context.db.read<{ version: number }>(sql`select version from tables where id = ${table}`)
  const ref = { id: table, name: '', space_id: account.space, account_id: account.id, version: found?.version ?? 0, role: 'admin' as const }
  return { ref, context: { ...context, db, actor: { ...context.actor, accountId: account.id } } }
}

const recordsOf = (table: number) => `"t${table}".records`
const PICK = { name: 'Pick', type: 'select', options: ['Open', 'Done'] }
const NAME = { name: 'Name', type: 'text' }

describe('a view whose options are renamed', () => {
  test.each([
    ['!=', [{ id: 2, pick: 'Done' }]],
    ['=', [{ id: 1, pick: 'Opened' }]],
  ])('still selects the same records: %s', async (compare, rows) => {
    const table = await tableOf([PICK], [{ pick: 'Open' }, { pick: 'Done' }])
    const filters = [{ column: 'pick', compare, value: 'Open' }]
    const view = await made(`/api/table/${table}/views/create`, { name: 'Of one', type: 'grid', filters })
    const { context, ref } = await changedBefore(table, 'from views', () =>
      made(`/api/table/${table}/field/pick/update`, { options: [{ was: 'Open', title: 'Opened' }, 'Done'] }),
    )
    const input = { view_id: view.id, fields: ['pick'], limit: 10, offset: 0, include: new Set() } as unknown as RecordsQuery
    const { value } = await query(context, ref, input)
    expect(JSON.parse(JSON.stringify(value)).rows).toEqual(rows)
  })
})

// The page is repeated because it took long enough for such a change (with-definition.ts).
test.each(['12', '007', '', '-'])(
  'a page that is read while its field of numbers becomes one of texts, with %j, has the text',
  async (text) => {
    const table = await tableOf([{ name: 'Amount', type: 'number' }], [{ amount: 12 }])
    const { context, ref } = await changedBefore(table, recordsOf(table), async () => {
      const { job_id } = await made(`/api/table/${table}/field/amount/changeType`, { type: 'text' })
      await runConversion(systemContext(app.deps), job_id)
      await app.db.write(sql`update ${raw(recordsOf(table))} set amount = ${text}`)
      await setTimeout(120)
    })
    const { value } = await query(context, ref, { fields: ['amount'], limit: 10, offset: 0, include: new Set() } as unknown as RecordsQuery)
    expect(JSON.parse(JSON.stringify(value)).rows).toEqual([{ id: 1, amount: text }])
  },
)

test.each(['user', 'multi_user'])('a page that is read while its field of type %s becomes one of texts has the texts', async (type) => {
  const { id } = account.member
  const table = await tableOf([{ name: 'Owner', type }], [{ owner: type === 'user' ? id : [id] }])
  const { context, ref } = await changedBefore(table, recordsOf(table), async () => {
    const { job_id } = await made(`/api/table/${table}/field/owner/changeType`, { type: 'text' })
    await runConversion(systemContext(app.deps), job_id)
  })
  const { value } = await query(context, ref, { fields: ['owner'], limit: 10, offset: 0, include: new Set() } as unknown as RecordsQuery)
  expect(JSON.parse(JSON.stringify(value)).rows).toEqual([{ id: 1, owner: expect.stringContaining('@') }])
})

test('an export through a view has the fields that the table has when it begins', async () => {
  const table = await tableOf([NAME, { name: 'Amount', type: 'number' }], [{ name: 'a', amount: 1 }])
  const view = await made(`/api/table/${table}/views/create`, { name: 'Sorted', type: 'grid', order_by: 'amount' })
  const { context, ref } = await changedBefore(table, recordsOf(table), () =>
    made(`/api/table/${table}/field/amount/delete`, { force: true }),
  )
  const { text } = await exportRecords(context, ref, { view_id: view.id })
  const { value: header } = await text.next()
  expect(String(header)).toBe('ID,Name,Created at,Created by,Updated at,Updated by\r\n')
})

describe('a count of the cells of a field', () => {
  test.each<[string, (table: number) => Promise<unknown>, string]>([
    ['is deleted', (table) => made(`/api/table/${table}/field/cell/delete`, {}), 'The field has been deleted'],
    ['is deleted with its table', (table) => made(`/api/table/${table}/delete`, {}), 'The table has been deleted'],
  ])('that %s is cancelled', async (_, change, error) => {
    const table = await tableOf([{ name: 'Cell', type: 'text' }], [{ cell: '1' }])
    const { job_id } = await made(`/api/table/${table}/field/cell/changeType`, { type: 'number', dry_run: true })
    const { context } = await changedBefore(table, 'as failing', () => change(table))
    await check(context, { conversion_id: job_id })
    const [job] = await app.db.read<object>(
      sql`select coalesce(exact_state, state) as state, error from field_conversions where id = ${job_id}`,
    )
    expect(job).toEqual({ state: 'cancelled', error })
  })
})

test('an import whose lookups lose the field that is their title is 409', async () => {
  const other = await tableOf([NAME], [{ name: 'Acme' }])
  const table = await tableOf([{ name: 'Company', type: 'lookup', table: other }])
  const { context, ref } = await changedBefore(table, recordsOf(other), () => made(`/api/table/${other}/field/name/delete`, {}))
  async function* file() {
    yield Buffer.from('Company\nAcme\n')
  }
  await expect(importRecords(context, ref, file(), { maxBytes: 1_000 })).rejects.toMatchObject({
    code: 'CONFLICT',
    message: 'The fields of the table were changed while the file was read',
  })
})

describe('a statement that fails again although nobody changes the table', () => {
  /** Drops a column behind the service's back, so that every statement with the column fails. */
  async function broken() {
    const table = await tableOf([NAME, PICK, { name: 'Amount', type: 'number' }], [{ name: 'a', pick: 'Open', amount: 1 }])
    await app.db.write(sql([`alter table ${recordsOf(table)} drop column amount`] as unknown as TemplateStringsArray))
    return { path: `/api/table/${table}`, as: app.as(account.keys.account) }
  }

  test.each<[string, string, unknown, Record<string, string>?]>([
    ['a query', 'records/query', {}],
    ['a sorted query', 'records/query', { order_by: 'amount' }],
    ['an explanation', 'records/explain', { order_by: 'amount' }],
    ['a count', 'records/count', { filters: [{ column: 'amount', compare: '=', value: 1 }] }],
    ['groups', 'records/groups', { by: 'pick', filters: [{ column: 'amount', compare: '=', value: 1 }] }],
    ['sums', 'records/aggregate', { measures: [{ fn: 'sum', field: 'amount' }] }],
    ['neighbours', 'record/1/neighbours', { order_by: 'amount' }],
    ['a board', 'records/board', { by: 'pick', order_by: 'amount' }],
    ['a new record', 'records/create', { data: { amount: 1 } }],
    ['a new record with a key', 'records/create', { data: { amount: 1 } }, { 'idempotency-key': 'once' }],
    ['an update', 'record/1/update', { data: { amount: 2 } }],
    ['fewer decimals', 'field/amount/update', { decimals: 0, force: true }],
  ])('is a fault and no change of the table: %s', async (_, operation, body, headers) => {
    const { path, as } = await broken()
    const { status, body: answer } = await as.post(`${path}/${operation}`, body, headers)
    expect([status, answer.code, answer.message]).toEqual([500, 'INTERNAL_SERVER_ERROR', 'Something went wrong on our side'])
  })

  test('is a fault in an import and in an export', async () => {
    const { path, as } = await broken()
    const imported = await as.send(`${path}/import`, { method: 'POST', body: 'Amount\n1\n', headers: { 'content-type': 'text/csv' } })
    expect([imported.status, imported.body.message]).toEqual([500, 'Something went wrong on our side'])
    expect((await as.get(`${path}/export.csv`)).status).toBe(500)
  })
})
