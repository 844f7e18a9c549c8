/**
 * Compares the answers to random tables, records, clocks, zones, conditions, orders and walks with plain JavaScript over the same rows
 * (support/reference.ts). On failure the seed is printed.
 */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Compare } from '../src/fields/compares.ts'
import { type FieldType, TYPES } from '../src/fields/registry.ts'
import { recordsOf, sql } from '../src/platform/database/database.ts'
import { aggregateOf } from './support/aggregate-model.ts'
import { type Answer, type TestAccount, testApp } from './support/app.ts'
import { COMPARES, cellsOf, OPTIONS, SORTABLE, valueFor, words } from './support/random-cells.ts'
import {
  compareRows,
  type Filter,
  type Group,
  grouped,
  groupsOf,
  isFound,
  matches,
  type Row,
  type Sort,
  type World,
} from './support/reference.ts'

const SEED = 20261120
const TABLES = 18
const QUERIES = 12

const app = await testApp()

// ── random inputs ───────────────────────────────────────────────────────────

const ZONES = [
  'UTC',
  'Europe/Berlin',
  'Asia/Kathmandu',
  'Australia/Lord_Howe',
  'Pacific/Kiritimati',
  'Etc/GMT+12',
  'Pacific/Apia',
  'Africa/Cairo',
  'America/New_York',
]
/** Ordinary days, clock changes, a day that Apia skipped, a day without midnight in Cairo, and a leap day. */
const MOMENTS = [
  '2011-12-30T10:00:00Z',
  '2026-03-29T01:00:00Z',
  '2026-04-23T22:00:00Z',
  '2026-04-04T15:00:00Z',
  '2024-02-29T12:00:00Z',
  '2026-10-25T01:00:00Z',
  '2026-12-31T23:59:59Z',
]

const NAMES = [
  'Select',
  'From',
  'Name',
  'Email',
  'Title',
  'Status',
  'User',
  'Order',
  'Größe',
  'A "quoted" name',
  'xmin',
  'Limit',
  'Created',
  '住所',
]

async function post(account: TestAccount, path: string, body: object): Promise<Answer> {
  const answer = await app.as(account.keys.account).post(path, body)
  expect(answer.status, `${path} ${JSON.stringify(body)} → ${JSON.stringify(answer.body)}`).toBe(200)
  return answer
}

type Gen = fc.GeneratorValue

/** The table of one run, and the functions that query its records. */
interface Tried {
  account: TestAccount
  path: string
  own: { id: string; type: string }[]
  types: Map<string, string>
  world: World
  filter: (gen: Gen) => Filter
  record: (gen: Gen) => object
}

const everyRow = async ({ account, path }: Tried): Promise<Row[]> => (await post(account, `${path}/records/query`, { limit: 1000 })).body

/** Returns conditions in a random form, and their meaning. */
function conditions(gen: Gen, { filter, types, world }: Tried) {
  const filters = Array.from({ length: gen(fc.integer, { min: 0, max: 4 }) }, () => filter(gen))
  const nested = (depth: number): Group => {
    if (gen(fc.integer, { min: 0, max: 3 }) === 0) return { not: depth < 3 && gen(fc.boolean) ? nested(depth + 1) : plain(filter(gen)) }
    const parts = Array.from({ length: gen(fc.integer, { min: 0, max: 3 }) }, () =>
      depth < 3 && gen(fc.boolean) ? nested(depth + 1) : plain(filter(gen)),
    )
    return gen(fc.boolean) ? { all: parts } : { any: parts }
  }
  const group = [nested(1), plain(filter(gen)), undefined, undefined, undefined][gen(fc.integer, { min: 0, max: 4 })]
  const one = gen(fc.integer, { min: 0, max: 3 }) === 0 ? plain(filter(gen)) : undefined
  const isShort = one && one.value !== undefined && !Array.isArray(one.value)
  const search = gen(() => fc.option(words, { nil: '', freq: 3 }))
  const body = {
    filters,
    search,
    ...(group && { filter: group }),
    ...(isShort && { where: { [one.column]: [one.compare, one.value] } }),
  }
  const tree: Group = {
    all: [...(filters.length ? [grouped(filters)] : []), ...(group ? [group] : []), ...(body.where && one ? [one] : [])],
  }
  return { body, holds: (row: Row) => matches(row, tree, types, world) && isFound(row, search, types) }
}

