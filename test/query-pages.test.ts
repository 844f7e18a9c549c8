/** Tests orders by several keys, and pages by cursor. */
import { describe, expect, test } from 'vitest'
import { recordsOf, sql } from '../src/platform/database/database.ts'
import { type Caller, testApp } from './support/app.ts'
import { everyType, makeRecords, makeTable } from './support/tables.ts'

const app = await testApp()
const account = await app.account()
async function tableOf(fields: object[]): Promise<number> {
  return (await makeTable(app, account, { fields })).id
}
const table = await tableOf([
  { name: 'Name', type: 'text' },
  { name: 'Stage', type: 'select', options: ['New', 'Won'] },
  { name: 'Amount', type: 'number' },
  { name: 'Tags', type: 'multi_select', options: ['Red'] },
])
await makeRecords(app, account, table, [
  { name: 'a', stage: 'Won', amount: 2 },
  { name: 'b', stage: 'New', amount: 2 },
  { name: 'c', stage: 'Won' },
  { name: 'd', amount: 2 },
  { name: 'e', stage: 'New', amount: 1 },
  { name: 'F', stage: 'Won', amount: 2 },
])

const query = (body: object, caller: Caller = account.viewer, tableId = table) =>
  app.as(caller).post(`/api/table/${tableId}/records/query`, body)

async function names(body: object): Promise<string> {
  const answer = await query(body)
  expect(answer.status, JSON.stringify(answer.body)).toBe(200)
  return answer.body.map(({ name }: { name: string }) => name).join(' ')
}

describe('a page of more than 32 MB', async () => {
  const large = await tableOf([
    { name: 'Text', type: 'long_text' },
    { name: 'Owner', type: 'user' },
  ])
  await app.db.write(sql`insert into ${recordsOf(large)} (text, owner, created_at, updated_at)
    select repeat('x', 100000), ${account.owner.id}, now(), now() from generate_series(1, 400)`)
  const message = 'The page has more than 32 MB; ask for fewer records with limit, or for fewer fields with fields'

  // Later ones are prepared, and read the users in the same round trip.
  test.each([1, 2, 3])('is refused, for the %s. time', async () => {
    const { status, body } = await query({ limit: 1_000 }, account.viewer, large)
    expect([status, body.message]).toEqual([400, message])
  })

  test('is read in parts', async () => {
    const part = await query({ limit: 100, offset: 100 }, account.viewer, large)
    expect([part.status, part.body.length]).toEqual([200, 100])
    const { status, body } = await query({ limit: 1_000, fields: ['owner'] }, account.viewer, large)
    expect([status, body.length]).toEqual([200, 400])
  })
})

