/**
 * Compares the answers to random conditions, orders and groups by fields of linked records with plain JavaScript, which follows the links
 * itself (contract.md §9). On failure the seed is printed.
 */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Compare } from '../src/fields/compares.ts'
import { type FieldType, TYPES } from '../src/fields/registry.ts'
import { aggregateOf } from './support/aggregate-model.ts'
import { type Answer, testApp } from './support/app.ts'
import { COMPARES, cellsOf, OPTIONS, SORTABLE, valueFor } from './support/random-cells.ts'
import {
  compareRows,
  eachOf,
  type Filter,
  type Group,
  grouped,
  groupsOf,
  matches,
  type Row,
  type Sort,
  type World,
} from './support/reference.ts'
import { makeRecords, makeTable } from './support/tables.ts'

const SEED = 20261129
const TABLES = 12
const QUERIES = 16

const app = await testApp()
const account = await app.account()
const people = [account.owner, account.member, account.viewer]

type Gen = fc.GeneratorValue
interface Named {
  id: string
  type: string
}

async function post(path: string, body: object): Promise<Answer> {
  const answer = await app.as(account.keys.account).post(path, body)
  expect(answer.status, `${path} ${JSON.stringify(body)} → ${JSON.stringify(answer.body)}`).toBe(200)
  return answer
}
const every = async ({ path }: { path: string }): Promise<Row[]> => (await post(`${path}/records/query`, { limit: 1000 })).body

/** Two tables with records that refer to each other, and what the queries of the first answer. */
interface Tried {
  table: { id: number; path: string }
  world: World
  /** The rows with their own fields, and those of the linked records under the names of requests. */
  rows: Row[]
  own: Named[]
  /** The fields through lookups, and through multi_lookups. */
  ofOne: Named[]
  ofMany: Named[]
  types: Map<string, string>
  value: (type: string, compare: string) => fc.Arbitrary<unknown>
}

const FIELD_COUNT = { minLength: 3, maxLength: 9 }
const EMPTY: Record<string, unknown> = { checkbox: false, multi_select: [], multi_user: [], multi_lookup: [] }

/** Makes the tables, links their records at random, and deletes some of those that are linked. */
async function made(gen: Gen, chosen: readonly string[], world: World): Promise<Tried> {
  const countries = await makeTable(app, account, { records: [{ name: 'Norway' }, { name: 'chile 50%' }, {}, { name: 'Gone' }] })
  const cells = cellsOf(world, people, countries.records)
  const fields = chosen.map((type) => ({
    type,
    name: type,
    ...(type.endsWith('select') && { options: OPTIONS }),
    ...(type.endsWith('lookup') && { table: countries.id }),
  }))
  const cellsOfRecord = () => Object.fromEntries(chosen.map((type) => [type, gen(() => fc.option(cells[type] as fc.Arbitrary<unknown>))]))
  const records = Array.from({ length: gen(fc.integer, { min: 1, max: 9 }) }, cellsOfRecord)
  const other = await makeTable(app, account, { fields, records })
  const table = await makeTable(app, account, {
    fields: [
      { name: 'Own', type: 'number' },
      { name: 'One', type: 'lookup', table: other.id },
      { name: 'Many', type: 'multi_lookup', table: other.id },
    ],
  })
  for (const [name, type] of [
    ['Parent', 'lookup'],
    ['Parts', 'multi_lookup'],
  ])
    await app.as(account.owner).post(`${table.path}/fields/create`, { name, type, table: table.id })
  const several = (ids: number[]) => gen(() => fc.uniqueArray(fc.constantFrom(...ids), { maxLength: 4 }))
  const oneOf = (ids: number[]) => gen(() => fc.option(fc.constantFrom(...ids)))
  const count = gen(fc.integer, { min: 1, max: 14 })
  const ids = await makeRecords(
    app,
    account,
    table.id,
    Array.from({ length: count }, () => ({ own: gen(fc.integer, { min: 0, max: 3 }) })),
  )
  const links = new Map(
    ids.map((id) => [id, { one: oneOf(other.records), many: several(other.records), parent: oneOf(ids), parts: several(ids) }]),
  )
  for (const [id, data] of links) await post(`${table.path}/record/${id}/update`, { data })
  const gone = async ({ path, records }: { path: string; records: number[] }) => {
    const record_ids = gen(() => fc.subarray(records, { maxLength: Math.ceil(records.length / 3) }))
    if (record_ids.length) await post(`${path}/records/delete_batch`, { record_ids })
  }
  await gone({ path: countries.path, records: countries.records.slice(-1) })
  await gone(other)
  await gone({ ...table, records: ids.slice(1) })

  const others = new Map((await every(other)).map((row) => [row.id, row]))
  const owns = new Map((await every(table)).map((row) => [row.id, row]))
  const [otherFields, ownFields] = [
    [...chosen.map((type) => ({ id: type, type })), { id: 'id', type: 'number' }],
    [
      { id: 'own', type: 'number' },
      { id: 'id', type: 'number' },
    ],
  ]
  const named = (lookup: string, of: Named[], each: boolean) =>
    of.map(({ id, type }) => ({ id: `${lookup}.${id}`, type: each ? eachOf(type) : type }))
  const ofOne = [...named('one', otherFields, false), ...named('parent', ownFields, false)]
  const ofMany = [...named('many', otherFields, true), ...named('parts', ownFields, true)]
  const rows = [...owns.values()].map((row): Row => {
    const linked = links.get(row.id) ?? { one: null, many: [], parent: null, parts: [] }
    const through = (lookup: string, of: Named[], record: Row | undefined) =>
      of.map(({ id, type }) => [`${lookup}.${id}`, record ? record[id] : (EMPTY[type] ?? null)])
    const throughMany = (lookup: string, of: Named[], found: (Row | undefined)[]) =>
      of.map(({ id }) => [`${lookup}.${id}`, found.flatMap((record) => (record ? [record[id]] : []))])
    return {
      id: row.id,
      own: row.own,
      ...Object.fromEntries([
        ...through('one', otherFields, others.get(linked.one ?? 0)),
        ...through('parent', ownFields, owns.get(linked.parent ?? 0)),
        ...throughMany(
          'many',
          otherFields,
          linked.many.map((id) => others.get(id)),
        ),
        ...throughMany(
          'parts',
          ownFields,
          linked.parts.map((id) => owns.get(id)),
        ),
      ]),
    }
  })
  const own = [{ id: 'own', type: 'number' }]
  return {
    ...{ table, world, rows, own, ofOne, ofMany },
    types: new Map([...own, ...ofOne, ...ofMany].map(({ id, type }) => [id, type])),
    value: (type, compare) => valueFor(type, compare, cells, people),
  }
}

