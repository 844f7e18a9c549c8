/** Calendar dates, which have no time zone. A date token resolves to a day in the time zone of the acting user. */
import { type Sql, sql } from '../../platform/database/database.ts'
import { isCalendarDate } from '../../platform/time/time.ts'
import { readAs, unchanged } from '../cell.ts'
import { textJson } from '../cell-json.ts'
import { columnOf, isNull, isOneOf, scalar, trimmed } from '../cell-sql.ts'
import { equality, order } from '../compares.ts'
import { UNSHIELDED } from '../csv-rules.ts'
import { dateMeant, type Moment, parseToken } from '../date-tokens.ts'
import { DATE_PATTERN, dayStart } from '../day-sql.ts'
import { type Condition, type FieldTypeDefinition, type QueryContext, THROUGH_TEXT } from '../field-type.ts'
import { EMPTINESS, type Operand, type ValueKind } from '../operand.ts'

const DAY: ValueKind = { wants: 'a date (YYYY-MM-DD) or a date token', read: (value) => readDate(value) ?? readToken(value) }

export const date: FieldTypeDefinition = {
  takes: null,
  roles: ['date'],

  column: 'date',
  isMultiple: false,
  names: null,
  maxLength: null,
  parse: readAs((text) => (isCalendarDate(text) ? text : null), 'a date that exists, as YYYY-MM-DD'),
  bind: unchanged,
  value: (_, column) => column,
  json: () => textJson,

  compares: { ...equality(DAY), ...order(DAY), ...EMPTINESS },
  condition,
  among: ({ field, operand }, { moment }) => isOneOf(columnOf(field), sql`${operand.operands.map((one) => dateOf(one, moment))}::date[]`),
  isEmpty: isNull,
  meaningOf: (token, moment) => ({ day: dateMeant(token, moment) }),
  sort: { follows: 'the date', keyType: 'date', isNeverEmpty: false, key: (_, column) => column, isIndexable: () => true },
  equalityRank: 4,
  groups: { by: 'days', in: ['aggregate', 'groups'], isInstant: false },
  measures: ['min', 'max'],
  search: null,

  asText: (value) => sql`${value}::text`,
  fromText: (text) => dateIn(trimmed(text)),
  becomes: { datetime: (cell, { place }) => dayStart(cell, place.timeZone), select: THROUGH_TEXT, multi_select: THROUGH_TEXT },
  csv: { ...UNSHIELDED, dates: 'day' },
}

function condition({ field, compare, operand }: Condition, { moment }: QueryContext): Sql {
  return scalar(columnOf(field), compare, sql`${dateOf(operand, moment)}::date`)
}

function dateOf(operand: Operand, moment: Moment): string {
  if (operand.kind === 'date') return operand.date
  if (operand.kind === 'token') return dateMeant(operand.token, moment)
  throw new Error(`No date in ${operand.kind}`)
}

export function readDate(value: unknown): Operand | null {
  return typeof value === 'string' && isCalendarDate(value) ? { kind: 'date', date: value } : null
}

export function readToken(value: unknown): Operand | null {
  const token = typeof value === 'string' ? parseToken(value) : null
  return token && { kind: 'token', token }
}

const dateIn = (text: Sql): Sql =>
  sql`case when ${text} ~ ${`^${DATE_PATTERN}$`} and pg_input_is_valid(${text}, 'date') then ${text}::date end`