describe('an order of several keys', () => {
  test.each<[string, object[], string]>([
    ['one key works like order_by', [{ field: 'amount', dir: 'D' }], 'F d b a e c'],
    ['a key without a direction is ascending', [{ field: 'amount' }], 'c e a b d F'],
    ['ties of the first key are sorted by the second', [{ field: 'stage' }, { field: 'amount' }], 'd e b c a F'],
    [
      'each key has its own direction',
      [
        { field: 'stage', dir: 'D' },
        { field: 'amount', dir: 'a' },
      ],
      'c a F e b d',
    ],
    ['ties of all keys are sorted by id, in the direction of the last', [{ field: 'stage' }, { field: 'amount', dir: 'd' }], 'd b e F a c'],
    ['three keys', [{ field: 'amount' }, { field: 'stage', dir: 'D' }, { field: 'name', dir: 'D' }], 'c e F a b d'],
    ['records without a value last', [{ field: 'amount', nulls: 'last' }], 'e a b d F c'],
    ['records without a value first, though descending', [{ field: 'amount', dir: 'D', nulls: 'first' }], 'c F d b a e'],
    ['the usual place of empty values', [{ field: 'amount', nulls: 'first' }], 'c e a b d F'],
    [
      'a place for each key',
      [
        { field: 'stage', nulls: 'last' },
        { field: 'amount', dir: 'D', nulls: 'first' },
      ],
      'b e c F a d',
    ],
    ['no place is the usual one', [{ field: 'amount', dir: 'D', nulls: null }], 'F d b a e c'],
    ['no record is without an id', [{ field: 'id', dir: 'D', nulls: 'first' }], 'F e d c b a'],
    ['keys after id have no effect', [{ field: 'id', dir: 'D' }, { field: 'amount' }], 'F e d c b a'],
    ['an empty list is no order', [], 'a b c d e F'],
  ])('%s', async (_, order, expected) => {
    expect(await names({ order })).toBe(expected)
    const paged = []
    for (let offset = 0; offset < 6; offset += 2) paged.push(await names({ order, limit: 2, offset }))
    expect(paged.join(' ')).toBe(expected)
  })

  test('works the same by RPC', async () => {
    const { rows } = await app
      .as(account.keys.personal)
      .rpc.records.query.query({ table_id: table, order: [{ field: 'stage', dir: 'D' }, { field: 'name' }] })
    expect(rows.map(({ name }) => name).join(' ')).toBe('a c F b e d')
  })

  test.each<[string, object, string[]]>([
    ['a differing order_by beside it', { order: [{ field: 'name' }, { field: 'id' }], order_by: 'id' }, ['order_by']],
    ['a differing order_dir beside it', { order: [{ field: 'name' }], order_dir: 'D' }, ['order_dir']],
    ['more than three keys', { order: ['id', 'name', 'stage', 'amount'].map((field) => ({ field })) }, ['order']],
    ['a field twice', { order: [{ field: 'name' }, { field: 'id' }, { field: 'name', dir: 'D' }] }, ['order.2.field']],
    ['an unknown field', { order: [{ field: 'name' }, { field: 'xmin' }] }, ['order.1.field']],
    ['a field that cannot be sorted by', { order: [{ field: 'tags' }] }, ['order.0.field']],
    ['no field', { order: [{ dir: 'A' }] }, ['order.0.field']],
    ['a field that is not a text', { order: [{ field: 1 }] }, ['order.0.field']],
    ['another direction', { order: [{ field: 'name', dir: 'asc' }] }, ['order.0.dir']],
    ['another place of empty values', { order: [{ field: 'name', nulls: 'FIRST' }] }, ['order.0.nulls']],
    ['a place that is no text', { order: [{ field: 'name', nulls: true }] }, ['order.0.nulls']],
    ['an unknown key', { order: [{ field: 'name', desc: true }] }, ['order.0.desc']],
    ['a key that is a text', { order: ['name'] }, ['order.0']],
    ['no list', { order: { field: 'name' } }, ['order']],
    ['several at once', { order: [{ field: 'nope' }, { field: 'name', dir: 1 }] }, ['order.0.field', 'order.1.dir']],
  ])('%s: 400 naming it', async (_, body, expected) => {
    const answer = await query(body)
    expect(answer.status).toBe(400)
    expect(answer.body.issues.map(({ path }: { path: unknown[] }) => path.join('.'))).toEqual(expected)
  })

  test('is kept by a view as it was sent, with the place of empty values', async () => {
    const order = [
      { field: 'amount', dir: 'D', nulls: 'first' },
      { field: 'name', dir: 'A', nulls: 'first' },
      { field: 'id', dir: 'A' },
    ]
    const draft = { name: 'Empty first', type: 'grid', order }
    const admin = app.as(account.owner)
    expect((await admin.post(`/api/table/${table}/views/check`, draft)).body).toMatchObject({ order })
    const { body: view } = await admin.post(`/api/table/${table}/views/create`, draft)
    expect(view).toMatchObject({ order, order_by: 'amount', order_dir: 'D' })
    expect(await names({ view_id: view.id })).toBe('c a b d F e')
    const { body: explained } = await query({ view_id: view.id, explain: true })
    expect(explained.order).toEqual(order)
    const refused = await admin.post(`/api/table/${table}/view/${view.id}/update`, { order: [{ field: 'name', nulls: 'middle' }] })
    expect([refused.status, refused.body.issues[0].path]).toEqual([400, ['order', 0, 'nulls']])
    const { body: turned } = await admin.post(`/api/table/${table}/view/${view.id}/update`, { order: [{ field: 'amount', nulls: 'last' }] })
    expect(turned.order).toEqual([{ field: 'amount', dir: 'A', nulls: 'last' }])
    expect(await names({ view_id: view.id })).toBe('e a b d F c')
  })

  test('is ignored through a view, and with append_filters replaces the order of the view', async () => {
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

/** Walks all pages, and returns the ids of each. @param between runs after each page but the last */
async function walk(
  body: object,
  { caller = account.viewer as Caller, tableId = table, between = async (_page: number, _ids: number[]) => {} } = {},
) {
  const pages: number[][] = []
  for (let cursor = ''; ; ) {
    const answer = await query({ ...body, cursor }, caller, tableId)
    expect(answer.status, JSON.stringify(answer.body)).toBe(200)
    pages.push(answer.body.map(({ id }: { id: number }) => id))
    const next = answer.headers.get('x-next-cursor')
    if (next === null) return pages
    await between(pages.length, pages.at(-1) ?? [])
    cursor = next
  }
}

describe('a walk by cursor', async () => {
  const every = await everyType(app, account)
  const people = [account.owner, account.member, account.viewer]
  const others = await makeRecords(
    app,
    account,
    every.other,
    ['zeta', 'Äpfel', null, 'äpfel'].map((name) => ({ name })),
  )
  const pick = <T>(values: T[], index: number) => values[index % values.length]
  await makeRecords(
    app,
    account,
    every.id,
    Array.from({ length: 23 }, (_, i) => ({
      text: pick(['b', 'B', null, 'Ä', 'a "quoted" \\ text', '😀'], i),
      long_text: pick([null, 'x'.repeat(300), 'y'], i),
      email: pick(['a@example.com', null], i),
      url: pick([null, 'https://example.com'], i),
      phone: pick(['+49 1', null, '+49 2'], i),
      number: pick([null, -1.5, 1000000000000.25, 0, 2], i),
      checkbox: pick([true, false, null], i),
      date: pick(['2026-03-29', null, '2024-02-29'], i),
      datetime: pick([null, '2026-03-29 01:00:00', '1999-12-31 23:59:59'], i),
      time: pick(['00:00', '23:59:59', null], i),
      select: pick(['Done', 'Open', null], i),
      user: pick([people[0]?.email, people[1]?.email, null], i),
      lookup: pick([...others, null], i),
    })),
  )
  const all = (await query({ limit: 1000 }, account.viewer, every.id)).body.map(({ id }: { id: number }) => id)

  const sortable = ['id', 'created_at', 'created_by', ...every.fields.map(({ id }) => id).filter((id) => !/^multi_|^file$/.test(id))]
  test.each(sortable.flatMap((field) => [[field, 'A'] as const, [field, 'D'] as const]))(
    'by %s %s returns the whole order, in pieces',
    async (order_by, order_dir) => {
      const whole = (await query({ order_by, order_dir, limit: 1000 }, account.viewer, every.id)).body.map(({ id }: { id: number }) => id)
      expect(whole).toHaveLength(23)
      for (const limit of [3, 22, 23]) {
        const pages = await walk({ order_by, order_dir, limit }, { tableId: every.id })
        expect(pages.flat()).toEqual(whole)
        expect(pages).toHaveLength(Math.ceil(23 / limit))
      }
    },
  )

  const key = (field: string, dir = 'A', nulls?: string) => ({ field, dir, ...(nulls && { nulls }) })
  test.each<[string, object[]]>([
    ['of two numbers', [key('number'), key('date')]],
    ['of mixed directions', [key('select', 'D'), key('number', 'A', 'last')]],
    ['of a checkbox, which is never empty', [key('checkbox', 'D', 'first'), key('time', 'A', 'last')]],
    ['of three keys', [key('select', 'A', 'last'), key('checkbox', 'D'), key('text', 'D', 'first')]],
    ['that ends with the id in another direction', [key('date'), key('select'), key('id', 'D')]],
    ['of the id before other keys', [key('id', 'D'), key('number')]],
    ['of two texts', [key('text'), key('email', 'D', 'first')]],
    ['of a user and a lookup', [key('user', 'D', 'first'), key('lookup'), key('number', 'D')]],
    ['of texts of which one is long', [key('long_text', 'A', 'last'), key('url', 'D')]],
    ['of one key with the empty values last', [key('number', 'A', 'last')]],
    ['of one key with the empty values first', [key('text', 'D', 'first')]],
  ])('in an order %s returns the whole order, in pieces', async (_, order) => {
    const whole = (await query({ order, limit: 1000 }, account.viewer, every.id)).body
    const ids = whole.map(({ id }: { id: number }) => id)
    const view = await app
      .as(account.owner)
      .post(`${every.path}/views/create`, { name: JSON.stringify(order).slice(0, 90), type: 'grid', order })
    for (const body of [{ order }, { view_id: view.body.id, include: ['version'] }])
      for (const limit of [1, 3, 22]) {
        const pages = await walk({ ...body, limit }, { tableId: every.id })
        expect(pages.flat(), `${limit}`).toEqual(ids)
        expect(pages).toHaveLength(Math.ceil(23 / limit))
      }
    const first = await query({ order, limit: 9, cursor: '' }, account.viewer, every.id)
    const rest = await app
      .as(account.keys.personalViewer)
      .rpc.records.query.query({ table_id: every.id, order, limit: 1000, cursor: first.headers.get('x-next-cursor') } as never)
    expect([...first.body, ...rest.rows]).toEqual(whole)
  })

  test('over a lookup into a table without a title is ordered by id', async () => {
    const bare = await tableOf([{ name: 'Number', type: 'number' }])
    const [target] = await makeRecords(app, account, bare, [{ number: 1 }])
    const field = { id: 'bare', name: 'Bare', type: 'lookup', table: bare }
    await app.as(account.owner).post(`${every.path}/fields/create`, field)
    await app.as(account.owner).post(`${every.path}/record/${all[3]}/update`, { data: { bare: target } })
    expect((await walk({ order_by: 'bare', limit: 5 }, { tableId: every.id })).flat()).toEqual(all)
    expect((await walk({ order_by: 'bare', order_dir: 'D', limit: 5 }, { tableId: every.id })).flat()).toEqual(all.toReversed())
  })

  test('without an order is ordered by id; filters, search and a view narrow it, and RPC works the same', async () => {
    expect((await walk({ limit: 5 }, { tableId: every.id })).flat()).toEqual(all)
    const filters = [{ column: 'number', compare: '>', value: -2 }]
    const expected = (
      await query({ filters, search: 'a@example', limit: 1000, order_by: 'text', order_dir: 'D' }, account.viewer, every.id)
    ).body
    const ids = expected.map(({ id }: { id: number }) => id)
    expect(ids.length).toBeGreaterThan(4)
    const body = { filters, search: 'a@example', order_by: 'text', order_dir: 'D', limit: 2 } as const
    expect((await walk(body, { tableId: every.id })).flat()).toEqual(ids)
    const view = await app
      .as(account.owner)
      .post(`${every.path}/views/create`, { name: 'Narrow', type: 'grid', filters, order_by: 'text', order_dir: 'D' })
    const through = { view_id: view.body.id, search: 'a@example' }
    expect((await walk({ ...through, limit: 2 }, { tableId: every.id })).flat()).toEqual(ids)

    const { rpc } = app.as(account.keys.personalViewer)
    const first = await rpc.records.query.query({ table_id: every.id, ...body, cursor: '' })
    const rest = await rpc.records.query.query({ table_id: every.id, ...body, limit: 1000, cursor: first.next_cursor ?? '' })
    expect([...first.rows, ...rest.rows]).toEqual(expected)
    expect(rest).not.toHaveProperty('next_cursor')
  })

  test('returns the same rows, and a cursor only on request', async () => {
    const plain = await query({ order_by: 'text', limit: 3 }, account.viewer, every.id)
    const walked = await query({ order_by: 'text', limit: 3, cursor: '', count: true }, account.viewer, every.id)
    expect(walked.body).toEqual(plain.body)
    expect(plain.headers.get('x-next-cursor')).toBeNull()
    expect(walked.headers.get('x-total-count')).toBe('23')
    expect((await query({ cursor: null, offset: 1 })).status).toBe(200)
  })

  test('may change its fields, its limit and its count on the way', async () => {
    const start = await query({ order_by: 'number', order_dir: 'D', limit: 3, cursor: '' }, account.viewer, every.id)
    const cursor = start.headers.get('x-next-cursor')
    const next = await query(
      { order_by: 'number', order_dir: 'd', limit: 1000, fields: ['text'], count: true, cursor },
      account.viewer,
      every.id,
    )
    expect(next.body).toHaveLength(20)
    expect(Object.keys(next.body[0])).toEqual(['id', 'text'])
  })

  test.each<[string, object]>([
    ['ascending', { order_by: 'name', order_dir: 'A' }],
    ['descending', { order_by: 'name', order_dir: 'D' }],
    ['by two keys', { order: [{ field: 'created_by' }, { field: 'name', dir: 'D', nulls: 'first' }] }],
  ])('returns each remaining record once while other records are created and deleted, %s', async (_, order) => {
    const lively = await tableOf([{ name: 'Name', type: 'text' }])
    const staying = await makeRecords(
      app,
      account,
      lively,
      Array.from({ length: 12 }, (_, i) => ({ name: i % 4 ? `n${i % 5}` : null })),
    )
    const going = await makeRecords(
      app,
      account,
      lively,
      Array.from({ length: 12 }, (_, i) => ({ name: i % 3 ? `n${i % 4}` : null })),
    )
    const between = async (page: number) => {
      await app.as(account.owner).post(`/api/table/${lively}/records/delete_batch`, { record_ids: going.splice(0, 3) })
      await makeRecords(app, account, lively, [{ name: `n${page % 5}` }, { name: null }])
    }
    // Pages of 8 outrun the 2 records that are created with each page.
    const seen = (await walk({ ...order, limit: 8 }, { tableId: lively, between })).flat()
    expect(new Set(seen).size).toBe(seen.length)
    expect(staying.filter((id) => !seen.includes(id))).toEqual([])
  })

  test('continues after the last record of a page has been deleted', async () => {
    const shrinking = await tableOf([{ name: 'Name', type: 'text' }])
    const ids = await makeRecords(
      app,
      account,
      shrinking,
      ['b', 'a', null, 'b', 'c', null, 'B'].map((name) => ({ name })),
    )
    const between = async (_: number, page: number[]) => {
      expect((await app.as(account.owner).post(`/api/table/${shrinking}/record/${page.at(-1)}/delete`)).status).toBe(200)
    }
    const pages = await walk({ limit: 2, order_by: 'name', order_dir: 'D' }, { tableId: shrinking, between })
    expect(pages.flat().map((id) => ids.indexOf(id))).toEqual([4, 6, 3, 0, 1, 5, 2])
  })

  const cursorOf = async (body: object, caller: Caller = account.viewer) =>
    (await query({ limit: 2, ...body, cursor: '' }, caller, every.id)).headers.get('x-next-cursor') as string

  test.each<[string, object, object]>([
    ['another filter', { where: { checkbox: true } }, { where: { checkbox: false } }],
    ['no filter', { where: { checkbox: true } }, {}],
    ['another search', { search: 'example' }, { search: 'exampl' }],
    ['another direction', { order_by: 'text' }, { order_by: 'text', order_dir: 'D' }],
    ['another key', { order_by: 'text' }, { order_by: 'email' }],
    ['another key behind it', { order: [key('text'), key('date')] }, { order: [key('text'), key('time')] }],
    ['fewer keys', { order: [key('text'), key('date')] }, { order: [key('text')] }],
    ['another direction of the second', { order: [key('text'), key('date')] }, { order: [key('text'), key('date', 'D')] }],
    ['another place of empty values', { order_by: 'text' }, { order: [key('text', 'A', 'last')] }],
    ['no order', { order_by: 'text' }, {}],
  ])('does not continue with %s', async (_, before, after) => {
    const { status, body } = await query({ ...after, cursor: await cursorOf(before) }, account.viewer, every.id)
    expect([status, body.message, body.issues]).toEqual([
      400,
      'Cursor belongs to another query',
      [{ path: ['cursor'], message: 'belongs to another query' }],
    ])
  })

  test('does not continue in another table, or for another user', async () => {
    const cursor = await cursorOf({})
    expect((await query({ cursor })).body.message).toBe('Cursor belongs to another query')
    expect((await query({ cursor }, account.member, every.id)).body.message).toBe('Cursor belongs to another query')
    expect((await query({ cursor, limit: 1 }, account.keys.personalViewer, every.id)).status).toBe(200)
  })

  test('continues past midnight, and with a rewording of the same query', async () => {
    app.setClock(new Date('2026-03-29T23:59:00Z'))
    const cursor = await cursorOf({ filters: [{ column: 'date', compare: '<=', value: 'today' }] })
    app.setClock(new Date('2026-03-30T00:01:00Z'))
    expect((await query({ where: { date: ['lte', 'today'] }, cursor }, account.viewer, every.id)).status).toBe(200)
    app.setClock(null)
  })

  test('refuses a forged cursor', async () => {
    const cursor = await cursorOf({ order_by: 'text' })
    const changed = [...cursor].map((letter, at) => `${cursor.slice(0, at)}${letter === 'A' ? 'B' : 'A'}${cursor.slice(at + 1)}`)
    for (const bad of [
      ...changed.slice(0, 60),
      ...changed.slice(-20),
      cursor.slice(1),
      cursor.slice(0, -1),
      `${cursor}A`,
      `${cursor}=`,
      ` ${cursor}`,
      'x',
      '0',
      "' or 1=1 --",
      'é',
      '{}',
      'A'.repeat(19_999),
      'A'.repeat(20_001),
    ]) {
      const { status, body } = await query({ order_by: 'text', cursor: bad }, account.viewer, every.id)
      expect([status, body.issues?.[0]?.path], bad).toEqual([400, ['cursor']])
    }
    for (const bad of [0, 1, true, [], {}, [cursor], 'a\0b']) expect((await query({ cursor: bad })).status).toBe(400)
  })

  test('cannot be combined with an offset', async () => {
    const { status, body } = await query({ cursor: '', offset: 1 }, account.viewer, every.id)
    expect([status, body.issues[0].path]).toEqual([400, ['offset']])
  })
})
