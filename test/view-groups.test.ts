/** Tests saved views with a nested `filter` in place of `filters`, and an `order` of several keys (contract.md §7). */
import { describe, expect, test } from 'vitest'
import { systemContext } from '../src/platform/context.ts'
import { type Answer, type Caller, testApp } from './support/app.ts'
import { runConversion } from './support/conversions.ts'
import { makeTable } from './support/tables.ts'

const app = await testApp()
const account = await app.account()
let counter = 0

const FIELDS = [
  { name: 'Name', type: 'text' },
  { name: 'Stage', type: 'select', options: ['New', 'Won', 'Lost'] },
  { name: 'Amount', type: 'number' },
  { name: 'Due', type: 'date' },
  { name: 'Owner', type: 'user' },
  { name: 'Tags', type: 'multi_select', options: ['a', 'b'] },
]
const RECORDS = [
  { name: 'Acme', stage: 'Won', amount: 10, due: '2026-03-28', owner: account.member.email },
  { name: 'Bolt', stage: 'New', amount: 20, due: '2026-03-30' },
  { name: 'Cone', stage: 'Won', amount: 30 },
  { name: 'Disk', stage: 'Lost', amount: 20, due: '2026-03-28' },
]

const dealsTable = async () => (await makeTable(app, account, { fields: FIELDS, records: RECORDS })).id
const table = await dealsTable()

const create = (body: object, of = table, caller: Caller = account.admin) =>
  app.as(caller).post(`/api/table/${of}/views/create`, { name: `View ${counter++}`, type: 'grid', ...body })
const update = (id: number, body: object, headers = {}, of = table) =>
  app.as(account.admin).post(`/api/table/${of}/view/${id}/update`, body, headers)
const get = (id: number, of = table) => app.as(account.viewer).get(`/api/table/${of}/view/${id}/get`)
const query = (body: object, of = table, caller: Caller = account.viewer) => app.as(caller).post(`/api/table/${of}/records/query`, body)

async function saved(body: object, of = table) {
  const answer = await create(body, of)
  expect(answer.status, JSON.stringify(answer.body)).toBe(200)
  return answer.body as { id: number; name: string; [key: string]: unknown }
}
async function names(body: object, of = table): Promise<string> {
  const answer = await query(body, of)
  expect(answer.status, JSON.stringify(answer.body)).toBe(200)
  return answer.body.map(({ name }: { name: string }) => name).join(' ')
}
const pathsOf = ({ body }: Answer) => body.issues?.map(({ path }: { path: unknown[] }) => path.join('.'))

const withoutBoth = (view: object) => Object.fromEntries(Object.entries(view).filter(([key]) => key !== 'filter' && key !== 'order'))

const won = { column: 'stage', compare: '=', value: 'Won' }
const large = { column: 'amount', compare: '>', value: 15 }
const early = { column: 'due', compare: '<=', value: '2026-03-28' }
/** Bolt and Disk are found by their amounts, and Acme by its date; Cone has neither. */
const GROUP = { any: [{ all: [{ ...won, compare: '!=' }, large] }, { all: [won, early] }] }
const ORDER = [
  { field: 'due', dir: 'D' },
  { field: 'amount', dir: 'A' },
]

