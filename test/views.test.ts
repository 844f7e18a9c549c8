import { beforeAll, describe, expect, test } from 'vitest'
import { adapt } from '../src/indexes/service.ts'
import { systemContext } from '../src/platform/context.ts'
import { recordsOf, sql } from '../src/platform/database/database.ts'
import { type Caller, type TestAccount, testApp } from './support/app.ts'
import { makeRecords, makeTable, makeView } from './support/tables.ts'

const app = await testApp()
const MISSING = 2_000_000_000

let account: TestAccount
let table: number
let otherTable: number

const FIELDS = [
  { name: 'Company', type: 'text' },
  { name: 'Stage', type: 'select', options: ['New', 'Won', 'Lost'] },
  { name: 'Amount', type: 'number' },
  { name: 'Due', type: 'date' },
  { name: 'Starts', type: 'datetime' },
  { name: 'Photo', type: 'file' },
  { name: 'Owner', type: 'user' },
  { name: 'Secret', type: 'text', always_hidden: true },
]
const dealsTable = async (of: TestAccount, name: string) => (await makeTable(app, of, { name, fields: FIELDS })).id

beforeAll(async () => {
  account = await app.account()
  table = await dealsTable(account, 'Deals')
  otherTable = await dealsTable(account, 'Other deals')
  const records = [
    { company: 'Acme', stage: 'Won', amount: 10, due: '2026-03-28', owner: account.member.email },
    { company: 'Bolt', stage: 'New', amount: 20, due: '2026-03-30' },
    { company: 'Cone', stage: 'Won', amount: 30 },
  ]
  await makeRecords(app, account, table, records)
})

const create = (caller: Caller, body: object, tableId = table) => app.as(caller).post(`/api/table/${tableId}/views/create`, body)
const update = (viewId: number, body: object, caller: Caller = account.admin) =>
  app.as(caller).post(`/api/table/${table}/view/${viewId}/update`, body)
const get = (viewId: number | string, caller: Caller = account.viewer) => app.as(caller).get(`/api/table/${table}/view/${viewId}/get`)
const query = (body: object, caller: Caller = account.viewer) => app.as(caller).post(`/api/table/${table}/records/query`, body)
const companies = async (body: object, caller?: Caller) => {
  const answer = await query(body, caller)
  expect(answer.status, JSON.stringify(answer.body)).toBe(200)
  return answer.body.map(({ company }: { company: string }) => company).join(' ')
}

let counter = 0
const newView = (body: object, tableId = table) => makeView(app, account, tableId, body)

/** Lists the calendar indexes of the table. */
async function indexes(tableId: number): Promise<string[]> {
  const rows = await app.db.read<{ indexname: string }>(
    sql`select indexname from pg_indexes where schemaname = ${`t${tableId}`} and indexname like 'idx_layout_%' order by 1`,
  )
  return rows.map(({ indexname }) => indexname)
}

