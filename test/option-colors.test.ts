/** The colors of the options of selects (contract.md §11, Colours). */
import { describe, expect, test } from 'vitest'
import { systemContext } from '../src/platform/context.ts'
import { sql } from '../src/platform/database/database.ts'
import { testApp } from './support/app.ts'
import { runConversion } from './support/conversions.ts'
import { makeTable } from './support/tables.ts'

const app = await testApp()
const account = await app.account()
const as = app.as(account.keys.account)

const OPTIONS = ['Open', 'Waiting', 'Done']
const COLORS = { Open: 'gray', Done: 'green' }
const ALL = ['gray', 'red', 'orange', 'yellow', 'green', 'teal', 'blue', 'indigo', 'purple', 'pink']
const LISTED = `must be one of ${ALL.join(', ')}`

async function colored(field: object = {}) {
  const { id, path } = await makeTable(app, account, {
    fields: [{ name: 'Cell', type: 'select', options: OPTIONS, colors: COLORS, ...field }],
  })
  const update = (body: object) => as.post(`${path}/field/cell/update`, body)
  const fieldNow = async () => (await as.get(`${path}/get`)).body.fields.find((one: { id: string }) => one.id === 'cell')
  return { id, path, update, fieldNow }
}

describe('are given with a new field', () => {
  test.each(['select', 'multi_select'])('of the type %s, and are beside its options wherever it is shown', async (type) => {
    const { id, path, fieldNow } = await colored({ type })
    expect(await fieldNow()).toMatchObject({ options: OPTIONS, colors: COLORS, version: 1 })
    const all = Object.fromEntries(ALL.map((color) => [`The ${color}`, color]))
    const created = await as.post(`${path}/fields/create`, { name: 'More', type, options: Object.keys(all), colors: all })
    expect(created.body).toMatchObject({ options: Object.keys(all), colors: all })
    const rpc = await as.rpc.fields.create.mutate({ table_id: id, name: 'None', type, options: ['x'] } as never)
    expect(rpc.colors).toEqual({})
    const shown = { cell: COLORS, more: all, none: {} }
    const colorsOf = (fields: { id: string; colors?: object }[]) =>
      Object.fromEntries(fields.flatMap((field) => (field.colors ? [[field.id, field.colors]] : [])))
    expect(colorsOf((await as.rpc.tables.get.query({ table_id: id })).fields)).toEqual(shown)
    const listed = await as.get(`/api/space/${account.space}/tables/list?include=fields`)
    expect(colorsOf(listed.body.find((table: { id: number }) => table.id === id).fields)).toEqual(shown)
    const order = await as.post(`${path}/fields/reorder`, { field_ids: ['none', 'more', 'cell'] })
    expect(colorsOf(order.body)).toEqual(shown)
    expect(colorsOf((await as.post(`${path}/update`, { name: `Copied ${id}` })).body.fields)).toEqual(shown)
  })

  test('and a definition that was read makes the same field again', async () => {
    const { fieldNow } = await colored()
    const { name, type, options, colors } = await fieldNow()
    const again = await makeTable(app, account, { fields: [{ name, type, options, colors }] })
    expect((await as.get(`${again.path}/get`)).body.fields[1]).toEqual(await fieldNow())
  })

  test('in the spelling of the titles: trimmed, and in NFC', async () => {
    const { fieldNow } = await colored({
      options: ['\u00e9t\u00e9', '__proto__'],
      colors: JSON.parse('{" e\u0301te\u0301 ":"red","__proto__":"pink"}'),
    })
    expect(Object.entries((await fieldNow()).colors)).toEqual([
      ['\u00e9t\u00e9', 'red'],
      ['__proto__', 'pink'],
    ])
  })

  test('and absent from fields of other types', async () => {
    const { path } = await makeTable(app, account)
    for (const field of (await as.get(`${path}/get`)).body.fields) expect(field).not.toHaveProperty('colors')
  })
})

