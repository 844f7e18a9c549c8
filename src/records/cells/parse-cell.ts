/** What a caller writes into a cell: every rule of contract.md §3 that needs no look at the database. */

import type { FieldDef, FieldType } from '../../fields/definition.ts'
import { memo } from '../../platform/memo.ts'
import type { FileEntry } from '../../platform/stored-files.ts'
import { instantText, isCalendarDate, isTimeOfDay, timeOfDay } from '../../platform/time.ts'
import { roundedDecimal } from './decimal.ts'

/** A cell as its column takes it. Numbers and instants are text, so that nothing is lost on the way. */
export type Cell = string | number | boolean | number[] | FileEntry[] | null

/** A member by id or by address. */
export type UserRef = number | string

/** A cell that is ready, one that names something which must be looked for, or what is wrong with it. */
export type Parsed =
  | { kind: 'cell'; cell: Cell }
  | { kind: 'users'; users: UserRef[] }
  | { kind: 'records'; ids: number[] }
  | { kind: 'files'; paths: string[] }
  | { kind: 'wrong'; reason: string }

/** Values that a list may hold (contract.md §1). */
export const MAX_VALUES = 1_000

const EMPTY: Parsed = { kind: 'cell', cell: null }
const cell = (value: Cell): Parsed => ({ kind: 'cell', cell: value })
const wrong = (reason: string): Parsed => ({ kind: 'wrong', reason })

/**
 * Reads one value. Null, empty text and an empty list are no value.
 * @param me the acting user, for `@me`
 */
export function parseCell(field: FieldDef, value: unknown, me: number): Parsed {
  if (value === null) return EMPTY
  return PARSERS[field.type](value, field, me)
}

type Parser = (value: unknown, field: FieldDef, me: number) => Parsed

const text =
  (max: number): Parser =>
  (value) => {
    if (typeof value !== 'string') return wrong('must be text')
    if (value.length > max) return wrong(`must have at most ${max} characters`)
    return cell(value === '' ? null : value)
  }

/** Text in, another text to be kept or null for what is refused. */
const readAs =
  (read: (text: string) => string | null, expected: string): Parser =>
  (value) => {
    const kept = typeof value === 'string' ? read(value) : null
    return kept === null ? wrong(`must be ${expected}`) : cell(kept)
  }

/** A list whose elements are read one by one, each kept once. */
function list<Kept extends UserRef>(
  value: unknown,
  read: (element: unknown) => Kept | null,
  expected: string,
  noun: string,
): Kept[] | string {
  if (!Array.isArray(value)) return `must be a list of ${expected}`
  if (value.length > MAX_VALUES) return `must have at most ${MAX_VALUES} values`
  const kept = new Set<Kept>()
  for (const [index, element] of value.entries()) {
    const one = read(element)
    if (one === null) return `[${index}]: unknown ${noun}`
    kept.add(one)
  }
  return [...kept]
}

const PARSERS: Readonly<Record<FieldType, Parser>> = {
  text: text(500),
  long_text: text(100_000),
  email: text(500),
  url: text(2_000),
  phone: text(500),
  number: (value, { decimals }) => {
    if (typeof value !== 'number' && typeof value !== 'string') return wrong('must be a number')
    const rounded = roundedDecimal(String(value), decimals)
    if (rounded === 'malformed') return wrong('must be a number')
    if (rounded === 'out of range') return wrong('must lie within ±10^15')
    return cell(rounded.text)
  },
  checkbox: (value) => (typeof value === 'boolean' ? cell(value) : wrong('must be true or false')),
  date: readAs((date) => (isCalendarDate(date) ? date : null), 'a date that exists, as YYYY-MM-DD'),
  datetime: readAs(instantText, 'an instant, as YYYY-MM-DD HH:MM:SS in UTC or ISO 8601 with an offset'),
  time: readAs((time) => (isTimeOfDay(time) ? timeOfDay(time) : null), 'a time of day, as HH:MM or HH:MM:SS'),
  select: (value, field) => {
    const id = optionId(field, value)
    return id === null ? wrong(typeof value === 'string' ? `unknown option ${quoted(value)}` : 'must be the title of an option') : cell(id)
  },
  multi_select: (value, field) => {
    const unknown = Array.isArray(value) ? value.find((title) => optionId(field, title) === null) : undefined
    if (typeof unknown === 'string') return wrong(`unknown option ${quoted(unknown)}`)
    const ids = list(value, (title) => optionId(field, title), 'titles of options', 'option')
    return typeof ids === 'string' ? wrong(ids) : cell(ids.length ? ids : null)
  },
  user: (value, _, me) => {
    const user = userRef(value, me)
    return user === null ? wrong('must be a member: an id, an email address, {id}, {email} or @me') : { kind: 'users', users: [user] }
  },
  multi_user: (value, _, me) => {
    const users = list(value, (user) => userRef(user, me), 'members (ids, email addresses, {id}, {email} or @me)', 'member')
    if (typeof users === 'string') return wrong(users)
    return users.length ? { kind: 'users', users } : EMPTY
  },
  lookup: (value) => {
    const id = recordId(value)
    return id === null ? wrong('must be the id of a record, or {id}') : { kind: 'records', ids: [id] }
  },
  multi_lookup: (value) => {
    const ids = list(value, recordId, 'records (ids or {id})', 'record')
    if (typeof ids === 'string') return wrong(ids)
    return ids.length ? { kind: 'records', ids } : EMPTY
  },
  file: (value) => {
    const paths = list(value, (entry) => textOf(entry, 'path'), 'entries got from an upload', 'file')
    if (typeof paths === 'string') return wrong(paths)
    return paths.length ? { kind: 'files', paths } : EMPTY
  },
}

const optionId = (field: FieldDef, title: unknown): number | null => optionIds(field).get(title) ?? null

/** The ids of a select's options by title: a batch may name a million titles, and a field may have 500 options. */
const optionIds = memo(
  (field: FieldDef): ReadonlyMap<unknown, number> => new Map<unknown, number>((field.options ?? []).map(({ id, title }) => [title, id])),
)

function userRef(value: unknown, me: number): UserRef | null {
  if (value === '@me') return me
  if (typeof value === 'string') return value.trim().toLowerCase() || null
  return wholeNumber(value) ?? wholeNumber(property(value, 'id')) ?? textOf(value, 'email')?.trim().toLowerCase() ?? null
}

const recordId = (value: unknown): number | null => wholeNumber(value) ?? wholeNumber(property(value, 'id'))

const wholeNumber = (value: unknown): number | null => (Number.isSafeInteger(value) ? (value as number) : null)

function textOf(value: unknown, key: string): string | null {
  const text = property(value, key)
  return typeof text === 'string' && text !== '' ? text : null
}

function property(value: unknown, key: string): unknown {
  return value && typeof value === 'object' && Object.hasOwn(value, key) ? (value as Record<string, unknown>)[key] : undefined
}

/** What the caller wrote, as far as a message can hold it. */
const quoted = (value: string) => `"${value.length > 100 ? `${value.slice(0, 100)}…` : value}"`
