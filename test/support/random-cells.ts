/** Random values of cells, and random conditions on them, for tests that compare answers with reference.ts. */
import fc from 'fast-check'
import { type Person, utc, type World } from './reference.ts'

const ORDER = ['>', '<', '>=', '<=']
const PARTS = ['contains', 'starts_with', 'ends_with']
const EMPTY = ['is_empty', 'is_not_empty']
const TEXT = ['=', '!=', ...ORDER, ...PARTS, ...EMPTY]
/** The compares of each type. */
export const COMPARES: Record<string, string[]> = {
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
export const SORTABLE = Object.keys(COMPARES).filter((type) => !type.startsWith('multi_'))

export const OPTIONS = ['Open', 'open now', 'Ähnlich 10%', "O'Neil", 'x_y']
/** Characters that SQL, LIKE, regular expressions or case mapping may mishandle. */
const letters = fc.constantFrom(...'abABzÄäÉé%_\\\'"`;-.*()[]{}^$?+|/ 019ΩΣσςİ語😀'.split(''), '😀', '語', ' ', ' ', '--', '\\')
const text = fc.array(letters, { minLength: 0, maxLength: 6 }).map((parts) => parts.join('').toWellFormed().replaceAll('�', ''))
export const words = fc
  .array(
    fc.array(letters, { minLength: 1, maxLength: 4 }).map((parts) => parts.join('')),
    { maxLength: 2 },
  )
  .map((list) => list.join(' ').toWellFormed().replaceAll('�', ''))

/** The values that a cell of each type may have. */
export function cellsOf({ now }: World, people: Person[], targets: number[]): Record<string, fc.Arbitrary<unknown>> {
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

/** A value that a condition may compare with; undefined where it takes none. */
export function valueFor(
  type: string,
  compare: string,
  cells: Record<string, fc.Arbitrary<unknown>>,
  people: Person[],
): fc.Arbitrary<unknown> {
  const cell = cells[type] as fc.Arbitrary<unknown>
  const tokens = fc.constantFrom(
    'today',
    'NOW',
    'tomorrow',
    'Yesterday',
    'start_of_week',
    'start_of_month',
    'end_of_month',
    'start_of_last_year',
    'end_of_last_week',
    'End_of_Next_Month',
    'end_of_next_day',
    'end_of_last_year',
    '-1d',
    '+2D',
    '-1w',
    '+1m',
    '-1y',
    '-5h',
    '+30h',
  )
  if (EMPTY.includes(compare)) return fc.constant(undefined)
  const options = fc.constantFrom(...OPTIONS, 'No such', '')
  const addresses = people.flatMap(({ id, email }) => [id, email, email.toUpperCase()])
  const users = fc.constantFrom('@me', 'nobody@example.com', 1_999_999_999, ...addresses)
  const records = fc.oneof(cells.lookup as fc.Arbitrary<unknown>, fc.constant(1_999_999_999))
  const partsByType: Record<string, fc.Arbitrary<unknown>> = {
    number: fc.constantFrom('1', '.', '-', '25', 0, 1.5),
    select: fc.constantFrom('o', 'OPEN', 'ä', '%', '_', "'", '', 'now', 'zzz'),
    user: fc.constantFrom('max', 'OLGA', '@example', '@me', '%', 'member', 'a', ''),
    lookup: text,
  }
  const valuesByType: Record<string, fc.Arbitrary<unknown>> = {
    number: fc.oneof(cell, cell.map(String)),
    date: fc.oneof(cell, tokens),
    datetime: fc.oneof(
      cell,
      tokens,
      cell.map((instant) => String(instant).slice(0, 10)),
      cell.map((instant) => `${String(instant).replace(' ', 'T')}Z`),
    ),
    time: fc.oneof(
      cell,
      cell.map((time) => String(time).slice(0, 5)),
    ),
    select: options,
    multi_select: options,
    user: users,
    multi_user: users,
    lookup: records,
    multi_lookup: records,
  }
  const parts = PARTS.includes(compare) ? partsByType[type] : undefined
  return parts ?? valuesByType[type] ?? cell
}
