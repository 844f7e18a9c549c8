/**
 * Removes digits or options from a field of a large table without force: the change is refused while a cell uses them, and blocks nobody
 * while it checks.
 */
import { expect, test } from 'vitest'
import { importRecords } from '../src/csv/import.ts'
import { systemContext } from '../src/platform/context.ts'
import { sql } from '../src/platform/database/database.ts'
import { update } from '../src/tables/fields/alter-fields.ts'
import type { FieldUpdate } from '../src/tables/schema.ts'
import { testApp } from './support/app.ts'
import { beginsChange, databaseAround, databaseWith } from './support/statements.ts'
import { fillTable, makeTable } from './support/tables.ts'

const app = await testApp()
const account = await app.account()
const as = app.as(account.admin)

const ROWS = 12_000

/** No cell has more than one digit, and no cell has the last option. */
async function dealsTable(): Promise<number> {
  const fields = [
    { name: 'Company', type: 'text' },
    { name: 'Amount', type: 'number' },
    { name: 'Stage', type: 'select', options: ['New', 'Open', 'Won'] },
    { name: 'Tags', type: 'multi_select', options: ['Red', 'Green', 'Blue'] },
  ]
  const { id } = await makeTable(app, account, { fields })
  await fillTable(app, id, ROWS, { company: "'Company ' || i", amount: 'i / 10.0', stage: '1 + i % 2', tags: 'array[1, 2]' })
  return id
}

/** The change of each field, a value that prevents it and one that does not. */
const FIELDS: [string, FieldUpdate, unknown, unknown][] = [
  ['amount', { decimals: 1 }, -1.25, 1.2],
  ['stage', { options: ['New', 'Open'] }, 'Won', 'Open'],
  ['tags', { options: ['Red', 'Green'] }, ['Red', 'Blue'], ['Green']],
]

const ref = (id: number) => ({ id, name: '', space_id: account.space, account_id: account.id, version: -1, role: 'admin' as const })

/** Changes the field, and runs a function before or after the check of its cells, which takes one statement for so small a table. */
async function changing(table: number, field: string, changes: FieldUpdate, meanwhile: () => Promise<unknown>, when = 'after') {
  const context = systemContext(app.deps)
  let isFirst = true
  const db = databaseAround(context.db, async (run, { text }) => {
    const isLook = isFirst && text.startsWith('select count(*) as n from') && text.includes('id <= ')
    if (isLook) isFirst = false
    if (isLook && when === 'before') await meanwhile()
    const rows = await run()
    if (isLook && when === 'after') await meanwhile()
    return rows
  })
  return (await update({ ...context, db }, ref(table), field, changes)).value
}

const fieldOf = async (table: number, id: string) =>
  (await as.get(`/api/table/${table}/get`)).body.fields.find((field: { id: string }) => field.id === id)
const narrowingOf = async (table: number) =>
  (await app.db.read<{ narrowing: unknown }>(sql`select narrowing from fields where table_id = ${table} and narrowing is not null`)).length

const WRITERS: [string, (table: number, field: string, value: unknown) => Promise<unknown>][] = [
  [
    'a record is created',
    async (table, field, value) => {
      const { status, body } = await as.post(`/api/table/${table}/records/create`, { data: { [field]: value } })
      expect([status, body.data[field]]).toEqual([200, value])
      return body.id
    },
  ],
  [
    'records are created',
    async (table, field, value) => {
      const records = [{ data: { company: 'Other' } }, { data: { [field]: value } }]
      const { status, body } = await as.post(`/api/table/${table}/records/create_batch`, { records })
      expect([status, body[1].data[field]]).toEqual([200, value])
      return body[1].id
    },
  ],
  [
    'a record is changed',
    async (table, field, value) => {
      const { data } = await as.rpc.records.update.mutate({ table_id: table, record_id: 17, data: { [field]: value } })
      expect(data[field]).toEqual(value)
      return 17
    },
  ],
]

