/** Checkboxes: an empty cell counts as false everywhere. */
import { type Sql, sql } from '../../platform/database/database.ts'
import { asItIs, cell, wrong } from '../cell.ts'
import { columnOf, isNull } from '../cell-sql.ts'
import { equality } from '../compares.ts'
import type { Condition, FieldTypeDefinition } from '../field-type.ts'
import type { ValueKind } from '../operand.ts'
import type { FieldSettings } from '../settings.ts'

const BOOLEAN: ValueKind = {
  wants: 'true or false',
  read: (value) => (typeof value === 'boolean' ? { kind: 'boolean', value } : null),
}

const emptyAsFalse = (_: FieldSettings, column: Sql): Sql => sql`coalesce(${column}, false)`

export const checkbox: FieldTypeDefinition = {
  takes: null,
  roles: [],

  column: 'boolean',
  isMultiple: false,
  names: null,
  maxLength: null,
  parse: (value) => (typeof value === 'boolean' ? cell(value) : wrong('must be true or false')),
  bind: asItIs,
  value: (_, column) => column,
  isTextInJson: false,
  presenter: () => (stored) => stored === true,

  compares: equality(BOOLEAN),
  condition,
  isEmpty: isNull,
  meaningOf: null,
  sort: { follows: 'false before true', keyType: 'boolean', isNeverEmpty: true, key: emptyAsFalse, isIndexable: () => true },
  equalityRank: null,
  groups: { by: 'value', value: emptyAsFalse, values: () => [false, true] },
  search: null,
}

function condition({ field, compare, operand }: Condition): Sql {
  const wanted = operand.kind === 'boolean' && operand.value === (compare === '=')
  return wanted ? sql`${columnOf(field)} is true` : sql`${columnOf(field)} is not true`
}
