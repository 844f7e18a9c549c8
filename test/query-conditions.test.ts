/** Tests conditions that negate (`not`), that take lists of values, and that stand alone as `filter` (contract.md §9). */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Answer, type Caller, testApp } from './support/app.ts'
import { makeTable } from './support/tables.ts'

const app = await testApp()
const account = await app.account({ timezone: 'Europe/Berlin' })
const companies = await makeTable(app, account, { records: [{ name: 'Acme' }, { name: 'Bolt' }, { name: 'Cone' }] })
const [acme = 0, bolt = 0, cone = 0] = companies.records
const { owner, member, admin } = account

const FIELDS = [
  { name: 'Name', type: 'text' },
  { name: 'Amount', type: 'number', decimals: 2 },
  { name: 'Paid', type: 'checkbox' },
  { name: 'Due', type: 'date' },
  { name: 'At', type: 'datetime' },
  { name: 'Time', type: 'time' },
  { name: 'Stage', type: 'select', options: ['New', 'Won', 'Lost'] },
  { name: 'Tags', type: 'multi_select', options: ['red', 'green', 'blue'] },
  { name: 'Owner', type: 'user' },
  { name: 'Team', type: 'multi_user' },
  { name: 'Company', type: 'lookup', table: companies.id },
  { name: 'Partners', type: 'multi_lookup', table: companies.id },
  { name: 'Files', type: 'file' },
]
const RECORDS = [
  {
    ...{ name: 'a', amount: 10, paid: true, due: '2026-02-28', at: '2026-03-28 22:30:00', time: '09:30', stage: 'New', tags: ['red'] },
    ...{ owner: owner.email, team: [owner.email], company: acme, partners: [acme] },
  },
  {
    ...{ name: 'B', amount: 20.5, due: '2026-03-29', at: '2026-03-28 23:30:00', time: '10:00', stage: 'Won', tags: ['red', 'green'] },
    ...{ owner: member.email, team: [owner.email, member.email], company: bolt, partners: [acme, bolt] },
  },
  {
    ...{ name: 'c', amount: -1, due: '2026-04-30', at: '2026-03-30 10:00:00', time: '10:00', stage: 'Lost', tags: ['blue'] },
    ...{ owner: admin.email, team: [admin.email], company: cone, partners: [cone] },
  },
  { name: 'e' },
]
const dealsTable = () => makeTable(app, account, { fields: FIELDS, records: RECORDS })
const deals = await dealsTable()

// At 23:30 UTC on the 28th, the 29th has begun in Berlin.
beforeAll(() => app.setClock(new Date('2026-03-28T23:30:00Z')))
afterAll(() => app.setClock(null))

const key = account.keys.account
const query = (body: object, path = deals.path, caller: Caller = key) => app.as(caller).post(`${path}/records/query`, body)
async function names(body: object, path = deals.path): Promise<string> {
  const answer = await query(body, path)
  expect(answer.status, JSON.stringify(answer.body)).toBe(200)
  return answer.body.map(({ name }: { name: string }) => name).join('')
}
const is = (column: string, value: unknown, more: object = {}) => ({ column, compare: '=', value, ...more })
const isNot = (column: string, value: unknown) => ({ column, compare: '!=', value })
const issuesOf = ({ body }: Answer): [string, string][] =>
  body.issues.map(({ path, message }: { path: unknown[]; message: string }) => [path.join('.'), message])

