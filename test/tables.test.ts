import { describe, expect, test } from 'vitest'
import { systemContext } from '../src/platform/context.ts'
import { recordsOf, sql } from '../src/platform/database/database.ts'
import { purge, purgeAll } from '../src/tables/purge.ts'
import { restore } from '../src/tables/service.ts'
import { type TestAccount, testApp } from './support/app.ts'
import { beginsChange, queriesOf, queriesWith } from './support/statements.ts'
import { everyType, makeTable } from './support/tables.ts'

const app = await testApp()

const newTable = (account: TestAccount, fields?: object[], name = 'Deals') => makeTable(app, account, { name, ...(fields && { fields }) })

const columnsOf = async (tableId: number) =>
  (
    await app.db.read<{ name: string }>(sql`
      select attname as name from pg_attribute where attrelid = ${`t${tableId}.records`}::regclass and attnum > 0 and not attisdropped order by attnum`)
  ).map(({ name }) => name)

describe('a table', () => {
  test('is created with its fields, the key first and calculated fields last, the same on REST and RPC', async () => {
    const account = await app.account()
    const as = app.as(account.admin)
    const fields = [
      { name: 'Email Address', type: 'email', required: true },
      { name: '住所', type: 'text', always_hidden: true, options: null },
      { name: 'Amount', type: 'number', decimals: 2, admin_only: true },
      { name: 'Stage', type: 'select', options: ['Lead', 'Won'] },
      { name: 'xmin', type: 'date' },
      { id: 'own_id', name: 'Email address 2', type: 'email' },
    ]
    const made = await as.post(`/api/space/${account.space}/tables/create`, { name: ' Deals ', fields })
    const flags = { required: false, always_hidden: false, admin_only: false, version: 1 }
    expect(made.body).toEqual({
      id: expect.any(Number),
      name: 'Deals',
      space_id: account.space,
      fields: [
        { id: 'id', name: 'ID', type: 'number', ...flags, decimals: 0, key: true },
        { id: 'email_address', name: 'Email Address', type: 'email', ...flags, required: true },
        { id: 'field_2', name: '住所', type: 'text', ...flags, always_hidden: true },
        { id: 'amount', name: 'Amount', type: 'number', ...flags, admin_only: true, decimals: 2 },
        { id: 'stage', name: 'Stage', type: 'select', ...flags, options: ['Lead', 'Won'], colors: {} },
        { id: 'xmin_2', name: 'xmin', type: 'date', ...flags },
        { id: 'own_id', name: 'Email address 2', type: 'email', ...flags },
        { id: 'created_at', name: 'Created at', type: 'datetime', ...flags, calc: true },
        { id: 'created_by', name: 'Created by', type: 'user', ...flags, calc: true },
        { id: 'updated_at', name: 'Updated at', type: 'datetime', ...flags, calc: true },
        { id: 'updated_by', name: 'Updated by', type: 'user', ...flags, calc: true },
      ],
    })
    expect((await app.as(account.viewer).get(`/api/table/${made.body.id}/get`)).body).toEqual(made.body)
    expect(await as.rpc.tables.get.query({ table_id: made.body.id })).toEqual(made.body)
    const list = await app.as(account.keys.personalViewer).get(`/api/space/${account.space}/tables/list`)
    expect(list.body).toEqual([{ id: made.body.id, name: 'Deals', space_id: account.space }])
    expect(list.headers.get('x-total-count')).toBe('1')
  })

  test('may be created without fields, and accepts records', async () => {
    const account = await app.account()
    const { body } = await app.as(account.owner).post(`/api/space/${account.space}/tables/create`, { name: 'Bare' })
    const record = await app.as(account.member).post(`/api/table/${body.id}/records/create`, { data: {} })
    expect(record.body).toMatchObject({ title: null, data: {} })
  })

  test('is refused as a whole, with every wrong field named', async () => {
    const account = await app.account()
    const elsewhere = await app.as(account.owner).post(`/api/space/${account.otherSpace}/tables/create`, { name: 'Elsewhere' })
    const before = await app.db.read(sql`select count(*) from tables`)
    const answer = await app.as(account.admin).post(`/api/space/${account.space}/tables/create`, {
      name: 'Deals',
      fields: [
        { name: 'A', type: 'text', options: ['x'] },
        { name: 'B', type: 'select', options: ['x', 'x'] },
        { name: 'C', type: 'lookup' },
        { name: 'D', type: 'text', decimals: 2 },
        { name: 'E', type: 'number', table: 1 },
        { id: 'xmin', name: 'F', type: 'text' },
        { id: 'twice', name: 'G', type: 'text' },
        { id: 'twice', name: 'H', type: 'text' },
      ],
    })
    expect(answer.status).toBe(400)
    expect(answer.body.issues.map(({ path }: { path: unknown[] }) => path.join('.'))).toEqual([
      'fields.0.options',
      'fields.1.options',
      'fields.2.table',
      'fields.3.decimals',
      'fields.4.table',
      'fields.5.id',
      'fields.7.id',
    ])
    for (const field of [
      { name: '', type: 'text' },
      { name: 'x'.repeat(101), type: 'text' },
      { name: 'A', type: 'formula' },
      { name: 'A', type: 'text', id: 'Not_a_slug' },
      { name: 'A', type: 'number', decimals: 9 },
      { name: 'A', type: 'select', options: Array.from({ length: 501 }, (_, index) => `${index}`) },
      { name: 'A', type: 'lookup', table: elsewhere.body.id },
      { name: 'A', type: 'lookup', table: 2_000_000_000 },
      { name: 'A', type: 'text', colour: 'red' },
      { type: 'text' },
    ]) {
      const refused = await app.as(account.admin).post(`/api/space/${account.space}/tables/create`, { name: 'Deals', fields: [field] })
      expect(refused.status, JSON.stringify(field)).toBe(400)
      expect(refused.body.issues[0].path.slice(0, 2)).toEqual(['fields', 0])
    }
    const taken = await app.as(account.admin).post(`/api/space/${account.space}/tables/create`, {
      name: 'Deals',
      fields: [
        { name: 'Größe', type: 'text' },
        { name: 'GRÖSSE', type: 'text' },
        { name: 'gröSSe', type: 'text' },
      ],
    })
    expect(taken).toMatchObject({ status: 409, body: { message: 'This name is taken' } })
    const many = Array.from({ length: 301 }, (_, index) => ({ name: `F${index}`, type: 'text' }))
    expect((await app.as(account.admin).post(`/api/space/${account.space}/tables/create`, { name: 'Deals', fields: many })).status).toBe(
      400,
    )
    expect(await app.db.read(sql`select count(*) from tables`)).toEqual(before)
  })

  test('has a unique name in its space, regardless of case, also when two are created at once', async () => {
    const account = await app.account()
    const as = app.as(account.keys.account)
    const path = `/api/space/${account.space}/tables/create`
    const answers = await Promise.all(['Deals', 'DEALS', 'deals'].map((name) => as.post(path, { name })))
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 409, 409])
    const other = await as.post(path, { name: 'Other' })
    expect((await as.post(`/api/table/${other.body.id}/update`, { name: 'dEALS' })).status).toBe(409)
    const renamed = await as.post(`/api/table/${other.body.id}/update`, { name: 'OTHER' })
    expect(renamed.body).toMatchObject({ name: 'OTHER', fields: other.body.fields })
  })

  test('disappears everywhere when it is deleted, and for good after seven days', async () => {
    const account = await app.account()
    const table = await newTable(account)
    const as = app.as(account.admin)
    const record = await as.post(`${table.path}/records/create`, { data: { name: 'x' } })
    await as.post(`${table.path}/record/${record.body.id}/comments/create`, { content: 'Hello' })
    expect((await as.post(`${table.path}/delete`)).body).toEqual({ ok: true })
    expect((await as.get(`/api/space/${account.space}/tables/list`)).body).toEqual([])
    for (const path of [`${table.path}/get`, `${table.path}/record/${record.body.id}/get`])
      expect(await as.get(path)).toMatchObject({ status: 404, body: { message: 'Table not found' } })
    expect((await as.post(`${table.path}/delete`)).status).toBe(404)
    // Its name can be used again.
    expect((await newTable(account)).id).toBeGreaterThan(table.id)

    const context = systemContext(app.deps)
    await purge(context, { table_id: table.id })
    expect(await columnsOf(table.id)).toContain('name')
    const later = { ...context, now: new Date(Date.now() + 8 * 86_400_000) }
    await purgeAll(later)
    await purge(later, { table_id: table.id })
    await purge(later, { table_id: table.id })
    await expect(columnsOf(table.id)).rejects.toThrow('does not exist')
    expect(await app.db.read(sql`select 1 from record_comments where table_id = ${table.id}`)).toEqual([])
    expect(await app.db.read(sql`select 1 from fields where table_id = ${table.id}`)).toEqual([])
  })

  test('is deleted with its space', async () => {
    const account = await app.account()
    const table = await newTable(account)
    expect((await app.as(account.owner).post(`/api/space/${account.space}/delete`)).status).toBe(200)
    expect((await app.as(account.owner).get(`${table.path}/get`)).status).toBe(404)
    const later = { ...systemContext(app.deps), now: new Date(Date.now() + 8 * 86_400_000) }
    await purge(later, { table_id: table.id })
    await purgeAll(later)
    expect(await app.db.read(sql`select 1 from spaces where id = ${account.space}`)).toEqual([])
  })
})

