/** Tests linked fields: `company.city` in the conditions, the order and the fields of queries (contract.md §9). */
import { describe, expect, test } from 'vitest'
import { testApp } from './support/app.ts'
import { queriesOf, queriesWith } from './support/statements.ts'
import { makeRecords, makeTable, makeView } from './support/tables.ts'

const app = await testApp()
const account = await app.account()
const owner = app.as(account.owner)
const viewer = app.as(account.viewer)

const countries = await makeTable(app, account, { records: [{ name: 'Norway' }, { name: 'Chile' }] })
const companies = await makeTable(app, account, {
  fields: [
    { name: 'Name', type: 'text' },
    { name: 'City', type: 'text' },
    { name: 'Size', type: 'number', decimals: 1 },
    { name: 'Active', type: 'checkbox' },
    { name: 'Stage', type: 'select', options: ['Lead', 'Won'] },
    { name: 'Tags', type: 'multi_select', options: ['Red', 'Blue'] },
    { name: 'Founded', type: 'date' },
    { name: 'Owner', type: 'user' },
    { name: 'Country', type: 'lookup', table: countries.id },
    { name: 'Logo', type: 'file' },
  ],
})
const [acme = 0, bolt = 0, crux = 0, gone = 0] = await makeRecords(app, account, companies.id, [
  {
    name: 'Acme',
    city: 'Oslo',
    size: 2.5,
    active: true,
    stage: 'Won',
    tags: ['Red', 'Blue'],
    founded: '2020-02-29',
    owner: account.member.id,
    country: countries.records[0],
  },
  { name: 'Bolt', city: 'lima', size: 10, stage: 'Lead', tags: ['Red'], founded: '1999-12-31', country: countries.records[1] },
  { name: 'Crux' },
  { name: 'Gone', city: 'Oslo', active: true },
])
const deals = await makeTable(app, account, {
  fields: [
    { name: 'Name', type: 'text' },
    { name: 'Company', type: 'lookup', table: companies.id },
    { name: 'Partners', type: 'multi_lookup', table: companies.id },
  ],
  records: [
    { name: 'a', company: acme, partners: [bolt, acme] },
    { name: 'b', company: bolt, partners: [crux] },
    { name: 'c', company: crux, partners: [gone, bolt] },
    { name: 'd', company: gone, partners: [gone] },
    { name: 'e' },
  ],
})
await owner.post(`${companies.path}/records/delete_batch`, { record_ids: [gone] })

const query = (body: object) => viewer.post(`${deals.path}/records/query`, body)
/** The names of the records that a query finds, in its order. */
async function names(body: object): Promise<string> {
  const answer = await query(body)
  expect(answer.status, JSON.stringify(answer.body)).toBe(200)
  return answer.body.map(({ name }: { name: string }) => name).join('')
}