describe('a list of values', () => {
  test.each<[string, unknown[], any: string]>([
    ['name', ['a', 'b', 'B'], 'aB'],
    ['name', ["'", '%', 'today'], ''],
    ['amount', [10, '20.50', 7], 'aB'],
    ['id', [deals.records[0], 2 ** 40, '1e0'], 'a'],
    ['due', ['2026-02-28', 'today', '1999-01-01'], 'aB'],
    ['due', ['end_of_last_month', 'END_OF_NEXT_MONTH'], 'ac'],
    ['at', ['today', '2026-03-30T10:00:00Z'], 'Bc'],
    ['at', ['2026-03-28', 'now'], 'aB'],
    ['at', ['-1000y', '+1000y', '0001-01-01', '9999-12-31'], ''],
    ['time', ['10:00', '09:30:00'], 'aBc'],
    ['stage', ['New', 'Lost', 'Gone'], 'ac'],
    ['stage', ['Gone'], ''],
    ['tags', ['green', 'blue'], 'Bc'],
    ['tags', ['Gone', 'red'], 'aB'],
    ['owner', ['@me', member.email.toUpperCase(), admin.id, 'nobody@example.com', 2 ** 40], 'aBc'],
    ['team', ['@ME', 'nobody@example.com'], 'aB'],
    ['team', [member.email, admin.id], 'Bc'],
    ['company', [acme, cone, 987_654], 'ac'],
    ['partners', [bolt, cone], 'Bc'],
    ['created_by', [owner.id], 'aBce'],
    ['created_at', ['today', 'yesterday'], ''],
  ])('of %s %j: any of them, none of them', async (column, values, any) => {
    const none = [...'aBce'].filter((name) => !any.includes(name)).join('')
    expect(await names({ filters: [is(column, values)] })).toBe(any)
    expect(await names({ filter: isNot(column, values) })).toBe(none)
    expect(await names({ filter: { not: is(column, values) } })).toBe(none)
    expect(await names({ filter: { not: isNot(column, values) } })).toBe(any)
    const singles = values.map((value) => is(column, value))
    expect(await names({ filter: { any: singles } })).toBe(any)
  })

  test.each<[string, unknown[], string]>([
    ['tags', ['red', 'green'], 'B'],
    ['tags', ['red', 'red'], 'aB'],
    ['tags', ['red', 'Gone'], ''],
    ['team', ['@me', member.id], 'B'],
    ['team', [owner.email, 'nobody@example.com'], ''],
    ['partners', [acme, bolt], 'B'],
    ['partners', [acme, 987_654], ''],
  ])('of %s %j: all of them', async (column, values, all) => {
    const condition = is(column, values, { all: true })
    expect(await names({ filters: [condition] })).toBe(all)
    expect(await names({ filter: condition })).toBe(all)
    expect(await names({ filter: { not: condition } })).toBe([...'aBce'].filter((name) => !all.includes(name)).join(''))
    expect(await names({ filter: { all: [{ ...condition, all: false }, is('name', ['a', 'B', 'c', 'e'])] } })).not.toBe('')
  })

  test('leaves out links to records that were deleted since', async () => {
    const gone = await makeTable(app, account, { records: [{ name: 'x' }, { name: 'y' }] })
    const [x = 0, y = 0] = gone.records
    const fields = [
      { name: 'Name', type: 'text' },
      { name: 'One', type: 'lookup', table: gone.id },
      { name: 'More', type: 'multi_lookup', table: gone.id },
    ]
    const { path } = await makeTable(app, account, { fields, records: [{ name: 'p', one: x, more: [x, y] }] })
    await app.as(key).post(`/api/table/${gone.id}/record/${x}/delete`)
    expect(await names({ filter: is('one', [x, y]) }, path)).toBe('')
    expect(await names({ filter: isNot('one', [x, y]) }, path)).toBe('p')
    expect(await names({ filter: is('more', [x, y]) }, path)).toBe('p')
    expect(await names({ filter: is('more', [x, y], { all: true }) }, path)).toBe('')
    await app.as(owner).post(`/api/table/${gone.id}/delete`)
    expect(await names({ filter: isNot('one', [x]) }, path)).toBe('p')
    expect(await names({ filter: is('more', [y]) }, path)).toBe('')
  })

  test('of 200 values is answered in each of 200 conditions', async () => {
    const values = Array.from({ length: 199 }, (_, index) => `user${index}@example.com`)
    const conditions = Array.from({ length: 190 }, () => is('owner', [...values, '@me']))
    const dates = Array.from({ length: 10 }, () => is('at', [...Array(199).fill('-7d'), 'today']))
    expect(await names({ filter: { all: conditions } })).toBe('a')
    expect(await names({ filter: { all: dates } })).toBe('B')
  })

  test('names its unknown options in a header', async () => {
    const answer = await query({ filter: { not: { any: [is('stage', ['Gone', 'Won']), is('tags', ['Lila'])] } } })
    expect(answer.headers.get('x-unknown-options')).toBe('stage=Gone, tags=Lila')
  })

  test.each<[string, object, string, RegExp]>([
    ['empty', { filters: [is('name', [])] }, 'filters.0.value', /1 to 200 values/],
    ['of 201 values', { filter: is('amount', Array(201).fill(1)) }, 'filter.value', /1 to 200 values/],
    ['with null', { filter: is('amount', [1, null]) }, 'filter.value.1', /must not be null/],
    ['of mixed kinds', { filter: { any: [is('amount', [1, 'many', true])] } }, 'filter.any.0.value.1', /must be a number/],
    ['nested', { filter: is('amount', [[1]]) }, 'filter.value.0', /must be a number/],
    ['of objects', { filter: is('owner', [{ id: 1 }]) }, 'filter.value.0', /must be an email address/],
    ['beside >', { filter: { column: 'amount', compare: '>', value: [1] } }, 'filter.value', /not with >/],
    ['beside contains', { filter: { column: 'tags', compare: 'C', value: ['red'] } }, 'filter.value', /not with contains/],
    ['on a checkbox', { filter: is('paid', [true]) }, 'filter.value', /takes no list/],
    ['on a file', { filter: is('files', ['a']) }, 'filter.compare', /does not have =/],
    ['beside contains on a file', { filter: { column: 'files', compare: 'contains', value: ['a'] } }, 'filter.value', /not with contains/],
    ['in where', { where: { stage: ['=', ['New', 'Won']] } }, 'where.stage', /must be one value/],
    ['in place of the compare of where', { where: { stage: ['New', 'Won'] } }, 'where.stage.0', /must be one of/],
    ['of all values of a text', { filter: is('name', ['a'], { all: true }) }, 'filter.all', /fields of several values/],
    ['of all beside !=', { filter: { ...isNot('tags', ['red']), all: true } }, 'filter.all', /goes with =/],
    ['of all beside is_empty', { filter: { column: 'tags', compare: 'is_empty', all: true } }, 'filter.all', /goes with =/],
    ['that is one value, with all', { filter: is('tags', 'red', { all: true }) }, 'filter.all', /a list of values/],
    ['with an all that is a text', { filter: is('tags', ['red'], { all: 'yes' }) }, 'filter.all', /true or false/],
  ])('%s is refused', async (_, body, path, message) => {
    for (const operation of ['query', 'count', 'explain']) {
      const answer = await app.as(key).post(`${deals.path}/records/${operation}`, body)
      expect([answer.status, issuesOf(answer)[0]], operation).toEqual([400, [path, expect.stringMatching(message)]])
    }
  })
})

