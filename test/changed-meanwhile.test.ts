/** Changes a table between two statements of a request that reads it. */
import { describe, expect, test } from 'vitest'
import { check } from '../src/conversions/job/check.ts'
import { exportRecords } from '../src/csv/export.ts'
import { importRecords } from '../src/csv/import.ts'
import { systemContext } from '../src/platform/context.ts'
import { sql } from '../src/platform/database/database.ts'
import { query } from '../src/records/query/run.ts'
import type { RecordsQuery } from '../src/records/schema.ts'
import { testApp } from './support/app.ts'
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
  const ask: typeof context.db.query = async (statement, ...rest) => {
    if (!isChanged && statement.text.includes(words)) {
      isChanged = true
      await change()
    }
    return context.db.query(statement, ...rest)
  }
  const db = new Proxy(context.db, { get: (target, key) => (key === 'query' ? ask : Reflect.get(target, key)) })
  const [found] = await context.db.query<{ version: number }>(sql`select version from tables where id = ${table}`)
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
    const input = { view_id: view.id, fields: ['pick'], limit: 10, offset: 0 } as unknown as RecordsQuery
    expect((await query(context, ref, input)).value.rows).toEqual(rows)
  })
})

test('an export through a view has the fields that the table has when it begins', async () => {
  const table = await tableOf([NAME, { name: 'Amount', type: 'number' }], [{ name: 'a', amount: 1 }])
  const view = await made(`/api/table/${table}/views/create`, { name: 'Sorted', type: 'grid', order_by: 'amount' })
  const { context, ref } = await changedBefore(table, recordsOf(table), () =>
    made(`/api/table/${table}/field/amount/delete`, { force: true }),
  )
  const { text } = await exportRecords(context, ref, view.id)
  const { value: header } = await text.next()
  expect(header).toBe('ID,Name,Created at,Created by,Updated at,Updated by\r\n')
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
    const [job] = await app.db.query<object>(
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
