/** Tests records/explain, and `explain: true` of a query: how a query was understood, and what excludes a record. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { recordsOf, sql } from '../src/platform/database/database.ts'
import { type Caller, testApp } from './support/app.ts'
import { everyType } from './support/tables.ts'

const app = await testApp()
const account = await app.account({ timezone: 'Europe/Berlin' })
const table = await everyType(app, account)
const { body: record } = await app.as(account.owner).post(`${table.path}/records/create`, {
  data: {
    text: 'Acme',
    number: 5.5,
    checkbox: true,
    date: '2026-03-29',
    datetime: '2026-03-28 23:30:00',
    select: 'Open',
    multi_select: ['Done'],
    user: account.member.email,
    lookup: table.target,
  },
})
// At 23:30 UTC on the 28th, the 29th has begun in Berlin, a day of 23 hours.
beforeAll(() => app.setClock(new Date('2026-03-28T23:30:00Z')))
afterAll(() => app.setClock(null))

const ask = (body: object, caller: Caller = account.keys.account) => app.as(caller).post(`${table.path}/records/query`, body)

/** Asks in both forms, whose answers are equal. */
async function explained(body: object, caller: Caller = account.keys.account) {
  const answer = await app.as(caller).post(`${table.path}/records/explain`, body)
  expect(answer.status, JSON.stringify(answer.body)).toBe(200)
  const ofQuery = await ask({ ...body, explain: true }, caller)
  expect(ofQuery.body).toEqual(answer.body)
  expect(ofQuery.headers.get('x-ignored')).toBe(answer.headers.get('x-ignored'))
  return answer.body
}

const condition = (column: string, compare: string, value?: unknown) => ({ column, compare, ...(value !== undefined && { value }) })

