/**
 * Random tables, records, clocks, zones and filters: what a query answers is what plain JavaScript says of the same rows.
 * The reference reads rows as callers do, knows nothing of SQL, and takes local dates from Intl.
 */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { type TestAccount, testApp } from './support/app.ts'

const SEED = 20261120
const TABLES = 24
const QUERIES = 14

const app = await testApp()

type Row = { id: number } & Record<string, unknown>
interface Filter {
  column: string
  compare: string
  value?: unknown
  connector?: 'AND' | 'OR'
}
interface World {
  zone: string
  now: Date
  me: { id: number; email: string }
  options: string[]
}

// ── the reference ───────────────────────────────────────────────────────────

const lower = (text: string) => text.toLowerCase()

/** By code points, as UTF-8 sorts; JavaScript's own order is by halves of surrogate pairs. */
function compareText(a: string, b: string): number {
  const [left, right] = [[...a], [...b]]
  for (let at = 0; at < Math.min(left.length, right.length); at++) {
    const difference = (left[at]?.codePointAt(0) ?? 0) - (right[at]?.codePointAt(0) ?? 0)
    if (difference) return difference
  }
  return left.length - right.length
}

const localDate = (utc: string, zone: string) =>
  new Intl.DateTimeFormat('sv-SE', { timeZone: zone, dateStyle: 'short' }).format(new Date(`${utc.replace(' ', 'T')}Z`))
const shift = (date: string, days: number) => new Date(Date.parse(date) + days * 86_400_000).toISOString().slice(0, 10)
const utc = (instant: Date) => instant.toISOString().slice(0, 19).replace('T', ' ')

/** The few tokens that the test uses: as a date, or as an instant. */
function meaning(value: string, { now, zone }: World): string {
  const today = localDate(utc(now), zone)
  if (value === 'now') return utc(now)
  if (value === 'today') return today
  if (value === 'start_of_month') return `${today.slice(0, 8)}01`
  const [, count, step] = /^([+-]\d+)([dh])$/.exec(value) ?? []
  if (step === 'd') return shift(today, Number(count))
  if (step === 'h') return utc(new Date(now.getTime() + Number(count) * 3_600_000))
  return value
}

function orders(compare: string, difference: number): boolean {
  const held: Record<string, boolean> = {
    '=': difference === 0,
    '>': difference > 0,
    '<': difference < 0,
    '>=': difference >= 0,
    '<=': difference <= 0,
  }
  return held[compare] as boolean
}

function hasPart(compare: string, whole: string, part: string): boolean {
  const [text, wanted] = [lower(whole), lower(part)]
  if (compare === 'starts_with') return text.startsWith(wanted)
  return compare === 'ends_with' ? text.endsWith(wanted) : text.includes(wanted)
}

const isPart = (compare: string) => ['contains', 'starts_with', 'ends_with'].includes(compare)
type Person = { id: number; email: string; name: string }

/** Whether one filter holds for a cell, as contract.md §5 says. */
function holds(type: string, cell: unknown, { compare, value }: Filter, world: World): boolean {
  const isEmpty = cell === null || (Array.isArray(cell) && cell.length === 0)
  if (compare === 'is_empty') return isEmpty
  if (compare === 'is_not_empty') return !isEmpty
  if (compare === '!=') return !holds(type, cell, { column: '', compare: '=', value }, world)
  if (type === 'checkbox') return cell === value
  if (isEmpty) return false
  switch (type) {
    case 'text':
    case 'long_text':
    case 'email':
    case 'url':
    case 'phone':
      if (isPart(compare)) return hasPart(compare, cell as string, value as string)
      if (compare === '=') return cell === value
      return orders(compare, compareText(lower(cell as string), lower(value as string)))
    case 'number':
      return compare === 'contains' ? String(cell).includes(String(value)) : orders(compare, (cell as number) - Number(value))
    case 'date':
      return orders(compare, compareText(cell as string, dateOf(meaning(value as string, world), world)))
    case 'datetime': {
      const asked = meaning(value as string, world)
      return orders(compare, compareText(asked.length === 10 ? localDate(cell as string, world.zone) : (cell as string), asked))
    }
    case 'time':
      return orders(compare, compareText((cell as string).slice(0, (value as string).length), value as string))
    case 'select':
      return isPart(compare) ? hasPart(compare, cell as string, value as string) : cell === value
    case 'multi_select':
      return (cell as string[]).includes(value as string)
    case 'user':
      return isPerson(cell as Person, compare, value, world)
    case 'multi_user':
      return (cell as Person[]).some((person) => isPerson(person, '=', value, world))
    case 'lookup': {
      const { id, title } = cell as { id: number; title: string | null }
      return isPart(compare) ? title !== null && hasPart(compare, title, value as string) : id === value
    }
    case 'multi_lookup':
      return (cell as { id: number }[]).some(({ id }) => id === value)
    default:
      throw new Error(type)
  }
}