describe('a condition on a linked field', () => {
  test.each<[column: string, compare: string, value: unknown, found: string]>([
    ['company.city', '=', 'Oslo', 'a'],
    ['company.city', '!=', 'Oslo', 'bcde'],
    ['company.city', '=', ['Oslo', 'lima'], 'ab'],
    ['company.city', '!=', ['Oslo', 'lima'], 'cde'],
    ['company.city', 'contains', 'O', 'a'],
    ['company.city', 'starts_with', 'LI', 'b'],
    ['company.city', '>', 'm', 'a'],
    ['company.city', 'is_empty', undefined, 'cde'],
    ['company.city', 'is_not_empty', undefined, 'ab'],
    ['company.size', '>', 2.4, 'ab'],
    ['company.size', '<=', 2.5, 'a'],
    ['company.active', '=', true, 'a'],
    ['company.active', '=', false, 'bcde'],
    ['company.active', '!=', true, 'bcde'],
    ['company.active', '!=', false, 'a'],
    ['company.stage', '=', 'Won', 'a'],
    ['company.stage', '!=', 'Won', 'bcde'],
    ['company.stage', 'contains', 'o', 'a'],
    ['company.tags', '=', 'Red', 'ab'],
    ['company.tags', '!=', 'Blue', 'bcde'],
    ['company.tags', 'is_empty', undefined, 'cde'],
    ['company.founded', '<', 'today', 'ab'],
    ['company.founded', '=', '2020-02-29', 'a'],
    ['company.owner', 'is_not_empty', undefined, 'a'],
    ['company.owner', '=', account.member.email, 'a'],
    ['company.owner', '!=', account.member.email, 'bcde'],
    ['company.owner', '=', '@me', ''],
    ['company.owner', '=', [account.member.email, account.viewer.id], 'a'],
    ['company.country', 'contains', 'chi', 'b'],
    ['company.country', '=', countries.records[0], 'a'],
    ['company.country', 'is_empty', undefined, 'cde'],
    ['company.id', '=', bolt, 'b'],
    ['company.id', 'is_empty', undefined, 'de'],
    ['company.id', '!=', bolt, 'acde'],
    ['company.created_at', '<=', 'today', 'abc'],
    ['company.created_by', '=', account.owner.email, 'abc'],
    ['partners.city', '=', 'Oslo', 'a'],
    ['partners.city', '!=', 'Oslo', 'bcde'],
    ['partners.city', '=', 'lima', 'ac'],
    ['partners.city', 'is_empty', undefined, 'bde'],
    ['partners.city', 'is_not_empty', undefined, 'ac'],
    ['partners.size', '>', 2, 'ac'],
    ['partners.active', '=', true, 'a'],
    ['partners.active', '=', false, 'abc'],
    ['partners.active', '!=', true, 'bcde'],
    ['partners.tags', '=', 'Blue', 'a'],
    ['partners.id', '=', crux, 'b'],
    ['partners.country', 'contains', 'nor', 'a'],
  ])('%s %s %j finds %s', async (column, compare, value, found) => {
    const condition = { column, compare, value }
    expect(await names({ filters: [condition] })).toBe(found)
    expect(await names({ filter: { not: condition } })).toBe([...'abcde'].filter((name) => !found.includes(name)).join(''))
    expect((await viewer.post(`${deals.path}/records/count`, { filter: condition })).body.count).toBe(found.length)
  })

  test('may stand in where, beside others, and in RPC', async () => {
    expect(await names({ where: { 'company.city': 'Oslo' } })).toBe('a')
    expect(await names({ where: { 'company.size': ['>', 3], name: 'b' } })).toBe('b')
    const { rows } = await viewer.rpc.records.query.query({ table_id: deals.id, where: { 'company.city': ['starts_with', 'o'] } })
    expect(rows).toMatchObject([{ name: 'a' }])
    const unknown = await query({ filters: [{ column: 'partners.stage', compare: '!=', value: ['Wonn', 'Won'] }] })
    expect([unknown.headers.get('x-unknown-options'), unknown.body.length]).toEqual(['partners.stage=Wonn', 4])
  })
})