describe('saving a view', () => {
  test('returns the view in its normal form, the same to every reader', async () => {
    const { status, body } = await create(account.admin, {
      name: '  Won deals ',
      type: 'grid',
      config: { columns: ['company', 'secret', 'gone'] },
      filters: [
        { field: 'stage', compare: 'EQ', value: 'Won', connector: 'OR' },
        { column: 'amount', compare: 'gt', value: '5', connector: 'or' },
        { column: 'due', compare: 'NEMPTY', value: 'x' },
      ],
      order_by: 'amount',
      order_dir: 'd',
    })
    expect(status).toBe(200)
    expect(body).toEqual({
      id: expect.any(Number),
      account_id: account.id,
      table_id: table,
      name: 'Won deals',
      type: 'grid',
      config: { columns: ['company'] },
      filters: [
        { column: 'stage', compare: '=', value: 'Won', connector: 'AND' },
        { column: 'amount', compare: '>', value: '5', connector: 'OR' },
        { column: 'due', compare: 'is_not_empty', connector: 'AND' },
      ],
      order_by: 'amount',
      order_dir: 'D',
      created_by: account.admin.id,
      created_at: expect.stringMatching(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/),
      updated_at: body.created_at,
      is_default: false,
      is_table_default: false,
      version: 1,
    })
    for (const caller of [account.viewer, account.keys.account, account.keys.accountReadOnly, account.keys.personalViewer])
      expect((await get(body.id, caller)).body).toEqual(body)
    expect(await app.as(account.viewer).rpc.views.get.query({ table_id: table, view_id: body.id })).toEqual(body)
  })

  test('works the same by RPC', async () => {
    const { rpc } = app.as(account.owner)
    const view = await rpc.views.create.mutate({ table_id: table, name: 'By RPC', type: 'kanban', config: { categoryField: 'stage' } })
    expect(view).toMatchObject({ name: 'By RPC', config: { categoryField: 'stage' }, filters: [], order_by: null })
    expect(await rpc.views.delete.mutate({ table_id: table, view_id: view.id })).toEqual({ ok: true })
  })

  test('is allowed for sessions of space admins', async () => {
    const body = { name: 'Not mine', type: 'grid' }
    for (const key of [account.keys.account, account.keys.personal, account.keys.accountReadOnly]) {
      const { status, body: answer } = await create(key, body)
      expect([status, answer.message]).toEqual([403, 'API endpoint not available to API keys'])
    }
    for (const person of [account.member, account.viewer]) {
      const { status, body: answer } = await create(person, body)
      expect([status, answer.message]).toEqual([403, 'Not authorized'])
    }
    expect((await create(null, body)).status).toBe(401)
    expect((await create(account.outsider, body)).body.message).toBe('Table not found')
    const view = await newView({})
    expect((await update(view.id, { name: 'x' }, account.keys.account)).body.message).toBe('API endpoint not available to API keys')
    expect((await update(view.id, { name: 'x' }, account.member)).body.message).toBe('Not authorized')
    expect((await app.as(account.keys.account).post(`/api/table/${table}/view/${view.id}/delete`)).status).toBe(403)
    expect((await get(view.id)).status).toBe(200)
  })

  test('requires a unique name in the table, regardless of case', async () => {
    const name = `Höhe ${counter++}`
    const first = await newView({ name })
    expect((await create(account.admin, { name: name.toUpperCase(), type: 'grid' })).status).toBe(409)
    const second = await newView({})
    expect((await update(second.id, { name })).status).toBe(409)
    expect((await update(first.id, { name: name.toUpperCase() })).status).toBe(200)
    expect((await create(account.admin, { name, type: 'grid' }, otherTable)).status).toBe(200)
  })

  test('succeeds for one of two concurrent views with one name', async () => {
    const name = `Race ${counter++}`
    const statuses = (await Promise.all([1, 2, 3].map(() => create(account.admin, { name, type: 'grid' })))).map(({ status }) => status)
    expect(statuses.sort()).toEqual([200, 409, 409])
  })

  test.each<[string, object, string[]]>([
    ['no name', { name: undefined }, ['name']],
    ['an empty name', { name: '  ' }, ['name']],
    ['a long name', { name: 'x'.repeat(101) }, ['name']],
    ['no type', { type: undefined }, ['type']],
    ['an unknown type', { type: 'map' }, ['type']],
    ['an unknown key', { colour: 'red' }, ['colour']],
    ['invalid filters', { filters: 'x' }, ['filters']],
    ['an unknown column', { filters: [{ column: 'gone', compare: '=', value: 1 }] }, ['filters.0.column']],
    ['a wrong value', { filters: [{ column: 'due', compare: '=', value: 'someday' }] }, ['filters.0.value']],
    ['an unknown order', { order_by: 'gone' }, ['order_by']],
    ['an order by files', { order_by: 'photo' }, ['order_by']],
    ['another direction', { order_by: 'amount', order_dir: 'up' }, ['order_dir']],
    ['a calendar without a start', { type: 'calendar' }, ['config.startField']],
    ['a kanban by text', { type: 'kanban', config: { categoryField: 'company' } }, ['config.categoryField']],
    ['an always-hidden structure', { type: 'gallery', config: { imageField: 'secret', showHidden: true } }, ['config.imageField']],
    [
      'everything at once',
      { type: 'calendar', filters: [{ column: 'gone', compare: '=', value: 1 }], order_by: 'photo' },
      ['config.startField', 'filters.0.column', 'order_by'],
    ],
    ['an is_table_default that is not a boolean', { is_table_default: 'yes' }, ['is_table_default']],
  ])('%s is 400 naming it, and saves nothing', async (_, change, paths) => {
    const before = (await app.as(account.viewer).get(`/api/table/${table}/views/list`)).body.length
    const { status, body } = await create(account.admin, { name: `Bad ${counter++}`, type: 'grid', ...change })
    expect(status, JSON.stringify(body)).toBe(400)
    expect(body.issues.map(({ path }: { path: unknown[] }) => path.join('.'))).toEqual(paths)
    expect((await app.as(account.viewer).get(`/api/table/${table}/views/list`)).body).toHaveLength(before)
  })

  test('is refused with filters of more than 64 KB, and beyond 500 views of a table', async () => {
    const full = await dealsTable(account, 'Full')
    const value = 'x'.repeat(499)
    const filters = Array.from({ length: 150 }, () => ({ column: 'company', compare: '=', value }))
    for (const [key, sent] of [
      ['filters', filters],
      ['filter', { any: filters }],
    ] as const) {
      const { status, body } = await create(account.admin, { name: 'Large', type: 'grid', [key]: sent }, full)
      expect([status, body.issues]).toEqual([400, [{ path: [key], message: 'must have at most 64 KB as JSON' }]])
    }
    await app.db.write(sql`
      insert into views (account_id, table_id, name, type, config, filters, created_by, created_at, updated_at)
      select ${account.id}, ${full}, 'View ' || n, 'grid', '{}', '[]', ${account.owner.id}, now(), now() from generate_series(1, 499) n`)
    const last = { name: 'Last', type: 'grid' }
    expect((await create(account.admin, last, full)).status).toBe(200)
    for (const path of ['create', 'check']) {
      const { status, body } = await app.as(account.admin).post(`/api/table/${full}/views/${path}`, { ...last, name: 'One more' })
      expect([status, body.message], path).toEqual([400, 'A table has at most 500 views; delete one first'])
    }
  })

  test('lists the known types for an unknown type', async () => {
    const { body } = await create(account.admin, { name: `Bad ${counter++}`, type: 'map' })
    expect(body.message).toBe('type: must be one of grid, calendar, gallery, kanban')
  })

  test('can be checked first, with the same answer and without effect', async () => {
    const check = (body: object, caller: Caller = account.admin) => app.as(caller).post(`/api/table/${table}/views/check`, body)
    const before = (await app.as(account.viewer).get(`/api/table/${table}/views/list`)).body.length
    const name = `Checked ${counter++}`
    expect((await check({ name, type: 'calendar', config: { startField: 'starts', showHidden: true } })).body).toEqual({
      name,
      type: 'calendar',
      config: { startField: 'starts', mode: 'month', weekStart: 'monday' },
      filters: [],
      order_by: null,
      order_dir: null,
      is_table_default: false,
      dropped: ['config.showHidden'],
      index: 'idx_layout_starts',
    })
    expect((await check({ name, type: 'calendar' })).status).toBe(400)
    expect((await check({ name, type: 'grid' }, account.keys.account)).body.message).toBe('API endpoint not available to API keys')
    await newView({ name })
    expect((await check({ name: name.toUpperCase(), type: 'grid' })).status).toBe(409)
    expect((await app.as(account.viewer).get(`/api/table/${table}/views/list`)).body).toHaveLength(before + 1)
  })
})