const plain = ({ connector: _, ...filter }: Filter): Filter => filter

/** Returns an order in either form, and its meaning. */
function order(gen: Gen, { own }: Tried, most: number): { body: object; sorts: Sort[] } {
  const sortable = [...own.filter(({ type }) => SORTABLE.includes(type)), { id: 'id', type: 'number' }]
  const chosen = gen(() => fc.shuffledSubarray(sortable, { maxLength: Math.min(most, sortable.length) }))
  const sorts = chosen.map(({ id, type }) => ({
    ...{ column: id, type, isDescending: gen(fc.boolean) },
    ...{ nulls: gen(() => fc.constantFrom(undefined, undefined, 'first', 'last')) },
  }))
  const [only] = sorts
  const dir = ({ isDescending }: Sort) => (isDescending ? 'D' : 'A')
  if (only && sorts.length === 1 && !only.nulls && gen(fc.boolean)) return { body: { order_by: only.column, order_dir: dir(only) }, sorts }
  return {
    body: sorts.length
      ? { order: sorts.map((sort) => ({ field: sort.column, dir: dir(sort), ...(sort.nulls && { nulls: sort.nulls }) })) }
      : {},
    sorts,
  }
}

async function tryQuery(gen: Gen, tried: Tried, rows: Row[]): Promise<void> {
  const { account, path, world } = tried
  const { body, holds } = conditions(gen, tried)
  const { body: ordered, sorts } = order(gen, tried, 3)
  const said = JSON.stringify({ zone: world.zone, now: world.now, body, ordered })
  const expected = rows.filter(holds).sort((a, b) => compareRows(a, b, sorts, world))
  const [limit, offset] = gen(fc.boolean) ? [1000, 0] : [gen(fc.integer, { min: 1, max: 5 }), gen(fc.integer, { min: 0, max: 8 })]

  const answer = await post(account, `${path}/records/query`, { ...body, ...ordered, limit, offset, count: true })
  expect(answer.body, said).toEqual(expected.slice(offset, offset + limit))
  expect(answer.headers.get('x-total-count'), said).toBe(String(expected.length))
}

async function tryGroups(gen: Gen, tried: Tried, rows: Row[]): Promise<void> {
  const { account, path, own, world } = tried
  const { body, holds } = conditions(gen, tried)
  const expected = rows.filter(holds)
  const counted = await post(account, `${path}/records/count`, body)
  expect(counted.body, JSON.stringify(body)).toMatchObject({ count: expected.length, total: rows.length })

  const groupable = own.filter(({ type }) => ['select', 'checkbox', 'user', 'date', 'datetime'].includes(type))
  if (!groupable.length) return
  const { id, type } = gen(() => fc.constantFrom(...groupable))
  const unit = type.startsWith('date') ? gen(() => fc.constantFrom('day', 'week', 'month')) : undefined
  const groups = await post(account, `${path}/records/groups`, { ...body, by: id, ...(unit && { unit }) })
  expect(groups.body, JSON.stringify({ zone: world.zone, by: type, unit, body })).toEqual(groupsOf(expected, id, type, unit, world))
}

/** Asks for the neighbours of a record that is often not in the query. */
async function tryNeighbours(gen: Gen, tried: Tried, rows: Row[]): Promise<void> {
  const { account, path, world } = tried
  const { body, holds } = conditions(gen, tried)
  const { body: ordered, sorts } = order(gen, tried, 3)
  const record = gen(() => fc.constantFrom(...rows))
  const found = rows.filter(holds).sort((a, b) => compareRows(a, b, sorts, world))
  const before = found.filter((row) => compareRows(row, record, sorts, world) < 0)
  const answer = await post(account, `${path}/record/${record.id}/neighbours`, { ...body, ...ordered, position: true })
  expect(answer.body, JSON.stringify({ zone: world.zone, now: world.now, body, ordered, record })).toEqual({
    matches: holds(record),
    previous: before.at(-1)?.id ?? null,
    next: found.find((row) => compareRows(row, record, sorts, world) > 0)?.id ?? null,
    position: before.length,
    total: found.length,
  })
}

