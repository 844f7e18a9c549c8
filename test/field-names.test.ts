/** Fields may have any name, also one that our own statements use for a table, a column or a list. */
import { beforeAll, expect, test } from 'vitest'
import { isConvertible } from '../src/conversions/rules.ts'
import { isLookup, isSelect } from '../src/fields/definition.ts'
import { FIELD_TYPES, type FieldType, TYPES } from '../src/fields/registry.ts'
import { systemContext } from '../src/platform/context.ts'
import { MAX_FIELDS } from '../src/tables/schema.ts'
import { type As, type TestAccount, testApp } from './support/app.ts'
import { runConversion } from './support/conversions.ts'
import { sqlWords } from './support/sql-words.ts'
import { makeTable, makeView } from './support/tables.ts'

const app = await testApp()
let account: TestAccount
let as: As
let target: number
let targetRecord: number
const WORDS = sqlWords()
const TABLES = Math.ceil(WORDS.length / (MAX_FIELDS - FIELD_TYPES.length))

beforeAll(async () => {
  account = await app.account()
  as = app.as(account.owner)
  const other = await makeTable(app, account, { records: [{ name: 'Target' }] })
  target = other.id
  targetRecord = other.records[0] as number
})

/** A field of every type: its id by its type. */
type Ids = Record<FieldType, string>
interface Table {
  id: number
  path: string
  ids: Ids
}

const fieldOf = (id: string, type: FieldType, table: number) => ({
  id,
  name: `Field ${id}`,
  type,
  ...(isSelect(type) && { options: ['Open', 'Done', 'Late'] }),
  ...(isLookup(type) && { table }),
  ...(type === 'number' && { decimals: 2 }),
})

/** A table with these ids, whose types take turns. */
async function tableWith(words: readonly string[]): Promise<Table> {
  const typeOf = (index: number) => FIELD_TYPES[index % FIELD_TYPES.length] as FieldType
  const fields = words.map((word, index) => fieldOf(word, typeOf(index), target))
  const { id, path } = await makeTable(app, account, { fields })
  return { id, path, ids: Object.fromEntries(FIELD_TYPES.map((type, index) => [type, words[index] as string])) as Ids }
}

const PLAIN: Partial<Record<FieldType, unknown>> = {
  text: 'Alpha',
  long_text: 'Two\nlines',
  email: 'a@example.com',
  url: 'https://example.com',
  phone: '+49 30 1',
  number: 12.25,
  checkbox: true,
  date: '2026-03-31',
  datetime: '2026-03-31 07:30:00',
  time: '09:30:00',
  select: 'Done',
  multi_select: ['Done', 'Late'],
}
const values = (): Partial<Record<FieldType, unknown>> => ({
  ...PLAIN,
  user: account.member.id,
  multi_user: [account.member.id, account.viewer.id],
  lookup: targetRecord,
  multi_lookup: [targetRecord],
})
const OPERANDS: Partial<Record<FieldType, unknown>> = {
  ...PLAIN,
  long_text: 'lines',
  multi_select: 'Late',
  user: '@me',
  multi_user: 'nobody@example.com',
  lookup: 'Target',
  file: 'notes',
}

const operandOf = (type: FieldType, compare: string) =>
  type === 'multi_lookup' || (type === 'lookup' && /^!?=$/.test(compare)) ? targetRecord : OPERANDS[type]

/** Calls the service and requires success. */
async function call(path: string, body?: object) {
  const answer = body ? await as.post(path, body) : await as.get(path)
  expect(answer.status, `${path} ${JSON.stringify(body)}: ${JSON.stringify(answer.body)}`).toBe(200)
  return answer.body
}

/** A table in use, and what it has answered. */
interface Use extends Table {
  records: number[]
  seen: unknown[]
  dataOf(values: Partial<Record<FieldType, unknown>>): Record<string, unknown>
  /** The cells of a row by type, of one field of each type. */
  cells(row: Record<string, unknown>): unknown[]
  /** A page of records, with one field of each type. */
  page(query: object): Promise<unknown[]>
}

function useOf({ path, id, ids }: Table): Use {
  const types = new Map(FIELD_TYPES.map((type) => [ids[type], type]))
  const records: number[] = []
  const cells = (row: Record<string, unknown>) =>
    [...types].flatMap(([field, type]) => (field in row ? [[type, type === 'file' ? (row[field] as unknown[]).length : row[field]]] : []))
  return {
    ...{ path, id, ids, records, cells },
    seen: [],
    dataOf: (given) => Object.fromEntries(Object.entries(given).map(([type, value]) => [ids[type as FieldType], value])),
    page: async (query) => {
      const rows = await call(`${path}/records/query`, { fields: Object.values(ids), ...query })
      return rows.map((row: { id: number }) => [records.indexOf(row.id), ...cells(row)])
    },
  }
}