describe('saving', () => {
  test('returns the group and the order in their normal form, and valid old properties to an older client', async () => {
    const { status, body } = await create({
      name: 'Both',
      filter: {
        any: [{ field: 'stage', compare: 'eq', value: 'Won' }, { all: [{ column: 'due', compare: 'EMPTY', value: 3 }, { any: [] }] }],
      },
      order: [{ field: 'due', dir: 'd' }, { field: 'amount' }, { field: 'id', dir: null }],
    })
    expect(status, JSON.stringify(body)).toBe(200)
    expect(body).toEqual({
      id: expect.any(Number),
      account_id: account.id,
      table_id: table,
      name: 'Both',
      type: 'grid',
      config: { columns: [] },
      filters: [],
      filter: { any: [won, { all: [{ column: 'due', compare: 'is_empty' }, { any: [] }] }] },
      order_by: 'due',
      order_dir: 'D',
      order: [
        { field: 'due', dir: 'D' },
        { field: 'amount', dir: 'A' },
        { field: 'id', dir: 'A' },
      ],
      created_by: account.admin.id,
      created_at: expect.any(String),
      updated_at: body.created_at,
      is_default: false,
      is_table_default: false,
      version: 1,
    })
    expect((await get(body.id)).body).toEqual(body)
    const { rpc } = app.as(account.keys.personal)
    expect(await rpc.views.get.query({ table_id: table, view_id: body.id })).toEqual(body)
    expect((await rpc.views.list.query({ table_id: table })).rows).toContainEqual(body)
    expect((await app.as(account.viewer).get(`/api/table/${table}/views/list`)).body).toContainEqual(body)
  })

  test('works the same by RPC, with types', async () => {
    const { rpc } = app.as(account.owner)
    const { id, ...made } = await rpc.views.create.mutate({
      table_id: table,
      name: 'By RPC',
      type: 'kanban',
      config: { categoryField: 'stage' },
      filter: { all: [won, { any: [large] }] },
      order: [{ field: 'amount', dir: 'D' }],
    })
    expect(made).toMatchObject({ filters: [], filter: { all: [won, { any: [large] }] }, order: [{ field: 'amount', dir: 'D' }] })
    const changed = await rpc.views.update.mutate({ table_id: table, view_id: id, filter: null, order: null })
    expect(changed).toMatchObject({ filters: [], order_by: null, order_dir: null })
    expect(Object.keys(changed)).not.toContain('filter')
    expect(Object.keys(changed)).not.toContain('order')
  })

  test('returns neither for a view without them', async () => {
    for (const body of [{}, { filters: [won], order_by: 'due' }, { filter: null, order: null }, { order: [] }]) {
      const view = await saved(body)
      expect(Object.keys(view)).not.toEqual(expect.arrayContaining(['filter']))
      expect(Object.keys(view)).not.toEqual(expect.arrayContaining(['order']))
    }
    const { body } = await app.as(account.viewer).get(`/api/table/${table}/view/0/get`)
    expect('filter' in body || 'order' in body).toBe(false)
  })

  test('can be checked with the same answer, and without effect', async () => {
    const input = { name: `Checked ${counter++}`, type: 'calendar', config: { startField: 'due' }, filter: GROUP, order: ORDER }
    const { status, body } = await app.as(account.admin).post(`/api/table/${table}/views/check`, input)
    expect(status, JSON.stringify(body)).toBe(200)
    expect(body).toEqual({
      ...input,
      config: { startField: 'due', mode: 'month', weekStart: 'monday' },
      filters: [],
      order_by: 'due',
      order_dir: 'D',
      is_table_default: false,
      dropped: [],
      index: 'idx_layout_due',
    })
    expect((await create(input)).status).toBe(200)
    const refused = await app.as(account.admin).post(`/api/table/${table}/views/check`, { ...input, filter: [] })
    expect([refused.status, pathsOf(refused)]).toEqual([400, ['filter']])
  })

  test('is allowed for sessions of space admins', async () => {
    const body = { name: 'Not mine', type: 'grid', filter: GROUP, order: ORDER }
    expect((await create(body, table, account.keys.account)).body.message).toBe('API endpoint not available to API keys')
    expect((await create(body, table, account.member)).body.message).toBe('Not authorized')
    expect((await create(body, table, account.outsider)).body.message).toBe('Table not found')
    expect((await create(body, table, null)).status).toBe(401)
  })
})