test('properties that a rule removes from a layout are named in X-Ignored; a grid drops them silently', async () => {
  const config = { categoryField: 'stage', secondaryField: 'secret' }
  const kanban = await create(account.admin, { name: `Kanban ${counter++}`, type: 'kanban', config })
  expect(kanban.body.config).toEqual({ categoryField: 'stage' })
  expect(kanban.headers.get('x-ignored')).toBe('config.secondaryField')
  const grid = await create(account.admin, { name: `Grid ${counter++}`, type: 'grid', config: { columns: ['secret'] } })
  expect(grid.headers.get('x-ignored')).toBeNull()
})

describe('changing a view', () => {
  test('keeps the value of an absent key, and clears it with null', async () => {
    const filters = [{ column: 'stage', compare: '=', value: 'Won', connector: 'AND' }]
    const view = await newView({ config: { columns: ['company'] }, filters, order_by: 'amount', order_dir: 'D', is_table_default: true })
    const renamed = (await update(view.id, { name: `Renamed ${counter++}` })).body
    expect(renamed).toEqual({ ...view, name: renamed.name, updated_at: renamed.updated_at, version: 2 })
    expect((await update(view.id, { order_dir: 'A' })).body).toMatchObject({ order_by: 'amount', order_dir: 'A', filters })
    expect(
      (await update(view.id, { filters: null, order_by: null, order_dir: null, config: null, is_table_default: null })).body,
    ).toMatchObject({
      filters: [],
      order_by: null,
      order_dir: null,
      config: { columns: [] },
      is_table_default: false,
    })
    expect((await update(view.id, {})).status).toBe(200)
  })

  test.each<[string, object, string[]]>([
    ['the type', { type: 'kanban' }, ['type']],
    ['an empty name', { name: ' ' }, ['name']],
    ['a wrong filter', { filters: [{ column: 'stage', compare: '>', value: 'Won' }] }, ['filters.0.compare']],
    ['a wrong order', { order_by: 'photo' }, ['order_by']],
  ])('%s is 400 and changes nothing', async (_, body, paths) => {
    const view = await newView({})
    const answer = await update(view.id, body)
    expect(answer.status).toBe(400)
    expect(answer.body.issues.map(({ path }: { path: unknown[] }) => path.join('.'))).toEqual(paths)
    expect((await get(view.id)).body).toEqual(view)
  })

  test('with a stale If-Match is 409 with the current view', async () => {
    const view = await newView({})
    const path = `/api/table/${table}/view/${view.id}/update`
    const etag = (await get(view.id)).headers.get('etag') ?? ''
    const changed = await app.as(account.admin).post(path, { order_by: 'amount' }, { 'if-match': etag })
    expect(changed.status).toBe(200)
    const stale = await app.as(account.admin).post(path, { order_by: 'due' }, { 'if-match': etag })
    expect(stale.status).toBe(409)
    expect(stale.body.current).toEqual(changed.body)
    expect(stale.headers.get('etag')).toBe(changed.headers.get('etag'))
    expect((await app.as(account.admin).post(path, { order_by: 'due' }, { 'if-match': changed.headers.get('etag') ?? '' })).status).toBe(
      200,
    )
  })

  test('that alters nothing keeps the version and the time of the change', async () => {
    const view = await newView({ order_by: 'amount', order_dir: 'D', is_table_default: true })
    const path = `/api/table/${table}/view/${view.id}/update`
    const etag = (await get(view.id)).headers.get('etag')
    const { name, config, filters, order_by, order_dir, is_table_default } = view
    for (const body of [{}, { order_by: 'amount' }, { name, config, filters, order_by, order_dir, is_table_default }]) {
      const same = await app.as(account.admin).post(path, body)
      expect([same.status, same.body, same.headers.get('etag')]).toEqual([200, view, etag])
    }
    const changed = await app.as(account.admin).post(path, { is_table_default: false })
    expect(changed.headers.get('etag')).not.toBe(etag)
  })

  test('changes the direction together with the sort', async () => {
    const view = await newView({ order_by: 'amount', order_dir: 'D' })
    expect((await update(view.id, { order_by: null })).body).toMatchObject({ order_by: null, order_dir: null })
  })

  test('of another table is 404', async () => {
    const elsewhere = await newView({}, otherTable)
    for (const id of [elsewhere.id, MISSING, -1, '99999999999999999999']) {
      expect((await get(id)).body.message).toBe('View not found')
      expect((await app.as(account.admin).post(`/api/table/${table}/view/${id}/update`, { name: 7 })).status).toBe(404)
      expect((await app.as(account.admin).post(`/api/table/${table}/view/${id}/delete`)).status).toBe(404)
    }
    expect((await get('abc')).status).toBe(400)
    expect((await app.as(account.admin).post(`/api/table/${table}/view/0/delete`)).status).toBe(404)
    expect((await get(elsewhere.id, account.outsider)).body.message).toBe('Table not found')
  })

  test('after its deletion is 404, also for a second delete', async () => {
    const view = await newView({})
    const path = `/api/table/${table}/view/${view.id}/delete`
    expect((await app.as(account.admin).post(path)).body).toEqual({ ok: true })
    expect((await app.as(account.admin).post(path)).status).toBe(404)
    expect((await get(view.id)).status).toBe(404)
  })
})

