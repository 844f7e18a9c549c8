/** Tests the types of records that a Schema gives the client, by programs that must and must not compile, and by running the former. */
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { everyTypeRecords, everyTypeTable, otherRecords, otherTable } from '../scripts/every-type.ts'
import { COMPARES, type Compare } from '../src/fields/compares.ts'
import { FIELD_TYPES, type FieldType, TYPES } from '../src/fields/registry.ts'
import { declarationsOf } from '../src/records/client/declarations.ts'
import type { Field } from '../src/tables/schema.ts'
import { testApp } from './support/app.ts'
import { type Installed, installClient } from './support/client-package.ts'

const run = promisify(execFile)
const app = await testApp()
let installed: Installed
let account: Awaited<ReturnType<typeof app.account>>
/** The ids of the tables and of their views. */
let companies: number
let every: number
let deals: number
let won: number
let viewOfCompanies: number

const ODD_OPTIONS = ["it's", 'say "hi"', 'back\\slash', 'two\nlines', '*/ // `', 'a\u2028b', 'emoji 🦉']

beforeAll(async () => {
  installed = await installClient()
  account = await app.account()
  const { rpc } = app.as(account.keys.account)
  const { rpc: admin } = app.as(account.admin)
  const space_id = account.space
  companies = (await rpc.tables.create.mutate({ space_id, ...otherTable })).id
  const { rows: others } = await rpc.records.createBatch.mutate({ table_id: companies, records: otherRecords.map((data) => ({ data })) })
  every = (await rpc.tables.create.mutate({ space_id, ...everyTypeTable(companies) })).id
  const users = [account.owner.id, account.admin.id, account.member.id]
  const records = everyTypeRecords(new Date(), { users, others: others.map(({ id }) => id) }).map((data) => ({ data }))
  const { rows } = await rpc.records.createBatch.mutate({ table_id: every, records })
  const file = { name: 'notes.txt', type: 'text/plain', data: Buffer.from('Notes').toString('base64') }
  await rpc.files.create.mutate({ table_id: every, record_id: rows[0]?.id ?? 0, field_id: 'file', ...file })
  const fields = [
    { name: 'Title', type: 'text' as const, required: true },
    { name: 'Stage', type: 'select' as const, options: ['Lead', 'Won'] },
    { name: 'Odd', type: 'multi_select' as const, options: ODD_OPTIONS },
    { name: 'Amount', type: 'number' as const },
    { name: 'Approved', type: 'checkbox' as const, required: true, admin_only: true },
    { name: 'Owner', type: 'user' as const },
    { name: 'Company', type: 'lookup' as const, table: companies },
    { name: 'Partners', type: 'multi_lookup' as const, table: companies },
  ]
  deals = (await rpc.tables.create.mutate({ space_id, name: 'Deals', fields })).id
  const filters = [{ column: 'stage', compare: '=', value: 'Won' }]
  won = (await admin.views.create.mutate({ table_id: deals, name: 'Won "now"', type: 'grid', filters })).id
  viewOfCompanies = (await admin.views.create.mutate({ table_id: companies, name: 'All', type: 'grid' })).id
  await installed.compile({ 'gridpost.d.ts': await declared() })
})
afterAll(() => installed?.remove())

/** What the program of the package prints. */
async function declared(): Promise<string> {
  const args = ['types', '--url', app.url, '--key', account.keys.account, '--space', String(account.space)]
  const { stdout } = await run('npx', ['gridpost-client', ...args], { cwd: installed.folder, env: { PATH: process.env.PATH } })
  return stdout
}

const head = () => `import { type Client, createClient, type DataOf, type FilterOf } from 'gridpost-client'
import type { Schema } from './gridpost.d.ts'
declare const process: { argv: string[] }
const [baseUrl = '', apiKey = ''] = process.argv.slice(2)
const client = createClient<Schema>({ baseUrl, apiKey })
`

/** Compiles a program and runs it. @returns what it prints, as JSON */
async function results(name: string, program: string): Promise<unknown> {
  expect(await installed.compile({ [`${name}.ts`]: program })).toEqual([])
  const { stdout } = await run(process.execPath, [join(installed.folder, `${name}.js`), app.url, account.keys.account])
  return JSON.parse(stdout)
}