describe('the fields of a query', () => {
  test('have the values of the linked record under the names as written, null without one', async () => {
    const fields = ['company.city', 'company.size', 'company.active', 'company.stage', 'company.tags', 'company.owner', 'company.country']
    const { body, status } = await query({ fields: ['name', ...fields, 'company.id', 'company.logo'], limit: 3 })
    expect(status, JSON.stringify(body)).toBe(200)
    const empty = {
      'company.city': null,
      'company.size': null,
      'company.active': false,
      'company.stage': null,
      'company.tags': [],
      'company.owner': null,
      'company.country': null,
    }
    const { id, email, name } = account.member
    expect(body).toEqual([
      {
        id: 1,
        name: 'a',
        'company.city': 'Oslo',
        'company.size': 2.5,
        'company.active': true,
        'company.stage': 'Won',
        'company.tags': ['Red', 'Blue'],
        'company.owner': { id, email, name },
        'company.country': { id: countries.records[0], title: 'Norway' },
        'company.id': acme,
        'company.logo': [],
      },
      {
        ...empty,
        id: 2,
        name: 'b',
        'company.city': 'lima',
        'company.size': 10,
        'company.stage': 'Lead',
        'company.tags': ['Red'],
        'company.country': { id: countries.records[1], title: 'Chile' },
        'company.id': bolt,
        'company.logo': [],
      },
      { ...empty, id: 3, name: 'c', 'company.id': crux, 'company.logo': [] },
    ])
    expect((await query({ fields: ['company.id', 'company.active'], offset: 3 })).body).toEqual([
      { id: 4, 'company.id': null, 'company.active': false },
      { id: 5, 'company.id': null, 'company.active': false },
    ])
  })

  test('through a multi_lookup have the values in the order of the links, null where empty', async () => {
    const { body } = await query({ fields: ['partners.city', 'partners.tags', 'partners.owner', 'partners.id'] })
    const { id, email, name } = account.member
    expect(body).toEqual([
      {
        id: 1,
        'partners.city': ['lima', 'Oslo'],
        'partners.tags': [['Red'], ['Red', 'Blue']],
        'partners.owner': [null, { id, email, name }],
        'partners.id': [bolt, acme],
      },
      { id: 2, 'partners.city': [null], 'partners.tags': [[]], 'partners.owner': [null], 'partners.id': [crux] },
      { id: 3, 'partners.city': ['lima'], 'partners.tags': [['Red']], 'partners.owner': [null], 'partners.id': [bolt] },
      { id: 4, 'partners.city': [], 'partners.tags': [], 'partners.owner': [], 'partners.id': [] },
      { id: 5, 'partners.city': [], 'partners.tags': [], 'partners.owner': [], 'partners.id': [] },
    ])
  })

  test('are the same on RPC, on a board and beside other answers, and there again when a record is linked anew', async () => {
    const fields = ['name', 'company.city', 'partners.city', 'partners.tags', 'partners.logo', 'company.logo']
    const { body } = await query({ fields })
    const { rows } = await viewer.rpc.records.query.query({ table_id: deals.id, fields })
    expect(rows).toEqual(body)
    expect(body.map((row: Record<string, unknown>) => row['partners.logo'])).toEqual([[[], []], [[]], [[]], [], []])
    const board = await viewer.rpc.records.board.query({ table_id: deals.id, by: 'company.stage', fields, order_by: 'company.city' })
    expect(board.rows.map(({ value, count, rows: cards }) => ({ value, count, rows: cards }))).toEqual([
      { value: null, count: 3, rows: [body[2], body[3], body[4]] },
      { value: 'Lead', count: 1, rows: [body[1]] },
      { value: 'Won', count: 1, rows: [body[0]] },
    ])
    await owner.post(`${deals.path}/record/4/update`, { data: { company: bolt, partners: [acme] } })
    const { body: linked } = await query({ fields: ['company.city', 'partners.city'], where: { name: 'd' } })
    expect(linked).toEqual([{ id: 4, 'company.city': 'lima', 'partners.city': ['Oslo'] }])
    await owner.post(`${deals.path}/record/4/update`, { data: { company: null, partners: [] } })
  })
})

describe('an order by a linked field', () => {
  test.each<[field: string, dir: string, found: string]>([
    ['company.city', 'A', 'cdeba'],
    ['company.city', 'D', 'abedc'],
    ['company.size', 'D', 'baedc'],
    ['company.active', 'A', 'bcdea'],
    ['company.stage', 'A', 'cdeba'],
    ['company.owner', 'D', 'aedcb'],
    ['company.country', 'A', 'cdeba'],
    ['company.founded', 'A', 'cdeba'],
    ['company.id', 'A', 'deabc'],
  ])('%s %s', async (field, dir, found) => {
    expect(await names({ order: [{ field, dir }] })).toBe(found)
    expect(await names({ order_by: field, order_dir: dir })).toBe(found)
    const walked: string[] = []
    let cursor = ''
    while (walked.length < 10) {
      const page = await query({
        order_by: field,
        order_dir: dir,
        cursor,
        limit: 2,
        fields: ['name', 'company.city'],
        include: ['version'],
      })
      expect(page.status, JSON.stringify(page.body)).toBe(200)
      walked.push(...page.body.map(({ name }: { name: string }) => name))
      cursor = page.headers.get('x-next-cursor') ?? ''
      if (!cursor) break
    }
    expect(walked.join('')).toBe(found)
    const [first, second] = (await query({ order_by: field, order_dir: dir, limit: 2 })).body
    expect((await viewer.post(`${deals.path}/record/${first.id}/neighbours`, { order_by: field, order_dir: dir })).body).toEqual({
      matches: true,
      previous: null,
      next: second.id,
    })
  })

  test('joins the other table instead of a lookup for each record', async () => {
    const texts: string[] = []
    const queries = queriesOf(app.db)
    Object.assign(
      app.db,
      queriesWith(queries, ({ text }) => texts.push(text)),
    )
    try {
      expect(await names({ order: [{ field: 'company.city' }, { field: 'company.size', dir: 'D' }] })).toBe('edcba')
    } finally {
      Object.assign(app.db, queries)
    }
    const page = texts.find((text) => text.includes('order by')) ?? ''
    expect(page.match(/left join/g)).toHaveLength(1)
    expect(page.slice(page.indexOf('order by'))).not.toContain('select')
  })
})