describe('the list', () => {
  test('starts with the Default view, and is sorted by name regardless of case', async () => {
    const mine = await app.account()
    const id = await dealsTable(mine, 'Sorted')
    for (const name of ['beta', 'Alpha', 'ÄTNA', 'alpha 2', 'Zulu', '2 fast'])
      expect((await create(mine.admin, { name, type: 'grid' }, id)).status).toBe(200)
    const { body, headers } = await app.as(mine.keys.personal).get(`/api/table/${id}/views/list`)
    expect(body.map(({ name }: { name: string }) => name)).toEqual(['Default', '2 fast', 'Alpha', 'alpha 2', 'beta', 'Zulu', 'ÄTNA'])
    expect(headers.get('x-total-count')).toBe('7')
    expect(body[0]).toEqual({
      id: 0,
      account_id: mine.id,
      table_id: id,
      name: 'Default',
      type: 'grid',
      config: null,
      filters: [],
      order_by: null,
      order_dir: null,
      created_by: 0,
      created_at: '',
      updated_at: '',
      is_default: true,
      is_table_default: false,
      version: 0,
    })
    expect((await app.as(mine.viewer).get(`/api/table/${id}/view/0/get`)).body).toEqual(body[0])
    expect((await app.as(mine.viewer).rpc.views.list.query({ table_id: id })).rows).toEqual(body)
    expect((await app.as(mine.outsider).get(`/api/table/${id}/views/list`)).status).toBe(404)
    expect((await app.as(mine.keys.accountOtherSpace).get(`/api/table/${id}/views/list`)).body.message).toBe(
      'API key not authorized for this workspace',
    )
  })

  test('has at most one default view, also after concurrent changes', async () => {
    const first = await newView({ is_table_default: true })
    const second = await newView({ is_table_default: true })
    expect((await get(first.id)).body.is_table_default).toBe(false)
    expect((await get(second.id)).body.is_table_default).toBe(true)

    const views = await Promise.all(Array.from({ length: 6 }, () => newView({})))
    const answers = await Promise.all(views.map(({ id }) => update(id, { is_table_default: true })))
    expect(answers.map(({ status }) => status)).toEqual(views.map(() => 200))
    const { body } = await app.as(account.viewer).get(`/api/table/${table}/views/list`)
    expect(body.filter((view: { is_table_default: boolean }) => view.is_table_default)).toHaveLength(1)
    expect(await companies({})).toBe('Acme Bolt Cone')
  })
})