describe('not', () => {
  test.each<[string, object, string]>([
    ['of a comparison holds for empty values', { column: 'amount', compare: '>', value: 5 }, 'ce'],
    ['of a part of a text', { column: 'name', compare: 'contains', value: 'B' }, 'ace'],
    ['of is_empty', { column: 'stage', compare: 'is_empty' }, 'aBc'],
    ['of !=', isNot('stage', 'Won'), 'B'],
    ['of a checkbox', is('paid', true), 'Bce'],
    ['of a part of the name of a user', { column: 'owner', compare: 'contains', value: 'Olga' }, 'Bce'],
    ['of a part of a title', { column: 'company', compare: 'starts_with', value: 'ac' }, 'Bce'],
    ['of a file', { column: 'files', compare: 'contains', value: 'a' }, 'aBce'],
    ['of a not', { not: is('stage', 'Won') }, 'B'],
    ['of alternatives', { any: [is('stage', 'Won'), is('amount', 10)] }, 'ce'],
    ['of conditions that must all hold', { all: [is('stage', 'Won'), is('tags', 'red')] }, 'ace'],
    ['of every record', { all: [] }, ''],
    ['of no record', { any: [] }, 'aBce'],
  ])('%s', async (_, condition, expected) => {
    expect(await names({ filter: { not: condition } })).toBe(expected)
    expect(await names({ filter: { all: [{ not: condition }, { any: [{ not: condition }] }] } })).toBe(expected)
    const count = await app.as(key).post(`${deals.path}/records/count`, { filter: { not: condition } })
    expect([count.body.count, count.body.restricted]).toEqual([expected.length, true])
    const { rows } = await app
      .as(key)
      .rpc.records.query.query({ table_id: deals.id, filter: { not: condition as never }, fields: ['name'] })
    expect(rows.map(({ name }) => name).join('')).toBe(expected)
  })

  test.each<[string, unknown, string]>([
    ['nothing', {}, 'filter.not'],
    ['a list', [is('stage', 'Won')], 'filter.not'],
    ['a text', 'stage', 'filter.not'],
    ['a condition beside another key', { ...is('stage', 'Won'), not: {} }, 'filter.not'],
    ['an unknown field', is('state', 'Won'), 'filter.not.column'],
  ])('%s is refused', async (_, condition, path) => {
    const answer = await query({ filter: { not: condition } })
    expect([answer.status, issuesOf(answer)[0]?.[0]]).toEqual([400, path])
  })

  test('of null is refused, and so are six in one another', async () => {
    expect((await query({ filter: { not: null } })).status).toBe(400)
    const nested = (depth: number): object => (depth ? { not: nested(depth - 1) } : is('stage', 'Won'))
    expect(await names({ filter: nested(5) })).toBe('ace')
    const deep = await query({ filter: nested(6) })
    expect([deep.status, issuesOf(deep)]).toEqual([400, [['filter.not.not.not.not.not', 'must not be nested deeper than 5']]])
  })
})