test('a restored table is shown, filtered and sorted by in lookups of other tables again', async () => {
  const account = await app.account()
  const as = app.as(account.member)
  const companies = await makeTable(app, account, { records: [{ name: 'Zenith' }, { name: 'Acme' }] })
  const fields = [
    { name: 'Company', type: 'lookup', table: companies.id },
    { name: 'Partners', type: 'multi_lookup', table: companies.id },
  ]
  const [zenith, acme] = companies.records
  const records = [{ company: zenith, partners: [acme, zenith] }, { company: acme }, {}]
  const deals = await makeTable(app, account, { fields, records })
  const shown = async () => {
    const query = async (body: object) => (await as.post(`${deals.path}/records/query`, body)).body
    return {
      values: (await query({ fields: ['company', 'partners'] })).map(({ id, ...lookups }: { id: number }) => lookups),
      sorted: (await query({ order_by: 'company' })).map(({ id }: { id: number }) => id),
      filtered: await query({ filters: [{ column: 'company', compare: 'contains', value: 'acm' }] }),
      lines: (await exportOf(deals)).split('\r\n').map((line) => line.split(',').slice(1, 3)),
    }
  }
  const exportOf = async ({ path }: { path: string }): Promise<string> => (await as.get(`${path}/export.csv`)).body
  const before = await shown()
  expect(before.values[0].company).toMatchObject({ id: zenith, title: 'Zenith' })
  expect([before.sorted, before.filtered]).toEqual([[deals.records[2], deals.records[1], deals.records[0]], [expect.anything()]])
  await app.as(account.admin).post(`${companies.path}/delete`)
  expect((await shown()).values).toEqual([1, 2, 3].map(() => ({ company: null, partners: [] })))
  await restore(systemContext(app.deps), companies.id)
  expect(await shown()).toEqual(before)
})

