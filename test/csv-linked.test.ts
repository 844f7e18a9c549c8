/** Tests the columns of linked records in exports, and what an import of such a file makes of them (contract.md §9). */
import { afterEach, describe, expect, test } from 'vitest'
import { type Answer, type Caller, testApp } from './support/app.ts'
import { queriesOf, queriesWith } from './support/statements.ts'
import { makeRecords, makeTable, makeView } from './support/tables.ts'

const app = await testApp()
const account = await app.account()
const owner = app.as(account.owner)

const queries = queriesOf(app.db)
afterEach(() => Object.assign(app.db, queries))

/** Runs the changes, one just before each of the next statements of the service with the words. */
function changeBefore(words: string, ...changes: (() => Promise<unknown>)[]): void {
  const left = [...changes]
  Object.assign(
    app.db,
    queriesWith(queries, ({ text }) => (text.includes(words) ? left.shift()?.() : undefined)),
  )
}

const countries = await makeTable(app, account, { records: [{ name: 'Norway' }, { name: '=Chile' }, { name: 'Gone' }] })
const COMPANY_FIELDS = [
  { name: 'Name', type: 'text' },
  { name: 'City', type: 'text' },
  { name: 'Size', type: 'number', decimals: 2 },
  { name: 'Active', type: 'checkbox' },
  { name: 'Stage', type: 'select', options: ['Lead', 'Won, late'] },
  { name: 'Tags', type: 'multi_select', options: ['Red', '=Blue', 'a, b'] },
  { name: 'Founded', type: 'date' },
  { name: 'Owner', type: 'user' },
  { name: 'Team', type: 'multi_user' },
  { name: 'Country', type: 'lookup', table: countries.id },
  { name: 'Markets', type: 'multi_lookup', table: countries.id },
  { name: 'Papers', type: 'file' },
]

/** A table of companies, and one of deals that refer to them by `company` and `partners`. */
async function made(companies: object[], links: (ids: number[]) => object[]) {
  const other = await makeTable(app, account, { fields: COMPANY_FIELDS, records: companies })
  const fields = [
    { name: 'Name', type: 'text' },
    { name: 'Company', type: 'lookup', table: other.id },
    { name: 'Partners', type: 'multi_lookup', table: other.id },
  ]
  return { companies: other, deals: await makeTable(app, account, { fields, records: links(other.records) }) }
}

const exported = (table: { path: string }, view: number, caller: Caller = account.viewer) =>
  app.as(caller).get(`${table.path}/export.csv?view_id=${view}`)

/** The lines of an export through a grid with the columns. */
async function lines(table: { id: number; path: string }, columns: readonly string[], more: object = {}): Promise<string[]> {
  const { id } = await makeView(app, account, table.id, { config: { columns }, ...more })
  const { status, body } = await exported(table, id)
  expect(status, JSON.stringify(body)).toBe(200)
  return (body as unknown as string).replace('\uFEFF', '').split('\r\n').slice(0, -1)
}
const statusOf = ({ status, body }: Answer) => `${status} ${body.message ?? ''}`