const dateOf = (text: string, { zone }: World) => (text.length === 10 ? text : localDate(text, zone))

function isPerson({ id, email, name }: Person, compare: string, value: unknown, { me }: World): boolean {
  const asked = value === '@me' ? me.email : value
  if (isPart(compare)) return hasPart(compare, name, asked as string) || hasPart(compare, email, asked as string)
  return typeof asked === 'number' ? id === asked : email === lower(asked as string)
}

/** AND binds tighter than OR: any group in which all hold. */
function matches(row: Row, filters: Filter[], types: Map<string, string>, world: World): boolean {
  const groups: Filter[][] = [[]]
  for (const [index, filter] of filters.entries()) {
    if (index > 0 && filter.connector === 'OR') groups.push([])
    groups.at(-1)?.push(filter)
  }
  return groups.some((group) => group.every((filter) => holds(types.get(filter.column) ?? '', row[filter.column], filter, world)))
}

const SEARCHED = new Set(['text', 'long_text', 'email', 'url', 'phone', 'select'])

function isFound(row: Row, search: string, types: Map<string, string>): boolean {
  const texts = [...types].filter(([, type]) => SEARCHED.has(type)).flatMap(([id]) => (row[id] === null ? [] : lower(row[id] as string)))
  return search.split(/\s+/).every((word) => word === '' || texts.some((text) => hasWord(text, lower(word))))
}

function hasWord(text: string, word: string): boolean {
  if ([...word].length > 2) return text.includes(word)
  const characters = [...text]
  return characters.some((_, at) => characters.slice(at).join('').startsWith(word) && !/[\p{L}\p{N}]/u.test(characters[at - 1] ?? ' '))
}

/** What a cell sorts by; null is smallest. */
function sortKey(type: string, cell: unknown, { options }: World): string | number | null {
  if (type === 'checkbox') return cell === true ? 1 : 0
  if (cell === null) return null
  if (type === 'number') return cell as number
  if (type === 'select') return options.indexOf(cell as string)
  if (type === 'user') return lower((cell as Person).name)
  if (type === 'lookup') return (cell as { title: string | null }).title === null ? null : lower((cell as { title: string }).title)
  return SEARCHED.has(type) ? lower(cell as string) : (cell as string)
}

function compareRows(a: Row, b: Row, column: string, type: string, world: World): number {
  const [left, right] = [sortKey(type, a[column], world), sortKey(type, b[column], world)]
  if (left !== right) {
    if (left === null) return -1
    if (right === null) return 1
    const difference = typeof left === 'number' ? left - (right as number) : compareText(left, right as string)
    if (difference) return difference
  }
  return a.id - b.id
}

// ── what is tried ───────────────────────────────────────────────────────────

const ORDER = ['>', '<', '>=', '<=']
const PARTS = ['contains', 'starts_with', 'ends_with']
const EMPTY = ['is_empty', 'is_not_empty']
const TEXT = ['=', '!=', ...ORDER, ...PARTS, ...EMPTY]
const COMPARES: Record<string, string[]> = {
  text: TEXT,
  long_text: TEXT,
  email: TEXT,
  url: TEXT,
  phone: TEXT,
  number: ['=', '!=', ...ORDER, 'contains', ...EMPTY],
  checkbox: ['=', '!='],
  date: ['=', '!=', ...ORDER, ...EMPTY],
  datetime: ['=', '!=', ...ORDER, ...EMPTY],
  time: ['=', '!=', ...ORDER, ...EMPTY],
  select: ['=', '!=', ...PARTS, ...EMPTY],
  multi_select: ['=', '!=', 'contains', ...EMPTY],
  user: ['=', '!=', ...PARTS, ...EMPTY],
  multi_user: ['=', '!=', 'contains', ...EMPTY],
  lookup: ['=', '!=', ...PARTS, ...EMPTY],
  multi_lookup: ['=', '!=', 'contains', ...EMPTY],
}
const SORTABLE = Object.keys(COMPARES).filter((type) => !type.startsWith('multi_'))