describe('what is refused, and saves nothing', () => {
  const deep = (levels: number): object => (levels === 0 ? won : { any: [deep(levels - 1)] })
  const many = (count: number) => Array.from({ length: count }, () => won)
  const noTree = 'must be {column, compare, value}, {all: […]}, {any: […]} or {not: …}'
  const notBoth = 'send either filters or filter, not both'
  const begins = (key: string) => `contradicts order, which begins with '${key}': leave it out`

  /** The input of a view, with the place and the text of each error. */
  const cases: [string, object, [string, string][]][] = [
    ['a group that is a list', { filter: [won] }, [['filter', noTree]]],
    ['a group that is a text', { filter: 'all' }, [['filter', noTree]]],
    ['a not of nothing', { filter: { not: {} } }, [['filter.not', noTree]]],
    ['a group with both keys', { filter: { all: [], any: [] } }, [['filter', 'must have one key, all, any or not']]],
    ['a group without a list', { filter: { all: won } }, [['filter.all', 'must be an array']]],
    ['null in a group', { filter: { all: [null] } }, [['filter.all.0', 'must be a filter: {column, compare, value}']]],
    ['a connector in a group', { filter: { all: [{ ...won, connector: 'OR' }] } }, [['filter.all.0.connector', 'is not a known key']]],
    [
      'an unknown column',
      { filter: { any: [{ ...won, column: 'gone' }] } },
      [['filter.any.0.column', "'gone' is not a field of this table"]],
    ],
    [
      'a compare that the type does not have',
      { filter: { any: [{ all: [{ ...won, compare: '>' }] }] } },
      [
        [
          'filter.any.0.all.0.compare',
          'a select field does not have >; it has =, !=, contains, starts_with, ends_with, is_empty, is_not_empty',
        ],
      ],
    ],
    ['an unknown compare', { filter: { any: [{ ...won, compare: 'like' }] } }, [['filter.any.0.compare', expect.any(String)]]],
    ['no value', { filter: { all: [{ column: 'amount', compare: '=' }] } }, [['filter.all.0.value', 'is required']]],
    ['a wrong value', { filter: { all: [{ ...large, value: 'much' }] } }, [['filter.all.0.value', 'must be a number']]],
    ['a group six deep', { filter: deep(6) }, [['filter.any.0.any.0.any.0.any.0.any.0', 'must not be nested deeper than 5']]],
    ['201 in a group', { filter: { all: many(201) } }, [['filter.all', 'must have at most 200 filters']]],
    ['201 in two groups', { filter: { any: [{ all: many(200) }, won] } }, [['', 'must have at most 200 filters']]],
    ['both forms of conditions', { filter: GROUP, filters: [won] }, [['filters', notBoth]]],
    ['an invalid order', { order: 'due' }, [['order', 'must be an array of {field, dir}']]],
    ['a key that is a name', { order: ['due'] }, [['order.0', 'must be {field, dir}']]],
    ['a key without a field', { order: [{ dir: 'A' }] }, [['order.0.field', 'is required']]],
    ['an unknown key of a key', { order: [{ field: 'due', empty: 'last' }] }, [['order.0.empty', 'is not a known key']]],
    ['an unknown field', { order: [{ field: 'due' }, { field: 'gone' }] }, [['order.1.field', "'gone' is not a field of this table"]]],
    ['a field that has no order', { order: [{ field: 'tags' }] }, [['order.0.field', 'a multi_select field cannot be sorted by']]],
    ['another direction', { order: [{ field: 'due', dir: 'up' }] }, [['order.0.dir', "must be 'A' or 'D'"]]],
    [
      'the same key twice',
      { order: [{ field: 'due' }, { field: 'due', dir: 'D' }] },
      [['order.1.field', 'is already a key of this order']],
    ],
    ['four keys', { order: ['due', 'amount', 'name', 'id'].map((field) => ({ field })) }, [['order', 'must have at most 3 keys']]],
    ['an order and another first key', { order: ORDER, order_by: 'amount' }, [['order_by', begins('due')]]],
    ['an order and its second key', { order: ORDER, order_by: 'amount', order_dir: 'D' }, [['order_by', begins('due')]]],
    ['an order and the other direction', { order: ORDER, order_by: 'due', order_dir: 'a' }, [['order_dir', begins('D')]]],
    ['an order and the other direction alone', { order: [{ field: 'due' }], order_dir: 'D' }, [['order_dir', begins('A')]]],
    ['an order and no direction', { order: ORDER, order_dir: 'up' }, [['order_dir', "must be 'A' or 'D'"]]],
    ['an order and a key that is not a name', { order: ORDER, order_by: ['due'] }, [['order_by', begins('due')]]],
    [
      'an order and another first key in another direction',
      { order: ORDER, order_by: 'gone', order_dir: 'A' },
      [
        ['order_by', begins('due')],
        ['order_dir', begins('D')],
      ],
    ],
    [
      'an empty order and a key',
      { order: [], order_by: 'due', order_dir: 'A' },
      [
        ['order_by', 'contradicts order, which is empty: leave it out'],
        ['order_dir', 'contradicts order, which is empty: leave it out'],
      ],
    ],
    [
      'an invalid order, beside its first key',
      { order: [{ field: 'gone' }], order_by: 'gone' },
      [['order.0.field', "'gone' is not a field of this table"]],
    ],
    [
      'everything at once',
      { filter: { all: [{ ...won, column: 'gone' }] }, filters: [{ ...large, value: 'much' }], order: [{ field: 'gone' }] },
      [
        ['filters', notBoth],
        ['filters.0.value', 'must be a number'],
        ['filter.all.0.column', "'gone' is not a field of this table"],
        ['order.0.field', "'gone' is not a field of this table"],
      ],
    ],
  ]

  test.each(cases)('%s', async (_, body, issues) => {
    const before = (await app.as(account.viewer).get(`/api/table/${table}/views/list`)).body
    const view = before.find(({ name }: { name: string }) => name === 'Kept') ?? (await saved({ name: 'Kept', filters: [large] }))
    const count = (await app.as(account.viewer).get(`/api/table/${table}/views/list`)).body.length

    const told = ({ body }: Answer) =>
      body.issues?.map(({ path, message }: { path: unknown[]; message: string }) => [path.join('.'), message])
    const created = await create(body)
    expect([created.status, told(created)]).toEqual([400, issues])
    const changed = await update(view.id, body)
    expect([changed.status, told(changed)]).toEqual([400, issues])
    const input = { table_id: table, ...body }
    const { rpc } = app.as(account.admin)
    for (const call of [
      rpc.views.create.mutate({ ...input, name: 'Bad', type: 'grid' }),
      rpc.views.update.mutate({ ...input, view_id: view.id }),
    ])
      await expect(call).rejects.toMatchObject({
        data: { code: 'BAD_REQUEST', issues: created.body.issues, message: created.body.message },
      })

    expect((await get(view.id)).body).toEqual(view)
    expect((await app.as(account.viewer).get(`/api/table/${table}/views/list`)).body).toHaveLength(count)
  })

  test('uses the words of records/query if that refuses the input, too', async () => {
    // A query joins conditions in two forms; a view has only one of them.
    for (const [what, body] of cases.filter(([, body]) => !('filter' in body && 'filters' in body))) {
      const [ofView, ofQuery] = [await create(body), await query(body)]
      expect([ofView.status, ofView.body.issues], what).toEqual([ofQuery.status, ofQuery.body.issues])
    }
  })

  test('includes where, which a view cannot store', async () => {
    expect(pathsOf(await create({ where: { stage: 'Won' } }))).toEqual(['where'])
  })

  test('allows five levels and 200 conditions', async () => {
    expect((await saved({ filter: deep(4) })).filter).toEqual(deep(4))
    const view = await saved({ filter: { any: [{ all: many(150) }, { all: many(50) }] } })
    expect(await names({ view_id: view.id })).toBe('Acme Cone')
    expect((await update(view.id, { filter: view.filter })).status).toBe(200)
  })
})