/** A board is the queries of its columns: the values that rows have, in the order of the field, and those that are always listed. */
async function tryBoard(gen: Gen, tried: Tried, rows: Row[]): Promise<void> {
  const { account, path, own, world } = tried
  const columned = own.filter(({ type }) => ['select', 'checkbox', 'user', 'lookup'].includes(type))
  if (!columned.length) return
  const { id, type } = gen(() => fc.constantFrom(...columned))
  const { body, holds } = conditions(gen, tried)
  const { body: ordered, sorts } = order(gen, tried, 3)
  const found = rows.filter(holds).sort((a, b) => compareRows(a, b, sorts, world))
  const per_group = gen(fc.integer, { min: 1, max: 4 })
  const asked = { ...body, ...ordered, by: id, per_group }
  const said = JSON.stringify({ zone: world.zone, now: world.now, asked })
  const columns = (await post(account, `${path}/records/board`, asked)).body
  const shown = columns.map(({ value, count }: { value: unknown; count: number }) => ({ value, count }))
  expect(shown, said).toEqual(groupsOf(found, id, type, undefined, world))
  for (let column of columns) {
    const expected = found.filter((row) => JSON.stringify(row[id]) === JSON.stringify(column.value))
    for (let at = 0; ; at += per_group) {
      expect(column.rows, said).toEqual(expected.slice(at, at + per_group))
      if (column.next_cursor === undefined) break
      column = (await post(account, `${path}/records/board`, { ...asked, cursor: column.next_cursor })).body[0]
    }
    expect(column.rows.at(-1), said).toEqual(expected.at(-1))
  }
}

/** The types that records/aggregate groups by, and the measures of a type. */
const GROUPABLE = Object.keys(COMPARES).filter((type) => !['number', 'time', 'long_text'].includes(type))
const MEASURES: Record<string, string[]> = {
  number: ['sum', 'avg', 'median', 'min', 'max'],
  date: ['min', 'max'],
  datetime: ['min', 'max'],
  time: ['min', 'max'],
  checkbox: ['checked'],
}

async function tryAggregate(gen: Gen, tried: Tried, rows: Row[]): Promise<void> {
  const { account, path, own, world } = tried
  const { body, holds } = conditions(gen, tried)
  const groupable = own.filter(({ type }) => GROUPABLE.includes(type))
  const by = gen(() => fc.shuffledSubarray(groupable, { maxLength: Math.min(2, groupable.length) })).map(({ id, type }) => ({
    column: id,
    type,
    ...(type.startsWith('date') && { unit: gen(() => fc.constantFrom('day', 'week', 'month', 'quarter', 'year')) }),
  }))
  const measures = Array.from({ length: gen(fc.integer, { min: 1, max: 5 }) }, () => {
    const { id, type } = gen(() => fc.constantFrom(...own))
    const distinct = type.startsWith('multi_') ? [] : ['distinct']
    const fn = gen(() => fc.constantFrom('count', 'filled', 'empty', ...distinct, ...(MEASURES[type] ?? [])))
    return fn === 'count' ? { fn } : { fn, column: id, type }
  })
  const order = gen(() =>
    fc.option(fc.record({ measure: fc.nat(measures.length - 1), dir: fc.constantFrom('A', 'D') }), { nil: undefined }),
  )
  const limit = gen(() => fc.constantFrom(2, 1000))
  const expected = aggregateOf(rows.filter(holds), by, measures, order, world)
  const asked = {
    ...body,
    by: by.map(({ column, unit }) => ({ field: column, ...(unit && { unit }) })),
    measures: measures.map(({ fn, column }) => ({ fn, ...(column && { field: column }) })),
    ...(order && { order }),
    limit,
  }
  const answer = await post(account, `${path}/records/aggregate`, asked)
  const said = JSON.stringify({ zone: world.zone, asked })
  expect(answer.body, said).toEqual(expected.slice(0, limit))
  expect(answer.headers.get('x-total-count'), said).toBe(String(expected.length))
}

/**
 * Returns a saved view, and the same query ad hoc. The view is saved before the clock is set, because the session would have expired then.
 */
async function savedQuery(gen: Gen, tried: Tried, name: string, keys: number) {
  const { account, path, types, world } = tried
  const { filters, filter } = conditions(gen, { ...tried, filter: (each) => savable(tried, tried.filter(each)) }).body
  const { body: ordered, sorts } = order(gen, tried, keys)
  const adHoc = { ...(filter ? { filter } : { filters }), ...ordered }
  const view = await app.as(account.owner).post(`${path}/views/create`, { name, type: 'grid', ...adHoc })
  expect(view.status, JSON.stringify(view.body)).toBe(200)
  const tree = filter ?? (filters.length ? grouped(filters) : { all: [] })
  return { sorts, adHoc, view: { view_id: view.body.id }, holds: (row: Row) => matches(row, tree, types, world) }
}

