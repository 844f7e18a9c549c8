import { describe, expect, test } from 'vitest'
import { ownFields } from '../src/fields/definition.ts'
import { ident, join, recordsOf, sql } from '../src/platform/database/database.ts'
import { withDefinition } from '../src/tables/with-definition.ts'
import { type Caller, type TestAccount, testApp } from './support/app.ts'
import { queriesOf, queriesWith } from './support/statements.ts'
import { makeRecords, makeTable } from './support/tables.ts'

const app = await testApp()
const MISSING = 2_000_000_000

const tableOf = async (account: TestAccount, name: string, fields: object[]) => (await makeTable(app, account, { name, fields })).id

/** Returns the names of the records that a query answers, in order. */
async function names(caller: Caller, tableId: number, query: object): Promise<string[]> {
  const { status, body } = await app.as(caller).post(`/api/table/${tableId}/records/query`, { limit: 1000, ...query })
  expect(status, JSON.stringify(body)).toBe(200)
  return body.map(({ name }: { name: string }) => name)
}

const one = (column: string, compare: string, value?: unknown) => ({
  filters: [{ column, compare, ...(value !== undefined && { value }) }],
})

describe('the meaning of each compare on each type', async () => {
  const account = await app.account()
  const cities = await tableOf(account, 'Cities', [{ name: 'Name', type: 'text' }])
  const [berlin, bern, gone] = await makeRecords(app, account, cities, [{ name: 'Berlin' }, { name: '100%_Bern' }, { name: 'Gone' }])
  const table = await tableOf(account, 'All', [
    { name: 'Name', type: 'text' },
    { name: 'Text', type: 'text' },
    { name: 'Number', type: 'number', decimals: 2 },
    { name: 'Checkbox', type: 'checkbox' },
    { name: 'Date', type: 'date' },
    { name: 'Datetime', type: 'datetime' },
    { name: 'Time', type: 'time' },
    { name: 'Select', type: 'select', options: ['Open', 'Closed', 'On hold'] },
    { name: 'Multi select', type: 'multi_select', options: ['Red', 'Green', 'Blue'] },
    { name: 'User', type: 'user' },
    { name: 'Multi user', type: 'multi_user' },
    { name: 'Lookup', type: 'lookup', table: cities },
    { name: 'Multi lookup', type: 'multi_lookup', table: cities },
    { name: 'File', type: 'file' },
  ])
  const ids = await makeRecords(app, account, table, [
    {
      name: 'a',
      text: 'Ähre',
      number: 10,
      checkbox: true,
      date: '2026-03-29',
      datetime: '2026-03-28 23:30:00',
      time: '09:30',
      select: 'Open',
      multi_select: ['Red', 'Blue'],
      user: account.member.email,
      multi_user: [account.member.email, account.viewer.email],
      lookup: berlin,
      multi_lookup: [berlin, bern],
    },
    {
      name: 'b',
      text: '50%_\\o/',
      number: -1.25,
      checkbox: false,
      date: '2026-03-30',
      datetime: '2026-03-29 21:59:59',
      time: '23:59:59',
      select: 'On hold',
      multi_select: ['Green'],
      user: account.owner.id,
      multi_user: ['@me'],
      lookup: bern,
      multi_lookup: [bern],
    },
    {
      name: 'c',
      text: 'zebra',
      number: 100,
      date: '2026-04-01',
      datetime: '2026-03-29 22:00:00',
      time: '00:00',
      select: 'Closed',
      lookup: gone,
      multi_lookup: [gone],
    },
    { name: 'd' },
  ])
  await app.as(account.owner).post(`/api/table/${cities}/record/${gone}/delete`)
  const files = JSON.stringify([{ name: 'Plan 50%.PDF', path: 'x', size: 1, type: 'application/pdf', host: 'local' }])
  await app.db.write(sql`update ${recordsOf(table)} set file = ${files}::jsonb where id = ${ids[1]}`)
  await app.db.prisma.user.update({ where: { id: account.owner.id }, data: { timezone: 'Europe/Berlin' } })

  test.each<[column: string, compare: string, value: unknown, expected: string]>([
    ['text', '=', 'Ähre', 'a'],
    ['text', '=', 'ähre', ''],
    ['text', '!=', 'Ähre', 'b c d'],
    ['text', '=', '', ''],
    ['text', '>', 'ZEBRA', 'a'],
    ['text', '>=', 'ZEBRA', 'a c'],
    ['text', '<', 'ähre', 'b c'],
    ['text', 'contains', 'ÄHR', 'a'],
    ['text', 'contains', '%', 'b'],
    ['text', 'contains', '_', 'b'],
    ['text', 'contains', '\\', 'b'],
    ['text', 'contains', "' or 1=1 --", ''],
    ['text', 'starts_with', '50%', 'b'],
    ['text', 'starts_with', '5_', ''],
    ['text', 'ends_with', '/', 'b'],
    ['text', 'ends_with', 'RA', 'c'],
    ['text', 'is_empty', undefined, 'd'],
    ['text', 'is_not_empty', undefined, 'a b c'],
    ['number', '=', 10, 'a'],
    ['number', '=', '10.00', 'a'],
    ['number', '=', '1e1', 'a'],
    ['number', '>', '-125E-2', 'a c'],
    ['number', '<', '1e+999', 'a b c'],
    ['number', '!=', 10, 'b c d'],
    ['number', '>', -1.25, 'a c'],
    ['number', '>=', '-1.25', 'a b c'],
    ['number', '<', 10, 'b'],
    ['number', '<=', 1e300, 'a b c'],
    ['number', 'contains', '.2', 'b'],
    ['number', 'contains', 0, 'a c'],
    ['number', 'is_empty', undefined, 'd'],
    ['id', '>', 0, 'a b c d'],
    ['id', '<', 1e12, 'a b c d'],
    ['id', '=', 0.5, ''],
    ['id', '!=', 99999999999, 'a b c d'],
    ['checkbox', '=', true, 'a'],
    ['checkbox', '=', false, 'b c d'],
    ['checkbox', '!=', true, 'b c d'],
    ['checkbox', '!=', false, 'a'],
    ['date', '=', '2026-03-29', 'a'],
    ['date', '!=', '2026-03-29', 'b c d'],
    ['date', '>', '2026-03-29', 'b c'],
    ['date', '<=', '2026-03-30', 'a b'],
    ['date', 'is_not_empty', undefined, 'a b c'],
    // In Berlin, 29 March 2026 has 23 hours: from 23:00 to 22:00 UTC.
    ['datetime', '=', '2026-03-29', 'a b'],
    ['datetime', '!=', '2026-03-29', 'c d'],
    ['datetime', '>', '2026-03-29', 'c'],
    ['datetime', '>=', '2026-03-29', 'a b c'],
    ['datetime', '<', '2026-03-29', ''],
    ['datetime', '<', '2026-03-30', 'a b'],
    ['datetime', '<=', '2026-03-29', 'a b'],
    ['datetime', '=', '2026-03-29 22:00:00', 'c'],
    ['datetime', '=', '2026-03-30T00:00:00+02:00', 'c'],
    ['datetime', '<', '2026-03-29 22:00:00', 'a b'],
    ['datetime', 'is_empty', undefined, 'd'],
    ['time', '=', '09:30', 'a'],
    ['time', '=', '09:30:00', 'a'],
    ['time', '>=', '09:30', 'a b'],
    ['time', '<', '09:30', 'c'],
    ['time', '!=', '00:00', 'a b d'],
    ['select', '=', 'Open', 'a'],
    ['select', '=', 'open', ''],
    ['select', '=', 'No such option', ''],
    ['select', '!=', 'No such option', 'a b c d'],
    ['select', '!=', 'Open', 'b c d'],
    ['select', 'contains', 'O', 'a b c'],
    ['select', 'starts_with', 'o', 'a b'],
    ['select', 'ends_with', 'ED', 'c'],
    ['select', 'contains', '%', ''],
    ['select', 'is_empty', undefined, 'd'],
    ['multi_select', '=', 'Blue', 'a'],
    ['multi_select', 'contains', 'Blue', 'a'],
    ['multi_select', 'contains', 'Blu', ''],
    ['multi_select', '!=', 'Blue', 'b c d'],
    ['multi_select', '!=', 'Pink', 'a b c d'],
    ['multi_select', 'is_empty', undefined, 'c d'],
    ['user', '=', account.member.email.toUpperCase(), 'a'],
    ['user', '=', account.member.id, 'a'],
    ['user', '!=', account.member.id, 'b c d'],
    ['user', '=', '@me', 'b'],
    ['user', '!=', '@me', 'a c d'],
    ['user', '=', 'nobody@example.com', ''],
    ['user', '!=', 'nobody@example.com', 'a b c d'],
    ['user', '=', account.outsider.email, ''],
    ['user', 'contains', 'OLGA', 'b'],
    ['user', 'contains', '@example', 'a b'],
    ['user', 'contains', '@me', 'b'],
    ['user', 'starts_with', 'max mem', 'a'],
    ['user', 'ends_with', 'member', 'a'],
    ['user', 'is_empty', undefined, 'c d'],
    ['multi_user', '=', account.viewer.email, 'a'],
    ['multi_user', 'contains', '@me', 'b'],
    ['multi_user', '!=', account.viewer.id, 'b c d'],
    ['multi_user', 'is_not_empty', undefined, 'a b'],
    ['lookup', '=', berlin, 'a'],
    ['lookup', '!=', berlin, 'b c d'],
    ['lookup', '=', MISSING, ''],
    ['lookup', 'contains', 'BER', 'a b'],
    ['lookup', 'starts_with', '100%_', 'b'],
    ['lookup', 'ends_with', 'lin', 'a'],
    ['multi_lookup', '=', bern, 'a b'],
    ['multi_lookup', 'contains', berlin, 'a'],
    ['multi_lookup', '!=', berlin, 'b c d'],
    ['file', 'is_empty', undefined, 'a c d'],
    ['file', 'is_not_empty', undefined, 'b'],
    ['file', 'contains', 'plan 50%', 'b'],
    ['file', 'contains', 'local', ''],
    ['created_at', '=', 'today', 'a b c d'],
    ['created_by', '=', '@me', 'a b c d'],
    ['updated_by', 'is_empty', undefined, ''],
  ])('%s %s %j', async (column, compare, value, expected) => {
    expect((await names(account.keys.account, table, one(column, compare, value))).join(' ')).toBe(expected)
  })

  test('a lookup to a deleted record reads as empty, and is filtered as empty', async () => {
    const { body } = await app.as(account.owner).post(`/api/table/${table}/records/query`, { fields: ['name', 'lookup', 'multi_lookup'] })
    expect(body[2]).toEqual({ id: ids[2], name: 'c', lookup: null, multi_lookup: [] })
    expect(await names(account.owner, table, one('lookup', 'is_empty'))).toEqual(['c', 'd'])
    expect(await names(account.owner, table, one('multi_lookup', 'is_not_empty'))).toEqual(['a', 'b'])
    expect(await names(account.owner, table, one('lookup', '=', gone))).toEqual([])
    expect(await names(account.owner, table, one('lookup', '!=', gone))).toEqual(['a', 'b', 'c', 'd'])
  })

  test.each<[string, string, string]>([
    ['text', 'A', 'd b c a'],
    ['text', 'D', 'a c b d'],
    ['number', 'a', 'd b a c'],
    ['number', 'd', 'c a b d'],
    ['checkbox', 'A', 'b c d a'],
    ['checkbox', 'D', 'a d c b'],
    ['date', 'D', 'c b a d'],
    ['datetime', 'A', 'd a b c'],
    ['time', 'A', 'd c a b'],
    ['select', 'A', 'd a c b'],
    ['select', 'D', 'b c a d'],
    ['user', 'A', 'c d a b'],
    ['lookup', 'A', 'c d b a'],
    ['id', 'D', 'd c b a'],
    ['created_at', 'D', 'd c b a'],
  ])('sorted by %s %s, empty values are smallest, and ties go by id in the same direction', async (order_by, order_dir, expected) => {
    expect((await names(account.owner, table, { order_by, order_dir })).join(' ')).toBe(expected)
  })

  test('the row has every field, converted', async () => {
    const { body } = await app.as(account.keys.personalViewer).post(`/api/table/${table}/records/query`, { limit: 1 })
    const user = ({ id, email, name }: { id: number; email: string; name: string }) => ({ id, email, name })
    expect(body[0]).toEqual({
      id: ids[0],
      name: 'a',
      text: 'Ähre',
      number: 10,
      checkbox: true,
      date: '2026-03-29',
      datetime: '2026-03-28 23:30:00',
      time: '09:30:00',
      select: 'Open',
      multi_select: ['Red', 'Blue'],
      user: user(account.member),
      multi_user: [user(account.member), user(account.viewer)],
      lookup: { id: berlin, title: 'Berlin' },
      multi_lookup: [
        { id: berlin, title: 'Berlin' },
        { id: bern, title: '100%_Bern' },
      ],
      file: [],
      created_at: expect.stringMatching(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/),
      created_by: user(account.owner),
      updated_at: expect.any(String),
      updated_by: user(account.owner),
    })
  })

  test.each<[string, object, string[]]>([
    ['an unknown column', one('nope', '=', 1), ['filters.0.column']],
    ['a column of the database', one('xmin', '=', 1), ['filters.0.column']],
    ['a column of the prototype', one('__proto__', '=', 1), ['filters.0.column']],
    ['an injection as column', one('text"; drop table users; --', '=', 'x'), ['filters.0.column']],
    ['an unknown compare', one('text', 'like', 'x'), ['filters.0.compare']],
    ['a compare that the type lacks', one('checkbox', '>', true), ['filters.0.compare']],
    ['starts_with on a number', one('number', 'starts_with', 1), ['filters.0.compare']],
    ['is_empty on a checkbox', one('checkbox', 'is_empty'), ['filters.0.compare']],
    ['= on a file', one('file', '=', 'x'), ['filters.0.compare']],
    ['a number for a text', one('text', '=', 5), ['filters.0.value']],
    ['a text for a number', one('number', '=', 'ten'), ['filters.0.value']],
    ['a list in a compare that takes one number', one('number', '>', [1]), ['filters.0.value']],
    ['a text for a checkbox', one('checkbox', '=', 'true'), ['filters.0.value']],
    ['a date that does not exist', one('date', '=', '2026-02-29'), ['filters.0.value']],
    ['an instant for a date', one('date', '=', '2026-03-29 10:00:00'), ['filters.0.value']],
    ['an unknown token', one('date', '=', 'someday'), ['filters.0.value']],
    ['a token on a time', one('time', '=', 'now'), ['filters.0.value']],
    ['no time', one('time', '=', '25:00'), ['filters.0.value']],
    ['a user by name', one('user', '=', 'Max'), ['filters.0.value']],
    ['a lookup by title', one('lookup', '=', 'Berlin'), ['filters.0.value']],
    ['an option by number', one('select', '=', 1), ['filters.0.value']],
    [
      'several at once',
      { filters: [...one('nope', '=', 1).filters, ...one('number', '=', 'x').filters] },
      ['filters.0.column', 'filters.1.value'],
    ],
    ['where with an unknown column', { where: { nope: 1 } }, ['where.nope']],
    ['a group with a wrong value', { filter: { any: [{ column: 'number', compare: '=', value: 'x' }] } }, ['filter.any.0.value']],
    ['an unknown order', { order_by: 'nope' }, ['order_by']],
    ['an order by a list', { order_by: 'multi_select' }, ['order_by']],
    ['an order by files', { order_by: 'file' }, ['order_by']],
    ['another direction', { order_by: 'text', order_dir: 'DESC' }, ['order_dir']],
    ['an unknown field', { fields: ['text', 'nope'] }, ['fields.1']],
    ['fields that are not a list', { fields: 'text' }, ['fields']],
    ['a limit that is not a number', { limit: 'ten' }, ['limit']],
    ['a limit with a fraction', { limit: 1.5 }, ['limit']],
    ['an unknown key', { filtres: [] }, ['filtres']],
    ['a search that is not a text', { search: 5 }, ['search']],
    ['a long search', { search: 'x'.repeat(501) }, ['search']],
    ['NUL', one('text', '=', 'a\0b'), ['filters.0.value']],
    ['half a surrogate pair', { search: '\ud800' }, ['search']],
  ])('%s is 400 naming it', async (_, query, expected) => {
    const { status, body } = await app.as(account.owner).post(`/api/table/${table}/records/query`, query)
    expect(status, JSON.stringify(body)).toBe(400)
    expect(body.issues.map(({ path }: { path: unknown[] }) => path.join('.'))).toEqual(expected)
  })

  test('a token on a field of another type than date or user stays text', async () => {
    expect(await names(account.owner, table, one('text', '=', 'today'))).toEqual([])
    expect(await names(account.owner, table, one('text', '=', '@me'))).toEqual([])
  })

  test('tokens are resolved in the zone of the acting user', async () => {
    // 23:30 UTC on the 28th: already the 29th in Berlin, still the 28th in UTC.
    app.setClock(new Date('2026-03-28T23:30:00Z'))
    expect(await names(account.keys.account, table, one('date', '=', 'today'))).toEqual(['a'])
    expect(await names(account.member, table, one('date', '=', 'tomorrow'))).toEqual(['a'])
    expect(await names(account.keys.account, table, one('datetime', '=', 'now'))).toEqual(['a'])
    expect(await names(account.keys.account, table, one('datetime', '>', '+22h'))).toEqual(['b', 'c'])
    expect(await names(account.keys.account, table, one('date', '<', 'start_of_next_month'))).toEqual(['a', 'b'])
    app.setClock(null)
  })
})