describe('changing', () => {
  const LIST = [{ ...large, connector: 'AND' }]
  const grouped = { filter: GROUP, filters: [] }
  const listed = { filters: LIST }
  const sorted = { order_by: 'due', order_dir: 'D', order: ORDER }
  const simple = { order_by: 'amount', order_dir: 'D' }
  const unsorted = { order_by: null, order_dir: null }

  /** The saved view, the change, and the six properties of the view after it. */
  test.each<[string, object, object, object]>([
    ['nothing', { filter: GROUP, order: ORDER }, {}, { ...grouped, ...sorted }],
    ['a name', { filter: GROUP, order: ORDER }, { name: 'Renamed' }, { ...grouped, ...sorted }],
    ['filters in place of a group', { filter: GROUP }, { filters: [large] }, { ...listed, ...unsorted }],
    ['no filters in place of a group', { filter: GROUP }, { filters: [] }, { filters: [], ...unsorted }],
    ['null for filters in place of a group', { filter: GROUP }, { filters: null }, { filters: [], ...unsorted }],
    ['null for a group', { filter: GROUP }, { filter: null }, { filters: [], ...unsorted }],
    ['null for a missing group', { filters: [large] }, { filter: null }, { ...listed, ...unsorted }],
    ['a group in place of filters', { filters: [large] }, { filter: GROUP }, { ...grouped, ...unsorted }],
    ['a group beside empty filters', { filters: [large] }, { filter: GROUP, filters: [] }, { ...grouped, ...unsorted }],
    ['a group beside null for filters', { filters: [large] }, { filter: GROUP, filters: null }, { ...grouped, ...unsorted }],
    ['filters beside null for the group', { filter: GROUP }, { filter: null, filters: [large] }, { ...listed, ...unsorted }],
    ['null for both', { filter: GROUP }, { filter: null, filters: null }, { filters: [], ...unsorted }],
    ['a group that is always true', { filters: [large] }, { filter: { all: [] } }, { filter: { all: [] }, filters: [], ...unsorted }],
    ['one key in place of several', { order: ORDER }, { order_by: 'amount', order_dir: 'd' }, { filters: [], ...simple }],
    ['one key without a direction keeps that of the first', { order: ORDER }, { order_by: 'amount' }, { filters: [], ...simple }],
    ['the first key alone', { order: ORDER }, { order_by: 'due' }, { filters: [], order_by: 'due', order_dir: 'D' }],
    ['no key in place of several', { order: ORDER }, { order_by: null }, { filters: [], ...unsorted }],
    ['the direction that an older client sees', { order: ORDER }, { order_dir: 'A' }, { filters: [], order_by: 'due', order_dir: 'A' }],
    ['null for the order', { order: ORDER }, { order: null }, { filters: [], ...unsorted }],
    ['null for a missing order', { ...simple }, { order: null }, { filters: [], ...simple }],
    ['null for the order beside one key', { order: ORDER }, { order: null, ...simple }, { filters: [], ...simple }],
    ['an empty order', { order: ORDER }, { order: [] }, { filters: [], ...unsorted }],
    ['an empty order in place of one key', { ...simple }, { order: [] }, { filters: [], ...unsorted }],
    ['several keys in place of one', { ...simple }, { order: ORDER }, { filters: [], ...sorted }],
    ['several keys beside null for one', { ...simple }, { order: ORDER, ...unsorted }, { filters: [], ...sorted }],
    [
      'one key as an order',
      {},
      { order: [{ field: 'due' }] },
      { filters: [], order_by: 'due', order_dir: 'A', order: [{ field: 'due', dir: 'A' }] },
    ],
  ])('%s', async (_, before, change, after) => {
    const view = await saved(before)
    const { status, body } = await update(view.id, change)
    expect(status, JSON.stringify(body)).toBe(200)
    expect(body).toEqual({
      ...withoutBoth(view),
      ...after,
      name: expect.any(String),
      updated_at: expect.any(String),
      version: expect.any(Number),
    })
    expect((await get(view.id)).body).toEqual(body)
    const { filters, ...others } = after as { filters: object[] }
    const asked = 'order' in others ? { ...others, order_by: undefined, order_dir: undefined } : others
    expect(await names({ view_id: view.id })).toBe(await names({ filters, ...asked }))
  })

  test('a change that alters nothing keeps the version and the time of the change', async () => {
    const view = await saved({ filter: GROUP, order: ORDER })
    const etag = (await get(view.id)).headers.get('etag')
    const inAnotherSpelling = {
      any: [{ all: [{ field: 'stage', compare: 'NEQ', value: 'Won' }, large] }, { all: [won, { ...early, compare: 'lte' }] }],
    }
    for (const body of [
      {},
      { filter: GROUP, order: ORDER },
      { filter: inAnotherSpelling, filters: [], order: [{ field: 'due', dir: 'd' }, { field: 'amount' }] },
    ]) {
      const same = await update(view.id, body)
      expect([same.status, same.body, same.headers.get('etag')]).toEqual([200, view, etag])
    }
    expect((await update(view.id, { order: [...ORDER].reverse() })).headers.get('etag')).not.toBe(etag)
  })

  test('applies to the next query', async () => {
    const view = await saved({ filter: GROUP, order: ORDER })
    expect(await names({ view_id: view.id })).toBe('Bolt Acme Disk')
    await update(view.id, { filter: { all: [won] }, order: [{ field: 'stage' }, { field: 'amount', dir: 'D' }] })
    expect(await names({ view_id: view.id })).toBe('Cone Acme')
  })

  test('two concurrent admins: a view has one form of each, and with If-Match only the first change succeeds', async () => {
    const view = await saved({})
    const changes = [
      { filters: [large], order_by: 'amount' },
      { filter: GROUP, order: ORDER },
    ]
    for (let round = 0; round < 4; round++) {
      const answers = await Promise.all([...changes, ...changes].map((change) => update(view.id, change)))
      expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200])
      const { body } = await get(view.id)
      if ('filter' in body) expect(body).toMatchObject({ ...grouped, ...sorted })
      else expect(body).toMatchObject({ ...listed, order_by: 'amount' })
      expect('order' in body).toBe('filter' in body)
    }
    await update(view.id, { filter: null, filters: null, order: null, order_by: null })
    const etag = (await get(view.id)).headers.get('etag') ?? ''
    const answers = await Promise.all(changes.map((change) => update(view.id, change, { 'if-match': etag })))
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 409])
    const stale = answers.find(({ status }) => status === 409)
    expect(stale?.body.current).toEqual((await get(view.id)).body)
  })
})