describe('the other operations', () => {
  const filter = { all: [{ not: is('stage', ['New', 'Lost']) }, isNot('name', ['x'])] }

  test('groups count what is found', async () => {
    const groups = await app.as(key).post(`${deals.path}/records/groups`, { filter, by: 'stage' })
    expect(groups.body.map(({ value, count }: { value: string; count: number }) => [value, count])).toEqual([
      ...[[null, 1] as const, ['New', 0] as const],
      ...[['Won', 1] as const, ['Lost', 0] as const],
    ])
  })

  test('a walk goes on with the same list only', async () => {
    const first = await query({ filter, cursor: '', limit: 1 })
    const cursor = first.headers.get('x-next-cursor')
    expect((await query({ filter, cursor, limit: 1 })).body).toHaveLength(1)
    const other = await query({ filter: { all: [{ not: is('stage', ['New']) }] }, cursor })
    expect([other.status, other.body.message]).toEqual([400, expect.stringContaining('Cursor belongs to another query')])
    const bare = await query({ filter: is('stage', ['New', 'Lost']), cursor })
    expect(bare.status).toBe(400)
  })

  test('explain names the condition inside a not, and the list', async () => {
    const explained = async (body: object) =>
      (await app.as(key).post(`${deals.path}/records/explain`, { record_id: deals.records[1], ...body })).body
    const stage = is('stage', ['Won', 'New'])
    const first = await explained({ filter: { not: { any: [is('name', 'a'), stage] } } })
    expect(first.predicate).toBe('NOT (name = "a" OR stage any of ["Won", "New"])')
    expect(first.record).toEqual({ id: deals.records[1], matches: false, failed: { ...stage, actual: 'Won', not: true } })
    expect((await explained({ filter: { not: { not: is('stage', ['New']) } } })).record.failed).toEqual({
      ...is('stage', ['New']),
      actual: 'Won',
    })
    expect((await explained({ filter: { not: { all: [is('name', 'B'), is('stage', 'Won')] } } })).record.failed).toEqual({
      ...is('name', 'B'),
      actual: 'B',
      not: true,
    })
    expect((await explained({ filter: { not: { all: [] } } })).record).toEqual({ id: deals.records[1], matches: false, failed: null })
    const all = is('tags', ['red', 'blue'], { all: true })
    const second = await explained({ filter: all })
    expect([second.predicate, second.record.failed]).toEqual(['tags all of ["red", "blue"]', { ...all, actual: ['red', 'green'] }])
    const third = await explained({ filter: { all: [{ not: isNot('due', ['today', 'end_of_next_month']) }, is('owner', ['@me', 3])] } })
    expect(third.predicate).toBe(
      `NOT (due none of [today (2026-03-29), end_of_next_month (2026-04-30)]) AND owner any of [@me (${owner.email}), 3]`,
    )
    expect(third.tokens.map(({ token }: { token: string }) => token)).toEqual(['today', 'end_of_next_month'])
  })
})