/** A view is refused with the title of an option that does not exist, so such a title is replaced. */
function savable({ types }: Tried, filter: Filter): Filter {
  const isTitle = TYPES[types.get(filter.column) as FieldType]?.compares[filter.compare as Compare]?.isOptionTitle
  const known = (title: unknown) => (OPTIONS.includes(title as string) ? title : OPTIONS[0])
  return isTitle ? { ...filter, value: Array.isArray(filter.value) ? filter.value.map(known) : known(filter.value) } : filter
}
type Saved = Awaited<ReturnType<typeof savedQuery>>

async function trySaved(gen: Gen, tried: Tried, rows: Row[], { sorts, adHoc, view, holds }: Saved): Promise<void> {
  const { account, path, world } = tried
  const said = JSON.stringify({ zone: world.zone, now: world.now, adHoc })
  const ask = async (body: object) => (await post(account, `${path}/records/query`, { ...body, limit: 1000 })).body
  const expected = rows.filter(holds).sort((a, b) => compareRows(a, b, sorts, world))
  expect(await ask(view), said).toEqual(expected)
  expect(await ask(adHoc), said).toEqual(expected)
  expect((await post(account, `${path}/records/count`, view)).body, said).toMatchObject({ count: expected.length, total: rows.length })

  const own = conditions(gen, tried)
  const appended = await ask({ ...view, ...own.body, append_filters: true })
  expect(appended, JSON.stringify({ said, own: own.body })).toEqual(expected.filter(own.holds))
}

/** Walks by cursor while records are created and deleted: each page follows the last row that was seen. */
async function tryWalk(gen: Gen, tried: Tried, { sorts, adHoc, view, holds }: Saved): Promise<void> {
  const { account, path, world } = tried
  const query = gen(fc.boolean) ? view : adHoc
  const limit = gen(fc.integer, { min: 1, max: 6 })

  let last: Row | undefined
  for (let cursor: string | null = ''; cursor !== null; ) {
    const following = (await everyRow(tried))
      .filter(holds)
      .filter((row) => last === undefined || compareRows(row, last, sorts, world) > 0)
      .sort((a, b) => compareRows(a, b, sorts, world))
    const page: Answer = await post(account, `${path}/records/query`, { ...query, limit, cursor })
    const said = JSON.stringify({ zone: world.zone, now: world.now, adHoc, last })
    expect(page.body, said).toEqual(following.slice(0, limit))
    cursor = page.headers.get('x-next-cursor')
    expect(cursor !== null, said).toBe(following.length > limit)
    last = page.body.at(-1)
    if (cursor === null) break
    // The row at the end of the page may be deleted like any other; fewer are created than deleted, so that the walk ends.
    const gone = gen(() =>
      fc.subarray(
        following.slice(0, limit + 2).map(({ id }) => id),
        { minLength: 1 },
      ),
    )
    await post(account, `${path}/records/delete_batch`, { record_ids: gone })
    await post(account, `${path}/records/create`, { data: tried.record(gen) })
  }
}