describe('a returned view that is sent back', () => {
  const KEYS = ['name', 'config', 'filters', 'filter', 'order_by', 'order_dir', 'order', 'is_table_default']
  const settable = (view: object) => Object.fromEntries(Object.entries(view).filter(([key]) => KEYS.includes(key)))

  test.each<[string, object]>([
    ['a group and several keys', { filter: GROUP, order: ORDER }],
    ['a group that is always true, and one key as an order', { filter: { all: [] }, order: [{ field: 'amount', dir: 'D' }] }],
    ['a list and one key', { filters: [{ ...large, connector: 'AND' }], order_by: 'due', order_dir: 'D' }],
    ['nothing', {}],
  ])('%s', async (_, body) => {
    const view = await saved({ ...body, config: { columns: ['name'] } })
    const etag = (await get(view.id)).headers.get('etag')
    const same = await update(view.id, settable(view), { 'if-match': etag })
    expect([same.status, same.body, same.headers.get('etag')]).toEqual([200, view, etag])

    const renamed = { ...settable(view), name: `Renamed ${counter++}` }
    const { status, body: after } = await update(view.id, renamed, { 'if-match': etag })
    expect(status, JSON.stringify(after)).toBe(200)
    expect(after).toEqual({ ...view, name: renamed.name, updated_at: expect.any(String), version: 2 })

    const copy = { ...settable(view), name: `Copy ${counter++}`, type: view.type }
    const checked = await app.as(account.admin).post(`/api/table/${table}/views/check`, copy)
    expect([checked.status, checked.body]).toEqual([200, { ...copy, dropped: [], index: null }])
    const { rpc } = app.as(account.admin)
    const made = await rpc.views.create.mutate({ table_id: table, ...copy } as Parameters<typeof rpc.views.create.mutate>[0])
    expect(settable(made)).toEqual(settable(copy))

    // A query accepts the same input, and returns the same records with it.
    const { order_by, order_dir, order, filters, filter } = view
    expect(await names({ order_by, order_dir, order, filters, filter })).toBe(await names({ view_id: view.id }))
  })

  test('a prefix of an order is accepted, in either case, by every query', async () => {
    for (const body of [{ order_by: 'due' }, { order_dir: 'd' }, { order_by: 'due', order_dir: 'D' }, { order_by: null, order_dir: 'D' }]) {
      expect((await create({ order: ORDER, ...body })).body).toMatchObject({ order: ORDER, order_by: 'due', order_dir: 'D' })
      expect(await names({ order: ORDER, ...body })).toBe(await names({ order: ORDER }))
    }
    const { rpc } = app.as(account.keys.account)
    const { rows } = await rpc.records.query.query({
      table_id: table,
      order: [{ field: 'due' }],
      order_by: 'due',
      order_dir: 'A',
      cursor: '',
    })
    expect(rows.map(({ name }) => name)).toEqual(['Cone', 'Acme', 'Disk', 'Bolt'])
  })
})