describe('saved views', () => {
  const created = async (body: object, path = deals.path) => {
    const answer = await app.as(owner).post(`${path}/views/create`, { name: `View ${Math.random()}`, type: 'grid', ...body })
    expect(answer.status, JSON.stringify(answer.body)).toBe(200)
    return answer.body
  }
  // Sessions of the real time would have expired.
  beforeAll(() => app.setClock(null))
  afterAll(() => app.setClock(new Date('2026-03-28T23:30:00Z')))

  test.each<[string, object, string]>([
    ['one condition', is('stage', 'Won'), 'B'],
    ['a list', is('stage', ['Won', 'New']), 'aB'],
    ['a not', { not: { any: [is('stage', ['Won', 'New']), { column: 'stage', compare: 'is_empty' }] } }, 'c'],
    ['all values', { any: [is('tags', ['red', 'green'], { all: true })] }, 'B'],
    ['all values, alone', is('tags', ['red', 'green'], { all: true }), 'B'],
  ])('keep and answer %s', async (_, filter, expected) => {
    const view = await created({ filter })
    expect([view.filter, view.filters]).toEqual([filter, []])
    const read = await app.as(key).get(`${deals.path}/view/${view.id}/get`)
    expect(read.body.filter).toEqual(filter)
    const listed = await app.as(key).get(`${deals.path}/views/list`)
    expect(listed.body.find(({ id }: { id: number }) => id === view.id).filter).toEqual(filter)
    const check = await app.as(owner).post(`${deals.path}/views/check`, { name: 'Checked', type: 'grid', filter })
    expect(check.body.filter).toEqual(filter)
    expect(await names({ view_id: view.id })).toBe(expected)
    const csv = await app.as(key).get(`${deals.path}/export.csv?view_id=${view.id}`)
    expect(String(csv.body).trim().split('\r\n').slice(1)).toHaveLength(expected.length)
    const again = await app.as(owner).post(`${deals.path}/view/${view.id}/update`, { filter: view.filter, filters: [] })
    expect([again.status, again.body.filter]).toEqual([200, filter])
    const lists = await app.as(owner).post(`${deals.path}/view/${view.id}/update`, { filters: [is('stage', ['Won'])] })
    expect([lists.body.filters, lists.body.filter]).toEqual([[is('stage', ['Won'], { connector: 'AND' })], undefined])
  })

  test('refuse an unknown option by its place in the list', async () => {
    const body = { name: 'Gone', type: 'grid', filter: { not: is('stage', ['Won', 'Gone']) } }
    for (const operation of ['create', 'check']) {
      const answer = await app.as(owner).post(`${deals.path}/views/${operation}`, body)
      expect([answer.status, issuesOf(answer)]).toEqual([400, [['filter.not.value.1', 'unknown option "Gone"']]])
    }
  })

  test('follow an option that is renamed, and a field that goes', async () => {
    const own = await dealsTable()
    const filter = { any: [{ not: is('stage', ['Won', 'Lost']) }, is('tags', ['red', 'green'], { all: true })] }
    const view = await created({ filter }, own.path)
    const options = ['New', { title: 'Signed', was: 'Won' }, 'Lost']
    const renamed = await app.as(owner).post(`${own.path}/field/stage/update`, { options })
    expect(renamed.status, JSON.stringify(renamed.body)).toBe(200)
    const { body } = await app.as(key).get(`${own.path}/view/${view.id}/get`)
    expect(body.filter).toEqual({ any: [{ not: is('stage', ['Signed', 'Lost']) }, filter.any[1]] })
    const deletion = await app.as(owner).post(`${own.path}/field/tags/delete`)
    expect([deletion.status, deletion.body.message]).toEqual([409, expect.stringContaining(view.name)])
  })
})