// Each in a test of its own, whose time limit it does not share with the others.
test.each(Array.from({ length: TABLES }, (_, run) => run))(
  `every accepted query answers what plain JavaScript answers (seed ${SEED}, run %i)`,
  async (run) => {
    const account = await app.account()
    const people = [account.owner, account.member, account.viewer]
    const make = async (path: string, body: object) => (await post(account, path, body)).body
    const targetTable = (
      await make(`/api/space/${account.space}/tables/create`, { name: 'Targets', fields: [{ name: 'Name', type: 'text' }] })
    ).id
    const titles = ['Berlin', 'berlin 50%', 'x_y', null, "O'Neil", 'gone']
    const made = await make(`/api/table/${targetTable}/records/create_batch`, { records: titles.map((name) => ({ data: { name } })) })
    const targets: number[] = made.map(({ id }: { id: number }) => id)
    const goneResource = targets.at(-1) as number

    const types = fc.uniqueArray(fc.constantFrom(...Object.keys(COMPARES)), { minLength: 3, maxLength: 9 })
    await fc.assert(
      fc.asyncProperty(
        types,
        fc.constantFrom(...ZONES),
        fc.oneof(
          fc.constantFrom(...MOMENTS).map((at) => new Date(at)),
          fc.date({ min: new Date('2020-01-01'), max: new Date('2030-01-01'), noInvalidDate: true }),
        ),
        fc.gen(),
        async (chosen, zone, now, gen) => {
          const world: World = { zone, now, me: account.owner, options: OPTIONS }
          const cells = cellsOf(world, people, targets)
          const names = gen(() => fc.shuffledSubarray(NAMES, { minLength: chosen.length, maxLength: chosen.length }))
          const fields = chosen.map((type, index) => ({
            type,
            name: names[index],
            ...(type.endsWith('select') && { options: OPTIONS }),
            ...(type.endsWith('lookup') && { table: targetTable }),
          }))
          const table = await make(`/api/space/${account.space}/tables/create`, { name: 'Table', fields })
          const own: { id: string; type: string }[] = table.fields.filter((field: { key?: true; calc?: true }) => !field.key && !field.calc)
          const tried: Tried = {
            account,
            path: `/api/table/${table.id}`,
            own,
            types: new Map(own.map(({ id, type }) => [id, type])),
            world,
            filter: (gen) => {
              const { id, type } = gen(() => fc.constantFrom(...own))
              const compare = gen(() => fc.constantFrom(...(COMPARES[type] as string[])))
              const one = valueFor(type, compare, cells, people)
              const isList = ['=', '!='].includes(compare) && type !== 'checkbox' && gen(fc.integer, { min: 0, max: 2 }) === 0
              const value = gen(() => (isList ? fc.array(one, { minLength: 1, maxLength: 4 }) : one))
              const isAll = isList && compare === '=' && type.startsWith('multi_') && gen(fc.boolean)
              const connector = gen(() => fc.constantFrom('AND' as const, 'OR' as const))
              return { column: id, compare, connector, ...(value !== undefined && { value }), ...(isAll && { all: true }) }
            },
            record: (gen) =>
              Object.fromEntries(
                own
                  .filter(({ type }) => !type.endsWith('lookup'))
                  .map(({ id, type }) => [id, gen(() => fc.option(cells[type] as fc.Arbitrary<unknown>, { freq: 4 }))]),
              ),
          }
          const lookups = (gen: Gen) =>
            Object.fromEntries(
              own
                .filter(({ type }) => type.endsWith('lookup'))
                .map(({ id, type }) => [id, gen(() => fc.option(cells[type] as fc.Arbitrary<unknown>, { freq: 4 }))]),
            )

          // Compares with the rows from before one of the lookup targets was deleted.
          await make(`${tried.path}/records/create_batch`, {
            records: Array.from({ length: gen(fc.integer, { min: 1, max: 20 }) }, () => ({
              data: { ...tried.record(gen), ...lookups(gen) },
            })),
          })
          const walked = await savedQuery(gen, tried, 'Walked', 3)
          const views: Saved[] = []
          for (const name of ['One', 'Two', 'Three']) views.push(await savedQuery(gen, tried, name, 3))
          await app.db.write(sql`delete from ${recordsOf(targetTable)} where id = ${goneResource}`)
          await app.db.prisma.user.update({ where: { id: account.owner.id }, data: { timezone: zone } })
          app.setClock(now)
          try {
            const rows = await everyRow(tried)
            for (let query = 0; query < QUERIES; query++) await tryQuery(gen, tried, rows)
            for (let query = 0; query < QUERIES / 4; query++) await tryGroups(gen, tried, rows)
            for (let query = 0; query < QUERIES; query++) await tryNeighbours(gen, tried, rows)
            for (let query = 0; query < QUERIES / 2; query++) await tryAggregate(gen, tried, rows)
            for (let query = 0; query < QUERIES / 2; query++) await tryBoard(gen, tried, rows)
            for (const saved of views) await trySaved(gen, tried, rows, saved)
            await tryWalk(gen, tried, walked)
          } finally {
            app.setClock(null)
          }
        },
      ),
      { seed: SEED, path: String(run), numRuns: 1, endOnFailure: true },
    )
  },
)