/** Uses a table in every way that has statements of its own. @returns what it saw, without the ids of the fields and records */
async function use(table: Table): Promise<unknown[]> {
  const visit = useOf(table)
  await writeRecords(visit)
  for (const type of FIELD_TYPES) {
    const [filtered, ordered] = await Promise.all([filterBy(visit, type), orderBy(visit, type)])
    visit.seen.push(...filtered, ...ordered)
  }
  visit.seen.push(await visit.page({ search: 'alp exam' }), await visit.page({ search: 'd' }))
  await throughViews(visit)
  await fromElsewhere(visit)
  await rewriteCells(visit)
  await call(`${table.path}/records/delete_batch`, { record_ids: visit.records })
  return visit.seen
}

async function writeRecords({ path, ids, records, seen, dataOf, cells }: Use) {
  const { id: first } = await call(`${path}/records/create`, { data: dataOf(values()) })
  const others = await call(`${path}/records/create_batch`, { records: [{ data: dataOf({ text: 'beta', number: 3 }) }, { data: {} }] })
  records.push(first, ...others.map(({ id }: { id: number }) => id))
  const [file] = await call(`${path}/record/${first}/files/create`, { field_id: ids.file, name: 'notes.txt', data: 'aGk=' })
  expect((await as.get(`/api/file/${file.path}`)).status).toBe(200)
  await call(`${path}/record/${records[1]}/update`, { data: dataOf({ ...values(), number: 3, text: 'beta' }) })
  seen.push(cells((await call(`${path}/record/${first}/get`)).data))
}

/** A column of a board. */
interface BoardColumn {
  value: unknown
  count: number
  rows: Record<string, unknown>[]
}

/** The records, their number and their groups by every condition on the field of the type. */
async function filterBy({ path, ids, records, page, cells }: Use, type: FieldType): Promise<unknown[]> {
  const column = ids[type]
  const byCondition = Object.keys(TYPES[type].compares).map(async (compare) => {
    const value = compare.startsWith('is_') ? {} : { value: operandOf(type, compare) }
    const filters = [{ column, compare, ...value }]
    const isExplained = compare === 'is_empty' || compare === 'contains'
    const [found, count] = await Promise.all([
      page({ filters }),
      call(`${path}/records/count`, { filters }),
      isExplained && call(`${path}/records/explain`, { filters, record_id: records[0] }),
    ])
    return [type, compare, found, count]
  })
  const measures = [{ fn: 'count' }, { fn: 'filled', field: column }, ...TYPES[type].measures.map((fn) => ({ fn, field: column }))]
  const inGroups = TYPES[type].groups?.in ?? []
  const board = async () => {
    const columns = await call(`${path}/records/board`, { by: column, order_by: column, fields: Object.values(ids) })
    return columns.map(({ value, count, rows }: BoardColumn) => [value, count, rows.map(cells)])
  }
  const groups = [
    call(`${path}/records/aggregate`, { measures, ...(inGroups.includes('aggregate') && { by: [{ field: column }] }) }),
    ...(inGroups.includes('groups') ? [call(`${path}/records/groups`, { by: column })] : []),
    ...(inGroups.includes('board') ? [board()] : []),
  ].map((asked) => asked.then((found) => [type, 'groups', found]))
  return Promise.all([...byCondition, ...groups])
}

/** The records in both orders of the field of the type, deep in the list, and in a walk by cursor. */
async function orderBy({ path, ids, page, cells }: Use, type: FieldType): Promise<unknown[]> {
  if (!TYPES[type].sort) return []
  const order = { order_by: ids[type], order_dir: 'D' }
  const pages = Promise.all([page(order), page({ ...order, order_dir: 'A' }), page({ ...order, offset: 1_001 })])
  const walk: unknown[] = []
  for (let cursor: string | null = ''; cursor !== null; ) {
    const answer = await as.post(`${path}/records/query`, { ...order, fields: Object.values(ids), cursor, limit: 2 })
    expect(answer.status, JSON.stringify(answer.body)).toBe(200)
    walk.push([type, 'walk', answer.body.map(cells)])
    cursor = answer.headers.get('x-next-cursor')
  }
  return [[type, ...(await pages)], ...walk]
}

