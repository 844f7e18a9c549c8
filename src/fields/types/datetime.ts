/** Instants, kept in UTC to the second. A date means the whole local day in the zone of the acting user. */
import { raw, type Sql, sql } from '../../platform/database/database.ts'
import { dayRange, instantText, LAST_DATE, parseInstant } from '../../platform/time.ts'
import { asItIs, readAs } from '../cell.ts'
import { columnOf, isNull, scalar, stampOf } from '../cell-sql.ts'
import { equality, order } from '../compares.ts'
import { type Meaning, type Moment, meaningOf } from '../date-tokens.ts'
import type { Condition, FieldTypeDefinition, QueryContext } from '../field-type.ts'
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
  bind: asItIs,
  value: (_, column) => column,
  // JSON would write a T between date and time.
  isTextInJson: true,
  presenter: () => null,

  compares: { ...equality(MOMENT), ...order(MOMENT), ...EMPTINESS },
  condition,
  isEmpty: isNull,
  meaningOf,
  sort: { follows: 'the instant', keyType: 'timestamp(0)', isNeverEmpty: false, key: (_, column) => column, isIndexable: () => true },
  equalityRank: null,
  groups: { by: 'days', isInstant: true },
  search: null,
}

/** A date is its whole local day: `=` means within it, `>` after its end, `<` before its start. */
function condition({ field, compare, operand }: Condition, { moment }: QueryContext): Sql {
  const column = columnOf(field)
  const meaning = momentOf(operand, moment)
  if ('instant' in meaning) return scalar(column, compare, timestamp(meaning.instant))
  const day = dayRange(meaning.day, moment.timeZone)
  // In zones east of UTC, some hours follow the last date and have no date of their own: they belong to it, as in groups.
  const [from, to] = [timestamp(day.from), meaning.day === LAST_DATE ? raw("'infinity'::timestamp") : timestamp(day.to)]
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

function momentOf(operand: Operand, moment: Moment): Meaning {
  if (operand.kind === 'date') return { day: operand.date }
  if (operand.kind === 'instant') return { instant: operand.instant }
  if (operand.kind === 'token') return meaningOf(operand.token, moment)
  throw new Error(`No moment in ${operand.kind}`)
}

const timestamp = (instant: Date): Sql => sql`${stampOf(instant)}::timestamp`

function readInstant(value: unknown): Operand | null {
  const instant = typeof value === 'string' ? parseInstant(value) : null
  return instant && { kind: 'instant', instant }
}