test.each(['UTC', 'America/New_York', 'Europe/Berlin', 'Pacific/Kiritimati'])(
  'the first and the last of all days are days (%s)',
  async (timezone) => {
    const account = await app.account({ timezone })
    const table = await tableOf(account, 'Ages', [
      { name: 'Name', type: 'text' },
      { name: 'At', type: 'datetime' },
    ])
    const [first, last] = ['0001-01-01', '9999-12-31']
    // West of UTC clocks show the year 0 at the first instant. It counts as the first day, as the last one counts as the last day.
    await makeRecords(app, account, table, [
      { name: 'first', at: `${first} 00:00:00` },
      { name: 'noon', at: `${first} 12:00:00` },
      { name: 'now', at: '2026-03-29 12:00:00' },
      { name: 'last', at: `${last} 08:00:00` },
    ])
    expect(await names(account.owner, table, one('at', '=', first))).toEqual(['first', 'noon'])
    expect(await names(account.owner, table, one('at', '!=', first))).toEqual(['now', 'last'])
    expect(await names(account.owner, table, one('at', '<', first))).toEqual([])
    expect(await names(account.owner, table, one('at', '>=', first))).toEqual(['first', 'noon', 'now', 'last'])
    expect(await names(account.owner, table, one('at', '<=', first))).toEqual(['first', 'noon'])
    expect(await names(account.owner, table, one('at', '>', first))).toEqual(['now', 'last'])
    expect(await names(account.owner, table, one('at', '=', last))).toEqual(['last'])
    expect(await names(account.owner, table, one('at', '<=', last))).toEqual(['first', 'noon', 'now', 'last'])
    expect(await names(account.owner, table, one('at', '>', last))).toEqual([])
  },
)