describe('the index of a calendar', () => {
  test('is created with the first view that starts from its field, and dropped with the last', async () => {
    const id = await dealsTable(account, `Calendar ${counter++}`)
    const calendar = (startField: string) => ({ type: 'calendar', config: { startField } })
    const first = await newView(calendar('due'), id)
    expect(await indexes(id)).toEqual(['idx_layout_due'])
    const second = await newView(calendar('due'), id)
    await newView({ type: 'grid', config: { startField: 'starts' } }, id)
    const path = (viewId: number) => `/api/table/${id}/view/${viewId}`
    await app.as(account.admin).post(`${path(first.id)}/update`, { config: { startField: 'starts' } })
    expect(await indexes(id)).toEqual(['idx_layout_due', 'idx_layout_starts'])
    await app.as(account.admin).post(`${path(second.id)}/delete`)
    expect(await indexes(id)).toEqual(['idx_layout_starts'])
    await app.as(account.admin).post(`${path(first.id)}/update`, { name: `Calendar ${counter++}` })
    expect(await indexes(id)).toEqual(['idx_layout_starts'])
    await app.as(account.admin).post(`${path(first.id)}/delete`)
    expect(await indexes(id)).toEqual([])
  })

  test('is built by a job on a large table, and only while a view needs it', async () => {
    const id = await dealsTable(account, `Large ${counter++}`)
    await app.db.write(sql`insert into ${recordsOf(id)} (created_at, updated_at) select now(), now() from generate_series(1, 20001)`)
    const view = await newView({ type: 'calendar', config: { startField: 'due' } }, id)
    expect(await indexes(id)).toEqual([])
    await adapt(systemContext(app.deps), { table_id: id })
    expect(await indexes(id)).toEqual(['idx_layout_due'])
    await app.as(account.admin).post(`/api/table/${id}/view/${view.id}/delete`)
    await adapt(systemContext(app.deps), { table_id: id })
    expect(await indexes(id)).toEqual([])
  })

  test('is not created for a refused view', async () => {
    const id = await dealsTable(account, `Calendar ${counter++}`)
    const { name } = await newView({}, id)
    expect((await create(account.admin, { name, type: 'calendar', config: { startField: 'due' } }, id)).status).toBe(409)
    expect(await indexes(id)).toEqual([])
  })
})