/** Views, whose fields get indexes, and files of comma-separated values. */
async function throughViews({ path, id, ids, seen, page }: Use) {
  await makeView(app, account, id, { type: 'calendar', config: { startField: ids.date, endField: ids.datetime } })
  const filters = [{ column: ids.file, compare: 'contains', value: 'note' }]
  const grid = await makeView(app, account, id, { config: { columns: Object.values(ids) }, filters })
  seen.push(await page({ view_id: grid.id }), (await call(`${path}/indexes`)).length)
  expect((await as.get(`${path}/export.csv?view_id=${grid.id}`)).status).toBe(200)
  const csv = await as.get(`${path}/export.csv`)
  const imported = await as.send(`${path}/import`, { method: 'POST', body: csv.body, headers: { 'content-type': 'text/csv' } })
  expect(imported.body).toEqual({ created: 3, change_id: expect.any(Number) })
}

/** What tasks, comments and lookups of another table read of a record. */
async function fromElsewhere({ path, id, records, seen }: Use) {
  const [first] = records
  const task = await call(`/api/tasks/onRecord/${id}/${first}/create`, { title: 'Call' })
  seen.push((await call(`/api/task/${task.id}/get`)).record_title, (await call(`/api/tasks/onRecord/${id}/${first}/list`)).length)
  await call('/api/tasks/list', {})
  await call(`${path}/record/${first}/comments/create`, { content: 'Hello' })
  await call(`/api/subscriptions/${id}/${first}/subscribe`, { force: true })
  seen.push(await call(`/api/subscriptions/${id}/status`, { record_id: first }))

  const pointing = await makeTable(app, account, { fields: [fieldOf('one', 'lookup', id), fieldOf('all', 'multi_lookup', id)] })
  const { data } = await call(`${pointing.path}/records/create`, { data: { one: first, all: records } })
  seen.push(data.one.title, data.all.length)
  const filters = [{ column: 'one', compare: 'contains', value: 'alp' }]
  seen.push((await call(`${pointing.path}/records/query`, { filters, order_by: 'one' })).length)
  const byTitle = await as.send(`${pointing.path}/import`, {
    method: 'POST',
    body: `one\n"Alpha (${first})"\n`,
    headers: { 'content-type': 'text/csv' },
  })
  expect(byTitle.body).toEqual({ created: 1, change_id: expect.any(Number) })
}

async function rewriteCells({ path, ids, seen, page }: Use) {
  await call(`${path}/field/${ids.select}/update`, { options: ['Open'], force: true })
  await call(`${path}/field/${ids.multi_select}/update`, { options: ['Open', 'Late'], force: true })
  await call(`${path}/field/${ids.number}/update`, { decimals: 1, force: true })
  seen.push(await page({}))
  const convert = async (from: FieldType, change: object) => {
    const { job_id } = await call(`${path}/field/${ids[from]}/changeType`, change)
    await runConversion(systemContext(app.deps), job_id)
    return call(`/api/job/${job_id}`)
  }
  for (const from of FIELD_TYPES) {
    const targets = FIELD_TYPES.filter((type) => isConvertible(from, type) && hasOwnSql(from, type))
    const dryRuns = targets.map(async (to) => {
      const change = { type: to, dry_run: true, ...(isSelect(to) && { options: ['Done'] }), ...(isLookup(to) && { table: target }) }
      const { state, converts, failing } = await convert(from, change)
      return [from, to, state, converts, failing]
    })
    seen.push(...(await Promise.all(dryRuns)))
  }
  for (const [from, to] of [
    ['multi_user', 'text'],
    ['text', 'multi_select'],
    ['number', 'text'],
  ] as const)
    expect((await convert(from, { type: to, drop_failing: true, force: true })).state).toBe('done')
  seen.push(await page({}))
}
/** Through a text, a cell of any type is converted by the SQL of the text. */
const hasOwnSql = (from: FieldType, to: FieldType) => from === 'text' || to === 'text' || Boolean(TYPES[from].becomes[to])

/** What a table answers whose names no statement uses. */
let expected: unknown[]
beforeAll(async () => {
  expected = await use(await tableWith(FIELD_TYPES.map((type) => `plain_${type}_9`)))
})

test('the words of the statements are found', () => {
  expect(WORDS).toEqual(expect.arrayContaining(['e', 'f', 'r', 'w', 'path', 'records', 'by']))
  expect(WORDS.length).toBeGreaterThan(300)
})

for (let part = 0; part < TABLES; part++) {
  test(`a table answers alike when its fields are named like the words of our statements, part ${part + 1}`, async () => {
    const words = WORDS.filter((_, index) => index % TABLES === part)
    expect(await use(await tableWith(words))).toEqual(expected)
  })
}