const OPTIONS = ['Open', 'open now', 'Ähnlich 10%', "O'Neil", 'x_y']
/** Characters that SQL, LIKE, regular expressions or case mapping could trip over. */
const letters = fc.constantFrom(...'abABzÄäÉé%_\\\'"`;-.*()[]{}^$?+|/ 019Ω語😀'.split(''), '😀', '語', ' ', ' ', '--', '\\')
const text = fc.array(letters, { minLength: 0, maxLength: 6 }).map((parts) => parts.join('').toWellFormed().replaceAll('�', ''))
const words = fc
  .array(
    fc.array(letters, { minLength: 1, maxLength: 4 }).map((parts) => parts.join('')),
    { maxLength: 2 },
  )
  .map((list) => list.join(' ').toWellFormed().replaceAll('�', ''))

function cellsOf({ now }: World, people: Person[], targets: number[]): Record<string, fc.Arbitrary<unknown>> {
  const number = fc.oneof(
    fc.integer({ min: -20, max: 20 }),
    fc.integer({ min: -2000, max: 2000 }).map((n) => n / 100),
  )
  const near = fc.integer({ min: -3 * 86_400, max: 3 * 86_400 }).map((seconds) => utc(new Date(now.getTime() + seconds * 1000)))
  const email = fc.constantFrom(...people.map((person) => person.email))
  const target = fc.constantFrom(...targets)
  return {
    text,
    long_text: text,
    email: text,
    url: text,
    phone: text,
    number,
    checkbox: fc.boolean(),
    date: near.map((instant) => instant.slice(0, 10)),
    datetime: near,
    time: fc.integer({ min: 0, max: 86_399 }).map((seconds) => new Date(seconds * 1000).toISOString().slice(11, 19)),
    select: fc.constantFrom(...OPTIONS),
    multi_select: fc.uniqueArray(fc.constantFrom(...OPTIONS), { maxLength: 3 }),
    user: email,
    multi_user: fc.uniqueArray(email, { maxLength: 2 }),
    lookup: target,
    multi_lookup: fc.uniqueArray(target, { maxLength: 2 }),
  }
}

function valueFor(type: string, compare: string, cells: Record<string, fc.Arbitrary<unknown>>, people: Person[]): fc.Arbitrary<unknown> {
  const cell = cells[type] as fc.Arbitrary<unknown>
  const tokens = fc.constantFrom('today', 'now', 'start_of_month', '-1d', '+2d', '-5h', '+30h')
  if (EMPTY.includes(compare)) return fc.constant(undefined)
  if (type === 'number' && compare === 'contains') return fc.constantFrom('1', '.', '-', '25', 0, 1.5)
  if (type === 'number') return fc.oneof(cell, cell.map(String))
  if (type === 'date') return fc.oneof(cell, tokens)
  if (type === 'datetime')
    return fc.oneof(
      cell,
      tokens,
      cell.map((instant) => (instant as string).slice(0, 10)),
      cell.map((instant) => `${(instant as string).replace(' ', 'T')}Z`),
    )
  if (type === 'time')
    return fc.oneof(
      cell,
      cell.map((time) => (time as string).slice(0, 5)),
    )
  if (type === 'select' && PARTS.includes(compare)) return fc.constantFrom('o', 'OPEN', 'ä', '%', '_', "'", '', 'now', 'zzz')
  if (type === 'multi_select' || type === 'select') return fc.constantFrom(...OPTIONS, 'No such', '')
  if (type === 'user' && PARTS.includes(compare)) return fc.constantFrom('max', 'OLGA', '@example', '@me', '%', 'member', 'a', '')
  if (type === 'user' || type === 'multi_user')
    return fc.constantFrom(
      '@me',
      'nobody@example.com',
      1_999_999_999,
      ...people.flatMap(({ id, email }) => [id, email, email.toUpperCase()]),
    )
  if (type === 'lookup' && PARTS.includes(compare)) return text
  if (type.endsWith('lookup')) return fc.oneof(cells.lookup as fc.Arbitrary<unknown>, fc.constant(1_999_999_999))
  return cell
}

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
/** Beside ordinary days: clock changes, a day that Apia left out, a day without midnight in Cairo, a leap day. */
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