describe('querying through a view', () => {
  test('ignores the filters and order of the request, without validating them', async () => {
    const view = await newView({ filters: [{ column: 'stage', compare: '=', value: 'Won' }], order_by: 'amount', order_dir: 'D' })
    expect(await companies({ view_id: view.id })).toBe('Cone Acme')
    const answer = await query({ view_id: view.id, filters: 'nonsense', where: 3, order_by: 'gone', order_dir: 'up', search: 'acme' })
    expect(answer.body.map(({ company }: { company: string }) => company)).toEqual(['Acme'])
    expect(answer.headers.get('x-ignored')).toBe('filters, where, order_by, order_dir')
    expect((await query({ view_id: view.id })).headers.get('x-ignored')).toBeNull()
  })

  test('with append_filters adds the filters of the request as one group, and its order if there is one', async () => {
    const view = await newView({ filters: [{ column: 'stage', compare: '=', value: 'Won' }], order_by: 'amount', order_dir: 'D' })
    const filters = [
      { column: 'company', compare: '=', value: 'Acme' },
      { column: 'company', compare: '=', value: 'Bolt', connector: 'OR' },
    ]
    expect(await companies({ view_id: view.id, append_filters: true, filters })).toBe('Acme')
    expect(await companies({ view_id: view.id, append_filters: true })).toBe('Cone Acme')
    expect(await companies({ view_id: view.id, append_filters: true, order_by: 'amount' })).toBe('Acme Cone')
    expect((await query({ view_id: view.id, append_filters: true, filters: 'nonsense' })).status).toBe(400)
    expect(await companies({ append_filters: true, filters })).toBe('Acme Bolt')
  })

  test("applies the request's filters to every branch of an OR in the view", async () => {
    const view = await newView({
      filters: [
        { column: 'company', compare: '=', value: 'Acme' },
        { column: 'company', compare: '=', value: 'Bolt', connector: 'OR' },
      ],
    })
    expect(await companies({ view_id: view.id, append_filters: true, where: { stage: 'New' } })).toBe('Bolt')
  })

  test('0 uses no view, not even the default of the table', async () => {
    await newView({ filters: [{ column: 'stage', compare: '=', value: 'Won' }], is_table_default: true })
    expect(await companies({ view_id: 0 })).toBe('Acme Bolt Cone')
    expect(await companies({ view_id: 0, where: { stage: 'New' } })).toBe('Bolt')
  })

  test('resolves tokens and @me for the caller, and for the owner of an account key', async () => {
    const view = await newView({ filters: [{ column: 'owner', compare: '=', value: '@me' }] })
    expect(view.filters).toEqual([{ column: 'owner', compare: '=', value: '@me', connector: 'AND' }])
    expect(await companies({ view_id: view.id }, account.member)).toBe('Acme')
    expect(await companies({ view_id: view.id }, account.keys.personal)).toBe('Acme')
    expect(await companies({ view_id: view.id }, account.keys.account)).toBe('')
    app.setClock(new Date('2026-03-29T12:00:00Z'))
    const today = await newView({ filters: [{ column: 'due', compare: '<', value: 'today' }] })
    expect(await companies({ view_id: today.id })).toBe('Acme')
    app.setClock(null)
  })

  test("starts a calendar's week on the configured day", async () => {
    const filters = [{ column: 'due', compare: '=', value: 'start_of_week' }]
    const config = { startField: 'due', weekStart: 'sunday' }
    const view = await newView({ type: 'calendar', config, filters: [{ column: 'due', compare: '>=', value: 'start_of_week' }] })
    // The clock is at Sunday, 29 March 2026.
    app.setClock(new Date('2026-03-29T12:00:00Z'))
    expect(await companies({ view_id: view.id })).toBe('Bolt')
    expect(await companies({ view_id: view.id, append_filters: true, filters })).toBe('')
    app.setClock(new Date('2026-03-30T12:00:00Z'))
    expect(await companies({ filters })).toBe('Bolt')
    app.setClock(null)
  })

  test('applies a change of the view from the next query on', async () => {
    const view = await newView({ filters: [{ column: 'stage', compare: '=', value: 'Won' }] })
    expect(await companies({ view_id: view.id })).toBe('Acme Cone')
    await update(view.id, { filters: [{ column: 'stage', compare: '=', value: 'New' }] })
    expect(await companies({ view_id: view.id })).toBe('Bolt')
    await app.as(account.admin).post(`/api/table/${table}/view/${view.id}/delete`)
    expect((await query({ view_id: view.id })).status).toBe(500)
  })

  test('answers a view_id of a wrong type with the 500 that api.md fixes', async () => {
    const elsewhere = await newView({}, otherTable)
    for (const view_id of [elsewhere.id, MISSING, 99_999_999_999, -1, 1.5, '1', 'abc', true, [], {}]) {
      const { status, body } = await query({ view_id })
      expect(status, JSON.stringify(view_id)).toBe(500)
      expect(body).toMatchObject({ message: 'View not found', code: 'INTERNAL_SERVER_ERROR' })
    }
  })
})