describe('access to tables', () => {
  test('lets admins and account keys change tables and fields; others are refused by kind and role', async () => {
    const account = await app.account()
    const table = await newTable(account)
    for (const [path, body] of [
      [`/api/space/${account.space}/tables/create`, { name: 'New' }],
      [`${table.path}/update`, { name: 'New' }],
      [`${table.path}/fields/create`, { name: 'New', type: 'text' }],
      [`${table.path}/field/name/update`, { name: 'New' }],
      [`${table.path}/fields/reorder`, { field_ids: ['name'] }],
      [`${table.path}/field/name/delete`, {}],
      [`${table.path}/delete`, {}],
    ] as const) {
      for (const caller of [account.member, account.viewer])
        expect(await app.as(caller).post(path, body)).toMatchObject({ status: 403, body: { message: 'Not authorized' } })
      expect((await app.as(account.keys.personal).post(path, body)).body.message).toBe('Endpoint not available to personal API keys')
      expect((await app.as(account.outsider).post(path, body)).status).toBe(404)
      expect((await app.as(account.keys.accountReadOnly).post(path, body)).body.message).toBe('API key is read-only')
    }
    expect((await app.as(account.admin).get(`${table.path}/get`)).body.fields).toEqual(table.fields)
  })
})

describe('a field', () => {
  test('is added without touching existing fields', async () => {
    const account = await app.account()
    const table = await newTable(account)
    const as = app.as(account.keys.account)
    const record = await as.post(`${table.path}/records/create`, { data: { name: 'x' } })
    const [before] = await app.db.read(sql`select pg_relation_filenode(${`t${table.id}.records`}::regclass) as file`)
    const added = await as.rpc.fields.create.mutate({ table_id: table.id, name: 'Created at', type: 'multi_select', options: ['a'] })
    expect(added).toMatchObject({ id: 'created_at_2', options: ['a'] })
    const [after] = await app.db.read(sql`select pg_relation_filenode(${`t${table.id}.records`}::regclass) as file`)
    expect(after).toEqual(before)
    expect((await as.get(`${table.path}/record/${record.body.id}/get`)).body.data).toEqual({ name: 'x', created_at_2: [] })
    const { fields } = (await as.get(`${table.path}/get`)).body
    expect(fields.map(({ id }: { id: string }) => id).slice(0, 3)).toEqual(['id', 'name', 'created_at_2'])
  })

  test('gets its column and its row together, or neither', async () => {
    const account = await app.account()
    const table = await newTable(account)
    const as = app.as(account.keys.account)
    const answers = await Promise.all(
      Array.from({ length: 6 }, (_, index) =>
        as.post(`${table.path}/fields/create`, { name: index % 2 ? 'Same' : `Own ${index}`, type: 'text' }),
      ),
    )
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 200, 200, 200, 409, 409])
    const { fields } = (await as.get(`${table.path}/get`)).body
    const own = fields.filter((field: { key?: true; calc?: true }) => !field.key && !field.calc).map(({ id }: { id: string }) => id)
    expect((await columnsOf(table.id)).slice(6).sort()).toEqual(own.sort())
  })

  test('keeps its id and its values when it is renamed', async () => {
    const account = await app.account()
    const table = await newTable(account)
    const as = app.as(account.keys.account)
    const record = await as.post(`${table.path}/records/create`, { data: { name: 'x' } })
    const renamed = await as.post(`${table.path}/field/name/update`, { name: 'Company', required: true, always_hidden: true })
    expect(renamed.body).toMatchObject({ id: 'name', name: 'Company', required: true, always_hidden: true, admin_only: false })
    expect((await as.get(`${table.path}/record/${record.body.id}/get`)).body).toMatchObject({ title: 'x', data: { name: 'x' } })
    expect((await as.post(`${table.path}/records/create`, { data: {} })).body.issues).toEqual([
      { path: ['data', 'name'], message: 'is required' },
    ])
    expect((await as.post(`${table.path}/record/${record.body.id}/update`, { data: { name: '' } })).status).toBe(400)
    expect((await as.post(`${table.path}/field/name/update`, { required: null })).body.required).toBe(false)
  })

  test('cannot be changed or deleted if it is the key, calculated or unknown', async () => {
    const account = await app.account()
    const table = await newTable(account)
    const as = app.as(account.keys.account)
    for (const id of ['id', 'created_at', 'updated_by']) {
      expect((await as.post(`${table.path}/field/${id}/update`, { name: 'x' })).status).toBe(400)
      expect((await as.post(`${table.path}/field/${id}/delete`)).status).toBe(400)
    }
    for (const id of ['nope', '7', '0', 'Name', 'version', '__proto__']) {
      expect(await as.post(`${table.path}/field/${id}/update`, {})).toMatchObject({ status: 404, body: { message: 'Field not found' } })
      expect((await as.post(`${table.path}/field/${id}/delete`)).status).toBe(404)
    }
    expect((await as.post(`${table.path}/field/name/update`, { type: 'number' })).status).toBe(400)
    expect((await as.post(`${table.path}/field/name/update`, { options: ['a'] })).status).toBe(400)
    expect((await as.post(`${table.path}/field/name/update`, { decimals: 1 })).status).toBe(400)
  })

  test('loses its column when it is deleted, and its name can be used again', async () => {
    const account = await app.account()
    const table = await newTable(account)
    const as = app.as(account.keys.account)
    const record = await as.post(`${table.path}/records/create`, { data: { name: 'x' } })
    expect((await as.post(`${table.path}/field/name/delete`)).body).toEqual({ ok: true, deleted_views: [], unsorted_views: [] })
    expect(await columnsOf(table.id)).not.toContain('name')
    expect((await as.get(`${table.path}/record/${record.body.id}/get`)).body).toMatchObject({ title: null, data: {} })
    expect((await as.post(`${table.path}/fields/create`, { name: 'Name', type: 'number' })).body.id).toBe('name')
    expect((await as.get(`${table.path}/record/${record.body.id}/get`)).body.data).toEqual({ name: null })
  })

  test('is deleted with the views that need it only by force', async () => {
    const account = await app.account()
    const table = await newTable(account, [
      { name: 'Name', type: 'text' },
      { name: 'Stage', type: 'select', options: ['Lead', 'Won'] },
    ])
    const as = app.as(account.admin)
    const view = async (name: string, more: object) =>
      (await as.post(`${table.path}/views/create`, { name, type: 'grid', config: {}, ...more })).body.id
    const filtered = await view('Filtered', { filters: [{ column: 'stage', compare: '=', value: 'Lead' }] })
    const board = await view('Board', { type: 'kanban', config: { categoryField: 'stage' } })
    const sorted = await view('Sorted', { order_by: 'stage', order_dir: 'A' })
    const refused = await as.post(`${table.path}/field/stage/delete`)
    expect(refused.status).toBe(409)
    for (const name of ['Filtered', 'Board', 'Sorted']) expect(refused.body.message).toContain(name)
    expect(await columnsOf(table.id)).toContain('stage')

    const { body } = await as.post(`${table.path}/field/stage/delete`, { force: true })
    expect(body.deleted_views.map(({ id }: { id: number }) => id).sort()).toEqual([filtered, board].sort())
    expect(body.unsorted_views).toEqual([{ id: sorted, name: 'Sorted' }])
    const views = (await as.get(`${table.path}/views/list`)).body
    expect(views.map(({ id, order_by }: { id: number; order_by: string | null }) => [id, order_by])).toEqual([
      [0, null],
      [sorted, null],
    ])
  })

  test('moves to the requested position', async () => {
    const account = await app.account()
    const table = await newTable(
      account,
      ['A', 'B', 'C'].map((name) => ({ name, type: 'text' })),
    )
    const as = app.as(account.admin)
    const record = await as.post(`${table.path}/records/create`, { data: { a: 'first', c: 'third' } })
    const moved = await as.post(`${table.path}/fields/reorder`, { field_ids: ['c', 'a', 'b'] })
    expect(moved.body.map(({ id }: { id: string }) => id)).toEqual([
      'id',
      'c',
      'a',
      'b',
      'created_at',
      'created_by',
      'updated_at',
      'updated_by',
    ])
    // The first text field is the title.
    expect((await as.get(`${table.path}/record/${record.body.id}/get`)).body.title).toBe('third')
    await as.post(`${table.path}/fields/create`, { name: 'D', type: 'text' })
    const { fields } = (await as.get(`${table.path}/get`)).body
    expect(fields.map(({ id }: { id: string }) => id).slice(1, 5)).toEqual(['c', 'a', 'b', 'd'])
    for (const field_ids of [[], ['a', 'b', 'c'], ['a', 'a', 'b', 'c', 'd'], ['a', 'b', 'c', 'd', 'id'], ['a', 'b', 'c', 'nope']])
      expect((await as.post(`${table.path}/fields/reorder`, { field_ids })).status).toBe(400)
  })
})