describe('querying through such a view', async () => {
  const view = await saved({ filter: GROUP, order: ORDER })

  test('returns the same as the group and order ad hoc, by REST and RPC, with counts and groups', async () => {
    expect(await names({ view_id: view.id })).toBe('Bolt Acme Disk')
    const rows = (await query({ filter: GROUP, order: ORDER })).body
    expect((await query({ view_id: view.id, limit: 2, offset: 1, count: true })).body).toEqual(rows.slice(1))
    const { rpc } = app.as(account.keys.account)
    expect(await rpc.records.query.query({ table_id: table, view_id: view.id, count: true })).toEqual({ rows, total: 3 })
    expect(await rpc.records.count.query({ table_id: table, view_id: view.id })).toEqual({
      count: 3,
      total: 4,
      total_approx: false,
      restricted: true,
    })
    const groups = await app.as(account.viewer).post(`/api/table/${table}/records/groups`, { view_id: view.id, by: 'stage' })
    expect(groups.body).toEqual([
      { value: 'New', count: 1 },
      { value: 'Won', count: 1 },
      { value: 'Lost', count: 1 },
    ])
  })

  test('ignores the conditions and the order of the request, and names them', async () => {
    const answer = await query({ view_id: view.id, filter: 'x', filters: 3, order: [{ field: 'gone' }], order_by: 'gone' })
    expect([answer.status, answer.body.length]).toEqual([200, 3])
    expect(answer.headers.get('x-ignored')).toBe('filters, filter, order_by, order')
  })

  test('can be narrowed by append_filters, which apply to the whole group, and by a search', async () => {
    const any = await saved({ filter: { any: [won, large] }, order: ORDER })
    const append = { view_id: any.id, append_filters: true }
    expect(await names(append)).toBe('Bolt Acme Disk Cone')
    expect(await names({ ...append, filters: [early] })).toBe('Acme Disk')
    expect(await names({ ...append, filters: [early, { ...won, value: 'New', connector: 'OR' }] })).toBe('Bolt Acme Disk')
    expect(await names({ ...append, filter: { any: [{ ...won, value: 'Lost' }] }, where: { amount: 20 } })).toBe('Disk')
    expect(await names({ ...append, order: [{ field: 'amount', dir: 'D' }, { field: 'name' }] })).toBe('Cone Bolt Disk Acme')
    expect(await names({ view_id: any.id, search: 'cone' })).toBe('Cone')
  })

  test.each<[string, object[], string]>([
    ['one key', [{ field: 'amount', dir: 'D' }], 'Disk Bolt Acme'],
    ['the keys of the view', ORDER, ''],
  ])('allows a cursor with %s, like any query', async (_, order, expected) => {
    const walked = await saved({ filter: GROUP, order })
    const seen: string[] = []
    for (let cursor: string | null = ''; cursor !== null; ) {
      const page: Answer = await query({ view_id: walked.id, cursor, limit: 1 })
      expect(page.status, JSON.stringify(page.body)).toBe(200)
      seen.push(...page.body.map(({ name }: { name: string }) => name))
      cursor = page.headers.get('x-next-cursor')
    }
    expect(seen.join(' ')).toBe(expected || (await names({ view_id: walked.id })))
  })

  test('does not continue a walk after its order has changed', async () => {
    const walked = await saved({ filter: GROUP, order: ORDER })
    const cursor = (await query({ view_id: walked.id, cursor: '', limit: 1 })).headers.get('x-next-cursor')
    expect((await update(walked.id, { order: [...ORDER].reverse() })).status).toBe(200)
    const { status, body } = await query({ view_id: walked.id, cursor, limit: 1 })
    expect([status, body.message]).toEqual([400, 'Cursor belongs to another query'])
  })

  test('is explained with brackets, the whole order, and the condition that excludes a record', async () => {
    const [, , { id: cone }] = (await query({})).body
    const ofView = (await query({ view_id: view.id, explain: true, record_id: cone })).body
    expect(ofView).toEqual((await query({ filter: GROUP, order: ORDER, explain: true, record_id: cone })).body)
    expect(ofView).toMatchObject({
      predicate: '(stage != "Won" AND amount > 15) OR (stage = "Won" AND due <= "2026-03-28")',
      order: [...ORDER, { field: 'id', dir: 'A' }],
      record: { matches: false, failed: { column: 'stage', compare: '!=', actual: 'Won' } },
    })
  })

  test('resolves tokens and @me for the caller', async () => {
    const mine = await saved({
      filter: { any: [{ column: 'owner', compare: '=', value: '@me' }, { all: [{ column: 'due', compare: '=', value: 'today' }] }] },
    })
    app.setClock(new Date('2026-03-30T12:00:00Z'))
    expect(await names({ view_id: mine.id })).toBe('Bolt')
    const ofMember = await query({ view_id: mine.id }, table, account.keys.personal)
    expect(ofMember.body.map(({ name }: { name: string }) => name)).toEqual(['Acme', 'Bolt'])
    app.setClock(null)
  })

  test('exports its records in its order', async () => {
    const grid = await saved({ filter: GROUP, order: ORDER, config: { columns: ['name'] } })
    const { body } = await app.as(account.viewer).get(`/api/table/${table}/export.csv?view_id=${grid.id}`)
    expect(body).toBe('Name\r\nBolt\r\nAcme\r\nDisk\r\n')
  })
})