const bare = (type: string) => type.replace(eachOf(''), '')

/** A random condition, nearly always on a linked field. @param isSaved true for a view, which names no option that is not there */
function condition(gen: Gen, { own, ofOne, ofMany, value }: Tried, isSaved: boolean): Filter {
  const { id, type: named } = gen(() => fc.constantFrom(...ofOne, ...ofMany, ...own))
  const type = bare(named)
  const compare = gen(() => fc.constantFrom(...(COMPARES[type] as string[])))
  const isList = ['=', '!='].includes(compare) && type !== 'checkbox' && gen(fc.integer, { min: 0, max: 2 }) === 0
  const one = value(type, compare)
  const given = gen(() => (isList ? fc.array(one, { minLength: 1, maxLength: 4 }) : one))
  const isTitle = isSaved && TYPES[type as FieldType].compares[compare as Compare]?.isOptionTitle
  const known = (title: unknown) => (isTitle && !OPTIONS.includes(title as string) ? OPTIONS[0] : title)
  const asked = Array.isArray(given) ? given.map(known) : known(given)
  const isAll = isList && compare === '=' && type.startsWith('multi_') && gen(fc.boolean)
  const connector = gen(() => fc.constantFrom('AND' as const, 'OR' as const))
  return { column: id, compare, connector, ...(asked !== undefined && { value: asked }), ...(isAll && { all: true }) }
}

/** Random conditions as a list or as a tree, and their meaning. */
function conditions(gen: Gen, tried: Tried, isSaved = false) {
  const plain = () => {
    const { connector: _, ...one } = condition(gen, tried, isSaved)
    return one
  }
  const tree = (depth: number): Group | Filter => {
    const kind = gen(() => fc.constantFrom('one', 'all', 'any', 'not'))
    if (kind === 'one' || depth > 3) return plain()
    if (kind === 'not') return { not: tree(depth + 1) }
    const parts = Array.from({ length: gen(fc.integer, { min: 1, max: 3 }) }, () => tree(depth + 1))
    return kind === 'all' ? { all: parts } : { any: parts }
  }
  const filters = Array.from({ length: gen(fc.integer, { min: 0, max: 3 }) }, () => condition(gen, tried, isSaved))
  const [body, meant] = gen(fc.boolean) ? [{ filters }, filters.length ? grouped(filters) : { all: [] }] : withTree(tree(1))
  return { body, holds: (row: Row) => matches(row, meant, tried.types, tried.world) }
}
const withTree = (filter: Group | Filter) => [{ filter }, filter] as const

