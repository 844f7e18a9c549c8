/** Tests records/aggregate: sums, averages and counts of records by up to two fields. */
import { describe, expect, test } from 'vitest'
import { recordsOf, sql } from '../src/platform/database/database.ts'
import { type Caller, testApp } from './support/app.ts'
import { makeView } from './support/tables.ts'

const app = await testApp()
const account = await app.account()
const owner = app.as(account.owner)
const make = async (path: string, body: object) => (await owner.post(path, body)).body
const companies = await make(`/api/space/${account.space}/tables/create`, { name: 'Companies', fields: [{ name: 'Name', type: 'text' }] })
const [acme, berg, gone] = (
  await make(`/api/table/${companies.id}/records/create_batch`, { records: ['acme', 'Berg', 'Gone'].map((name) => ({ data: { name } })) })
).map(({ id }: { id: number }) => id)
const table = await make(`/api/space/${account.space}/tables/create`, {
  name: 'Deals',
  fields: [
    { name: 'Name', type: 'text' },
    { name: 'Note', type: 'long_text' },
    { name: 'Stage', type: 'select', options: ['Lead', 'Won', 'Lost'] },
    { name: 'Amount', type: 'number', decimals: 2 },
    { name: 'Exact', type: 'number' },
    { name: 'Paid', type: 'checkbox' },
    { name: 'Owner', type: 'user' },
    { name: 'Due', type: 'date' },
    { name: 'Starts', type: 'datetime' },
    { name: 'At', type: 'time' },
    { name: 'Tags', type: 'multi_select', options: ['Red', 'Green'] },
    { name: 'Team', type: 'multi_user' },
    { name: 'Company', type: 'lookup', table: companies.id },
    { name: 'Others', type: 'multi_lookup', table: companies.id },
    { name: 'Files', type: 'file' },
  ],
})
const path = `/api/table/${table.id}`
const [max, olga] = [account.member.email, account.owner.email]
const records = [
  { name: 'a', stage: 'Won', amount: 10.5, paid: true, owner: max, due: '2026-03-29', starts: '2026-03-28 23:00:00', at: '09:30:00' },
  {
    name: 'A',
    stage: 'Lead',
    amount: 0.01,
    owner: olga,
    due: '2026-03-30',
    starts: '2026-03-29 21:59:59',
    company: berg,
    others: [berg, acme],
  },
  {
    name: 'a',
    stage: 'Lead',
    amount: -3,
    paid: true,
    owner: olga,
    due: '2026-04-01',
    tags: ['Green', 'Red'],
    company: acme,
    team: [olga, max],
  },
  { name: 'd', paid: false, due: '2026-12-31', starts: '2024-02-29 12:00:00', tags: ['Red'], company: gone, others: [gone] },
  {},
]
await make(`${path}/records/create_batch`, { records: records.map((data) => ({ data })) })
await owner.post(`/api/table/${companies.id}/record/${gone}/delete`)

const ask = (body: object, caller: Caller = account.viewer) => app.as(caller).post(`${path}/records/aggregate`, body)

/** Returns the groups as `value/value result/result`, with `-` for what is empty. */
async function sums(body: object): Promise<string> {
  const answer = await ask(body)
  expect(answer.status, JSON.stringify(answer.body)).toBe(200)
  const shown = (value: unknown) => Object(value).title ?? Object(value).name ?? value ?? '-'
  return answer.body
    .map(({ group, values }: { group: unknown[]; values: unknown[] }) =>
      `${group.map(shown).join('/')} ${values.map(shown).join('/')}`.trim(),
    )
    .join(', ')
}
const counted = (by: object[], more: object = {}) => sums({ by, measures: [{ fn: 'count' }], ...more })