describe('a field of such a view', () => {
  const remove = (of: number, field: string, body?: object) => app.as(account.owner).post(`/api/table/${of}/field/${field}/delete`, body)
  const listed = async (of: number) => (await app.as(account.viewer).get(`/api/table/${of}/views/list`)).body.slice(1)

  test('that is deleted takes the views with it whose group needs it; an order only loses its key', async () => {
    const of = await dealsTable()
    const grouped = await saved({ name: '1 grouped', filter: GROUP, order: [{ field: 'amount' }] }, of)
    const first = await saved({ name: '2 first', order: ORDER }, of)
    const last = await saved({ name: '3 last', order: [...ORDER].reverse(), filter: { all: [won] } }, of)
    const only = await saved({ name: '4 only', order: [{ field: 'due', dir: 'D' }] }, of)
    const other = await saved({ name: '5 other', order: [{ field: 'name' }] }, of)
    const etags = async () => Promise.all([first, other].map(async ({ id }) => (await get(id, of)).headers.get('etag')))
    const before = await etags()

    const refused = await remove(of, 'due')
    expect([refused.status, refused.body.message]).toEqual([
      409,
      'Views need this field: 1 grouped, 2 first, 3 last, 4 only; send force: true to change them',
    ])
    expect((await listed(of)).map(({ id }: { id: number }) => id)).toEqual([grouped, first, last, only, other].map(({ id }) => id))

    const { status, body } = await remove(of, 'due', { force: true })
    expect(status, JSON.stringify(body)).toBe(200)
    expect(body.deleted_views).toEqual([{ id: grouped.id, name: '1 grouped' }])
    expect(body.unsorted_views.map(({ id }: { id: number }) => id)).toEqual([first.id, last.id, only.id])
    const amount = { order: [{ field: 'amount', dir: 'A' }], order_by: 'amount', order_dir: 'A', version: 2 }
    const none = { ...withoutBoth(only), order_by: null, order_dir: null, version: 2 }
    expect(await listed(of)).toEqual([{ ...first, ...amount }, { ...last, ...amount }, none, other])
    const after = await etags()
    expect([after[0] === before[0], after[1] === before[1]]).toEqual([false, true])
    expect(await names({ view_id: first.id }, of)).toBe('Acme Bolt Disk Cone')
  })

  test('cannot be deleted while a view that needs it is saved', async () => {
    const of = await dealsTable()
    for (const [field, body] of Object.entries({
      amount: { filter: { any: [large] } },
      due: { order: [{ field: 'name' }, { field: 'due' }] },
    })) {
      const [deleted, made] = await Promise.all([remove(of, field), create(body, of)])
      expect([
        [200, 400],
        [409, 200],
      ]).toContainEqual([deleted.status, made.status])
    }
  })

  test('with a renamed option keeps its groups and their records', async () => {
    const of = await dealsTable()
    const group = { any: [{ all: [won, large] }, { ...won, compare: 'contains' }, { column: 'name', compare: '=', value: 'Won' }] }
    const view = await saved({ filter: group }, of)
    const other = await saved({ filter: { all: [large] } }, of)
    const etag = (await get(other.id, of)).headers.get('etag')
    const options = ['New', { title: 'Signed', was: 'Won' }, 'Lost']
    expect((await app.as(account.owner).post(`/api/table/${of}/field/stage/update`, { options })).status).toBe(200)
    expect((await get(view.id, of)).body.filter).toEqual({
      any: [{ all: [{ ...won, value: 'Signed' }, large] }, { ...won, compare: 'contains' }, { column: 'name', compare: '=', value: 'Won' }],
    })
    expect(await names({ view_id: view.id }, of)).toBe('Cone')
    expect((await get(other.id, of)).headers.get('etag')).toBe(etag)
  })

  test('with a removed option keeps the group, which then finds no record by it', async () => {
    const of = await dealsTable()
    const view = await saved({ filter: { any: [won, { ...won, value: 'Lost' }] } }, of)
    const body = { options: ['New', 'Lost'], force: true }
    expect((await app.as(account.owner).post(`/api/table/${of}/field/stage/update`, body)).status).toBe(200)
    expect((await get(view.id, of)).body).toMatchObject({ filter: view.filter })
    expect(await names({ view_id: view.id }, of)).toBe('Disk')
  })

  test('keeps its views when it is renamed', async () => {
    const of = await dealsTable()
    const view = await saved({ filter: GROUP, order: ORDER }, of)
    expect((await app.as(account.owner).post(`/api/table/${of}/field/due/update`, { name: 'Deadline' })).status).toBe(200)
    expect((await get(view.id, of)).body).toEqual(view)
    expect(await names({ view_id: view.id }, of)).toBe('Bolt Acme Disk')
  })

  test('that is converted: views with invalid groups are deleted, keys that cannot be sorted by are dropped', async () => {
    const of = await dealsTable()
    const changeType = (body: object) => app.as(account.owner).post(`/api/table/${of}/field/amount/changeType`, body)
    await saved({ name: '1 larger', filter: { all: [{ any: [large] }] } }, of)
    const has = await saved({ name: '2 has', filter: { all: [{ column: 'amount', compare: 'is_empty' }] }, order: [{ field: 'name' }] }, of)
    const sorted = await saved({ name: '3 sorted', order: [{ field: 'amount', dir: 'D' }, { field: 'due' }] }, of)
    const both = await saved(
      { name: '4 both', filter: { any: [{ column: 'amount', compare: 'is_not_empty' }] }, order: [{ field: 'amount' }] },
      of,
    )
    const refused = await changeType({ type: 'multi_select' })
    expect([refused.status, refused.body.message]).toEqual([
      409,
      'Views need this field: 1 larger, 3 sorted, 4 both; send force: true to change them',
    ])
    const { body } = await changeType({ type: 'multi_select', force: true })
    await runConversion(systemContext(app.deps), body.job_id)
    const unsorted = { ...withoutBoth(both), filter: both.filter, order_by: null, order_dir: null, version: 2 }
    const byDue = { ...sorted, order: [{ field: 'due', dir: 'A' }], order_by: 'due', order_dir: 'A', version: 2 }
    expect(await listed(of)).toEqual([has, byDue, unsorted])
  })
})