/** A random order whose first key is linked. */
function order(gen: Gen, { own, ofOne }: Tried, most: number): { body: object; sorts: Sort[] } {
  const sortable = ofOne.filter(({ type }) => SORTABLE.includes(type))
  const keys = gen(() => fc.shuffledSubarray([...sortable, ...own], { minLength: 1, maxLength: Math.min(most, sortable.length) }))
  const sorts = keys.map(({ id, type }) => ({ column: id, type, isDescending: gen(fc.boolean) }))
  return { body: { order: sorts.map(({ column, isDescending }) => ({ field: column, dir: isDescending ? 'D' : 'A' })) }, sorts }
}

const sorted = ({ rows, world }: Tried, holds: (row: Row) => boolean, sorts: Sort[]) =>
  rows.filter(holds).sort((a, b) => compareRows(a, b, sorts, world))

async function tryQuery(gen: Gen, tried: Tried): Promise<void> {
  const { table, types, world } = tried
  const { body, holds } = conditions(gen, tried)
  const { body: ordered, sorts } = order(gen, tried, 3)
  const fields = gen(() => fc.shuffledSubarray([...types.keys()], { minLength: 1 }))
  const asked = { ...body, ...ordered, fields, limit: 1000 }
  const said = JSON.stringify({ zone: world.zone, now: world.now, asked })
  const expected = sorted(tried, holds, sorts).map((row) => Object.fromEntries(['id', ...fields].map((id) => [id, row[id]])))
  expect((await post(`${table.path}/records/query`, asked)).body, said).toEqual(expected)
  const { rows, total } = await app.as(account.keys.account).rpc.records.query.query({ table_id: table.id, ...asked, count: true } as never)
  expect([rows, total], said).toEqual([expected, expected.length])
  expect((await post(`${table.path}/records/count`, body)).body.count, said).toBe(expected.length)
}

/** Pages of an order by linked fields, the records before and after one, and what explain says of it. */
async function tryWalk(gen: Gen, tried: Tried): Promise<void> {
  const { table, world, rows } = tried
  const { body, holds } = conditions(gen, tried)
  const { body: ordered, sorts } = order(gen, tried, 3)
  const said = JSON.stringify({ zone: world.zone, now: world.now, body, ordered })
  const found = sorted(tried, holds, sorts).map(({ id }) => id)
  const limit = gen(fc.integer, { min: 1, max: 5 })
  const walked: number[] = []
  for (let cursor: string | null = ''; cursor !== null; ) {
    const page: Answer = await post(`${table.path}/records/query`, { ...body, ...ordered, limit, cursor, fields: ['own'] })
    walked.push(...page.body.map(({ id }: Row) => id))
    cursor = page.headers.get('x-next-cursor')
  }
  expect(walked, said).toEqual(found)
  const record = gen(() => fc.constantFrom(...rows))
  const neighbours = (await post(`${table.path}/record/${record.id}/neighbours`, { ...body, ...ordered })).body
  const compared = (row: Row) => compareRows(row, record, sorts, world)
  const others = sorted(tried, holds, sorts)
  expect(neighbours, said).toEqual({
    matches: holds(record),
    previous: others.findLast((row) => compared(row) < 0)?.id ?? null,
    next: others.find((row) => compared(row) > 0)?.id ?? null,
  })
  const explained = (await post(`${table.path}/records/explain`, { ...body, ...ordered, record_id: record.id })).body
  expect(explained.record.matches, said).toBe(holds(record))
  const { failed } = explained.record
  if (failed) expect(failed.actual, said).toEqual(record[failed.column])
}

async function tryGroups(gen: Gen, tried: Tried): Promise<void> {
  const { table, ofOne, world } = tried
  const { body, holds } = conditions(gen, tried)
  const found = tried.rows.filter(holds)
  const kinds = Object.keys(COMPARES).filter((type) => !['number', 'time', 'long_text'].includes(type))
  const groupable = ofOne.filter(({ type }) => kinds.includes(type))
  const by = gen(() => fc.shuffledSubarray(groupable, { maxLength: Math.min(2, groupable.length) })).map(({ id, type }) => ({
    column: id,
    type,
    ...(type.startsWith('date') && { unit: gen(() => fc.constantFrom('day', 'week', 'month', 'quarter', 'year')) }),
  }))
  const measures = [{ fn: 'count' }, { fn: 'sum', column: 'own', type: 'number' }]
  const asked = {
    ...body,
    by: by.map(({ column, unit }) => ({ field: column, ...(unit && { unit }) })),
    measures: measures.map(({ fn, column }) => ({ fn, ...(column && { field: column }) })),
    limit: 1000,
  }
  const said = JSON.stringify({ zone: world.zone, now: world.now, asked })
  expect((await post(`${table.path}/records/aggregate`, asked)).body, said).toEqual(aggregateOf(found, by, measures, undefined, world))

  const counted = ofOne.filter(({ type }) => ['select', 'checkbox', 'user', 'date', 'datetime'].includes(type))
  if (!counted.length) return
  const { id, type } = gen(() => fc.constantFrom(...counted))
  const groups = (await post(`${table.path}/records/groups`, { ...body, by: id })).body
  expect(groups, `${said} by ${id}`).toEqual(groupsOf(found, id, type, 'day', world))
}