describe('an update', () => {
  test('without colors keeps them: of a renamed option, of one that moves; those of a removed one go', async () => {
    const { update, fieldNow } = await colored()
    const renamed = await update({ options: [{ title: 'Finished', was: 'Done' }, 'Waiting', 'Open'] })
    expect(renamed.body.colors).toEqual({ Open: 'gray', Finished: 'green' })
    expect((await update({ name: 'Stage' })).body.colors).toEqual({ Open: 'gray', Finished: 'green' })
    expect((await update({ remove_options: ['Finished'] })).body.colors).toEqual({ Open: 'gray' })
    expect((await update({ add_options: ['Finished', 'Done'] })).body.colors).toEqual({ Open: 'gray' })
    expect((await update({ options: ['Done', 'New'] })).body.colors).toEqual({})
    expect(await fieldNow()).toMatchObject({ options: ['Done', 'New'], colors: {} })
  })

  test('replaces them as a whole, alone or with the list of options, and null clears them', async () => {
    const { update } = await colored()
    expect((await update({ colors: { Waiting: 'yellow' } })).body.colors).toEqual({ Waiting: 'yellow' })
    const both = await update({ options: ['New', { title: 'Late', was: 'Waiting' }], colors: { New: 'teal', Late: 'red' } })
    expect(both.body).toMatchObject({ options: ['New', 'Late'], colors: { New: 'teal', Late: 'red' } })
    expect((await update({ colors: { New: null, Late: 'red' } })).body.colors).toEqual({ Late: 'red' })
    expect((await update({ colors: null })).body.colors).toEqual({})
  })

  test('with add_options or remove_options changes the colors that it names', async () => {
    const { id, update } = await colored()
    const added = await update({ add_options: ['Later', 'Never'], colors: { Later: 'blue', Done: 'teal', Open: null } })
    expect(added.body.colors).toEqual({ Done: 'teal', Later: 'blue' })
    const rpc = await as.rpc.fields.update.mutate({ table_id: id, field_id: 'cell', remove_options: ['Done'], colors: { Open: 'pink' } })
    expect(rpc.colors).toEqual({ Open: 'pink', Later: 'blue' })
  })

  test('of several people at once loses no color', async () => {
    const { update, fieldNow } = await colored()
    const titles = Array.from({ length: 6 }, (_, index) => `New ${index}`)
    const answers = await Promise.all(titles.map((title) => update({ add_options: [title], colors: { [title]: 'indigo' } })))
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200))
    expect((await fieldNow()).colors).toEqual({ ...COLORS, ...Object.fromEntries(titles.map((title) => [title, 'indigo'])) })
  })

  test('is a new version and an audit entry, unless the colors are the same', async () => {
    const { id, update } = await colored()
    expect((await update({ colors: { Done: 'green', Open: 'gray' } })).body.version).toBe(1)
    expect((await update({ colors: { Open: 'gray' } })).body.version).toBe(2)
    const details = await app.db.read<{ detail: object }>(
      sql`select detail from audit_entries where action = 'field.updated' and table_id = ${id}`,
    )
    expect(details).toEqual([{ detail: { changed: ['colors'], force: false } }])
  })
})

