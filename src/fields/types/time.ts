/** Times of day to the second, without a date or a time zone. */
import { type Sql, sql } from '../../platform/database/database.ts'
import { isTimeOfDay, timeOfDay } from '../../platform/time/time.ts'
import { readAs, unchanged } from '../cell.ts'
import { textJson } from '../cell-json.ts'
import { columnOf, isNull, isOneOf, scalar, trimmed } from '../cell-sql.ts'
import { equality, order } from '../compares.ts'
import { UNSHIELDED } from '../csv-rules.ts'
import { TIME_PATTERN } from '../day-sql.ts'
import { type FieldTypeDefinition, THROUGH_TEXT } from '../field-type.ts'
import { EMPTINESS, type Operand, type ValueKind } from '../operand.ts'

const TIME: ValueKind = {
  wants: 'a time of day (HH:MM)',
  read: (value) => (typeof value === 'string' && isTimeOfDay(value) ? { kind: 'time', time: timeOfDay(value) } : null),
}

export const time: FieldTypeDefinition = {
  takes: null,
  roles: [],

  column: 'time(0)',
  isMultiple: false,
  names: null,
  maxLength: null,
  parse: readAs((text) => (isTimeOfDay(text) ? timeOfDay(text) : null), 'a time of day, as HH:MM or HH:MM:SS'),
  bind: unchanged,
  value: (_, column) => column,
  json: () => textJson,

  compares: { ...equality(TIME), ...order(TIME), ...EMPTINESS },
  condition: ({ field, compare, operand }) => scalar(columnOf(field), compare, sql`${timeOf(operand)}::time`),
  among: ({ field, operand }) => isOneOf(columnOf(field), sql`${operand.operands.map(timeOf)}::time[]`),
  isEmpty: isNull,
  meaningOf: null,
  sort: { follows: 'the time of day', keyType: 'time(0)', isNeverEmpty: false, key: (_, column) => column, isIndexable: () => true },
  equalityRank: 5,
  groups: null,
  measures: ['min', 'max'],
  search: null,

  asText: (value) => sql`${value}::text`,
  fromText: (text) => timeIn(trimmed(text)),
  becomes: { select: THROUGH_TEXT, multi_select: THROUGH_TEXT },
  csv: UNSHIELDED,
}

const timeOf = (operand: Operand) => (operand.kind === 'time' ? operand.time : null)

const timeIn = (text: Sql): Sql => sql`case when ${text} ~ ${`^${TIME_PATTERN}$`} then ${text}::time(0) end`