describe('an export of a grid', () => {
  const file = { name: 'a.txt', type: 'text/plain', data: Buffer.from('a').toString('base64') }

  test('has its linked columns, each written as a cell of its type, and as a list through a multi_lookup', async () => {
    const [norway, chile, gone] = countries.records
    const { companies, deals } = await made(
      [
        {
          name: 'Acme',
          city: '=Oslo',
          size: -2.5,
          active: true,
          stage: 'Won, late',
          tags: ['Red', '=Blue', 'a, b'],
          founded: '2020-02-29',
          owner: account.member.id,
          team: [account.viewer.id, account.member.id],
          country: chile,
          markets: [chile, norway, gone],
        },
        { name: 'Bolt', city: 'Rio, "here"', size: 10, stage: 'Lead', tags: ['=Blue'], country: norway, markets: [chile] },
        { name: 'Crux' },
        { name: 'Late', city: 'Kyiv' },
      ],
      ([acme, bolt, crux, late]) => [
        { name: 'a', company: acme, partners: [bolt, late, acme, crux] },
        { name: 'b', company: bolt, partners: [acme] },
        { name: 'c', company: crux, partners: [crux] },
        { name: 'd', company: late, partners: [late] },
        { name: 'e' },
      ],
    )
    const [acme = 0, bolt, crux, late = 0] = companies.records
    const { body: papers } = await owner.post(`${companies.path}/record/${acme}/files/create`, { field_id: 'papers', ...file })
    await owner.post(`${companies.path}/record/${late}/delete`, {})
    await owner.post(`${countries.path}/record/${gone}/delete`, {})
    const [path] = papers.map((entry: { path: string }) => entry.path)
    const [member, viewer] = [account.member.email, account.viewer.email]

    const cases: [field: string, company: string[], partners: string[]][] = [
      ['name', ['Acme', 'Bolt', 'Crux', '', ''], ['"Bolt, Acme, Crux"', 'Acme', 'Crux', '', '']],
      ['city', ["'=Oslo", '"Rio, ""here"""', '', '', ''], ['"""Rio, """"here"""""", =Oslo"', "'=Oslo", '', '', '']],
      ['size', ['-2.5', '10', '', '', ''], ['"10, -2.5"', "'-2.5", '', '', '']],
      ['active', ['true', 'false', 'false', 'false', 'false'], ['"false, true, false"', 'true', 'false', '', '']],
      ['stage', ['"Won, late"', 'Lead', '', '', ''], ['"Lead, ""Won, late"""', '"""Won, late"""', '', '', '']],
      [
        'tags',
        ['"Red, =Blue, ""a, b"""', "'=Blue", '', '', ''],
        ['"\'=Blue, ""Red, =Blue, """"a, b"""""""', '"""Red, =Blue, """"a, b"""""""', '', '', ''],
      ],
      ['founded', ['2020-02-29', '', '', '', ''], ['2020-02-29', '2020-02-29', '', '', '']],
      ['owner', [member, '', '', '', ''], [member, member, '', '', '']],
      ['team', [`"${viewer}, ${member}"`, '', '', '', ''], [`"""${viewer}, ${member}"""`, `"""${viewer}, ${member}"""`, '', '', '']],
      [
        'country',
        [`'=Chile (${chile})`, `Norway (${norway})`, '', '', ''],
        [`"Norway (${norway}), =Chile (${chile})"`, `'=Chile (${chile})`, '', '', ''],
      ],
      [
        'markets',
        [`"'=Chile (${chile}), Norway (${norway})"`, `'=Chile (${chile})`, '', '', ''],
        [`"'=Chile (${chile}), ""=Chile (${chile}), Norway (${norway})"""`, `"""=Chile (${chile}), Norway (${norway})"""`, '', '', ''],
      ],
      ['papers', [path, '', '', '', ''], [path, path, '', '', '']],
      ['id', [`${acme}`, `${bolt}`, `${crux}`, '', ''], [`"${bolt}, ${acme}, ${crux}"`, `${acme}`, `${crux}`, '', '']],
    ]
    for (const [field, company, partners] of cases) {
      const written = await lines(deals, ['name', `company.${field}`, `partners.${field}`])
      expect(written[0], field).toBe(`Name,company.${field},partners.${field}`)
      expect(written.slice(1), field).toEqual([...'abcde'].map((name, index) => `${name},${company[index]},${partners[index]}`))
    }
    const [, , instants] = await lines(deals, ['company.created_at', 'partners.created_at', 'company.created_by', 'partners.updated_by'])
    expect(instants).toMatch(/^(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d),\1,([^,]+),\2$/)
    expect(await lines(deals, ['company.id'])).toEqual(['company.id', `${acme}`, `${bolt}`, `${crux}`, '""', '""'])
  })

  test('goes on over more records than one page has, in the order and with the conditions of linked fields', async () => {
    const { companies, deals } = await made(
      Array.from({ length: 10 }, (_, index) => ({ name: `N${index}`, size: index })),
      () => [],
    )
    const ids = companies.records
    for (const part of [0, 1, 2]) {
      const rows = Array.from({ length: 900 }, (_, index) => ({
        name: `${part * 900 + index}`,
        company: ids[index % 10],
        partners: [ids[0]],
      }))
      await makeRecords(app, account, deals.id, rows)
    }
    const columns = ['company.size', 'partners.name', 'name']
    const filters = [{ column: 'company.size', compare: '>=', value: 3 }]
    const named = (dir: number) =>
      Array.from({ length: 2_700 }, (_, index) => ({ name: index, size: index % 10 }))
        .filter(({ size }) => size >= 3)
        .sort((a, b) => dir * (a.size - b.size) || dir * (a.name - b.name))
        .map(({ name, size }) => `${size},N0,${name}`)
    expect((await lines(deals, columns, { filters, order_by: 'company.size', order_dir: 'D' })).slice(1)).toEqual(named(-1))
    expect((await lines(deals, columns, { filters })).slice(1)).toEqual(
      named(0).sort((a, b) => Number(a.split(',')[2]) - Number(b.split(',')[2])),
    )
  })

  test('is sent to nobody else', async () => {
    const { deals } = await made([{ city: 'Oslo' }], ([id]) => [{ name: 'a', company: id }])
    const { id } = await makeView(app, account, deals.id, { config: { columns: ['company.city'] } })
    expect((await exported(deals, id, account.keys.accountReadOnly)).body).toBe('company.city\r\nOslo\r\n')
    expect((await exported(deals, id, null)).status).toBe(401)
    expect((await exported(deals, id, account.keys.accountOutsider)).status).toBe(404)
    const { status, headers } = await app.as(account.viewer).send(`${deals.path}/export.csv?view_id=${id}`, { method: 'HEAD' })
    expect([status, headers.get('content-type')]).toEqual([200, 'text/csv; charset=utf-8; header=present'])
  })

  test('has no column of a field or table that is deleted, and keeps one that is renamed', async () => {
    const { companies, deals } = await made([{ city: 'Oslo', size: 3 }], ([id]) => [{ name: 'a', company: id, partners: [id] }])
    const { id } = await makeView(app, account, deals.id, {
      config: { columns: ['name', 'company.city', 'partners.city', 'company.size'] },
    })
    await owner.post(`${companies.path}/field/city/update`, { name: 'Town' })
    expect((await exported(deals, id)).body).toBe('Name,company.city,partners.city,company.size\r\na,Oslo,Oslo,3\r\n')
    await owner.post(`${companies.path}/field/city/delete`, { force: true })
    expect((await exported(deals, id)).body).toBe('Name,company.size\r\na,3\r\n')
    await owner.post(`${companies.path}/delete`, { force: true })
    expect((await exported(deals, id)).body).toBe('Name\r\na\r\n')
  })
})

