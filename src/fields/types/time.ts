/** Times of day, to the second, without a date and without a zone. */
import { sql } from '../../platform/database/database.ts'
import { isTimeOfDay, timeOfDay } from '../../platform/time.ts'
import { asItIs, readAs } from '../cell.ts'
import { columnOf, isNull, scalar } from '../cell-sql.ts'
import { equality, order } from '../compares.ts'
import type { FieldTypeDefinition } from '../field-type.ts'
import { EMPTINESS, type ValueKind } from '../operand.ts'

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
  bind: asItIs,
  value: (_, column) => column,
  isTextInJson: false,
  presenter: () => null,

  compares: { ...equality(TIME), ...order(TIME), ...EMPTINESS },
  condition: ({ field, compare, operand }) => scalar(columnOf(field), compare, sql`${operand.kind === 'time' ? operand.time : null}::time`),
  isEmpty: isNull,
  meaningOf: null,
  sort: { follows: 'the time of day', keyType: 'time(0)', isNeverEmpty: false, key: (_, column) => column, isIndexable: () => true },
  equalityRank: 5,
  groups: null,
  search: null,
}