describe('sums', () => {
  test('of all records are one row', async () => {
    const measures = ['sum', 'avg', 'median', 'min', 'max', 'filled', 'empty', 'distinct'].map((fn) => ({ fn, field: 'amount' }))
    const answer = await ask({ measures: [{ fn: 'count' }, ...measures] })
    expect([answer.status, answer.headers.get('x-total-count')]).toEqual([200, '1'])
    expect(answer.body).toEqual([{ group: [], values: [5, 7.51, 2.50333333, 0.01, -3, 10.5, 3, 2, 3] }])
    expect(await sums({ measures: [{ fn: 'count' }, ...measures], search: 'nothing' })).toBe('0/-/-/-/-/-/0/0/0')
  })

  test('of other types than numbers', async () => {
    expect(await sums({ measures: ['min', 'max', 'filled'].map((fn) => ({ fn, field: 'due' })) })).toBe('2026-03-29/2026-12-31/4')
    expect(await sums({ measures: ['min', 'max'].map((fn) => ({ fn, field: 'starts' })) })).toBe('2024-02-29 12:00:00/2026-03-29 21:59:59')
    expect(await sums({ measures: ['min', 'max'].map((fn) => ({ fn, field: 'at' })) })).toBe('09:30:00/09:30:00')
    expect(await sums({ measures: ['checked', 'filled', 'empty', 'distinct'].map((fn) => ({ fn, field: 'paid' })) })).toBe('2/5/0/2')
    // A link to a deleted record is no link.
    expect(await sums({ measures: ['filled', 'empty', 'distinct'].map((fn) => ({ fn, field: 'company' })) })).toBe('2/3/2')
    expect(await sums({ measures: ['filled', 'empty'].flatMap((fn) => ['others', 'tags', 'files'].map((field) => ({ fn, field }))) })).toBe(
      '1/2/0/4/3/5',
    )
    expect(
      await sums({
        measures: [
          { fn: 'distinct', field: 'name' },
          { fn: 'max', field: 'id' },
          { fn: 'sum', field: 'id' },
        ],
      }),
    ).toBe('3/5/15')
  })

  test('follow the order of the field, empty first', async () => {
    expect(await counted([{ field: 'stage' }])).toBe('- 2, Lead 2, Won 1')
    expect(await counted([{ field: 'paid' }])).toBe('false 3, true 2')
    expect(await counted([{ field: 'owner' }])).toBe('- 2, Max Member 1, Olga Owner 2')
    expect(await counted([{ field: 'name' }])).toBe('- 1, A 1, a 2, d 1')
    expect(await counted([{ field: 'company' }])).toBe('- 3, acme 1, Berg 1')
    expect((await ask({ by: [{ field: 'company' }], measures: [{ fn: 'count' }] })).body[1].group).toEqual([{ id: acme, title: 'acme' }])
  })

  test('count a record with several values in the group of each', async () => {
    expect(await counted([{ field: 'tags' }])).toBe('- 3, Red 2, Green 1')
    expect(await counted([{ field: 'team' }])).toBe('- 4, Max Member 1, Olga Owner 1')
    expect(await counted([{ field: 'others' }])).toBe('- 4, acme 1, Berg 1')
    expect(await counted([{ field: 'tags' }, { field: 'team' }])).toBe(
      '-/- 3, Red/- 1, Red/Max Member 1, Red/Olga Owner 1, Green/Max Member 1, Green/Olga Owner 1',
    )
  })

  test.each([
    ['due', 'day', '- 1, 2026-03-29 1, 2026-03-30 1, 2026-04-01 1, 2026-12-31 1'],
    ['due', 'week', '- 1, 2026-03-23 1, 2026-03-30 2, 2026-12-28 1'],
    ['due', 'month', '- 1, 2026-03-01 2, 2026-04-01 1, 2026-12-01 1'],
    ['due', 'quarter', '- 1, 2026-01-01 2, 2026-04-01 1, 2026-10-01 1'],
    ['due', 'year', '- 1, 2026-01-01 4'],
    // The caller is in Berlin, where the first of these instants is on the 29th.
    ['starts', 'day', '- 2, 2024-02-29 1, 2026-03-29 2'],
    ['starts', 'week', '- 2, 2024-02-26 1, 2026-03-23 2'],
    ['starts', 'quarter', '- 2, 2024-01-01 1, 2026-01-01 2'],
  ])('by %s and %s are named by its first day', async (field, unit, expected) => {
    await app.db.prisma.user.update({ where: { id: account.viewer.id }, data: { timezone: 'Europe/Berlin' } })
    expect(await counted([{ field, unit }])).toBe(expected)
  })

  test('begin weeks as the view does', async () => {
    const view = await makeView(app, account, table.id, { type: 'calendar', config: { startField: 'due', weekStart: 'sunday' } })
    expect(await counted([{ field: 'due', unit: 'week' }], { view_id: view.id })).toBe('- 1, 2026-03-29 3, 2026-12-27 1')
  })

  test('of a day match a filter for that day, also where the clock passes midnight twice and at the edges of the calendar', async () => {
    const ages = await make(`/api/space/${account.space}/tables/create`, { name: 'Ages', fields: [{ name: 'At', type: 'datetime' }] })
    const instants = ['0001-01-01 00:00:00', '2006-10-29 02:30:00', '2006-10-29 03:00:30', '2011-12-30 09:59:59', '9999-12-31 23:30:00']
    await make(`/api/table/${ages.id}/records/create_batch`, { records: instants.map((at) => ({ data: { at } })) })
    for (const timezone of ['UTC', 'Pacific/Apia', 'Africa/Cairo', 'Etc/GMT+12', 'America/St_Johns']) {
      await app.db.prisma.user.update({ where: { id: account.viewer.id }, data: { timezone } })
      const as = app.as(account.viewer)
      const days = await as.post(`/api/table/${ages.id}/records/aggregate`, { by: [{ field: 'at' }], measures: [{ fn: 'count' }] })
      let total = 0
      for (const { group, values } of days.body) {
        const { body } = await as.post(`/api/table/${ages.id}/records/count`, { where: { at: group[0] } })
        expect(body.count, `${timezone} ${group}`).toBe(values[0])
        total += values[0]
      }
      expect(total, timezone).toBe(instants.length)
    }
  })

  test('can be sorted by a measure, with ties in the order of the field, and cut', async () => {
    const asked = { by: [{ field: 'stage' }], measures: [{ fn: 'count' }, { fn: 'sum', field: 'amount' }] }
    expect(await sums({ ...asked, order: { measure: 0, dir: 'D' } })).toBe('- 2/-, Lead 2/-2.99, Won 1/10.5')
    expect(await sums({ ...asked, order: { measure: 1, dir: 'd' } })).toBe('Won 1/10.5, Lead 2/-2.99, - 2/-')
    expect(await sums({ ...asked, order: { measure: 1 } })).toBe('- 2/-, Lead 2/-2.99, Won 1/10.5')
    const cut = await ask({ ...asked, limit: 1 })
    expect([cut.body.length, cut.headers.get('x-total-count')]).toEqual([1, '3'])
  })

  test('are exact, rounded once and half away from zero, and text beyond 10^15', async () => {
    const exact = async (...values: number[]) => {
      const numbers = await make(`/api/space/${account.space}/tables/create`, {
        name: `N${values}`.slice(0, 90),
        fields: [{ name: 'N', type: 'number' }],
      })
      await make(`/api/table/${numbers.id}/records/create_batch`, { records: values.map((n) => ({ data: { n } })) })
      const body = { measures: ['sum', 'avg', 'median'].map((fn) => ({ fn, field: 'n' })) }
      return JSON.stringify((await owner.post(`/api/table/${numbers.id}/records/aggregate`, body)).body[0].values)
    }
    expect(await exact(0.1, 0.2)).toBe('[0.3,0.15,0.15]')
    expect(await exact(1, 1, 0)).toBe('[2,0.66666667,1]')
    expect(await exact(-0.00000001, 0)).toBe('[-1e-8,-1e-8,-1e-8]')
    expect(await exact(0.00000001, 0, 0, 0)).toBe('[1e-8,0,0]')
    expect(await exact(1e15, 1)).toBe('["1000000000000001",500000000000000.5,500000000000000.5]')
    expect(await exact(1e15, 0)).toBe('[1000000000000000,500000000000000,500000000000000]')
    expect(await exact(-1e15, -1e15)).toBe('["-2000000000000000",-1000000000000000,-1000000000000000]')
  })

  test('follow a view, its appended conditions and options that no field has', async () => {
    const view = await makeView(app, account, table.id, { type: 'grid', filters: [{ column: 'paid', compare: '=', value: true }] })
    expect(await counted([{ field: 'stage' }], { view_id: view.id })).toBe('Lead 1, Won 1')
    const where = { stage: 'Won' }
    const ignored = await ask({ view_id: view.id, where, measures: [{ fn: 'count' }] })
    expect([ignored.headers.get('x-ignored'), ignored.body[0].values]).toEqual(['where', [2]])
    expect(await counted([], { view_id: view.id, where, append_filters: true })).toBe('1')
    const unknown = await ask({ where: { stage: 'Wonn' }, measures: [{ fn: 'count' }] })
    expect([unknown.headers.get('x-unknown-options'), unknown.body[0].values]).toEqual(['stage=Wonn', [0]])
    const missing = await ask({ view_id: 2_000_000_000, measures: [{ fn: 'count' }] })
    expect([missing.status, missing.body.message]).toEqual([404, 'View not found'])
  })

  test('leave out options that are removed, and lookups of a deleted table', async () => {
    const lost = await make(`/api/space/${account.space}/tables/create`, { name: 'Lost', fields: [{ name: 'Name', type: 'text' }] })
    const row = await make(`/api/table/${lost.id}/records/create`, { data: { name: 'x' } })
    const other = await make(`/api/space/${account.space}/tables/create`, {
      name: 'Links',
      fields: [
        { name: 'One', type: 'lookup', table: lost.id },
        { name: 'Many', type: 'multi_lookup', table: lost.id },
        { name: 'Tags', type: 'multi_select', options: ['Red', 'Green'] },
      ],
    })
    await make(`/api/table/${other.id}/records/create`, { data: { one: row.id, many: [row.id], tags: ['Red', 'Green'] } })
    await owner.post(`/api/table/${other.id}/field/tags/update`, { options: ['Green'], force: true })
    expect((await owner.post(`/api/table/${lost.id}/delete`)).status).toBe(200)
    const groups = async (field: string) =>
      (await owner.post(`/api/table/${other.id}/records/aggregate`, { by: [{ field }], measures: [{ fn: 'count' }] })).body
    expect(await groups('tags')).toEqual([{ group: ['Green'], values: [1] }])
    for (const field of ['one', 'many']) expect(await groups(field)).toEqual([{ group: [null], values: [1] }])
  })

  test('are the same by RPC for every reader, and refused to strangers as reading is', async () => {
    const asked = { by: [{ field: 'stage' }], measures: [{ fn: 'avg' as const, field: 'amount' }] }
    for (const caller of [account.owner, account.viewer, account.keys.accountReadOnly, account.keys.personalViewer])
      expect(await app.as(caller).rpc.records.aggregate.query({ table_id: table.id, ...asked })).toEqual({
        rows: (await ask(asked, caller)).body,
        total: 3,
      })
    const refusals = [account.outsider, account.keys.accountOutsider, account.keys.accountOtherSpace, null].map(
      async (caller) => (await ask(asked, caller)).status,
    )
    expect(await Promise.all(refusals)).toEqual([404, 404, 403, 401])
  })

  const count = [{ fn: 'count' }]
  test.each<[string, object, string]>([
    ['no measures', {}, 'measures'],
    ['an empty list of measures', { measures: [] }, 'measures'],
    ['eleven measures', { measures: Array(11).fill({ fn: 'count' }) }, 'measures'],
    ['an unknown measure', { measures: [{ fn: 'mode', field: 'amount' }] }, 'measures.0.fn'],
    ['a field for count', { measures: [{ fn: 'count', field: 'amount' }] }, 'measures.0.field'],
    ['a sum of no field', { measures: [{ fn: 'sum' }] }, 'measures.0.field'],
    ['a sum of an unknown field', { measures: [...count, { fn: 'sum', field: 'nope' }] }, 'measures.1.field'],
    ['a sum of a date', { measures: [{ fn: 'sum', field: 'due' }] }, 'measures.0.fn'],
    ['the least text', { measures: [{ fn: 'min', field: 'name' }] }, 'measures.0.fn'],
    ['checked numbers', { measures: [{ fn: 'checked', field: 'amount' }] }, 'measures.0.fn'],
    ['distinct lists', { measures: [{ fn: 'distinct', field: 'tags' }] }, 'measures.0.fn'],
    ['distinct files', { measures: [{ fn: 'distinct', field: 'files' }] }, 'measures.0.fn'],
    ['three fields', { by: [{ field: 'stage' }, { field: 'paid' }, { field: 'owner' }], measures: count }, 'by'],
    ['an unknown field', { by: [{ field: 'stage' }, { field: 'xmin' }], measures: count }, 'by.1.field'],
    ['a number', { by: [{ field: 'amount' }], measures: count }, 'by.0.field'],
    ['a time', { by: [{ field: 'at' }], measures: count }, 'by.0.field'],
    ['a long text', { by: [{ field: 'note' }], measures: count }, 'by.0.field'],
    ['files', { by: [{ field: 'files' }], measures: count }, 'by.0.field'],
    ['a name for a field', { by: ['stage'], measures: count }, 'by.0'],
    ['a unit of a select', { by: [{ field: 'stage', unit: 'day' }], measures: count }, 'by.0.unit'],
    ['an unknown unit', { by: [{ field: 'due', unit: 'hour' }], measures: count }, 'by.0.unit'],
    ['an order by a measure that is not there', { measures: count, order: { measure: 1, dir: 'A' } }, 'order.measure'],
    ['an order by a negative measure', { measures: count, order: { measure: -1, dir: 'A' } }, 'order.measure'],
    ['another direction', { measures: count, order: { measure: 0, dir: 'up' } }, 'order.dir'],
    ['the order of a query', { measures: count, order: [{ field: 'amount' }] }, 'order'],
    ['a condition on an unknown field', { measures: count, where: { nope: 1 } }, 'where.nope'],
    ['an offset', { measures: count, offset: 1 }, 'offset'],
  ])('with %s: 400 naming it', async (_, body, name) => {
    const answer = await ask(body)
    expect([answer.status, answer.body.issues?.[0].path.join('.')]).toEqual([400, name])
  })

  test('of more than 20,000 different local days are refused', async () => {
    const many = await make(`/api/space/${account.space}/tables/create`, { name: 'Days', fields: [{ name: 'At', type: 'datetime' }] })
    await app.db.write(sql`insert into ${recordsOf(many.id)} (created_at, updated_at, at)
      select now(), now(), '1900-01-01'::timestamp + n * interval '1 day' from generate_series(1, 20001) n`)
    const asked = { by: [{ field: 'at', unit: 'year' }], measures: count }
    const answer = await app.as(account.viewer).post(`/api/table/${many.id}/records/aggregate`, asked)
    expect([answer.status, answer.body.issues?.[0].path]).toEqual([400, ['by']])
  })
})