describe('a query as a whole', async () => {
  const account = await app.account()
  const table = await tableOf(account, 'Deals', [
    { name: 'Name', type: 'text' },
    { name: 'Notes', type: 'long_text' },
    { name: 'Stage', type: 'select', options: ['New', 'In progress'] },
    { name: 'Amount', type: 'number' },
  ])
  await makeRecords(app, account, table, [
    { name: 'Acme', notes: 'Über den Wolken', stage: 'New', amount: 1 },
    { name: 'Bolt', notes: 'a snow-plough', stage: 'In progress', amount: 2 },
    { name: 'Cone', notes: 'overcome 100%', stage: 'New', amount: 2 },
    { name: 'Dent', amount: 3 },
  ])
  const query = (caller: Caller, body: object) => app.as(caller).post(`/api/table/${table}/records/query`, body)

  test.each<[string, string]>([
    ['', 'Acme Bolt Cone Dent'],
    ['   ', 'Acme Bolt Cone Dent'],
    ['acme', 'Acme'],
    ['CME', 'Acme'],
    ['über', 'Acme'],
    ['new', 'Acme Cone'],
    ['progress', 'Bolt'],
    ['wolken acme new', 'Acme'],
    ['wolken bolt', ''],
    ['100%', 'Cone'],
    ['1%', ''],
    ['sno', 'Bolt'],
    // Short words match only beginnings of words.
    ['ov', 'Cone'],
    ['ve', ''],
    ['pl', 'Bolt'],
    ['in', 'Bolt'],
    ['10', 'Cone'],
    ['0%', ''],
    ['.*', ''],
    ['(', ''],
  ])('search for %j', async (search, expected) => {
    expect((await names(account.owner, table, { search })).join(' ')).toBe(expected)
  })

  test('connectors have the precedence of SQL', async () => {
    const filters = [
      { column: 'name', compare: '=', value: 'Acme' },
      { column: 'amount', compare: '=', value: 2, connector: 'OR' },
      { column: 'stage', compare: '=', value: 'New', connector: 'AND' },
    ]
    expect(await names(account.owner, table, { filters })).toEqual(['Acme', 'Cone'])
  })

  test('filters, where, filter and search narrow together', async () => {
    const filters = [{ column: 'amount', compare: '>', value: 1 }]
    expect(await names(account.owner, table, { filters, where: { stage: 'New' } })).toEqual(['Cone'])
    const filter = { any: [{ column: 'name', compare: 'sw', value: 'b' }, { all: [{ field: 'name', compare: 'EW', value: 'T' }] }] }
    expect(await names(account.owner, table, { filters, filter })).toEqual(['Bolt', 'Dent'])
    expect(await names(account.owner, table, { filters, filter, search: 'plough' })).toEqual(['Bolt'])
    expect(await names(account.owner, table, { filter: { any: [] } })).toEqual([])
    expect(await names(account.owner, table, { filter: { all: [] } })).toHaveLength(4)
  })

  test('limit and offset are clamped', async () => {
    const count = async (body: object) => (await query(account.owner, body)).body.length
    expect(await count({ limit: 0 })).toBe(1)
    expect(await count({ limit: -5 })).toBe(1)
    expect(await count({ limit: 100_000 })).toBe(4)
    expect(await count({ limit: 2, offset: 3 })).toBe(1)
    expect(await count({ offset: -3 })).toBe(4)
    expect(await count({ offset: 1e15 })).toBe(0)
  })

  test('a deep page has the same rows as a shallow one', async () => {
    const many = await tableOf(account, 'Many', [
      { name: 'Name', type: 'text' },
      { name: 'Group', type: 'number' },
    ])
    const rows = Array.from({ length: 1000 }, (_, index) => ({ name: `n${index}`, group: index % 7 }))
    await makeRecords(app, account, many, rows)
    await makeRecords(app, account, many, rows.slice(0, 100))
    const order = { order_by: 'group', order_dir: 'D' }
    const [first, second] = [await names(account.owner, many, order), await names(account.owner, many, { ...order, offset: 1000 })]
    expect(first).toHaveLength(1000)
    expect(second).toHaveLength(100)
    expect(await names(account.owner, many, { ...order, offset: 999, limit: 1 })).toEqual([first[999]])
    expect(await names(account.owner, many, { ...order, offset: 1000, limit: 1 })).toEqual([second[0]])
  })

  test('fields narrow the row, and id is always included', async () => {
    expect((await query(account.owner, { fields: ['amount', 'stage', 'amount'], limit: 1 })).body).toEqual([
      { id: expect.any(Number), amount: 1, stage: 'New' },
    ])
    expect((await query(account.owner, { fields: [], limit: 1 })).body[0]).toHaveProperty('updated_by')
    expect(Object.keys((await query(account.owner, { fields: ['id'], limit: 1 })).body[0])).toEqual(['id'])
  })

  test('X-Total-Count is sent only on request', async () => {
    expect((await query(account.owner, {})).headers.get('x-total-count')).toBeNull()
    const { headers, body } = await query(account.owner, { count: true, limit: 1, where: { stage: 'New' } })
    expect(body).toHaveLength(1)
    expect(headers.get('x-total-count')).toBe('2')
  })

  test('records/count returns how many records match and how many exist', async () => {
    const count = (caller: Caller, body: object) => app.as(caller).post(`/api/table/${table}/records/count`, body)
    expect((await count(account.owner, {})).body).toEqual({ count: 4, total: 4, total_approx: false, restricted: false })
    const restricted = { count: 2, total: 4, total_approx: false, restricted: true }
    expect((await count(account.viewer, { where: { stage: 'New' } })).body).toEqual(restricted)
    expect((await count(account.keys.accountReadOnly, { search: 'new' })).body).toEqual(restricted)
    expect((await count(account.owner, { view_id: MISSING })).status).toBe(404)
    expect((await count(account.owner, { limit: 1, fields: ['name'] })).body.count).toBe(4)
    expect((await count(account.owner, { limit: 'x' })).status).toBe(400)
    expect((await count(account.outsider, {})).status).toBe(404)
  })

  test('a body in any form, or no body, returns the first page', async () => {
    const path = `/api/table/${table}/records/query`
    const as = app.as(account.keys.account)
    for (const init of [
      {},
      { headers: { 'content-type': 'application/json' } },
      { body: '{}', headers: { 'content-type': 'application/json' } },
    ])
      expect((await as.send(path, { method: 'POST', ...init })).body).toHaveLength(4)
  })

  test('RPC answers the same rows', async () => {
    const input = { table_id: table, where: { stage: 'New' }, order_by: 'name', order_dir: 'D', count: true } as const
    const { table_id: _, ...body } = input
    expect(await app.as(account.keys.personal).rpc.records.query.query(input)).toEqual({
      rows: (await query(account.keys.personal, body)).body,
      total: 2,
    })
  })

  test('every reader of the table may query; others get the one 500 of api.md and learn nothing', async () => {
    const { keys } = account
    for (const caller of [
      account.owner,
      account.admin,
      account.member,
      account.viewer,
      keys.account,
      keys.accountReadOnly,
      keys.personalViewer,
    ])
      expect((await query(caller, {})).status).toBe(200)
    const refused = [
      await query(account.outsider, {}),
      await query(keys.accountOutsider, {}),
      await query(keys.accountOtherSpace, {}),
      await app.as(account.owner).post(`/api/table/${MISSING}/records/query`, {}),
      await app.as(account.owner).post('/api/table/99999999999999999999/records/query', {}),
    ]
    for (const { status, body } of refused) {
      expect(status).toBe(500)
      expect(body).toMatchObject({ message: 'Not Authorized', code: 'INTERNAL_SERVER_ERROR' })
    }
    expect((await query(null, {})).status).toBe(401)
    expect((await query('gp_acct_wrong', {})).status).toBe(401)
    await expect(app.as(account.outsider).rpc.records.query.query({ table_id: table })).rejects.toMatchObject({
      data: { message: 'Not Authorized' },
    })
  })

  test('two hundred filters are accepted, and more are not', async () => {
    const filters = Array.from({ length: 200 }, () => ({ column: 'amount', compare: '>', value: 0 }))
    expect(await names(account.owner, table, { filters })).toHaveLength(4)
    const { status, body } = await query(account.owner, { filters: [...filters, filters[0]] })
    expect(status).toBe(400)
    expect(body.message).toBe('filters: must have at most 200 filters')
  })

  test('fields named like words of SQL, or like columns of the system tables, are ordinary fields', async () => {
    const odd = await tableOf(
      account,
      'Odd',
      ['Name', 'Select', 'From', 'Order', 'Email', 'Account id', 'Status'].map((name) => ({ name, type: 'text' })),
    )
    const owner = { id: 'owner', name: 'Owner', type: 'user' }
    await app.as(account.owner).post(`/api/table/${odd}/fields/create`, owner)
    await makeRecords(app, account, odd, [
      { name: 'x', select: 's', from: 'f', order: 'o', email: 'e', account_id: 'a', status: 'active', owner: '@me' },
    ])
    const where = { select: 's', from: 'f', order: ['sw', 'O'], email: 'e', account_id: 'a', status: 'active', owner: '@me' }
    expect(await names(account.owner, odd, { where, order_by: 'owner', search: 'active' })).toEqual(['x'])
    expect(await names(account.owner, odd, { filters: [{ column: 'owner', compare: 'contains', value: 'olga' }] })).toEqual(['x'])
  })

  test('a deleted field is unknown', async () => {
    const { body } = await app.as(account.owner).post(`/api/table/${table}/fields/create`, { name: 'Short lived', type: 'text' })
    expect((await query(account.owner, { order_by: body.id })).status).toBe(200)
    await app.as(account.owner).post(`/api/table/${table}/field/${body.id}/delete`)
    expect((await query(account.owner, { order_by: body.id })).status).toBe(400)
    expect((await query(account.owner, {})).body[0]).not.toHaveProperty('short_lived')
  })
})

