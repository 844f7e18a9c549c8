/** Orders of several keys, and pages by cursor. */
import { describe, expect, test } from 'vitest'
import { type Caller, testApp } from './support/app.ts'

const app = await testApp()
let counter = 0
const account = await app.account()
const table = await makeTable([
  { name: 'Name', type: 'text' },
  { name: 'Stage', type: 'select', options: ['New', 'Won'] },
  { name: 'Amount', type: 'number' },
  { name: 'Tags', type: 'multi_select', options: ['Red'] },
])
await makeRecords(table, [
  { name: 'a', stage: 'Won', amount: 2 },
  { name: 'b', stage: 'New', amount: 2 },
  { name: 'c', stage: 'Won' },
  { name: 'd', amount: 2 },
  { name: 'e', stage: 'New', amount: 1 },
  { name: 'F', stage: 'Won', amount: 2 },
])

async function makeTable(fields: object[]): Promise<number> {
  const { status, body } = await app
    .as(account.owner)
    .post(`/api/space/${account.space}/tables/create`, { name: `Table ${counter++}`, fields })
  expect(status, JSON.stringify(body)).toBe(200)
  return body.id
}

async function makeRecords(tableId: number, rows: object[]): Promise<number[]> {
  const path = `/api/table/${tableId}/records/create_batch`
  const { status, body } = await app.as(account.owner).post(path, { records: rows.map((data) => ({ data })) })
  expect(status, JSON.stringify(body)).toBe(200)
  return body.map(({ id }: { id: number }) => id)
}

const query = (body: object, caller: Caller = account.viewer, tableId = table) =>
  app.as(caller).post(`/api/table/${tableId}/records/query`, body)

async function names(body: object): Promise<string> {
  const answer = await query(body)
  expect(answer.status, JSON.stringify(answer.body)).toBe(200)
  return answer.body.map(({ name }: { name: string }) => name).join(' ')
}

describe('an order of several keys', () => {
  test.each<[string, object[], string]>([
    ['one key is order_by', [{ field: 'amount', dir: 'D' }], 'F d b a e c'],
    ['without a direction it ascends', [{ field: 'amount' }], 'c e a b d F'],
    ['ties of the first go by the second', [{ field: 'stage' }, { field: 'amount' }], 'd e b c a F'],
    [
      'each key has its own direction',
      [
        { field: 'stage', dir: 'D' },
        { field: 'amount', dir: 'a' },
      ],
      'c a F e b d',
    ],
    ['ties of all go by id, in the direction of the last', [{ field: 'stage' }, { field: 'amount', dir: 'd' }], 'd b e F a c'],
    ['three keys', [{ field: 'amount' }, { field: 'stage', dir: 'D' }, { field: 'name', dir: 'D' }], 'c e F a b d'],
    ['what comes after id decides nothing', [{ field: 'id', dir: 'D' }, { field: 'amount' }], 'F e d c b a'],
    ['no keys are no order', [], 'a b c d e F'],
  ])('%s', async (_, order, expected) => {
    expect(await names({ order })).toBe(expected)
    const paged = []
    for (let offset = 0; offset < 6; offset += 2) paged.push(await names({ order, limit: 2, offset }))
    expect(paged.join(' ')).toBe(expected)
  })

  test('by RPC is the same', async () => {
    const { rows } = await app
      .as(account.keys.personal)
      .rpc.records.query.query({ table_id: table, order: [{ field: 'stage', dir: 'D' }, { field: 'name' }] })
    expect(rows.map(({ name }) => name).join(' ')).toBe('a c F b e d')
  })

  test.each<[string, object, string[]]>([
    ['both forms', { order: [{ field: 'name' }], order_by: 'name' }, ['order_by']],
    ['a direction beside it', { order: [{ field: 'name' }], order_dir: 'D' }, ['order_dir']],
    ['more than three keys', { order: ['id', 'name', 'stage', 'amount'].map((field) => ({ field })) }, ['order']],
    ['a field twice', { order: [{ field: 'name' }, { field: 'id' }, { field: 'name', dir: 'D' }] }, ['order.2.field']],
    ['an unknown field', { order: [{ field: 'name' }, { field: 'xmin' }] }, ['order.1.field']],
    ['a field that cannot be sorted by', { order: [{ field: 'tags' }] }, ['order.0.field']],
    ['no field', { order: [{ dir: 'A' }] }, ['order.0.field']],
    ['a field that is no text', { order: [{ field: 1 }] }, ['order.0.field']],
    ['another direction', { order: [{ field: 'name', dir: 'asc' }] }, ['order.0.dir']],
    ['an unknown key', { order: [{ field: 'name', desc: true }] }, ['order.0.desc']],
    ['a key that is a text', { order: ['name'] }, ['order.0']],
    ['no list', { order: { field: 'name' } }, ['order']],
    ['several at once', { order: [{ field: 'nope' }, { field: 'name', dir: 1 }] }, ['order.0.field', 'order.1.dir']],
  ])('%s: 400 naming it', async (_, body, expected) => {
    const answer = await query(body)
    expect(answer.status).toBe(400)
    expect(answer.body.issues.map(({ path }: { path: unknown[] }) => path.join('.'))).toEqual(expected)
  })

  test('through a view it is ignored, and with append_filters it takes the place of the order of the view', async () => {
    const view = await app
      .as(account.owner)
      .post(`/api/table/${table}/views/create`, { name: 'By name', type: 'grid', order_by: 'name', order_dir: 'D' })
    const order = [{ field: 'amount', dir: 'D' }, { field: 'name' }]
    const ignored = await query({ view_id: view.body.id, order: 'nonsense' })
    expect(ignored.headers.get('x-ignored')).toBe('order')
    expect(await names({ view_id: view.body.id, order })).toBe('F e d c b a')
    expect(await names({ view_id: view.body.id, append_filters: true, order })).toBe('a b d F e c')
    expect(await names({ view_id: view.body.id, append_filters: true })).toBe('F e d c b a')
  })
})