/** A board by a linked field is the queries of its columns. */
async function tryBoard(gen: Gen, tried: Tried): Promise<void> {
  const { table, ofOne, world } = tried
  const columned = ofOne.filter(({ type }) => ['select', 'checkbox', 'user', 'lookup'].includes(type))
  if (!columned.length) return
  const { id, type } = gen(() => fc.constantFrom(...columned))
  const { body, holds } = conditions(gen, tried)
  const { body: ordered, sorts } = order(gen, tried, 2)
  const found = sorted(tried, holds, sorts)
  const asked = { ...body, ...ordered, by: id, per_group: 100, fields: [id] }
  const said = JSON.stringify({ zone: world.zone, now: world.now, asked })
  const expected = groupsOf(found, id, type, undefined, world).map((group) => ({
    ...group,
    rows: found.filter((row) => JSON.stringify(row[id]) === JSON.stringify(group.value)).map((row) => ({ id: row.id, [id]: row[id] })),
  }))
  expect((await post(`${table.path}/records/board`, asked)).body, said).toEqual(expected)
}

interface Saved {
  id: number
  holds: (row: Row) => boolean
  sorts: Sort[]
  said: string
}

/** Saves a view, before the clock is set, because the session would have expired then. */
async function savedView(gen: Gen, tried: Tried, name: string): Promise<Saved> {
  const { body, holds } = conditions(gen, tried, true)
  const { body: ordered, sorts } = order(gen, tried, 3)
  const view = await app.as(account.owner).post(`${tried.table.path}/views/create`, { name, type: 'grid', ...body, ...ordered })
  expect(view.status, JSON.stringify([view.body, body])).toBe(200)
  return { id: view.body.id, holds, sorts, said: JSON.stringify({ body, ordered }) }
}

async function tryView(gen: Gen, tried: Tried, { id, holds, sorts, said }: Saved): Promise<void> {
  const ids = async (body: object) =>
    (await post(`${tried.table.path}/records/query`, { view_id: id, ...body, fields: ['own'], limit: 1000 })).body.map((row: Row) => row.id)
  const expected = sorted(tried, holds, sorts)
  expect(await ids({}), said).toEqual(expected.map((row) => row.id))
  const more = conditions(gen, tried)
  expect(await ids({ ...more.body, append_filters: true }), said).toEqual(expected.filter(more.holds).map((row) => row.id))
}

// Each in a test of its own, whose time limit it does not share with the others.
test.each(Array.from({ length: TABLES }, (_, run) => run))(
  `every query of linked fields answers what plain JavaScript answers (seed ${SEED}, run %i)`,
  async (run) => {
    await fc.assert(
      fc.asyncProperty(
        fc.uniqueArray(fc.constantFrom(...Object.keys(COMPARES)), FIELD_COUNT),
        fc.constantFrom('UTC', 'Europe/Berlin', 'Pacific/Kiritimati', 'America/New_York'),
        fc.constantFrom('2026-03-29T01:00:00Z', '2024-02-29T12:00:00Z', '2026-12-31T23:59:59Z').map((at) => new Date(at)),
        fc.gen(),
        async (chosen, zone, now, gen) => {
          const tried = await made(gen, chosen, { zone, now, me: account.owner, options: OPTIONS })
          const views: Saved[] = []
          for (const name of ['One', 'Two', 'Three']) views.push(await savedView(gen, tried, name))
          await app.db.prisma.user.update({ where: { id: account.owner.id }, data: { timezone: zone } })
          app.setClock(now)
          try {
            for (let query = 0; query < QUERIES; query++) await tryQuery(gen, tried)
            for (let query = 0; query < QUERIES / 2; query++) await tryWalk(gen, tried)
            for (let query = 0; query < QUERIES / 2; query++) await tryGroups(gen, tried)
            for (let query = 0; query < QUERIES / 2; query++) await tryBoard(gen, tried)
            for (const view of views) await tryView(gen, tried, view)
          } finally {
            app.setClock(null)
          }
        },
      ),
      { seed: SEED, path: String(run), numRuns: 1, endOnFailure: true },
    )
  },
)