test('the number of statements does not depend on the number of rows', async () => {
  const account = await app.account()
  const cities = await tableOf(account, 'Cities', [{ name: 'Name', type: 'text' }])
  const cityIds = await makeRecords(
    app,
    account,
    cities,
    Array.from({ length: 50 }, (_, index) => ({ name: `City ${index}` })),
  )
  const table = await tableOf(account, 'Trips', [
    { name: 'Name', type: 'text' },
    { name: 'City', type: 'lookup', table: cities },
    { name: 'Owner', type: 'user' },
  ])
  const people = [account.owner, account.admin, account.member, account.viewer]
  await makeRecords(
    app,
    account,
    table,
    cityIds.map((city, index) => ({ name: `Trip ${index}`, city, owner: people[index % 4]?.email })),
  )

  const queries = queriesOf(app.db)
  let statements = 0
  const counting = queriesWith(queries, ({ label }) => {
    if (label !== 'who') statements++
  })
  Object.assign(app.db, counting)
  const cost = async (limit: number) => {
    statements = 0
    expect(await names(account.keys.account, table, { limit })).toHaveLength(limit)
    return statements
  }
  try {
    // A page takes its users along once that read is prepared, from its third use on.
    for (let use = 0; use < 3; use++) await cost(50)
    // Once a minute a request also notes the use of its key, so the least of three counts.
    const least = async (limit: number) => Math.min(await cost(limit), await cost(limit), await cost(limit))
    const ofOne = await least(1)
    expect(await least(50)).toBe(ofOne)
    expect(ofOne).toBeLessThanOrEqual(5)
  } finally {
    Object.assign(app.db, queries)
  }
})

test('a column that is deleted while its table is read is omitted from the next read', async () => {
  const account = await app.account()
  const fields = [
    { name: 'Name', type: 'text' },
    { name: 'Short lived', type: 'text' },
  ]
  const table = await tableOf(account, 'Changing', fields)
  const [{ version } = { version: 0 }] = await app.db.prisma.table.findMany({ where: { id: table } })
  const ids: string[][] = []
  const read = () =>
    withDefinition({ db: app.db }, { id: table, version }, async (definition) => {
      ids.push(ownFields(definition).map(({ id }) => id))
      // Deletes the field between the check of the request and the query.
      if (ids.length === 2) await app.as(account.owner).post(`/api/table/${table}/field/short_lived/delete`)
      return app.db.read(sql`select ${join(ownFields(definition).map(({ id }) => ident(id)))} from ${recordsOf(table)}`)
    })
  await read()
  expect(await read()).toEqual([])
  expect(ids).toEqual([['name', 'short_lived'], ['name', 'short_lived'], ['name']])
})