async function post(account: TestAccount, path: string, body: object) {
  const answer = await app.as(account.keys.account).post(path, body)
  expect(answer.status, `${path} ${JSON.stringify(body)} → ${JSON.stringify(answer.body)}`).toBe(200)
  return answer.body
}

test(`whatever is accepted answers what plain JavaScript answers (seed ${SEED})`, { timeout: 60_000 }, async () => {
  const account = await app.account()
  const people = [account.owner, account.member, account.viewer]
  const targetTable = (
    await post(account, `/api/space/${account.space}/tables/create`, { name: 'Targets', fields: [{ name: 'Name', type: 'text' }] })
  ).id
  const titles = ['Berlin', 'berlin 50%', 'x_y', null, "O'Neil", 'gone']
  const made = await post(account, `/api/table/${targetTable}/records/create_batch`, {
    records: titles.map((name) => ({ data: { name } })),
  })
  const targets: number[] = made.map(({ id }: { id: number }) => id)
  const goneTarget = targets.at(-1) as number

  let tried = 0
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
        const table = await post(account, `/api/space/${account.space}/tables/create`, { name: `Table ${tried}`, fields })
        const own: { id: string; type: string }[] = table.fields.filter((field: { key?: true; calc?: true }) => !field.key && !field.calc)
        const typeOf = new Map(own.map(({ id, type }) => [id, type]))

        // As they were before one of the targets went.
        await post(account, `/api/table/${table.id}/records/create_batch`, {
          records: Array.from({ length: gen(fc.integer, { min: 1, max: 20 }) }, () => ({
            data: Object.fromEntries(
              own.map(({ id, type }) => [id, gen(() => fc.option(cells[type] as fc.Arbitrary<unknown>, { freq: 4 }))]),
            ),
          })),
        })
        await app.db.prisma.$executeRawUnsafe(`delete from t${targetTable}.records where id = ${goneTarget}`)
        await app.db.prisma.user.update({ where: { id: account.owner.id }, data: { timezone: zone } })
        app.setClock(now)
        try {
          const rows: Row[] = await post(account, `/api/table/${table.id}/records/query`, { limit: 1000 })
          for (let query = 0; query < QUERIES; query++) {
            const filters: Filter[] = Array.from({ length: gen(fc.integer, { min: 0, max: 4 }) }, () => {
              const { id, type } = gen(() => fc.constantFrom(...own))
              const compare = gen(() => fc.constantFrom(...(COMPARES[type] as string[])))
              const value = gen(() => valueFor(type, compare, cells, people))
              const connector = gen(() => fc.constantFrom('AND' as const, 'OR' as const))
              return { column: id, compare, connector, ...(value !== undefined && { value }) }
            })
            const search = gen(() => fc.option(words, { nil: '', freq: 3 }))
            const sortable = own.filter(({ type }) => SORTABLE.includes(type))
            const sort = sortable.length ? gen(() => fc.option(fc.constantFrom(...sortable), { freq: 2 })) : null
            const order_dir = gen(() => fc.constantFrom('A', 'D'))

            const body = { filters, search, limit: 1000, count: true, ...(sort && { order_by: sort.id, order_dir }) }
            const expected = rows.filter((row) => matches(row, filters, typeOf, world) && isFound(row, search, typeOf))
            if (sort) expected.sort((a, b) => compareRows(a, b, sort.id, sort.type, world))
            if (sort && order_dir === 'D') expected.reverse()
            const answer: Row[] = await post(account, `/api/table/${table.id}/records/query`, body)
            expect(answer, JSON.stringify({ zone, now, body })).toEqual(expected)
            tried++
          }
        } finally {
          app.setClock(null)
          // The record comes back under its id for the next table.
          await app.db.prisma.$executeRawUnsafe(
            `insert into t${targetTable}.records (id, created_at, updated_at, name) values (${goneTarget}, now(), now(), 'gone')`,
          )
        }
      },
    ),
    { seed: SEED, numRuns: TABLES, endOnFailure: true },
  )
  expect(tried).toBe(TABLES * QUERIES)
})
