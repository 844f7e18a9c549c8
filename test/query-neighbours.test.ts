/** Tests record/neighbours: what is before and after a record in a view, and its position. */
import { describe, expect, test } from 'vitest'
import { type Caller, testApp } from './support/app.ts'
import { makeTable, makeView } from './support/tables.ts'

const app = await testApp()
const account = await app.account()
const owner = app.as(account.owner)
const { body: table } = await owner.post(`/api/space/${account.space}/tables/create`, {
  name: 'Deals',
  fields: [
    { name: 'Name', type: 'text' },
    { name: 'Stage', type: 'select', options: ['Lead', 'Won'] },
    { name: 'Amount', type: 'number' },
    { name: 'Paid', type: 'checkbox' },
    { name: 'Tags', type: 'multi_select', options: ['Red'] },
  ],
})
const path = `/api/table/${table.id}`
const records = [
  { name: 'a', stage: 'Won', amount: 3, paid: true },
  { name: 'B', stage: 'Lead', amount: 1 },
  { name: 'c', stage: 'Lead', amount: 3, paid: true },
  { name: 'd', stage: 'Won' },
  {},
]
await owner.post(`${path}/records/create_batch`, { records: records.map((data) => ({ data })) })

const ask = (id: number | string, body: object, caller: Caller = account.viewer) =>
  app.as(caller).post(`${path}/record/${id}/neighbours`, body)
const neighbours = async (id: number, body: object) => (await ask(id, body)).body