describe('the value of a cell', () => {
  test('follows an option through a rename and a reordering', async () => {
    const account = await app.account()
    const table = await everyType(app, account)
    const as = app.as(account.keys.account)
    const { body } = await as.post(`${table.path}/records/create`, { data: { select: 'Open', multi_select: ['Done', 'Open'] } })
    for (const id of ['select', 'multi_select']) {
      const changed = await as.post(`${table.path}/field/${id}/update`, { options: ['Done', { title: 'Offen', was: 'Open' }, 'New'] })
      expect(changed.body.options).toEqual(['Done', 'Offen', 'New'])
    }
    const { data } = (await as.get(`${table.path}/record/${body.id}/get`)).body
    expect(data).toMatchObject({ select: 'Offen', multi_select: ['Done', 'Offen'] })
    for (const options of [['Done', 'Done'], [{ title: 'x', was: 'Gone' }], [''], 'Done', [{ title: 'x' }]])
      expect((await as.post(`${table.path}/field/select/update`, { options })).status, JSON.stringify(options)).toBe(400)
  })

  test('is cleared when its option is removed, only by force', async () => {
    const account = await app.account()
    const table = await everyType(app, account)
    const as = app.as(account.keys.account)
    const { body } = await as.post(`${table.path}/records/create`, { data: { select: 'Open', multi_select: ['Done', 'Open'] } })
    const only = await as.post(`${table.path}/records/create`, { data: { multi_select: ['Open'] } })
    for (const id of ['select', 'multi_select']) {
      const refused = await as.post(`${table.path}/field/${id}/update`, { options: ['Done'] })
      expect(refused.status).toBe(409)
      expect(refused.body.message).toContain('"Open"')
      expect((await as.post(`${table.path}/field/${id}/update`, { options: ['Done'], force: true })).body.options).toEqual(['Done'])
      expect((await as.post(`${table.path}/field/${id}/update`, { options: ['Done', 'Open'] })).status).toBe(200)
    }
    // A later option with the same title is another option.
    expect((await as.get(`${table.path}/record/${body.id}/get`)).body.data).toMatchObject({ select: null, multi_select: ['Done'] })
    expect((await as.get(`${table.path}/record/${only.body.id}/get`)).body.data.multi_select).toEqual([])
    const [stored] = await app.db.read(sql`select multi_select, version from ${recordsOf(table.id)} where id = ${only.body.id}`)
    expect(stored).toEqual({ multi_select: null, version: 2 })
  })

  test('is rounded when decimals are removed, only by force', async () => {
    const account = await app.account()
    const table = await everyType(app, account)
    const as = app.as(account.keys.account)
    const { body } = await as.post(`${table.path}/records/create`, { data: { number: 1.25 } })
    expect((await as.post(`${table.path}/field/number/update`, { decimals: 1 })).status).toBe(409)
    expect((await as.post(`${table.path}/field/number/update`, { decimals: 1, force: true })).body.decimals).toBe(1)
    expect((await as.get(`${table.path}/record/${body.id}/get`)).body.data.number).toBe(1.3)
    expect((await as.post(`${table.path}/field/number/update`, { decimals: null })).body).not.toHaveProperty('decimals')
  })
})