describe('an explanation', () => {
  const condition = (column: string, compare: string, value?: unknown) => ({ column, compare, ...(value !== undefined && { value }) })
  const explained = async (body: object) => {
    const answer = await viewer.post(`${deals.path}/records/explain`, body)
    expect(answer.status, JSON.stringify(answer.body)).toBe(200)
    expect(await viewer.rpc.records.explain.query({ table_id: deals.id, ...body })).toEqual(answer.body)
    return answer.body
  }

  test('spells conditions and orders of linked fields with their names as written', async () => {
    const answer = await explained({
      filter: {
        all: [
          condition('company.city', '=', ['Oslo', 'lima']),
          { not: condition('partners.tags', 'is_empty') },
          condition('company.founded', '<=', 'tomorrow'),
          condition('company.owner', '!=', '@me'),
        ],
      },
      order: [{ field: 'company.city', dir: 'D' }, { field: 'company.id' }],
    })
    const [{ from }] = answer.tokens
    expect(answer).toMatchObject({
      tokens: [{ token: 'tomorrow' }],
      predicate:
        'company.city any of ["Oslo", "lima"] AND NOT (partners.tags is_empty) AND ' +
        `company.founded <= tomorrow (${from.slice(0, 10)}) AND company.owner != @me (${account.viewer.email})`,
      order: [
        { field: 'company.city', dir: 'D' },
        { field: 'company.id', dir: 'A' },
        { field: 'id', dir: 'A' },
      ],
      indexes: [],
    })
  })

  const member = { id: account.member.id, email: account.member.email, name: account.member.name }
  const [norway, chile] = countries.records.map((id, index) => ({ id, title: ['Norway', 'Chile'][index] }))
  test.each<[record: string, filter: object, actual: unknown]>([
    ['b', condition('company.city', '=', 'Oslo'), 'lima'],
    ['a', condition('company.city', '!=', 'Oslo'), 'Oslo'],
    ['a', condition('company.city', '=', ['lima', 'Rome']), 'Oslo'],
    ['c', condition('company.size', '>', 1), null],
    ['d', condition('company.city', 'is_not_empty'), null],
    ['e', condition('company.active', '=', true), false],
    ['e', condition('company.id', 'is_not_empty'), null],
    ['b', condition('company.tags', '=', 'Blue'), ['Red']],
    ['d', condition('company.tags', 'is_not_empty'), []],
    ['a', condition('company.country', '=', chile?.id), norway],
    ['a', condition('company.owner', '=', '@me'), member],
    ['a', condition('partners.city', '!=', 'Oslo'), ['lima', 'Oslo']],
    ['b', condition('partners.city', 'is_not_empty'), [null]],
    ['d', condition('partners.city', '=', 'Oslo'), []],
    ['c', condition('partners.tags', '=', ['Blue']), [['Red']]],
    ['a', condition('partners.country', 'contains', 'peru'), [chile, norway]],
    ['a', condition('partners.id', '=', crux), [bolt, acme]],
    ['a', condition('partners.tags', '=', ['Red', 'Green']), undefined],
  ])('names the linked value that excludes a record: %s by %j', async (record, asked, actual) => {
    const record_id = [...'abcde'].indexOf(record) + 1
    const excluded = actual !== undefined
    const failed = excluded ? { ...asked, actual } : null
    expect((await explained({ filter: asked, record_id })).record).toEqual({ id: record_id, matches: !excluded, failed })
    const opposite = (await explained({ filter: { not: asked }, record_id })).record
    expect(opposite.matches).toBe(excluded)
    if (!excluded) return expect(opposite.failed).toMatchObject({ ...asked, actual: [['Red'], ['Red', 'Blue']], not: true })
    const view = await makeView(app, account, deals.id, { filter: { not: { not: asked } } })
    expect((await explained({ view_id: view.id, record_id })).record).toEqual({ id: record_id, matches: false, failed })
  })
})