describe('an export while the other table changes', () => {
  const setUp = async () => {
    const { companies, deals } = await made([{ city: 'Oslo', stage: 'Lead' }], ([id]) => [{ name: 'a', company: id, partners: [id] }])
    const { id } = await makeView(app, account, deals.id, {
      config: { columns: ['name', 'company.stage', 'partners.stage', 'company.city'] },
    })
    return { companies, deals, view: id, page: `from "t${deals.id}".records r` }
  }
  const change = (path: string, body: object) => async () => expect(statusOf(await owner.post(path, body))).toBe('200 ')

  test('begins again without a field that is deleted', async () => {
    const { companies, deals, view, page } = await setUp()
    changeBefore(page, change(`${companies.path}/field/city/delete`, { force: true }))
    expect((await exported(deals, view)).body).toBe('Name,company.stage,partners.stage\r\na,Lead,Lead\r\n')
  })

  test('has the present titles of options', async () => {
    const { companies, deals, view, page } = await setUp()
    changeBefore(page, change(`${companies.path}/field/stage/update`, { options: [{ title: 'New', was: 'Lead' }] }))
    expect((await exported(deals, view)).body).toBe('Name,company.stage,partners.stage,company.city\r\na,New,New,Oslo\r\n')
  })

  test('is complete although fields of the other table change before each of its pages, because at last it delays them', async () => {
    const { companies, deals, view, page } = await setUp()
    const options = (title: string, was: string) => change(`${companies.path}/field/stage/update`, { options: [{ title, was }] })
    let refused: Answer | undefined
    changeBefore(page, options('A', 'Lead'), options('B', 'A'), options('C', 'B'), async () => {
      refused = await owner.post(`${companies.path}/field/city/delete`, { force: true })
    })
    expect((await exported(deals, view)).body).toBe('Name,company.stage,partners.stage,company.city\r\na,C,C,Oslo\r\n')
    expect(refused?.status).toBe(503)
    await change(`${companies.path}/field/city/delete`, { force: true })()
  })

  test('goes on when fields change that it does not show', async () => {
    const { companies, deals, view, page } = await setUp()
    changeBefore(page, change(`${companies.path}/fields/create`, { name: 'Extra', type: 'text' }))
    expect((await exported(deals, view)).body).toContain('a,Lead,Lead,Oslo')
  })

  test('has no linked column when the lookup is deleted', async () => {
    const { deals, view, page } = await setUp()
    changeBefore(page, change(`${deals.path}/field/company/delete`, { force: true }))
    expect((await exported(deals, view)).body).toBe('Name,partners.stage\r\na,Lead\r\n')
  })
})

test('an import of such a file ignores the linked columns and names them, and refuses names that no field has', async () => {
  const { companies, deals } = await made([{ name: 'Acme', city: 'Oslo' }], ([id]) => [{ name: 'a', company: id }])
  const { id } = await makeView(app, account, deals.id, { config: { columns: ['name', 'company.city', 'company', 'partners.city'] } })
  const send = (body: string) => owner.send(`${deals.path}/import`, { method: 'POST', body, headers: { 'content-type': 'text/csv' } })
  const imported = await send((await exported(deals, id)).body as unknown as string)
  expect([imported.status, imported.body, imported.headers.get('x-ignored')]).toEqual([
    200,
    { created: 1, change_id: expect.any(Number) },
    'company.city, partners.city',
  ])
  const { body } = await owner.post(`${deals.path}/records/query`, { fields: ['name', 'company'] })
  expect(body.map(({ id: _, ...row }: { id: number }) => row)).toEqual(
    Array(2).fill({ name: 'a', company: { id: companies.records[0], title: 'Acme' } }),
  )
  for (const header of ['company.town', 'name.city', 'company.city.x', 'firm.city'])
    expect((await send(`name,${header}\nb,x\n`)).body.issues, header).toEqual([
      { row: 1, column: header, message: `'${header}' is not a field of this table` },
    ])
  expect((await send('company.city\nx\n')).body.issues).toMatchObject([{ message: 'must name at least one field that can be written' }])
})