for (const [field, changes, lost, kept] of FIELDS) {
  test.each(WRITERS)(`${field}: refused when %s with what is to go`, async (_, write) => {
    const table = await dealsTable()
    const before = await fieldOf(table, field)
    let record: unknown
    const changed = changing(table, field, changes, async () => {
      record = await write(table, field, lost)
    })
    await expect(changed).rejects.toMatchObject({ code: 'CONFLICT', message: expect.stringContaining('send force: true') })
    expect(await fieldOf(table, field)).toEqual(before)
    expect(await narrowingOf(table)).toBe(0)
    expect((await as.get(`/api/table/${table}/record/${record}/get`)).body.data[field]).toEqual(lost)
  })

  test.each(WRITERS)(`${field}: done when %s with what stays`, async (_, write) => {
    const table = await dealsTable()
    expect(await changing(table, field, changes, () => write(table, field, kept))).toMatchObject(changes)
    expect(await fieldOf(table, field)).toMatchObject(changes)
    expect(await narrowingOf(table)).toBe(0)
  })

  test(`${field}: a change is refused while a cell, which no answer names, prevents it`, async () => {
    const table = await dealsTable()
    await as.post(`/api/table/${table}/record/11999/update`, { data: { [field]: lost } })
    const refused = await as.post(`/api/table/${table}/field/${field}/update`, changes)
    expect([refused.status, refused.body.issues[0].path]).toEqual([409, Object.keys(changes)])
    expect(await narrowingOf(table)).toBe(0)
    await as.post(`/api/table/${table}/record/11999/update`, { data: { [field]: null } })
    let seen: object = {}
    await changing(table, field, changes, async () => {
      seen = await fieldOf(table, field)
      expect(await narrowingOf(table)).toBe(1)
    })
    expect(Object.keys(seen)).not.toContain('narrowing')
  })

  test(`${field}: a change that broke off blocks nobody`, async () => {
    const table = await dealsTable()
    const broken = changing(table, field, changes, () => Promise.reject(new Error('the plug was pulled')))
    await expect(broken).rejects.toThrow('the plug was pulled')
    expect(await narrowingOf(table)).toBe(1)
    const { body } = await as.post(`/api/table/${table}/records/create`, { data: { [field]: lost } })
    expect(body.data[field]).toEqual(lost)
    expect(await narrowingOf(table)).toBe(0)
    expect((await as.post(`/api/table/${table}/field/${field}/update`, changes)).status).toBe(409)
    expect((await as.post(`/api/table/${table}/record/${body.id}/delete`)).status).toBe(200)
    expect((await as.post(`/api/table/${table}/field/${field}/update`, changes)).body).toMatchObject(changes)
  })

  test(`${field}: of two concurrent changes, the earlier one's check no longer counts once the later one has changed the field`, async () => {
    const table = await dealsTable()
    const earlier = changing(table, field, changes, async () => {
      expect((await as.post(`/api/table/${table}/field/${field}/update`, changes)).status).toBe(200)
      // Reverts the change, so that the earlier request must not rely on its check.
      const back = field === 'amount' ? { decimals: null } : { options: [...(changes.options as string[]), 'Other'] }
      expect((await as.post(`/api/table/${table}/field/${field}/update`, back)).status).toBe(200)
      await as.post(`/api/table/${table}/record/5/update`, {
        data: { [field]: field === 'amount' ? 7.25 : field === 'tags' ? ['Other'] : 'Other' },
      })
    })
    await expect(earlier).rejects.toMatchObject({ code: 'CONFLICT' })
    expect((await as.get(`/api/table/${table}/record/5/get`)).body.data[field]).toEqual(
      field === 'amount' ? 7.25 : field === 'tags' ? ['Other'] : 'Other',
    )
  })
}

test('an import that has begun takes back what a field is about to lose', async () => {
  const table = await dealsTable()
  let imported: Promise<unknown> = Promise.resolve()
  const { promise: looked, resolve: look } = Promise.withResolvers<void>()
  async function* file() {
    yield Buffer.from('Amount\r\n1.25\r\n')
    await looked
  }
  imported = importRecords(systemContext(app.deps), ref(table), file(), { maxBytes: 100 })
  const changed = changing(table, 'amount', { decimals: 1 }, async () => {
    look()
    expect(await imported).toMatchObject({ value: { created: 1 } })
  })
  await expect(changed).rejects.toMatchObject({ code: 'CONFLICT' })
  const { body } = await as.post(`/api/table/${table}/records/query`, { filters: [{ column: 'amount', compare: '=', value: 1.25 }] })
  expect(body).toHaveLength(1)
})

test('a write that is running when the check begins is found by it', async () => {
  const table = await dealsTable()
  const writer = await app.db.connect()
  await writer.query(`begin; update t${table}.records set amount = 7.25 where id = 5`)
  const context = systemContext(app.deps)
  let attempts = 0
  // The first attempt waits for the writer in vain.
  const commitBeforeSecond = async () => void (++attempts === 2 && (await writer.query('commit')))
  const db = databaseWith(context.db, (statement) => beginsChange(statement) && commitBeforeSecond())
  const changed = update({ ...context, db }, ref(table), 'amount', { decimals: 1 })
  await expect(changed).rejects.toMatchObject({ code: 'CONFLICT', message: expect.stringContaining('send force: true') })
  await writer.end()
  expect(attempts).toBeGreaterThan(1)
})

test('a field that is deleted before its check is reported as missing', async () => {
  const table = await dealsTable()
  const deleted = async () => expect((await as.post(`/api/table/${table}/field/amount/delete`)).status).toBe(200)
  await expect(changing(table, 'amount', { decimals: 1 }, deleted, 'before')).rejects.toMatchObject({
    code: 'CONFLICT',
    message: 'The field has just been changed',
  })
})

test('a type that the field gets during the check is kept', async () => {
  const table = await dealsTable()
  const changed = changing(table, 'amount', { decimals: 1 }, async () => {
    expect((await as.post(`/api/table/${table}/field/amount/changeType`, { type: 'text' })).status).toBe(200)
  })
  await expect(changed).rejects.toMatchObject({ message: 'The field is being converted to another type' })
})