describe('groups by a linked field', () => {
  const aggregate = (body: object) => viewer.post(`${deals.path}/records/aggregate`, { measures: [{ fn: 'count' }], ...body })
  const person = { id: account.member.id, email: account.member.email, name: account.member.name }
  const [norway, chile] = countries.records.map((id, index) => ({ id, title: ['Norway', 'Chile'][index] }))

  test.each<[by: object, groups: [value: unknown, count: number][]]>([
    [
      { field: 'company.city' },
      [
        [null, 3],
        ['lima', 1],
        ['Oslo', 1],
      ],
    ],
    [
      { field: 'company.stage' },
      [
        [null, 3],
        ['Lead', 1],
        ['Won', 1],
      ],
    ],
    [
      { field: 'company.active' },
      [
        [false, 4],
        [true, 1],
      ],
    ],
    [
      { field: 'company.tags' },
      [
        [null, 3],
        ['Red', 2],
        ['Blue', 1],
      ],
    ],
    [
      { field: 'company.owner' },
      [
        [null, 4],
        [person, 1],
      ],
    ],
    [
      { field: 'company.country' },
      [
        [null, 3],
        [chile, 1],
        [norway, 1],
      ],
    ],
    [
      { field: 'company.founded', unit: 'year' },
      [
        [null, 3],
        ['1999-01-01', 1],
        ['2020-01-01', 1],
      ],
    ],
  ])('%j', async (by, groups) => {
    const { body, status } = await aggregate({ by: [by] })
    expect(status, JSON.stringify(body)).toBe(200)
    expect(body).toEqual(groups.map(([value, count]) => ({ group: [value], values: [count] })))
  })

  test('may be two, of instants too', async () => {
    const { body } = await aggregate({ by: [{ field: 'company.created_at', unit: 'year' }, { field: 'company.active' }] })
    const year = `${new Date().getUTCFullYear()}-01-01`
    expect(body).toEqual([
      { group: [null, false], values: [2] },
      { group: [year, false], values: [2] },
      { group: [year, true], values: [1] },
    ])
  })

  test.each<[by: string, counts: [value: unknown, count: number][]]>([
    [
      'company.stage',
      [
        [null, 3],
        ['Lead', 1],
        ['Won', 1],
      ],
    ],
    [
      'company.active',
      [
        [false, 4],
        [true, 1],
      ],
    ],
    [
      'company.owner',
      [
        [null, 4],
        [person, 1],
      ],
    ],
    [
      'company.founded',
      [
        [null, 3],
        ['1999-12-31', 1],
        ['2020-02-29', 1],
      ],
    ],
  ])('records/groups by %s', async (by, counts) => {
    const { body } = await viewer.post(`${deals.path}/records/groups`, { by })
    expect(body).toEqual(counts.map(([value, count]) => ({ value, count })))
  })

  test.each([
    [{ by: [{ field: 'partners.city' }] }, 'multi_lookup'],
    [{ by: [{ field: 'company.size' }] }, 'cannot be grouped by'],
    [{ by: [{ field: 'company.logo' }] }, 'cannot be grouped by'],
    [{ by: [{ field: 'company.town' }] }, "'town' is not a field"],
    [{ by: [{ field: 'company.city', unit: 'day' }] }, 'does not go with'],
    [{ measures: [{ fn: 'sum', field: 'company.size' }] }, 'not a field'],
  ])('%j is refused', async (body, message) => {
    const answer = await aggregate(body)
    expect(answer.status).toBe(400)
    expect(JSON.stringify(answer.body)).toContain(message)
  })
})