describe('a query is explained', () => {
  test('with its zone, its user, its tokens, its conditions and its order, on REST and RPC alike', async () => {
    const body = {
      filters: [
        condition('select', '=', 'Open'),
        { ...condition('date', 'LTE', 'TODAY'), connector: 'OR' as const },
        condition('user', 'eq', '@me'),
        condition('datetime', '>=', 'now'),
        condition('datetime', '<', 'today'),
      ],
      where: { number: ['>', '1.50'] },
      filter: { any: [condition('text', 'is_empty'), { all: [condition('checkbox', '!=', false), condition('lookup', '=', 3)] }] },
      search: 'acme "co"',
      order_by: 'number',
      order_dir: 'D' as const,
    }
    const answer = await explained(body)
    expect(answer).toEqual({
      timezone: 'Europe/Berlin',
      me: { id: account.owner.id, email: account.owner.email, name: 'Olga Owner' },
      tokens: [
        { token: 'TODAY', from: '2026-03-28 23:00:00', to: '2026-03-29 22:00:00' },
        { token: 'now', from: '2026-03-28 23:30:00', to: '2026-03-28 23:30:00' },
        { token: 'today', from: '2026-03-28 23:00:00', to: '2026-03-29 22:00:00' },
      ],
      predicate:
        '((select = "Open" OR (date <= TODAY (2026-03-29) AND ' +
        `user = @me (${account.owner.email}) AND datetime >= now (2026-03-28 23:30:00) AND datetime < today (2026-03-29))) ` +
        'AND number > "1.50" AND (text is_empty OR (checkbox != false AND lookup = 3))) AND search "acme" AND search "\\"co\\""',
      order: [
        { field: 'number', dir: 'D' },
        { field: 'id', dir: 'D' },
      ],
      indexes: [],
    })
    const { rpc } = app.as(account.keys.account)
    expect(await rpc.records.query.query({ table_id: table.id, ...body, explain: true })).toEqual(answer)
    expect(await rpc.records.explain.query({ table_id: table.id, ...body })).toEqual(answer)
  })

  test.each<[string, object, string]>([
    ['no condition', {}, 'every record'],
    ['empty groups', { filter: { all: [{ all: [] }] } }, 'every record'],
    ['an empty group', { filter: { any: [] } }, 'no record'],
    ['only a search', { search: ' x  x y' }, 'search "x" AND search "y"'],
    ['one condition', { filter: { any: [{ all: [condition('number', '=', 1)] }] } }, 'number = 1'],
    ['a text that looks like a token', { where: { text: 'today' } }, 'text = "today"'],
    ['characters that SQL treats specially', { where: { text: `'; drop "x" -- \\` } }, String.raw`text = "'; drop \"x\" -- \\"`],
  ])('%s', async (_, body, expected) => {
    expect((await explained(body)).predicate).toBe(expected)
  })

  test('through a view, whose week starts on a Sunday', async () => {
    const view = await app.as(account.owner).post(`${table.path}/views/create`, {
      name: 'This week',
      type: 'calendar',
      config: { startField: 'date', weekStart: 'sunday' },
      filters: [condition('date', '>=', 'start_of_week')],
      order_by: 'date',
    })
    const through = await explained({ view_id: view.body.id, where: { number: 1 } })
    expect(through).toMatchObject({
      tokens: [{ token: 'start_of_week', from: '2026-03-28 23:00:00', to: '2026-03-29 22:00:00' }],
      predicate: 'date >= start_of_week (2026-03-29)',
      order: [
        { field: 'date', dir: 'A' },
        { field: 'id', dir: 'A' },
      ],
    })
    const added = await explained({
      view_id: view.body.id,
      where: { number: 1 },
      append_filters: true,
      order: [{ field: 'id', dir: 'D' }, { field: 'text' }],
    })
    expect(added.predicate).toBe('date >= start_of_week (2026-03-29) AND number = 1')
    expect(added.order).toEqual([{ field: 'id', dir: 'D' }])
  })

  test('for the caller, in their zone', async () => {
    await app.db.prisma.user.update({ where: { id: account.viewer.id }, data: { timezone: 'Asia/Kathmandu' } })
    const body = { filters: [condition('datetime', '=', 'yesterday'), condition('user', 'contains', '@ME')] }
    expect(await explained(body, account.keys.personalViewer)).toMatchObject({
      timezone: 'Asia/Kathmandu',
      me: { id: account.viewer.id },
      tokens: [{ token: 'yesterday', from: '2026-03-27 18:15:00', to: '2026-03-28 18:15:00' }],
      predicate: `datetime = yesterday (2026-03-28) AND user contains @ME (${account.viewer.email})`,
    })
  })

  test('names the indexes that the database uses for this statement', async () => {
    const large = await app.as(account.owner).post(`/api/space/${account.space}/tables/create`, {
      name: 'Large',
      fields: [
        { name: 'Name', type: 'text' },
        { name: 'Owner', type: 'user' },
      ],
    })
    const records = recordsOf(large.body.id)
    await app.db.write(
      sql`insert into ${records} (name, created_at, updated_at) select 'n' || i, now(), now() from generate_series(1, 5000) i`,
    )
    await app.db.write(sql`create index by_name on ${records} (lower(name) nulls first, id)`)
    await app.db.write(sql`analyze ${records}`)
    const indexes = async (body: object) =>
      (await app.as(account.owner).post(`/api/table/${large.body.id}/records/query`, { ...body, explain: true })).body.indexes
    expect(await indexes({ order_by: 'name', order_dir: 'D' })).toEqual(['by_name'])
    expect(await indexes({ where: { id: 7, owner: account.owner.email } })).toEqual(['records_pkey'])
    expect(await indexes({ where: { name: ['contains', 'x'] }, order_by: 'owner' })).toEqual([])
    const first = await app.as(account.owner).post(`/api/table/${large.body.id}/records/query`, { order_by: 'name', cursor: '' })
    expect(await indexes({ order_by: 'name', cursor: first.headers.get('x-next-cursor') })).toEqual(['by_name'])
  })
})