test('waits for a lock on the table, and reports a timeout', async () => {
  const account = await app.account()
  const table = await newTable(account)
  const holder = await app.db.connect()
  const queries = queriesOf(app.db)
  let attempts = 0
  // The first attempt has to wait for the lock, and finds it held.
  const unlockBeforeThird = async () => void (++attempts === 3 && (await holder.query('commit')))
  Object.assign(
    app.db,
    queriesWith(queries, (statement) => beginsChange(statement) && unlockBeforeThird()),
  )
  try {
    await holder.query('begin')
    await holder.query(`select * from t${table.id}.records`)
    expect((await app.as(account.admin).post(`${table.path}/fields/create`, { name: 'Late', type: 'text' })).status).toBe(200)
    expect(attempts).toBe(3)

    await holder.query('begin')
    await holder.query(`select * from t${table.id}.records`)
    const refused = await app.as(account.admin).post(`${table.path}/fields/create`, { name: 'Never', type: 'text' })
    expect(refused.status).toBe(503)
    expect(refused.headers.get('retry-after')).toBe('1')
    // Other requests are not delayed for long, because no lock request queues in front of them.
    expect((await app.as(account.member).post(`${table.path}/records/create`, { data: { name: 'x' } })).status).toBe(200)
  } finally {
    Object.assign(app.db, queries)
    await holder.end()
  }
  expect(await columnsOf(table.id)).not.toContain('never')
})

test('has a column of the documented type for every field', async () => {
  const account = await app.account()
  const table = await everyType(app, account)
  const types = await app.db.read<{ name: string; type: string }>(sql`
    select attname as name, format_type(atttypid, atttypmod) as type from pg_attribute
    where attrelid = ${`t${table.id}.records`}::regclass and attnum > 6 and not attisdropped`)
  expect(Object.fromEntries(types.map(({ name, type }) => [name, type]))).toEqual({
    text: 'text',
    long_text: 'text',
    email: 'text',
    url: 'text',
    phone: 'text',
    number: 'numeric',
    checkbox: 'boolean',
    date: 'date',
    datetime: 'timestamp(0) without time zone',
    time: 'time(0) without time zone',
    select: 'integer',
    multi_select: 'integer[]',
    user: 'integer',
    multi_user: 'integer[]',
    lookup: 'integer',
    multi_lookup: 'integer[]',
    file: 'jsonb',
  })
})
