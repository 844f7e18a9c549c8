/**
 * Conditions checked against the fields of a table. Nothing here needs to know the time or who asks, so that a view is checked
 * when it is saved, and what was checked can be kept with the version of the table.
 */

import { fieldsById, notAField } from '../../fields/by-id.ts'
import { aField, type FieldDef, type TableDef } from '../../fields/definition.ts'
import { badInputs, type Issue } from '../../platform/http/errors.ts'
import { MAX_ID } from '../../platform/http/schemas.ts'
import { isCalendarDate, isTimeOfDay, parseInstant, timeOfDay } from '../../platform/time.ts'
import { type Compare, RULES, VALUE_KINDS, type ValueKind, valueKind } from './compares.ts'
import { parseToken, type Token } from './date-tokens.ts'
import { type Condition, mapLeaves, type Path, type Tree } from './parse.ts'

/** The value of a condition, read as what its field wants. */
export type Operand =
  | { kind: 'nothing' }
  | { kind: 'text'; text: string }
  /** In decimal notation, since a column holds more digits than a JavaScript number. */
  | { kind: 'number'; decimal: string }
  | { kind: 'boolean'; value: boolean }
  /** A calendar date; on a datetime field, that whole local day. */
  | { kind: 'date'; date: string }
  | { kind: 'instant'; instant: Date }
  | { kind: 'token'; token: Token }
  | { kind: 'time'; time: string }
  /** Options of a select that the value names; none when it names no option. */
  | { kind: 'options'; ids: number[] }
  | { kind: 'id'; id: number }
  | { kind: 'email'; email: string }
  | { kind: 'me' }

/** A condition that can be printed as SQL. */
export interface Checked {
  field: FieldDef
  compare: Compare
  operand: Operand
  /** As it was written; absent for is_empty and is_not_empty. */
  value?: unknown
}

/**
 * Checks every condition of the tree.
 * @throws AppError 400 naming each unknown column, each compare that the type does not have, and each value of the wrong type
 */
export function resolveTree(tree: Tree<Condition>, table: TableDef): Tree<Checked> {
  const issues: Issue[] = []
  const fields = fieldsById(table)
  const checked = mapLeaves<Condition, Checked>(tree, (condition) => {
    const found = check(condition, fields)
    if ('field' in found) return found
    issues.push(found)
    return { all: [] }
  })
  if (issues.length) throw badInputs(issues)
  return checked
}

function check({ column, compare, value, path }: Condition, fields: ReadonlyMap<string, FieldDef>): Checked | Issue {
  // In `where` the name stands in the path itself; a filter has it under a key.
  const at = (key: string): Path => (path[0] === 'where' ? path : [...path, key])
  const field = fields.get(column)
  if (!field) return { path: at('column'), message: notAField(column) }
  const kind = valueKind(field.type, compare)
  if (!kind) {
    const has = Object.keys(RULES[field.type].compares).join(', ')
    return { path: at('compare'), message: `${aField(field.type)} does not have ${compare}; it has ${has}` }
  }
  const operand = READERS[kind](value, field, compare)
  return operand ? { field, compare, operand, value } : { path: at('value'), message: `must be ${VALUE_KINDS[kind]}` }
}

/** How each kind of value is read; null when it is of the wrong type. */
const READERS: Record<ValueKind, (value: unknown, field: FieldDef, compare: Compare) => Operand | null> = {
  nothing: () => ({ kind: 'nothing' }),
  text: textOf,
  number: (value) => {
    const decimal = decimalOf(value)
    return decimal === null ? null : { kind: 'number', decimal }
  },
  digits: (value) => (typeof value === 'number' ? { kind: 'text', text: decimalOf(value) ?? '' } : textOf(value)),
  boolean: (value) => (typeof value === 'boolean' ? { kind: 'boolean', value } : null),
  day: (value) => dateOf(value) ?? tokenOf(value),
  moment: (value) => dateOf(value) ?? tokenOf(value) ?? instantOf(value),
  time: (value) => (typeof value === 'string' && isTimeOfDay(value) ? { kind: 'time', time: timeOfDay(value) } : null),
  option: (value, field) => (typeof value === 'string' ? optionsOf(field, (title) => title === value) : null),
  optionPart: (value, field, compare) => (typeof value === 'string' ? optionsOf(field, (title) => hasPart(title, compare, value)) : null),
  person: (value) => {
    if (typeof value === 'number') return idOf(value)
    if (typeof value !== 'string' || !value.includes('@')) return null
    return isMe(value) ? { kind: 'me' } : { kind: 'email', email: value.trim().toLowerCase() }
  },
  personPart: (value) => (typeof value === 'string' && isMe(value) ? { kind: 'me' } : textOf(value)),
  record: (value) => idOf(value),
}

function textOf(value: unknown): Operand | null {
  return typeof value === 'string' ? { kind: 'text', text: value } : null
}

function decimalOf(value: unknown): string | null {
  if (typeof value === 'number') return Number.isFinite(value) ? plainDecimal(value) : null
  if (typeof value !== 'string' || value.length > 100) return null
  return NUMERIC.test(value.trim()) ? value.trim() : null
}

/** What a cell takes; the database reads an exponent as JavaScript does. */
const NUMERIC = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d{1,3})?$/i

/** Without an exponent: 1e-7 is 0.0000001. */
function plainDecimal(value: number): string {
  const text = String(value)
  return text.includes('e') ? value.toLocaleString('en-US', { useGrouping: false, maximumFractionDigits: 100 }) : text
}

function dateOf(value: unknown): Operand | null {
  return typeof value === 'string' && isCalendarDate(value) ? { kind: 'date', date: value } : null
}

function instantOf(value: unknown): Operand | null {
  const instant = typeof value === 'string' ? parseInstant(value) : null
  return instant && { kind: 'instant', instant }
}

function tokenOf(value: unknown): Operand | null {
  const token = typeof value === 'string' ? parseToken(value) : null
  return token && { kind: 'token', token }
}

function idOf(value: unknown): Operand | null {
  // An id that no column can hold is a whole number all the same, and names nothing.
  return Number.isInteger(value) ? { kind: 'id', id: (value as number) > 0 && (value as number) <= MAX_ID ? (value as number) : 0 } : null
}

const isMe = (value: string) => value.toLowerCase() === '@me'

function optionsOf(field: FieldDef, holds: (title: string) => boolean): Operand {
  return { kind: 'options', ids: (field.options ?? []).filter(({ title }) => holds(title)).map(({ id }) => id) }
}

/** Ignoring case, as on every text. */
function hasPart(title: string, compare: Compare, part: string): boolean {
  const [whole, wanted] = [lowerCased(title), lowerCased(part)]
  if (compare === 'starts_with') return whole.startsWith(wanted)
  return compare === 'ends_with' ? whole.endsWith(wanted) : whole.includes(wanted)
}

/**
 * The lower case that the database gives to texts, character by character: so an option is found by the part of its title by which a
 * text is. JavaScript looks at what stands around a sigma, and makes two characters of an İ.
 */
export const lowerCased = (text: string): string => text.replaceAll('Σ', 'σ').replaceAll('İ', 'i').toLowerCase()