describe('a field that a view needs', () => {
  test('is kept, unless force deletes the view; a sort is dropped without force', async () => {
    const id = await dealsTable(account, `Needed ${counter++}`)
    const filtered = await newView({ filters: [{ column: 'due', compare: 'is_empty' }] }, id)
    const calendar = await newView({ type: 'calendar', config: { startField: 'due' } }, id)
    const sorted = await newView({ order_by: 'due', order_dir: 'D', config: { columns: ['company', 'due'], widths: { due: 90 } } }, id)
    const path = `/api/table/${id}/field/due/delete`
    const refused = await app.as(account.owner).post(path)
    expect(refused.status).toBe(409)
    expect(refused.body.message).toContain(filtered.name)

    const { status, body } = await app.as(account.owner).post(path, { force: true })
    expect(status).toBe(200)
    expect(body.deleted_views.map((view: { id: number }) => view.id)).toEqual([filtered.id, calendar.id])
    expect(body.unsorted_views.map((view: { id: number }) => view.id)).toEqual([sorted.id])
    expect((await app.as(account.viewer).get(`/api/table/${id}/view/${sorted.id}/get`)).body).toMatchObject({
      config: { columns: ['company'] },
      order_by: null,
      order_dir: null,
    })
    expect(await indexes(id)).toEqual([])
  })

  test('that was the only column: the grid then shows all, and says so with showHidden', async () => {
    const id = await dealsTable(account, `Only ${counter++}`)
    const plain = await newView({ config: { columns: ['due'] } }, id)
    const open = await newView({ config: { columns: ['due'], widths: { due: 90 }, showHidden: true } }, id)
    const all = await newView({ config: { showHidden: true } }, id)
    expect((await app.as(account.owner).post(`/api/table/${id}/field/due/delete`)).status).toBe(200)
    const config = async (view: { id: number }) => (await app.as(account.viewer).get(`/api/table/${id}/view/${view.id}/get`)).body.config
    expect(await config(plain)).toEqual({ columns: [] })
    expect((await config(all)).columns).toContain('id')
    expect(await config(open)).toEqual(await config(all))
  })

  test('cannot be deleted while a view that needs it is saved', async () => {
    const id = await dealsTable(account, `Race ${counter++}`)
    const [deleted, saved] = await Promise.all([
      app.as(account.owner).post(`/api/table/${id}/field/amount/delete`),
      create(account.admin, { name: 'Needs it', type: 'grid', filters: [{ column: 'amount', compare: '>', value: 1 }] }, id),
    ])
    expect([deleted.status, saved.status].sort()).toEqual(deleted.status === 200 ? [200, 400] : [200, 409])
  })

  test('with a renamed option is renamed in filters, too', async () => {
    const id = await dealsTable(account, `Options ${counter++}`)
    const view = await newView(
      {
        filters: [
          { column: 'stage', compare: '!=', value: 'Won' },
          { column: 'stage', compare: 'contains', value: 'Won' },
          { column: 'company', compare: '=', value: 'Won' },
        ],
      },
      id,
    )
    const options = ['New', { title: 'Signed', was: 'Won' }, 'Lost']
    expect((await app.as(account.owner).post(`/api/table/${id}/field/stage/update`, { options })).status).toBe(200)
    const { body } = await app.as(account.viewer).get(`/api/table/${id}/view/${view.id}/get`)
    expect(body.filters.map(({ value }: { value: string }) => value)).toEqual(['Signed', 'Won', 'Won'])
  })
})
