/** Numbers, handled in decimal notation throughout, because a binary fraction could change their digits. */
import { empty, raw, type Sql, sql } from '../../platform/database/database.ts'
import { cell, type Parsed, unchanged, wrong } from '../cell.ts'
import { numberJson } from '../cell-json.ts'
import { columnOf, isNull, isOneOf, like, scalar, trimmed, unicode } from '../cell-sql.ts'
import { type Compare, equality, order } from '../compares.ts'
import { UNSHIELDED } from '../csv-rules.ts'
import { equalOperand, MAX_DECIMALS, roundedDecimal } from '../decimal.ts'
import { type Condition, type FieldTypeDefinition, type ListCondition, THROUGH_TEXT } from '../field-type.ts'
import { EMPTINESS, readText, type ValueKind } from '../operand.ts'
import type { FieldSettings } from '../settings.ts'

const NUMBER: ValueKind = {
  wants: 'a number',
  read: (given, { decimals }, compare) => {
    const decimal = decimalOf(given)
    if (decimal === null) return null
    return { kind: 'number', decimal: compare === '=' || compare === '!=' ? equalOperand(decimal, decimals) : decimal }
  },
}
const DIGITS: ValueKind = {
  wants: 'a number or a part of one, as text',
  read: (given) => (typeof given === 'number' ? { kind: 'text', text: decimalOf(given) ?? '' } : readText(given)),
}

export const number: FieldTypeDefinition = {
  takes: 'decimals',
  roles: [],

  column: 'numeric',
  isMultiple: false,
  names: null,
  maxLength: null,
  parse,
  bind: unchanged,
  value,
  json: () => numberJson,

  compares: { ...equality(NUMBER), ...order(NUMBER), contains: DIGITS, ...EMPTINESS },
  condition,
  among,
  isEmpty: isNull,
  meaningOf: null,
  sort: { follows: 'the number', keyType: 'numeric', isNeverEmpty: false, key: value, isIndexable: () => true },
  equalityRank: 3,
  groups: null,
  measures: ['sum', 'avg', 'median', 'min', 'max'],
  search: null,

  asText: (stored) => sql`trim_scale(${stored})::text`,
  fromText: (text, { decimals }) => numberOf(trimmed(text), decimals ?? MAX_DECIMALS),
  becomes: {
    checkbox: (stored) => sql`case ${stored} when 0 then false when 1 then true end`,
    select: THROUGH_TEXT,
    multi_select: THROUGH_TEXT,
    lookup: THROUGH_TEXT,
    multi_lookup: THROUGH_TEXT,
  },
  csv: { ...UNSHIELDED, hasDecimalPoint: true },
}

function parse(given: unknown, { decimals }: FieldSettings): Parsed {
  if (typeof given !== 'number' && typeof given !== 'string') return wrong('must be a number')
  const rounded = roundedDecimal(String(given), decimals)
  if (rounded === 'malformed') return wrong('must be a number')
  if (rounded === 'out of range') return wrong('must lie within ±10^15')
  return cell(rounded.text)
}

/** Rounds the cell while a job has yet to remove its extra digits. */
function value({ is_rounding, decimals }: FieldSettings, column: Sql): Sql {
  return is_rounding && decimals !== null ? roundedTo(column, decimals) : column
}

/** Rounds a number to the decimals of a field. They are printed, not bound, because Postgres matches expressions by their text. */
export const roundedTo = (column: Sql, decimals: number): Sql => sql`trim_scale(round(${column}, ${raw(String(Math.trunc(decimals)))}))`

function condition({ field, compare, operand }: Condition): Sql {
  const number = value(field, columnOf(field))
  if (operand.kind === 'text') return like(unicode(sql`trim_scale(${number}::numeric)::text`), compare, operand.text)
  const decimal = operand.kind === 'number' ? operand.decimal : null
  const isInt = field.key && decimal !== null && isShortInt(decimal)
  const holds = scalar(number, compare, isInt ? sql`${decimal}::int` : sql`${decimal}::numeric`)
  return field.is_rounding ? sql`(${holds}${near(columnOf(field), compare, sql`${decimal}::numeric`)})` : holds
}

function among({ field, operand: { operands } }: ListCondition): Sql {
  const decimals = operands.map((operand) => (operand.kind === 'number' ? operand.decimal : null))
  const areInts = field.key && decimals.every((decimal) => decimal !== null && isShortInt(decimal))
  return isOneOf(value(field, columnOf(field)), areInts ? sql`${decimals}::int[]` : sql`${decimals}::numeric[]`)
}

/** The key column is an int, and only an int value can use the primary key's index. */
const isShortInt = (decimal: string) => /^\d{1,9}$/.test(decimal)

/** A rounded number differs from its cell by less than 1, so an index on the column can narrow down the records first. */
function near(column: Sql, compare: Compare, wanted: Sql): Sql {
  const above = sql` and ${column} >= ${wanted} - 1`
  const below = sql` and ${column} <= ${wanted} + 1`
  if (compare === '!=') return empty
  if (compare === '=') return sql`${above}${below}`
  return compare.startsWith('>') ? above : below
}

function decimalOf(given: unknown): string | null {
  if (typeof given === 'number') return Number.isFinite(given) ? plainDecimal(given) : null
  if (typeof given !== 'string' || given.length > 100) return null
  return NUMERIC.test(given.trim()) ? given.trim() : null
}

/** The numbers that a cell accepts. Postgres reads an exponent as JavaScript does. */
const NUMERIC = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d{1,3})?$/i

/** Prints a number without an exponent: 1e-7 becomes 0.0000001. */
function plainDecimal(given: number): string {
  const text = String(given)
  return text.includes('e') ? given.toLocaleString('en-US', { useGrouping: false, maximumFractionDigits: 100 }) : text
}

const PLAIN_NUMBER = '^-?[0-9]+\\.?[0-9]*$'
const NUMBER_TEXT = '^[+-]?([0-9]+\\.?[0-9]*|\\.[0-9]+)(e[+-]?[0-9]{1,3})?$'

/** Reads a number, rounded half away from zero, within ±10^15 (contract.md §1). A short number without an exponent is always in range. */
function numberOf(text: Sql, decimals: number): Sql {
  const rounded = sql`round(${text}::numeric, ${decimals}::int)`
  return sql`case when octet_length(${text}) <= 15 and ${text} ~ ${PLAIN_NUMBER} then trim_scale(${rounded})
    when octet_length(${text}) <= 500 and ${text} ~* ${NUMBER_TEXT}
    then case when abs(${rounded}) <= 1000000000000000 then trim_scale(${rounded}) end end`
}