describe('a wrong linked name', () => {
  const WRONG: [name: string, message: string][] = [
    ['company.country.name', 'has more than one dot'],
    ['name.city', "'name' is a text field"],
    ['firm.city', "'firm' is not a field of this table"],
    ['company.town', "'town' is not a field of the table of 'company'"],
    ['company.', "'' is not a field of the table of 'company'"],
    ['.city', "'' is not a field of this table"],
    ['company.city ', "'city ' is not a field"],
  ]
  test.each(WRONG)('%s is refused', async (name, message) => {
    for (const body of [
      { fields: [name] },
      { order_by: name },
      { order: [{ field: name }] },
      { where: { [name]: 'x' } },
      { filters: [{ column: name, compare: '=', value: 'x' }] },
      { filter: { field: name, compare: 'is_empty' } },
    ]) {
      const answer = await query(body)
      expect(answer.status, JSON.stringify(body)).toBe(400)
      expect(JSON.stringify(answer.body)).toContain(message)
    }
  })

  test.each<[body: object, message: string]>([
    [{ order_by: 'partners.city' }, 'multi_lookup'],
    [{ order: [{ field: 'partners.size' }] }, 'multi_lookup'],
    [{ order_by: 'company.tags' }, 'cannot be sorted by'],
    [{ where: { 'company.logo': ['contains', 'x'] } }, 'in fields only'],
    [{ where: { 'company.size': 'large' } }, 'must be'],
    [{ where: { 'company.city': ['>>', 1] } }, 'must be one of'],
  ])('%j is refused', async (body, message) => {
    const answer = await query(body)
    expect(answer.status).toBe(400)
    expect(JSON.stringify(answer.body)).toContain(message)
  })

  test('of a table that is deleted is refused', async () => {
    const other = await makeTable(app, account, { records: [{ name: 'x' }] })
    const table = await makeTable(app, account, { fields: [{ name: 'Other', type: 'lookup', table: other.id }] })
    const ask = () => viewer.post(`${table.path}/records/query`, { fields: ['other.name'] })
    expect((await ask()).status).toBe(200)
    await owner.post(`${other.path}/delete`, {})
    const answer = await ask()
    expect(answer.status).toBe(400)
    expect(JSON.stringify(answer.body)).toContain("the table of 'other' is deleted")
  })

  test('is no cell of a new record', async () => {
    expect((await owner.post(`${deals.path}/records/create`, { data: { 'company.city': 'Oslo' } })).status).toBe(400)
  })
})

describe('a change of the other table', () => {
  test('counts at once', async () => {
    const other = await makeTable(app, account, { records: [{ name: 'x' }] })
    const table = await makeTable(app, account, {
      fields: [{ name: 'Other', type: 'lookup', table: other.id }],
      records: [{ other: other.records[0] }],
    })
    const ask = (body: object) => viewer.post(`${table.path}/records/query`, body)
    expect((await ask({ fields: ['other.kind'] })).status).toBe(400)
    await owner.post(`${other.path}/fields/create`, { name: 'Kind', type: 'select', options: ['Old'] })
    await owner.post(`${other.path}/record/${other.records[0]}/update`, { data: { kind: 'Old' } })
    expect((await ask({ fields: ['other.kind'], where: { 'other.kind': 'Old' } })).body).toEqual([{ id: 1, 'other.kind': 'Old' }])
    await owner.post(`${other.path}/field/kind/update`, { options: [{ title: 'New', was: 'Old' }] })
    expect((await ask({ fields: ['other.kind'], where: { 'other.kind': 'New' } })).body).toEqual([{ id: 1, 'other.kind': 'New' }])
    await owner.post(`${other.path}/field/kind/delete`, {})
    expect((await ask({ fields: ['other.kind'] })).status).toBe(400)
  })
})

test('long names of fields are no obstacle', async () => {
  const name = (end: string) => `${'x'.repeat(44)}${end}`
  const other = await makeTable(app, account, { fields: ['aaaa', 'bbbb'].map((end) => ({ name: name(end), type: 'text' })) })
  const [record] = await makeRecords(app, account, other.id, [{ [name('aaaa')]: '1', [name('bbbb')]: '2' }])
  const table = await makeTable(app, account, { fields: [{ name: name('link'), type: 'lookup', table: other.id }] })
  await makeRecords(app, account, table.id, [{ [name('link')]: record }, {}])
  const [a, b] = ['aaaa', 'bbbb'].map((end) => `${name('link')}.${name(end)}`) as [string, string]
  const page = { fields: [a, b], order_by: a, cursor: '', limit: 5 }
  expect((await viewer.post(`${table.path}/records/query`, page)).body).toEqual([
    { id: 2, [a]: null, [b]: null },
    { id: 1, [a]: '1', [b]: '2' },
  ])
  const explained = await viewer.post(`${table.path}/records/query`, { where: { [b]: '3' }, explain: true, record_id: 1 })
  expect(explained.body.record.failed).toMatchObject({ column: b, actual: '2' })
})
