/** Checkboxes: an empty cell counts as false everywhere. */
import { type Sql, sql } from '../../platform/database/database.ts'
import { BytePiece } from '../../platform/writers/byte-writer.ts'
import { cell, unchanged, wrong } from '../cell.ts'
import { FALSE, TRUE } from '../cell-json.ts'
import { columnOf, isNull, trimmed } from '../cell-sql.ts'
import { equality } from '../compares.ts'
import { UNSHIELDED } from '../csv-rules.ts'
import { type Condition, type FieldTypeDefinition, THROUGH_TEXT } from '../field-type.ts'
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
  bind: unchanged,
  value: (_, column) => column,
  json: () => (cell, json) => json.json(cell.bool() ? TRUE : FALSE),

  compares: equality(BOOLEAN),
  condition,
  among: null,
  isEmpty: isNull,
  meaningOf: null,
  sort: { follows: 'false before true', keyType: 'boolean', isNeverEmpty: true, key: emptyAsFalse, isIndexable: () => true },
  equalityRank: null,
  groups: {
    by: 'value',
    in: ['aggregate', 'groups', 'board'],
    value: emptyAsFalse,
    key: (_, value) => value,
    values: () => [false, true],
  },
  measures: ['checked'],
  search: null,

  asText: (stored) => sql`(case when ${stored} then 'true' when not ${stored} then 'false' end)`,
  fromText: (text) => sql`case lower(${trimmed(text)}) when 'true' then true when 'yes' then true when '1' then true
        when 'false' then false when 'no' then false when '0' then false end`,
  becomes: { number: (stored) => sql`${stored}::int::numeric`, select: THROUGH_TEXT, multi_select: THROUGH_TEXT },
  csv: {
    ...UNSHIELDED,
    write: () => (cell, csv) => csv.piece(cell.bool() ? TRUE_CSV : FALSE_CSV),
    read: (text) => ({ value: CHECKED[text.trim().toLowerCase()] ?? text }),
  },
}

const [TRUE_CSV, FALSE_CSV] = [new BytePiece('true'), new BytePiece('false')]

/** The words for checked and unchecked in the exports of common products. */
const CHECKED: Readonly<Record<string, boolean>> = {
  ...Object.fromEntries(['true', 'yes', '1', 'on', 'x', 'checked'].map((word) => [word, true])),
  ...Object.fromEntries(['false', 'no', '0', 'off', 'unchecked'].map((word) => [word, false])),
}

function condition({ field, compare, operand }: Condition): Sql {
  const wanted = operand.kind === 'boolean' && operand.value === (compare === '=')
  return wanted ? sql`${columnOf(field)} is true` : sql`${columnOf(field)} is not true`
}