describe('a record is explained', () => {
  const kept = (column: string | null, compare: string, value: unknown, actual: unknown) => ({
    id: record.id,
    matches: false,
    failed: { column, compare, ...(value !== undefined && { value }), actual },
  })
  const member = { id: account.member.id, email: account.member.email, name: account.member.name }

  test.each<[string, object, object]>([
    ['no condition excludes it', { where: { text: 'Acme', date: 'today' } }, { id: record.id, matches: true, failed: null }],
    ['there is no condition', {}, { id: record.id, matches: true, failed: null }],
    ['a text', { where: { text: 'Acme', number: 5.5, select: 'Done' } }, kept('select', '=', 'Done', 'Open')],
    ['the first of several conditions', { where: { number: ['<', 5], text: 'x' } }, kept('number', '<', 5, 5.5)],
    ['a user', { where: { user: '@me' } }, kept('user', '=', '@me', member)],
    ['a token', { where: { date: ['>', 'Today'] } }, kept('date', '>', 'Today', '2026-03-29')],
    ['a list', { where: { multi_select: 'Open' } }, kept('multi_select', '=', 'Open', ['Done'])],
    ['a lookup', { where: { lookup: ['sw', 'x'] } }, kept('lookup', 'starts_with', 'x', { id: table.target, title: 'Target' })],
    ['the key', { where: { id: ['<', 1] } }, kept('id', '<', 1, record.id)],
    ['an empty value', { filters: [condition('email', 'is_not_empty')] }, kept('email', 'is_not_empty', undefined, null)],
    ['a missing value', { where: { time: ['<', '10:00'] } }, kept('time', '<', '10:00', null)],
    ['a checkbox', { where: { checkbox: false } }, kept('checkbox', '=', false, true)],
    [
      'alternatives, by the first',
      { filter: { any: [condition('text', '=', 'x'), condition('number', '=', 1)] } },
      kept('text', '=', 'x', 'Acme'),
    ],
    [
      'only a condition that applies',
      { filter: { all: [{ any: [condition('text', '=', 'x'), condition('number', '>', 1)] }, condition('select', 'is_empty')] } },
      kept('select', 'is_empty', undefined, 'Open'),
    ],
    ['a word of the search', { where: { text: 'Acme' }, search: 'acme bolt' }, kept(null, 'search', 'bolt', null)],
    ['an empty group', { filter: { any: [] } }, { id: record.id, matches: false, failed: null }],
  ])('%s', async (_, body, expected) => {
    expect((await explained({ ...body, record_id: record.id })).record).toEqual(expected)
    const { body: rows } = await ask(body)
    expect(rows.some(({ id }: { id: number }) => id === record.id)).toBe((expected as { matches: boolean }).matches)
  })

  test('it must be in this table, and an explanation must be requested', async () => {
    for (const missing of [record.id + 1000, table.target + 1_000_000]) {
      const { status, body } = await ask({ explain: true, record_id: missing })
      expect([status, body.message]).toEqual([404, 'Record not found'])
    }
    const { status, body } = await ask({ record_id: record.id })
    expect([status, body.issues]).toEqual([400, [{ path: ['record_id'], message: 'needs explain: true' }]])
    for (const bad of ['x', 0, -1, 1.5, 2 ** 31, [1], true]) expect((await ask({ explain: true, record_id: bad })).status).toBe(400)
    for (const bad of ['true', 1, {}]) expect((await ask({ explain: bad })).status).toBe(400)
    expect((await ask({ explain: false, record_id: null })).body).toHaveLength(1)
  })

  test('a caller who may not read the table, or a view of another table, is refused as usual', async () => {
    const refused = await ask({ explain: true, record_id: record.id }, account.keys.accountOutsider)
    expect([refused.status, refused.body.message]).toEqual([500, 'Not Authorized'])
    expect((await ask({ explain: true, view_id: 2_000_000_000 })).body.message).toBe('View not found')
    expect((await ask({ explain: true, where: { nope: 1 } })).status).toBe(400)
  })
})
