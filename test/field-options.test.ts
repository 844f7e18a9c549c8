/** Options that several people change, and the versions of fields. */
import { describe, expect, test } from 'vitest'
import { systemContext } from '../src/platform/context.ts'
import { testApp } from './support/app.ts'
import { runConversion } from './support/conversions.ts'
import { makeTable, makeView } from './support/tables.ts'

const app = await testApp()
const account = await app.account()
const as = app.as(account.keys.account)

async function selectOf(options: string[] = ['Open', 'Done'], type = 'select') {
  const { id, path } = await makeTable(app, account, { fields: [{ name: 'Cell', type, options }] })
  const update = (body: object, headers: Record<string, string> = {}) => as.post(`${path}/field/cell/update`, body, headers)
  const optionsNow = async () => (await fieldNow()).options
  const fieldNow = async () => (await as.get(`${path}/get`)).body.fields.find((field: { id: string }) => field.id === 'cell')
  return { id, path, update, optionsNow, fieldNow }
}

describe('add_options and remove_options', () => {
  test.each(['select', 'multi_select'])('of several people at once all take effect on a %s', async (type) => {
    const { update, optionsNow } = await selectOf(['Open', 'a', 'b', 'c'], type)
    const titles = Array.from({ length: 6 }, (_, index) => `New ${index}`)
    const answers = await Promise.all([
      ...titles.map((title) => update({ add_options: [title] })),
      ...['a', 'b', 'c'].map((title) => update({ remove_options: [title] })),
      update({ add_options: ['Both'] }),
      update({ add_options: ['Both'] }),
    ])
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200))
    expect([...(await optionsNow())].sort()).toEqual(['Both', ...titles, 'Open'])
  })

  test('together keep the other options, their order and their records', async () => {
    const { id, path, update } = await selectOf(['a', 'b', 'c'])
    const record = await as.rpc.records.create.mutate({ table_id: id, data: { cell: 'c' } })
    const { body } = await update({ add_options: ['d', 'a'], remove_options: ['b'], name: 'Stage' })
    expect(body).toMatchObject({ id: 'cell', name: 'Stage', options: ['a', 'c', 'd'] })
    expect((await as.get(`${path}/record/${record.id}/get`)).body.data.cell).toBe('c')
    const rpc = await as.rpc.fields.update.mutate({ table_id: id, field_id: 'cell', add_options: ['e'], remove_options: null })
    expect(rpc.options).toEqual(['a', 'c', 'd', 'e'])
    expect((await update({ add_options: ['a', 'e'] })).body.options).toEqual(rpc.options)
  })

  test.each<[string, object, (string | number)[], string]>([
    ['both forms', { options: ['a'], add_options: ['b'] }, ['add_options'], 'does not go with options, which is the whole list'],
    ['both forms', { options: null, remove_options: ['Open'] }, ['remove_options'], 'does not go with options, which is the whole list'],
    ['an unknown title', { remove_options: ['open'] }, ['remove_options'], 'unknown option "open"'],
    ['a title twice', { add_options: ['x', ' x '] }, ['add_options'], '"x" is listed twice'],
    ['a title twice', { remove_options: ['Open', 'Open'] }, ['remove_options'], '"Open" is listed twice'],
    ['a title in both', { add_options: ['Open'], remove_options: ['Open'] }, ['add_options'], '"Open" is added and removed'],
    ['an empty title', { add_options: [' '] }, ['add_options', 0], 'must not be empty'],
    ['no list', { add_options: 'x' }, ['add_options'], 'must be a list'],
    ['no text', { remove_options: [{ title: 'Open', was: 'Done' }] }, ['remove_options', 0], 'must be text'],
    ['too many', { add_options: Array.from({ length: 499 }, (_, index) => `${index}`) }, ['add_options'], 'must have at most 500 options'],
  ])('are refused for %s', async (_, body, path, message) => {
    const { update, fieldNow } = await selectOf()
    const before = await fieldNow()
    const answer = await update(body)
    expect([answer.status, answer.body.issues]).toEqual([400, [{ path, message }]])
    expect(await fieldNow()).toEqual(before)
  })

  test('are refused for a field without options, and for strangers', async () => {
    const { id, path } = await makeTable(app, account)
    const { status, body } = await as.post(`${path}/field/name/update`, { add_options: ['x'] })
    expect([status, body.issues]).toEqual([400, [{ path: ['add_options'], message: 'text fields have no options' }]])
    const stranger = app.as(account.outsider)
    expect((await stranger.post(`${path}/field/name/update`, { add_options: ['x'] })).status).toBe(404)
    expect((await app.as(account.member).post(`/api/table/${id}/field/name/update`, { add_options: ['x'] })).status).toBe(403)
    expect((await app.as(null).post(`${path}/field/name/update`, { add_options: ['x'] })).status).toBe(401)
  })

  test('heed records and views as the whole list does', async () => {
    const { id, update, optionsNow } = await selectOf(['used', 'filtered', 'free'])
    await as.rpc.records.create.mutate({ table_id: id, data: { cell: 'used' } })
    const view = await makeView(app, account, id, { filters: [{ column: 'cell', compare: '=', value: 'filtered' }] })
    const used = await update({ remove_options: ['used'] })
    expect([used.status, used.body.message]).toEqual([409, 'options: records use "used"; send force: true to change them'])
    const filtered = await update({ remove_options: ['filtered'] })
    expect([filtered.status, filtered.body.message]).toEqual([409, expect.stringContaining(view.name)])
    expect((await update({ remove_options: ['free'] })).status).toBe(200)
    expect((await update({ remove_options: ['used', 'filtered'], force: true })).body.options).toEqual([])
    expect(await optionsNow()).toEqual([])
  })
})

