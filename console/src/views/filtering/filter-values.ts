/** Which conditions a field takes in the form, and how typed values are read and written (docs/queries.md, Compares and values by type). */
import { cellText } from '../../cells/cell-text.ts'
import type { Field, Place } from '../../cells/kind.ts'
import { viewTexts } from '../../texts/views/views.ts'
import { dayMeant } from '../../ui/locale/date-format.ts'
import { dayText, shortTime } from '../../ui/locale/date-text.ts'
import { isDay } from '../../ui/locale/days.ts'
import { atOf, clockAt } from '../../ui/locale/zones.ts'
import { readToken, tokenWords } from '../token-words.ts'

const EMPTINESS = ['is_empty', 'is_not_empty']
const EQUALITY = ['=', '!=']
/** Compares of the form alone, which become `=` and `!=` with a list. */
const LISTS = ['any_of', 'none_of']
const ORDER = ['>', '<', '>=', '<=']
const WITHIN = ['contains', 'starts_with', 'ends_with']
const ORDERED = [...EQUALITY, ...ORDER, ...LISTS, ...EMPTINESS]
const TEXT = [...WITHIN, ...EQUALITY, ...LISTS, ...ORDER, ...EMPTINESS]
const ONE = [...EQUALITY, ...WITHIN, ...EMPTINESS]
const SEVERAL = [...EQUALITY, 'all_of', ...EMPTINESS]

const COMPARES: Readonly<Record<Field['type'], readonly string[]>> = {
  text: TEXT,
  long_text: TEXT,
  email: TEXT,
  url: TEXT,
  phone: TEXT,
  number: ORDERED,
  checkbox: ['='],
  date: ORDERED,
  datetime: ORDERED,
  time: ORDERED,
  select: ONE,
  multi_select: SEVERAL,
  user: ONE,
  multi_user: SEVERAL,
  lookup: ONE,
  multi_lookup: SEVERAL,
  file: ['contains', ...EMPTINESS],
}

export const comparesOf = ({ type, linked }: Field): readonly string[] =>
  (COMPARES[type] ?? EMPTINESS).filter((compare) => linked === undefined || compare !== 'all_of')

const CHOSEN_BY: readonly string[] = [...EQUALITY, 'all_of']
const CHOSEN_OF: Partial<Record<Field['type'], 'options' | 'people' | 'records'>> = {
  select: 'options',
  multi_select: 'options',
  user: 'people',
  multi_user: 'people',
  lookup: 'records',
  multi_lookup: 'records',
}

/** How the value of a condition is given. */
export type ValueForm = 'none' | 'checked' | 'options' | 'people' | 'records' | 'lines' | 'text'

export function valueFormOf(field: Field, compare: string): ValueForm {
  if (EMPTINESS.includes(compare)) return 'none'
  if (field.type === 'checkbox') return 'checked'
  if (LISTS.includes(compare)) return 'lines'
  return (CHOSEN_BY.includes(compare) && CHOSEN_OF[field.type]) || 'text'
}

const UNSORTED = new Set<Field['type']>(['multi_select', 'multi_user', 'multi_lookup', 'file'])
/** A field of several values has no order. */
export const isSortable = ({ type, linked }: Field): boolean => !UNSORTED.has(type) && linked !== 'many'

/** The value of a condition, with what it means in words if that is not plain. */
export type ReadValue = { value: string | number; meaning?: string } | { problem: string }

const READ = new Set<Field['type']>(['number', 'date', 'datetime', 'time'])
/** A text with a time of day; without one a condition means the whole day. */
const TIMED = /\d:\d|\d\s*[ap]\.?m\b|^now$|[+-]\d+\s*(?:h|min)/i

/** Reads a typed value. What is relative to today stays so, and means another day tomorrow. */
export function readFilterValue(text: string, field: Field, place: Place): ReadValue {
  const given = text.trim()
  if (given === '') return { problem: viewTexts.valueMissing }
  if (!READ.has(field.type)) return { value: given }
  const isDated = field.type === 'date' || field.type === 'datetime'
  const token = isDated ? readToken(given) : null
  if (token !== null) return { value: token, meaning: tokenWords(token) ?? '' }
  const type = field.type === 'datetime' && !TIMED.test(given) ? 'date' : field.type
  const read = cellText({ ...field, type }).parse(given, { ...field, type }, place)
  if (!read || 'problem' in read) return { problem: read?.problem ?? viewTexts.valueMissing }
  const { value } = read
  if (typeof value !== 'string' && typeof value !== 'number') return { problem: viewTexts.valueMissing }
  return { value, ...(isDated && isDay(String(value)) && { meaning: dayMeant(String(value), place.locale) }) }
}

/** The text in which a value is typed; null if the form cannot show it. */
export function filterText(value: unknown, field: Field, place: Place): string | null {
  if (field.type === 'number') {
    return typeof value === 'number' || typeof value === 'string' ? cellText(field).toText(value, field, place) : null
  }
  if (typeof value !== 'string') return null
  if (field.type === 'time') return shortTime(value)
  if (field.type !== 'date' && field.type !== 'datetime') return value
  const words = tokenWords(value)
  if (words !== null) return words
  if (isDay(value)) return dayText(value, place.locale)
  if (!Number.isFinite(atOf(value))) return null
  const { day, time } = clockAt(value, place.zone)
  return `${dayText(day, place.locale)} ${shortTime(time)}`
}
