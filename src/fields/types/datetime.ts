/** Instants, stored in UTC to the second. In a condition, a date means the whole local day in the acting user's time zone. */
import { type Sql, sql } from '../../platform/database/database.ts'
import { instantText, parseInstant } from '../../platform/time/time.ts'
import { readAs, unchanged } from '../cell.ts'
import { textJson } from '../cell-json.ts'
import { columnOf, isNull, scalar, timestampText, trimmed } from '../cell-sql.ts'
import { equality, order } from '../compares.ts'
import { UNSHIELDED } from '../csv-rules.ts'
import { type Meaning, type Moment, meaningOf } from '../date-tokens.ts'
import { DATE_PATTERN, dayStart, instantsOf, inYears, localDay, TIME_PATTERN } from '../day-sql.ts'
import { type Condition, type FieldTypeDefinition, type ListCondition, type QueryContext, THROUGH_TEXT } from '../field-type.ts'
import { EMPTINESS, type Operand, type ValueKind } from '../operand.ts'
import { readDate, readToken } from './date.ts'

const MOMENT: ValueKind = {
  wants: 'a date (YYYY-MM-DD), an instant (YYYY-MM-DD HH:MM:SS) or a date token',
  read: (value) => readDate(value) ?? readToken(value) ?? readInstant(value),
}

export const datetime: FieldTypeDefinition = {
  takes: null,
  roles: ['date'],

  column: 'timestamp(0)',
  isMultiple: false,
  names: null,
  maxLength: null,
  parse: readAs(instantText, 'an instant, as YYYY-MM-DD HH:MM:SS in UTC or ISO 8601 with an offset'),
  bind: unchanged,
  value: (_, column) => column,
  json: () => textJson,

  compares: { ...equality(MOMENT), ...order(MOMENT), ...EMPTINESS },
  condition,
  among,
  isEmpty: isNull,
  meaningOf,
  sort: { follows: 'the instant', keyType: 'timestamp(0)', isNeverEmpty: false, key: (_, column) => column, isIndexable: () => true },
  equalityRank: null,
  groups: { by: 'days', in: ['aggregate', 'groups'], isInstant: true },
  measures: ['min', 'max'],
  search: null,

  asText: (value) => sql`${value}::text`,
  fromText: (text, _, { timeZone }) => instantOf(trimmed(text), timeZone),
  becomes: {
    date: (cell, { place }) => localDay(cell, place.timeZone),
    select: THROUGH_TEXT,
    multi_select: THROUGH_TEXT,
  },
  csv: { ...UNSHIELDED, dates: 'instant' },
}

/** A date stands for its whole local day: `=` means within it, `>` after its end, `<` before its start. */
function condition({ field, compare, operand }: Condition, { moment }: QueryContext): Sql {
  const column = columnOf(field)
  const meaning = momentOf(operand, moment)
  if ('instant' in meaning) return scalar(column, compare, timestamp(timestampText(meaning.instant)))
  const day = instantsOf(meaning.day, moment.timeZone)
  const [from, to] = [timestamp(day.from), timestamp(day.to)]
  switch (compare) {
    case '=':
      return sql`(${column} >= ${from} and ${column} < ${to})`
    case '!=':
      return sql`(${column} is null or ${column} < ${from} or ${column} >= ${to})`
    case '>':
      return sql`${column} >= ${to}`
    case '>=':
      return sql`${column} >= ${from}`
    case '<':
      return sql`${column} < ${from}`
    default:
      return sql`${column} < ${to}`
  }
}

/** The limits of the whole list are compared, too, because an index can find them. */
function among({ field, operand: { operands } }: ListCondition, { moment }: QueryContext): Sql {
  const ranges = sql`${`{${operands.map((operand) => rangeOf(operand, moment)).join()}}`}::tsmultirange`
  const column = columnOf(field)
  return sql`(${column} >= lower(${ranges}) and ${column} <= upper(${ranges}) and ${column} <@ ${ranges})`
}

/** The instants that `=` with the value means, as a range of Postgres. */
function rangeOf(operand: Operand, moment: Moment): string {
  const meaning = momentOf(operand, moment)
  if ('instant' in meaning) return `["${timestampText(meaning.instant)}","${timestampText(meaning.instant)}"]`
  const { from, to } = instantsOf(meaning.day, moment.timeZone)
  return `["${from}","${to}")`
}

function momentOf(operand: Operand, moment: Moment): Meaning {
  if (operand.kind === 'date') return { day: operand.date }
  if (operand.kind === 'instant') return { instant: operand.instant }
  if (operand.kind === 'token') return meaningOf(operand.token, moment)
  throw new Error(`No moment in ${operand.kind}`)
}

const timestamp = (text: string): Sql => sql`${text}::timestamp`

function readInstant(value: unknown): Operand | null {
  const instant = typeof value === 'string' ? parseInstant(value) : null
  return instant && { kind: 'instant', instant }
}

const INSTANT = `^${DATE_PATTERN}[T ]${TIME_PATTERN}(\\.[0-9]{1,9})?(Z|[+-]([01][0-9]|2[0-3]):?[0-5][0-9])?$`

/** Reads an instant as `parseInstant` does: in UTC unless it has an offset, without fractions. A date is the start of its day. */
function instantOf(text: Sql, timeZone: string): Sql {
  const whole = sql`(case when strpos(${text}, '.') > 0 then regexp_replace(${text}, '\\.[0-9]+', '') else ${text} end)`
  // Seconds are optional, so an offset can begin at the position where the seconds would.
  const inUtc = sql`(${whole} || case when substr(${text}, 17) ~ '[Zz+-]' then '' else 'Z' end)`
  // A text that Postgres prints again unchanged is in the API's own format. This test is cheaper than a regular expression.
  return sql`case
    when octet_length(${text}) = 19 and pg_input_is_valid(${text}, 'timestamp') and ${text}::timestamp(0)::text = ${text}
      then ${text}::timestamp(0)
    when ${text} ~ ${`^${DATE_PATTERN}$`} and pg_input_is_valid(${text}, 'date') then ${dayStart(sql`${text}::date`, timeZone)}
    when ${text} ~* ${INSTANT} and pg_input_is_valid(${inUtc}, 'timestamptz')
      then ${inYears(sql`left(${text}, 10)`, sql`(${inUtc}::timestamptz at time zone 'UTC')::timestamp(0)`)} end`
}