describe('the neighbours of a record', () => {
  test('follow ids without an order, and are null at the ends', async () => {
    expect(await neighbours(1, {})).toEqual({ matches: true, previous: null, next: 2 })
    expect(await neighbours(3, { position: true })).toEqual({ matches: true, previous: 2, next: 4, position: 2, total: 5 })
    expect(await neighbours(5, { position: false })).toEqual({ matches: true, previous: 4, next: null })
    expect(await neighbours(1, { order_by: 'id', order_dir: 'D' })).toEqual({ matches: true, previous: 2, next: null })
  })

  const orders: object[] = [
    {},
    { order_by: 'name' },
    { order_by: 'amount', order_dir: 'D' },
    { order_by: 'amount', order_dir: 'A' },
    { order_by: 'paid', order_dir: 'D' },
    { order_by: 'created_by' },
    { order: [{ field: 'stage', dir: 'D' }, { field: 'amount' }] },
    { order: [{ field: 'amount' }, { field: 'paid', dir: 'D' }, { field: 'stage', dir: 'D' }] },
    { order: [{ field: 'paid' }, { field: 'id', dir: 'D' }] },
    { order: [{ field: 'amount', nulls: 'last' }] },
    { order: [{ field: 'amount', dir: 'D', nulls: 'first' }] },
    { order: [{ field: 'stage', dir: 'D', nulls: 'first' }, { field: 'amount', nulls: 'last' }, { field: 'name' }] },
    {
      order: [
        { field: 'paid', nulls: 'last' },
        { field: 'name', dir: 'D', nulls: 'first' },
      ],
    },
  ]
  test.each(orders.map((order) => [JSON.stringify(order), order] as const))('are those of a page in the order %s', async (_, order) => {
    for (const where of [undefined, { paid: true }]) {
      const all = (await app.as(account.viewer).post(`${path}/records/query`, { ...order, where })).body
      for (const [position, { id }] of all.entries())
        expect(await neighbours(id, { ...order, where, position: true }), `${id}`).toEqual({
          matches: true,
          previous: all[position - 1]?.id ?? null,
          next: all[position + 1]?.id ?? null,
          position,
          total: all.length,
        })
    }
  })

  test('are the nearest two of a view that does not have the record', async () => {
    const { id: view_id } = await makeView(app, account, table.id, {
      type: 'grid',
      filters: [{ column: 'stage', compare: '=', value: 'Won' }],
      order_by: 'amount',
    })
    expect(await neighbours(2, { view_id, position: true })).toEqual({ matches: false, previous: 4, next: 1, position: 1, total: 2 })
    expect(await neighbours(1, { view_id })).toEqual({ matches: true, previous: 4, next: null })
    expect(await neighbours(2, { search: 'nothing', position: true })).toEqual({
      matches: false,
      previous: null,
      next: null,
      position: 0,
      total: 0,
    })
    // The record leaves the view between two calls.
    const { body: moving } = await owner.post(`${path}/records/create`, { data: { stage: 'Won', amount: 9 } })
    expect(await neighbours(moving.id, { view_id })).toEqual({ matches: true, previous: 1, next: null })
    await owner.post(`${path}/record/${moving.id}/update`, { data: { stage: 'Lead', amount: 2 } })
    expect(await neighbours(moving.id, { view_id })).toEqual({ matches: false, previous: 4, next: 1 })
    await owner.post(`${path}/record/${moving.id}/delete`)
    expect((await ask(moving.id, { view_id })).body.message).toBe('Record not found')
  })

  test('follow a view with what a request appends, and say what is ignored', async () => {
    const { id: view_id } = await makeView(app, account, table.id, { type: 'grid', filters: [], order_by: 'name' })
    const where = { paid: true }
    const ignored = await ask(1, { view_id, where, order_by: 'nope' })
    expect([ignored.body.next, ignored.headers.get('x-ignored')]).toEqual([2, 'where, order_by'])
    expect(await neighbours(1, { view_id, where, append_filters: true })).toEqual({ matches: true, previous: null, next: 3 })
    expect((await ask(1, { where: { stage: 'Wonn' } })).headers.get('x-unknown-options')).toBe('stage=Wonn')
    for (const unknown of [2_000_000_000, -1, 'x']) {
      const { status, body } = await ask(1, { view_id: unknown })
      expect([status, body.message]).toEqual([404, 'View not found'])
    }
  })

  test('are the same by RPC for every reader, and refused to strangers as the record is', async () => {
    for (const caller of [account.owner, account.viewer, account.keys.accountReadOnly, account.keys.personalViewer])
      expect(await app.as(caller).rpc.records.neighbours.query({ table_id: table.id, record_id: 2, order_by: 'name' })).toEqual({
        matches: true,
        previous: 1,
        next: 3,
      })
    const refusals = [account.outsider, account.keys.accountOutsider, account.keys.accountOtherSpace, null].map(
      async (caller) => (await ask(2, {}, caller)).status,
    )
    expect(await Promise.all(refusals)).toEqual([404, 404, 403, 401])
    expect((await ask(2_000_000, {})).body.message).toBe('Record not found')
    expect((await ask('x', {})).status).toBe(400)
  })

  test('say of a search for many words in many fields that it is too large', async () => {
    const account = await app.account()
    const fields = Array.from({ length: 280 }, (_, number) => ({ name: `F${number}`, type: 'text' as const }))
    const wide = await makeTable(app, account, { fields })
    const as = app.as(account.owner)
    const { body: record } = await as.post(`${wide.path}/records/create`, { data: { f0: 'x' } })
    const wordsOf = (count: number) => Array.from({ length: count }, (_, number) => `w${number}`).join(' ')
    const ask = (search: string) => as.post(`${wide.path}/record/${record.id}/neighbours`, { search, position: true })
    expect((await ask(wordsOf(10))).body).toMatchObject({ matches: false, position: 0, total: 0 })
    const { status, body } = await ask(wordsOf(100))
    expect([status, body.message]).toEqual([400, 'search: has too many words for a table with so many fields'])
  })

  test.each<[string, object, string]>([
    ['an unknown field', { order_by: 'nope' }, 'order_by'],
    ['a list', { order: [{ field: 'tags' }] }, 'order.0.field'],
    ['four keys', { order: ['name', 'stage', 'amount', 'paid'].map((field) => ({ field })) }, 'order'],
    ['a wrong condition', { where: { amount: 'x' } }, 'where.amount'],
    ['no truth', { position: 'yes' }, 'position'],
    ['a limit', { limit: 1 }, 'limit'],
  ])('by %s: 400 naming it', async (_, body, name) => {
    const answer = await ask(1, body)
    expect([answer.status, answer.body.issues?.[0].path.join('.')]).toEqual([400, name])
  })
})