/** Compiles lines after the head, each of its own. @returns the lines that do not compile, with their errors */
async function refused(name: string, lines: readonly string[]): Promise<Map<string, string>> {
  const before = head().split('\n').length
  const errors = await installed.compile({ [`${name}.ts`]: `${head()}${lines.join('\n')}\n` }, ['--noEmit'])
  return new Map(errors.map((error) => [lines[Number(/\((\d+),/.exec(error)?.[1]) - before] ?? 'the head', error]))
}

describe('what a table reads', () => {
  test('has the types of the rows and records that the service answers', async () => {
    const { rpc } = app.as(account.keys.account)
    const { rows } = await rpc.records.query.query({ table_id: every })
    const { rows: others } = await rpc.records.query.query({ table_id: companies })
    const [{ id: record_id } = { id: 0 }] = rows
    const { data } = await rpc.records.get.query({ table_id: every, record_id })
    const program = `${head()}
export const rows: Schema[${every}]['record'][] = ${JSON.stringify(rows)}
export const others: Schema[${companies}]['record'][] = ${JSON.stringify(others)}
export const data: DataOf<Schema[${every}]> = ${JSON.stringify(data)}
`
    expect(rows[0]).toMatchObject({ file: [{ name: 'notes.txt' }] })
    expect(rows).toHaveLength(25)
    expect(await installed.compile({ 'answers.ts': program })).toEqual([])
  })

  test('is written down as an interface per table, and a Schema', async () => {
    const text = await declared()
    const part = (from: string) => text.slice(text.indexOf(from), text.indexOf('}\n\n', text.indexOf(from)) + 2)
    expect(text).toContain(`//   npx gridpost-client types --url ${app.url} --key … --space ${account.space} > gridpost.d.ts\n`)
    expect(text).not.toContain('unknown')
    expect(part('/** A record of table')).toBe(`/** A record of table ${companies}, Companies. */
export interface Companies {
  /** ID: number */
  id: number
  /** name: text, required */
  name: string | null
  /** founded: date */
  founded: string | null
  /** Created at: datetime */
  created_at: string
  /** Created by: user */
  created_by: { id: number; email: string | null; name: string } | null
  /** Updated at: datetime */
  updated_at: string
  /** Updated by: user */
  updated_by: { id: number; email: string | null; name: string } | null
}
`)
    expect(text).toContain(`  /** Deals */
  ${deals}: {
    record: Deals
    types: {
      id: 'number'
      title: 'text'
      stage: 'select'
      odd: 'multi_select'
      amount: 'number'
      approved: 'checkbox'
      owner: 'user'
      company: 'lookup'
      partners: 'multi_lookup'
      created_at: 'datetime'
      created_by: 'user'
      updated_at: 'datetime'
      updated_by: 'user'
    }
    links: {
      company: Schema[${companies}]
      partners: Schema[${companies}]
    }
    required: 'title'
    calculated: 'id' | 'created_at' | 'created_by' | 'updated_at' | 'updated_by'
    views: {
      ${won}: 'Won "now"'
    }
  }
`)
    expect(await declared()).toBe(text)
  })
})

describe('a client with a Schema', () => {
  test('reads, writes and queries with the types of the table', async () => {
    const program = `${head()}
const created = await client.records.create.mutate({
  table_id: ${deals},
  data: { title: 'Harbour', stage: 'Lead', odd: ['it\\'s', 'two\\nlines'], amount: '4.5', approved: true, owner: '@me', company: { id: 1 } },
})
const record_id = created.id
const version: number = created.version
const { data }: { data: { title: string | null; amount: number | null } } = await client.records.get.query({ table_id: ${deals}, record_id })
const changed = await client.records.update.mutate({ table_id: ${deals}, record_id, data: { stage: 'Won', company: null } })
const batch = await client.records.createBatch.mutate({ table_id: ${deals}, records: [{ data: { title: 'Mill', approved: false, amount: 1 } }] })
const several = await client.records.updateBatch.mutate({ table_id: ${deals}, records: [{ id: record_id, data: { stage: 'Won' }, version: changed.version }] })
const lost = await client.records.updateWhere.mutate({ table_id: ${deals}, view_id: ${won}, where: { amount: ['>', 1] }, data: { stage: 'Lead' }, dry_run: true })
const gone = await client.records.deleteWhere.mutate({ table_id: ${deals}, filter: { column: 'stage', compare: '=', value: 'Won' }, dry_run: true })
const matched: number[] = [lost.matched, gone.matched]
const stages: ('Lead' | 'Won' | null)[] = [changed, ...batch.rows, ...several.rows].map((record) => record.data.stage)
const filters: FilterOf<Schema[${deals}]>[] = [{ column: 'stage', compare: '=', value: 'Won' }, { field: 'odd', compare: 'CONTAINS', value: 'it\\'s' }]
filters.push({ column: 'company', compare: 'is_empty' })
const found = await client.records.query.query({
  table_id: ${deals},
  filters,
  filter: {
    any: [
      { column: 'amount', compare: '>', value: 4 },
      { all: [{ column: 'title', compare: 'sw', value: 'X' }, { not: { column: 'stage', compare: '=', value: ['Won', 'Lead'] } }] },
    ],
  },
  where: { stage: 'Won', amount: ['>', 1], title: ['is_not_empty'] },
  order: [{ field: 'stage', nulls: 'last' }, { field: 'amount', dir: 'D', nulls: 'first' }],
  fields: ['amount', 'odd'],
  count: true,
})
const row: { id: number; amount: number | null; odd: string[] } | undefined = found.rows[0]
const total: number | undefined = found.total
const seen = await client.records.query.query({ table_id: ${deals}, view_id: ${won}, order_by: 'title', append_filters: true })
const owner: { name: string } | null | undefined = seen.rows[0]?.owner
const beside = await client.records.query.query({ table_id: ${deals}, fields: ['stage'], include: ['version', 'badges'], limit: 1 })
const shown: { id: number; _version: number; _badges: { open_tasks: number; unread: number | null } } | undefined = beside.rows[0]
const { badges } = await client.records.get.query({ table_id: ${deals}, record_id, include: ['badges'] })
const comments: number | undefined = badges?.comments
const { count } = await client.records.count.query({ table_id: ${deals}, view_id: ${won} })
const { predicate } = await client.records.explain.query({ table_id: ${deals}, where: { stage: 'Won' } })
const groups = await client.records.groups.query({ table_id: ${deals}, by: 'stage' })
const values: ('Lead' | 'Won' | null)[] = groups.rows.map(({ value }) => value)
const board = await client.records.board.query({ table_id: ${deals}, by: 'stage', fields: ['amount'], include: ['version'], where: { stage: 'Won' } })
const cards: { value: 'Lead' | 'Won' | null; first: { id: number; amount: number | null; _version: number } | undefined }[] = board.rows.map(
  ({ value, rows }) => ({ value, first: rows[0] }),
)
const view = await client.views.get.query({ table_id: ${deals}, view_id: ${won} })
const again = await client.records.count.query({ table_id: ${deals}, filters: view.filters })
const columns: string[] = view.filters.map(({ column }) => column)
console.log(JSON.stringify({ shown: shown?._version, comments, version, data, stages, row, total, owner: owner?.name, count, predicate, values, cards, columns, again: again.count }))
`
    expect(await results('calls', program)).toEqual({
      shown: 2,
      comments: 0,
      version: 1,
      data: expect.objectContaining({ title: 'Harbour', amount: 4.5, odd: ["it's", 'two\nlines'], company: { id: 1, title: 'Acme' } }),
      stages: ['Won', null, 'Won'],
      row: { id: 1, amount: 4.5, odd: ["it's", 'two\nlines'] },
      total: 1,
      owner: account.owner.name,
      count: 1,
      predicate: expect.stringContaining('stage'),
      values: [null, 'Lead', 'Won'],
      cards: [{ value: 'Lead' }, { value: 'Won', first: { id: 1, amount: 4.5, _version: 2 } }],
      columns: ['stage'],
      again: 1,
    })
  })

  test('names the fields of linked records, with the types of their table', async () => {
    const program = `${head()}
const { id: record_id } = await client.records.create.mutate({
  table_id: ${deals},
  data: { title: 'Linked', stage: 'Lead', company: 1, partners: [2, 1], approved: false },
})
const filters: FilterOf<Schema[${deals}]>[] = [{ column: 'company.name', compare: 'contains', value: 'cm' }]
filters.push({ field: 'partners.founded', compare: '>', value: '-100y' }, { column: 'partners.created_by', compare: '=', value: '@me' })
filters.push({ column: 'company.id', compare: '=', value: [1, 2] }, { column: 'partners.name', compare: '!=', value: ['Nobody'] })
const { rows } = await client.records.query.query({
  table_id: ${deals},
  filters,
  filter: { not: { any: [{ column: 'company.name', compare: 'is_empty' }, { all: [{ column: 'company.founded', compare: '>', value: 'today' }] }] } },
  where: { 'company.name': ['contains', 'a'], 'company.id': 1, title: 'Linked' },
  order: [{ field: 'company.founded', dir: 'D' }, { field: 'company.name' }],
  fields: ['stage', 'company.name', 'company.id', 'company.created_by', 'partners.name', 'partners.id'],
  include: ['version'],
})
const row: {
  id: number
  stage: 'Lead' | 'Won' | null
  'company.name': string | null
  'company.id': number | null
  'company.created_by': { name: string } | null
  'partners.name': (string | null)[]
  'partners.id': number[]
  _version: number
} | undefined = rows[0]
const fields = ['title', 'company.name'] as ('title' | 'company.name')[]
const { rows: some } = await client.records.query.query({ table_id: ${deals}, fields, order_by: 'company.name', where: { title: 'Linked' } })
const name: string | null | undefined = some[0]?.['company.name']
const ofEvery = await client.records.query.query({ table_id: ${every}, where: { 'lookup.name': ['is_not_empty'] }, order_by: 'lookup.name', limit: 1 })
const { count } = await client.records.count.query({ table_id: ${deals}, filter: { column: 'company.name', compare: '=', value: 'Acme' } })
const groups = await client.records.groups.query({ table_id: ${deals}, by: 'company.founded', unit: 'month', where: { title: 'Linked' } })
const dates: (string | null)[] = groups.rows.map(({ value }) => value)
const board = await client.records.board.query({ table_id: ${deals}, by: 'company.created_by', fields: ['company.name'], where: { title: 'Linked' } })
const cards: { value: { name: string } | null; first: string | null | undefined }[] = board.rows.map((column) => ({
  value: column.value,
  first: column.rows[0]?.['company.name'],
}))
const sums = await client.records.aggregate.query({ table_id: ${deals}, by: [{ field: 'company.name' }], measures: [{ fn: 'count' }], filters })
const { matches } = await client.records.neighbours.query({ table_id: ${deals}, record_id, order_by: 'company.name', filters })
const { order } = await client.records.explain.query({ table_id: ${deals}, filters, order: [{ field: 'company.name' }] })
export const again = async () => {
  const view = await client.views.check.query({ table_id: ${deals}, name: 'By company', type: 'grid', filters, order_by: 'company.name' })
  return client.records.count.query({ table_id: ${deals}, filters: view.filters, filter: view.filter })
}
console.log(JSON.stringify({ row, name, count, dates, cards, sums: sums.rows, matches, order, ofEvery: ofEvery.rows.length }))
`
    const { id, email, name } = account.owner
    expect(await results('linked', program)).toEqual({
      row: {
        ...{ id: expect.any(Number), stage: 'Lead', 'company.name': 'Acme', 'company.id': 1, _version: 1 },
        ...{ 'company.created_by': { id, email, name }, 'partners.name': [expect.any(String), 'Acme'], 'partners.id': [2, 1] },
      },
      ...{ name: 'Acme', count: 1, dates: [expect.anything()], cards: [{ value: { id, email, name }, first: 'Acme' }] },
      ...{ sums: [{ group: ['Acme'], values: [1] }], matches: true, ofEvery: 1 },
      order: [
        { field: 'company.name', dir: 'A' },
        { field: 'id', dir: 'A' },
      ],
    })
  })

  test('takes every form of a value that the service takes', async () => {
    const { id, email } = account.member
    const forms: Record<string, unknown[]> = {
      ...Object.fromEntries(['text', 'long_text', 'phone'].map((field) => [field, ['a', null]])),
      email: ['a@example.com'],
      url: ['https://example.com'],
      number: [4, '4.5', '-1e3'],
      checkbox: [true, false, null],
      date: ['2026-03-31'],
      datetime: ['2026-03-31 09:30:00', '2026-03-31T09:30:00+02:00'],
      time: ['09:30'],
      select: ['Won', null],
      multi_select: [['red', '50 %'], [], null],
      user: [id, email, '@me', { id }, { email }, { id, email, name: 'Max' }, null],
      multi_user: [[id, '@me'], [{ id }, { email: account.admin.email }], []],
      lookup: [1, { id: 1 }, { id: 1, title: 'Acme' }],
      multi_lookup: [[1, { id: 2 }], []],
      file: [[], null],
    }
    expect(Object.keys(forms).sort()).toEqual([...FIELD_TYPES].sort())
    const lines = Object.entries(forms).flatMap(([field, values]) =>
      values.map((value) => `await client.records.create.mutate({ table_id: ${every}, data: { ${field}: ${JSON.stringify(value)} } })`),
    )
    const again = `const { rows } = await client.records.query.query({ table_id: ${every}, fields: ['user', 'lookup', 'file'] })
for (const { id, ...data } of rows.slice(0, 3)) await client.records.update.mutate({ table_id: ${every}, record_id: id, data })`
    expect(await results('values', `${head()}${lines.join('\n')}\n${again}\nconsole.log(true)\n`)).toBe(true)
  })

  test('has the compares of each type with their values, as the service', async () => {
    const samples: Record<FieldType, unknown> = {
      ...{ text: 'a', long_text: 'a', email: 'a', url: 'a', phone: 'a', number: 4, checkbox: true },
      ...{ date: 'start_of_month', datetime: '-7d', time: '09:30', select: 'Won', multi_select: 'red' },
      ...{ user: '@me', multi_user: account.member.id, lookup: 1, multi_lookup: 1, file: 'notes' },
    }
    const sample = (type: FieldType, compare: Compare) =>
      compare.startsWith('is_')
        ? ''
        : `, value: ${JSON.stringify(type === 'lookup' && /contains|with/.test(compare) ? 'A' : samples[type])}`
    const count = (conditions: string) => `await client.records.count.query({ table_id: ${every}, ${conditions} })`
    const lists = FIELD_TYPES.flatMap((type) => {
      const { among, compares, isMultiple } = TYPES[type]
      const list = (compare: Compare) => `column: '${type}', compare: '${compare}', value: [${JSON.stringify(samples[type])}]`
      return [
        ...COMPARES.map((compare) => ({
          line: count(`filter: { ${list(compare)} }`),
          isThere: among !== null && ['=', '!='].includes(compare) && compare in compares,
        })),
        { line: count(`filter: { not: { ${list('=')}, all: true } }`), isThere: among !== null && isMultiple },
      ]
    })
    const lines = FIELD_TYPES.flatMap((type) =>
      COMPARES.map((compare) => ({
        line: count(`filters: [{ column: '${type}', compare: '${compare}'${sample(type, compare)} }]`),
        isThere: compare in TYPES[type].compares,
      })),
    ).concat(lists)
    const wrong = await refused(
      'compares',
      lines.map(({ line }) => line),
    )
    expect([...wrong.keys()]).toEqual(lines.filter(({ isThere }) => !isThere).map(({ line }) => line))
    const right = lines.filter(({ isThere }) => isThere).map(({ line }) => line)
    expect(await results('right', `${head()}${right.join('\n')}\nconsole.log(true)\n`)).toBe(true)
  })

  test('sorts and groups by the fields by which the service does', async () => {
    const lines = FIELD_TYPES.flatMap((type) => [
      { line: `await client.records.query.query({ table_id: ${every}, order_by: '${type}' })`, isThere: TYPES[type].sort !== null },
      {
        line: `await client.records.neighbours.query({ table_id: ${every}, record_id: 1, order_by: '${type}' })`,
        isThere: TYPES[type].sort !== null,
      },
      {
        line: `await client.records.query.query({ table_id: ${every}, order: [{ field: '${type}' }] })`,
        isThere: TYPES[type].sort !== null,
      },
      {
        line: `await client.records.groups.query({ table_id: ${every}, by: '${type}' })`,
        isThere: TYPES[type].groups?.in.includes('groups') ?? false,
      },
      {
        line: `await client.records.board.query({ table_id: ${every}, by: '${type}' })`,
        isThere: TYPES[type].groups?.in.includes('board') ?? false,
      },
      {
        line: `await client.records.aggregate.query({ table_id: ${every}, by: [{ field: '${type}' }], measures: [{ fn: 'count' }] })`,
        isThere: TYPES[type].groups?.in.includes('aggregate') ?? false,
      },
    ])
    const wrong = await refused(
      'orders',
      lines.map(({ line }) => line),
    )
    expect([...wrong.keys()]).toEqual(lines.filter(({ isThere }) => !isThere).map(({ line }) => line))
  })

  test('does not compile what the service refuses or does not answer', async () => {
    const query = (rest: string) => `await client.records.query.query({ table_id: ${deals}, ${rest} })`
    const create = (data: string) => `await client.records.create.mutate({ table_id: ${deals}, data: ${data} })`
    const update = (data: string) => `await client.records.update.mutate({ table_id: ${deals}, record_id: 1, data: ${data} })`
    const lines = [
      query("filters: [{ column: 'stag', compare: '=', value: 'Won' }]"),
      query("filters: [{ field: 'stag', compare: '=', value: 'Won' }]"),
      query("filters: [{ column: 'stage', compare: '=', value: 'Wonn' }]"),
      query("filters: [{ column: 'stage', compare: '>', value: 'Won' }]"),
      query("filters: [{ column: 'stage', compare: 'equals', value: 'Won' }]"),
      query("filters: [{ column: 'stage', field: 'stage', compare: '=', value: 'Won' }]"),
      query("filters: [{ column: 'stage', compare: '=' }]"),
      query("filters: [{ column: 'stage', compare: '=', value: null }]"),
      query("filters: [{ column: 'amount', compare: '>', value: 'many' }]"),
      query("filters: [{ column: 'odd', compare: 'contains', value: 'its' }]"),
      query("filters: [{ column: 'stage', compare: '=', value: 'Won', connector: 'XOR' }]"),
      query("filter: { any: [{ column: 'stag', compare: '=', value: 'Won' }] }"),
      query("filter: { all: [{ any: [{ column: 'stage', compare: '=', value: 'Wonn' }] }] }"),
      query("filter: { some: [{ column: 'stage', compare: '=', value: 'Won' }] }"),
      query("filter: { column: 'stage', compare: '=', value: ['Won', 'Wonn'] }"),
      query("filter: { not: [{ column: 'stage', compare: '=', value: 'Won' }] }"),
      query("where: { stage: ['=', ['Won']] }"),
      query("where: { stag: 'Won' }"),
      query("where: { stage: 'Wonn' }"),
      query("where: { amount: ['>', 'many'] }"),
      query("fields: ['stag']"),
      query("fields: ['company.town']"),
      query("fields: ['title.name']"),
      query("fields: ['company.name.x']"),
      `${query("fields: ['company.name']")}.then(({ rows }) => rows[0]?.['partners.name'])`,
      `${query("fields: ['company.id']")}.then(({ rows }): (number | undefined)[] => rows.map((row) => row['company.id']))`,
      query("filters: [{ column: 'company.town', compare: '=', value: 'x' }]"),
      query("filters: [{ column: 'company.name', compare: '=', value: 4 }]"),
      query("filters: [{ column: 'partners.id', compare: '=', value: 'one' }]"),
      query("filters: [{ column: 'company.founded', compare: 'contains', value: '2026' }]"),
      query("filter: { not: { column: 'company.name', compare: 'equals', value: 'x' } }"),
      query("where: { 'company.town': 'x' }"),
      query("where: { 'company.name': 4 }"),
      query("order_by: 'company.town'"),
      query("order_by: 'partners.name'"),
      query("order: [{ field: 'partners.name' }]"),
      create("{ title: 'a', 'company.name': 'Acme' }"),
      `await client.records.groups.query({ table_id: ${deals}, by: 'partners.founded' })`,
      `await client.records.groups.query({ table_id: ${deals}, by: 'company.name' })`,
      `await client.records.board.query({ table_id: ${deals}, by: 'company.name' })`,
      `await client.records.aggregate.query({ table_id: ${deals}, by: [{ field: 'partners.name' }], measures: [{ fn: 'count' }] })`,
      `await client.records.aggregate.query({ table_id: ${deals}, measures: [{ fn: 'distinct', field: 'company.name' }] })`,
      query("order_by: 'stag'"),
      query("order: [{ field: 'odd' }]"),
      query("order: [{ field: 'stage', nulls: 'middle' }]"),
      query(`view_id: ${viewOfCompanies}`),
      query('view_id: 987654'),
      query('lmit: 1'),
      create('{}'),
      create('{ title: null }'),
      create("{ title: 'a', stag: 'Won' }"),
      create("{ title: 'a', stage: 'Wonn' }"),
      create("{ title: 'a', odd: 'it\\'s' }"),
      create("{ title: 'a', amount: 'many' }"),
      create("{ title: 'a', company: 'Acme' }"),
      create("{ title: 'a', id: 4 }"),
      create("{ title: 'a', created_at: '2026-03-31 09:30:00' }"),
      update('{ title: null }'),
      update("{ stag: 'Won' }"),
      `await client.records.createBatch.mutate({ table_id: ${deals}, records: [{ data: { stage: 'Won' } }] })`,
      `await client.records.updateBatch.mutate({ table_id: ${deals}, records: [{ id: 1, data: { title: null } }] })`,
      `await client.records.updateBatch.mutate({ table_id: ${deals}, records: [{ id: 1, data: { stage: 'Wonn' } }] })`,
      `await client.records.updateWhere.mutate({ table_id: ${deals}, where: { stage: 'Won' }, data: { title: null }, expect: 1 })`,
      `await client.records.updateWhere.mutate({ table_id: ${deals}, where: { stage: 'Wonn' }, data: { stage: 'Lead' }, expect: 1 })`,
      `await client.records.updateWhere.mutate({ table_id: ${deals}, where: { stage: 'Won' }, expect: 1 })`,
      `await client.records.deleteWhere.mutate({ table_id: ${deals}, view_id: 987654, expect: 1 })`,
      `${query("fields: ['stage']")}.then(({ rows }) => rows[0]?.amount)`,
      `${query('limit: 1')}.then(({ rows }) => rows[0]?.stag)`,
      `${query("include: ['version']")}.then(({ rows }) => rows[0]?._badges)`,
      query("include: ['etag']"),
      `${query('limit: 1')}.then(({ rows }): (string | undefined)[] => rows.map(({ title }) => title))`,
      `await client.records.get.query({ table_id: ${deals}, record_id: 1 }).then(({ data }) => data.id)`,
      `await client.records.groups.query({ table_id: ${deals}, by: 'title' })`,
      `await client.records.board.query({ table_id: ${deals}, by: 'stage', fields: ['stag'] })`,
      `await client.records.board.query({ table_id: ${deals}, by: 'stage' }).then(({ rows }) => rows[0]?.rows[0]?._version)`,
      `await client.views.get.query({ table_id: ${deals}, view_id: ${viewOfCompanies} })`,
      `await client.views.update.mutate({ table_id: ${deals}, view_id: ${won}, order_by: 'stag' })`,
      `await client.views.create.mutate({ table_id: ${deals}, name: 'A', type: 'grid', filters: [{ column: 'stag', compare: 'is_empty' }] })`,
    ]
    const errors = await refused('mistakes', lines)
    expect(lines.filter((line) => !errors.has(line))).toEqual([])
    expect(errors.get('the head')).toBeUndefined()
    expect(errors.get(query("filters: [{ column: 'stage', compare: '=', value: 'Wonn' }]"))).toContain(
      `NonNullable<"Lead" | "Won" | null>'. Did you mean '"Won"'?`,
    )
  })

  test('takes any fields for a table that the Schema does not have, and is a client for functions that know no Schema', async () => {
    const program = `${head()}
const table_id = Number('${deals}')
const { id } = await client.records.create.mutate({ table_id, data: { title: 'Any', amount: 7, approved: false } })
const { data } = await client.records.get.query({ table_id, record_id: id })
const amount: unknown = data.amount
const { rows } = await client.records.query.query({ table_id, filters: [{ column: 'amount', compare: '=', value: 7 }], fields: ['amount'], view_id: 0 })
const fields = ['amount', 'title'] as (keyof Schema[${deals}]['record'])[]
const { rows: chosen } = await client.records.query.query({ table_id: ${deals}, fields, where: { amount: 7 } })
const title: string | null | undefined = chosen[0]?.title
const nameOf = async (any: Client, id: number) => (await any.tables.get.query({ table_id: id })).name
export const absent = () => client.records.query.query({ table_id: 987654, filters: [{ column: 'any', compare: '=', value: 1 }] })
console.log(JSON.stringify({ amount, rows: rows.map((row) => row.amount), title, name: await nameOf(client, ${deals}) }))
`
    expect(await results('unknown', program)).toEqual({ amount: 7, rows: [7], title: 'Any', name: 'Deals' })
  })
})

describe('a Schema of yesterday', () => {
  test('fails with an error that names what is gone and the command that makes it again', async () => {
    const { rpc } = app.as(account.keys.account)
    const { rpc: admin } = app.as(account.admin)
    const fields = [
      { name: 'Title', type: 'text' as const },
      { name: 'Gone', type: 'text' as const },
      { name: 'Stage', type: 'select' as const, options: ['Lead', 'Won'] },
    ]
    const { id: table_id } = await rpc.tables.create.mutate({ space_id: account.space, name: 'Changing', fields })
    const { id: view_id } = await admin.views.create.mutate({ table_id, name: 'Lost', type: 'grid' })
    await installed.compile({ 'gridpost.d.ts': await declared() })
    await rpc.fields.delete.mutate({ table_id, field_id: 'gone' })
    await rpc.fields.update.mutate({ table_id, field_id: 'stage', options: ['Lead'] })
    await admin.views.delete.mutate({ table_id, view_id })
    const program = `${head()}
const told = (call: Promise<unknown>) =>
  call.then(() => [], (error: { message: string; data?: { message: string; httpStatus: number } }) => [error.message, error.data?.httpStatus, error.data?.message])
console.log(JSON.stringify([
  await told(client.records.create.mutate({ table_id: ${table_id}, data: { gone: 'a' } })),
  await told(client.records.query.query({ table_id: ${table_id}, filters: [{ column: 'gone', compare: '=', value: 'a' }] })),
  await told(client.records.query.query({ table_id: ${table_id}, fields: ['gone'] })),
  await told(client.records.create.mutate({ table_id: ${table_id}, data: { stage: 'Won' } })),
  await told(client.records.query.query({ table_id: ${table_id}, view_id: ${view_id} })),
  await told(client.records.query.query({ table_id: Number('${deals}'), fields: ['company.gone'] })),
  await told(client.records.query.query({ table_id: ${table_id}, cursor: 'x' })),
]))
`
    const hint = `. If a Schema has it, the table has changed since: npx gridpost-client types --url ${app.url} --key … > gridpost.d.ts`
    const told = (message: string, status = 400, more = hint) => [`${message}${more}`, status, message]
    expect(await results('stale', program)).toEqual([
      told("data.gone: 'gone' is not a field of this table"),
      told("filters[0].column: 'gone' is not a field of this table"),
      told("fields[0]: 'gone' is not a field of this table"),
      told('data.stage: unknown option "Won"'),
      told('View not found', 500),
      told("fields[0]: 'gone' is not a field of the table of 'company'"),
      told('cursor: must be empty, or what came with the page before', 400, ''),
    ])
  })
})

describe('the compiler', () => {
  /** 50 tables with a field of each type, as the command writes them. Each is linked from two others. */
  function fiftyTables(): string {
    const field = (id: string, more: Partial<Field> & Pick<Field, 'type'>): Field => ({
      ...{ id, name: id, required: false, always_hidden: false, admin_only: false },
      ...more,
    })
    const options = Array.from({ length: 10 }, (_, index) => `Option ${index}`)
    const fields = (table: number) => [
      field('id', { type: 'number', key: true }),
      field('title', { type: 'text', required: true }),
      ...FIELD_TYPES.map((type) => field(type, { type, options, ...(type.endsWith('lookup') && { table }) })),
      field('created_at', { type: 'datetime', calc: true }),
    ]
    const views = [1, 2, 3].map((id) => ({ id, name: `View ${id}` }))
    return declarationsOf(
      Array.from({ length: 50 }, (_, index) => ({
        id: index + 1,
        name: `Table ${index + 1}`,
        fields: fields(((index + 7) % 50) + 1),
        views,
      })),
      'npx gridpost-client types',
    )
  }

  // Types are counted, because a time depends on the machine.
  test('makes at most 1.5 times the types for a program that uses 50 tables of a Schema', async () => {
    const calls = Array.from({ length: 50 }, (_, index) => {
      const table = `table_id: ${index + 1}`
      return `export const f${index} = async () => [
  await client.records.query.query({ ${table}, view_id: 1, filters: [{ column: 'select', compare: '=', value: 'Option 1' }], fields: ['title'] }),
  await client.records.get.query({ ${table}, record_id: 1 }),
  await client.records.create.mutate({ ${table}, data: { title: 'a', number: 4 } }),
  await client.records.update.mutate({ ${table}, record_id: 1, data: { select: 'Option 2' } }),
]\n`
    }).join('')
    const client = (schema: string) =>
      `import { createClient } from 'gridpost-client'\n${schema}({ baseUrl: 'http://localhost' })\n${calls}`
    await installed.compile({ 'fifty.d.ts': fiftyTables() })
    const bare = await installed.typesMade({ 'bare.ts': client('const client = createClient') })
    const typed = await installed.typesMade({
      'typed.ts': client("import type { Schema } from './fifty.js'\nconst client = createClient<Schema>"),
    })
    expect(bare).toBeGreaterThan(10_000)
    expect(typed / bare).toBeLessThan(1.5)
  })
})