describe('are refused', () => {
  const cases: [string, unknown, (string | number)[], string][] = [
    ['an unknown title', { open: 'red' }, ['colors', 'open'], 'unknown option "open"'],
    ['an unknown color', { Open: 'puce' }, ['colors', 'Open'], LISTED],
    ['a color in capitals', { Open: 'Red' }, ['colors', 'Open'], LISTED],
    ['a color that is no text', { Open: 1 }, ['colors', 'Open'], LISTED],
    ['a list', ['red'], ['colors'], 'must be an object with colors by option title'],
    ['a text', 'red', ['colors'], 'must be an object with colors by option title'],
    ['too many', Object.fromEntries(Array.from({ length: 501 }, (_, index) => [index, 'red'])), ['colors'], 'must have at most 500 colors'],
  ]

  test.each(cases)('for %s, on create and update', async (_, colors, path, message) => {
    const { path: table, update, fieldNow } = await colored()
    const before = await fieldNow()
    const field = { name: 'Other', type: 'select', options: OPTIONS, colors }
    const answers: [{ status: number; body: { issues: unknown } }, (string | number)[]][] = [
      [await update({ colors }), path],
      [await as.post(`${table}/fields/create`, field), path],
      [await as.post(`/api/space/${account.space}/tables/create`, { name: 'Refused', fields: [field] }), ['fields', 0, ...path]],
    ]
    for (const [{ status, body }, at] of answers) expect([status, body.issues]).toEqual([400, [{ path: at, message }]])
    expect(await fieldNow()).toEqual(before)
  })

  test('for an option that goes with the same request', async () => {
    const { update, fieldNow } = await colored()
    for (const [body, title] of [
      [{ remove_options: ['Done'], colors: { Done: 'red' } }, 'Done'],
      [{ options: ['Open'], colors: { Waiting: 'red' } }, 'Waiting'],
      [{ options: [{ title: 'Closed', was: 'Done' }], colors: { Done: 'red' } }, 'Done'],
    ] as const) {
      const answer = await update(body)
      expect([answer.status, answer.body.issues]).toEqual([400, [{ path: ['colors', title], message: `unknown option "${title}"` }]])
    }
    expect(await fieldNow()).toMatchObject({ options: OPTIONS, colors: COLORS })
  })

  test('for a type without options, and for those who may not change fields', async () => {
    const { id, path } = await makeTable(app, account)
    const { status, body } = await as.post(`${path}/field/name/update`, { colors: {} })
    expect([status, body.issues]).toEqual([400, [{ path: ['colors'], message: 'text fields have no colors' }]])
    const created = await as.post(`${path}/fields/create`, { name: 'n', type: 'number', colors: { a: 'red' } })
    expect([created.status, created.body.issues]).toEqual([400, [{ path: ['colors'], message: 'number fields have no colors' }]])
    expect((await as.post(`${path}/fields/create`, { name: 'n', type: 'number', colors: null })).status).toBe(200)
    expect((await as.post(`${path}/field/name/update`, { colors: null })).status).toBe(200)
    const change = { colors: { Open: 'red' } }
    expect((await app.as(account.outsider).post(`${path}/field/name/update`, change)).status).toBe(404)
    expect((await app.as(account.member).post(`/api/table/${id}/field/name/update`, change)).status).toBe(403)
    expect((await app.as(null).post(`${path}/field/name/update`, change)).status).toBe(401)
  })
})

describe('a change of the type', () => {
  const change = async (path: string, body: object) => {
    const { body: job } = await as.post(`${path}/field/cell/changeType`, body)
    await runConversion(systemContext(app.deps), job.job_id)
  }

  test('between the two selects keeps the colors of the options that stay', async () => {
    const { path, fieldNow } = await colored()
    await change(path, { type: 'multi_select' })
    expect(await fieldNow()).toMatchObject({ type: 'multi_select', colors: COLORS })
    await change(path, { type: 'select', options: ['Done', 'New'] })
    expect(await fieldNow()).toMatchObject({ options: ['Done', 'New'], colors: { Done: 'green' } })
  })

  test('to a text and back ends them', async () => {
    const { path, fieldNow } = await colored()
    await change(path, { type: 'text' })
    expect(await fieldNow()).not.toHaveProperty('colors')
    await change(path, { type: 'select', options: OPTIONS })
    expect(await fieldNow()).toMatchObject({ options: OPTIONS, colors: {} })
  })
})

test('an option that the previous release removes takes its color along, whoever adds the next one', async () => {
  const { id, update, fieldNow } = await colored()
  // The previous release writes the options and knows no colors.
  const left = [{ id: 1, title: 'Open' }]
  await app.db.write(
    sql`update fields set options = ${JSON.stringify(left)}::jsonb, version = version + 1 where table_id = ${id} and id = 'cell'`,
  )
  await app.db.write(sql`update tables set version = version + 1 where id = ${id}`)
  expect(await fieldNow()).toMatchObject({ options: ['Open'], colors: { Open: 'gray' } })
  expect((await update({ add_options: ['Second', 'Third'] })).body).toMatchObject({
    options: ['Open', 'Second', 'Third'],
    colors: { Open: 'gray' },
  })
})