describe('the version of a field', () => {
  test('is in each answer with the field, and increases with each change of it', async () => {
    const { id, path, update, fieldNow } = await selectOf()
    expect(await fieldNow()).toMatchObject({ version: 1 })
    const created = await as.post(`${path}/fields/create`, { name: 'More', type: 'text' })
    expect([created.body.version, created.headers.get('etag')]).toEqual([1, '"1"'])
    const updated = await update({ name: 'Stage' })
    expect([updated.body.version, updated.headers.get('etag')]).toEqual([2, '"2"'])
    const same = await update({ name: 'Stage', required: false, add_options: ['Open'] })
    expect([same.body.version, same.headers.get('etag')]).toEqual([2, '"2"'])
    const { body: change } = await as.post(`${path}/field/cell/changeType`, { type: 'text' })
    await runConversion(systemContext(app.deps), change.job_id)
    expect(await fieldNow()).toMatchObject({ type: 'text', version: 3 })
    const table = await as.rpc.tables.get.query({ table_id: id })
    expect(table.fields.map((field) => [field.id, field.version])).toEqual([
      ['id', 1],
      ['cell', 3],
      ['more', 1],
      ...['created_at', 'created_by', 'updated_at', 'updated_by'].map((name) => [name, 1]),
    ])
    const reordered = await as.post(`${path}/fields/reorder`, { field_ids: ['more', 'cell'] })
    expect(reordered.body.map((field: { version: number }) => field.version)).toEqual([1, 1, 3, 1, 1, 1, 1])
    expect((await as.post(`/api/table/${id}/update`, { name: `Renamed ${id}` })).body.fields[2].version).toBe(3)
  })

  test('is heeded in If-Match, and a stale one is 409 with the present field', async () => {
    const { update, fieldNow } = await selectOf()
    expect((await update({ name: 'A' }, { 'if-match': '"1"' })).status).toBe(200)
    const stale = await update({ name: 'B', add_options: ['x'] }, { 'if-match': '"1"' })
    expect([stale.status, stale.body.message, stale.headers.get('etag')]).toEqual([409, 'The field has changed since', '"2"'])
    expect(stale.body.current).toEqual(await fieldNow())
    expect((await fieldNow()).name).toBe('A')
    for (const match of ['"x"', '"1", "3"']) expect((await update({ name: 'B' }, { 'if-match': match })).status).toBe(409)
    for (const match of ['"1", "2"', '*']) expect((await update({ name: 'B' }, { 'if-match': match })).status).toBe(200)
  })

  test('lets one of two changes at once win', async () => {
    const { update, fieldNow } = await selectOf()
    const answers = await Promise.all(['A', 'B'].map((name) => update({ name }, { 'if-match': '"1"' })))
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 409])
    expect((await fieldNow()).version).toBe(2)
  })
})
