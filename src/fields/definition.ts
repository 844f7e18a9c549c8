/** The definitions of tables and fields. The rules for cells depend on the field's type (`types/`). */
import { ident, type Sql } from '../platform/database/database.ts'
import { memo } from '../platform/memo.ts'
import { valueInNfc } from '../platform/normal-forms.ts'
import { EMPTY, type Parsed } from './cell.ts'
import { type CellJson, eachJson, idsInCell, idsInEach } from './cell-json.ts'
import { columnOf } from './cell-sql.ts'
import { type CellCsv, eachCsv } from './csv-rules.ts'
import { type FieldType, TYPES } from './registry.ts'
import type { Color, FieldSettings } from './settings.ts'

/** The values that a field is about to lose: digits beyond `decimals`, or the options with these ids (lossy-change.ts). */
export type Loss = { decimals: number } | { options: number[] }

export interface FieldDef extends FieldSettings {
  name: string
  type: FieldType
  required: boolean
  always_hidden: boolean
  admin_only: boolean
  /** The colors of options by their ids. The previous release leaves those of options that it removes. */
  option_colors: Readonly<Record<string, Color>>
  /** The values that the field loses if no cell has them, and the table version that announced it first; null if it loses nothing. */
  narrowing: (Loss & { since: number }) | null
  /** True if the service itself sets the cells: when a record was created or changed, and by whom. */
  calc: boolean
  /** Increases with every change of the field's own properties. */
  version: number
  link?: Link
}

/** The lookup of a linked field, and the field of the other table. */
export interface Link {
  lookup: FieldDef
  field: FieldDef
}

export interface TableDef {
  id: number
  space_id: number
  account_id: number
  name: string
  /** Increases with every change of the table's name, fields, options or views. */
  version: number
  /** Whether the changes of its records can be kept: a table of the previous release has no place for them before it is written. */
  hasHistory: boolean
  /** True if a conversion may change the type of a field of this table, or of a table that its lookups show, during this version. */
  isConverting: boolean
  /** The key field first, then the user's fields in their order, then the calc fields. */
  fields: FieldDef[]
  /** The tables that the lookups refer to, without deleted ones, by their ids. Present where requests can name their fields. */
  linked?: ReadonlyMap<number, TableDef>
}

const given = {
  required: false,
  always_hidden: false,
  admin_only: false,
  options: null,
  option_colors: {},
  removed_options: [],
  decimals: null,
  is_rounding: false,
  narrowing: null,
  lookup_table_id: null,
  is_normalized: true,
  version: 1,
}

export const KEY_FIELD: FieldDef = { ...given, id: 'id', name: 'ID', type: 'number', decimals: 0, key: true, calc: false }

export const CALC_FIELDS: readonly FieldDef[] = [
  { ...given, id: 'created_at', name: 'Created at', type: 'datetime', key: false, calc: true },
  { ...given, id: 'created_by', name: 'Created by', type: 'user', key: false, calc: true },
  { ...given, id: 'updated_at', name: 'Updated at', type: 'datetime', key: false, calc: true },
  { ...given, id: 'updated_by', name: 'Updated by', type: 'user', key: false, calc: true },
]

/** The field without version, colors and pending changes of its cells. Two fields that are equal in this form hold the same values. */
export const withoutPendingChanges = (field: FieldDef): FieldDef => ({ ...field, ...NO_CHANGES })
const NO_CHANGES = { option_colors: {}, removed_options: [], is_rounding: false, narrowing: null, is_normalized: true, version: 1 }

/** The fields that users created, which are the keys of a record's `data`. */
export const ownFields = memo((table: TableDef): readonly FieldDef[] => table.fields.filter((field) => !field.key && !field.calc))

/** Whether the first field of this type is a record's title. */
export const canBeTitle = ({ type }: Pick<FieldDef, 'type'>): boolean => type === 'text'

/** Returns the first text field, which is a record's title; undefined if the table has none. */
export const titleField = (table: TableDef): FieldDef | undefined => table.fields.find(canBeTitle)

/** The type with its article, for messages: `a text field`, `an email field`. */
export const withArticle = (type: FieldType) => `${/^[aei]/.test(type) ? 'an' : 'a'} ${type} field`

export const isSelect = (type: FieldType) => TYPES[type].takes === 'options'
export const isLookup = (type: FieldType) => TYPES[type].takes === 'table'
export const isText = (type: FieldType) => TYPES[type].maxLength !== null
export const holdsFiles = ({ type }: FieldDef) => TYPES[type].names === 'files'
/** True if a cell of the type holds a list. */
export const isMultiple = (type: FieldType) => TYPES[type].isMultiple

/** The column type as it is written in a cast, without the collation. */
export const castType = (type: FieldType): string => TYPES[type].column.replace(/ collate .*/, '')

/** True for a field that a multi_lookup reaches: its value is a list, with an element for each linked record. */
export const isThroughMany = ({ link }: FieldDef) => link !== undefined && isMultiple(link.lookup.type)

/** How a cell of the field, or the cells of all linked records, are written as JSON. */
export function cellJson(field: FieldDef): CellJson {
  const write = TYPES[field.type].json(field)
  return isThroughMany(field) ? eachJson(write) : write
}

/** How a cell of the field, or the cells of all linked records, are written into a file. */
export function cellCsv(field: FieldDef): CellCsv {
  const write = TYPES[field.type].csv.write(field)
  return isThroughMany(field) ? eachCsv(write) : write
}

/** How the ids in a cell of the field, or in the cells of all linked records, are read. */
export const idsOf = (field: FieldDef) => (isThroughMany(field) ? idsInEach : idsInCell)

/** Parses a value that a caller writes into a cell, its texts in NFC. @param me the acting user, for `@me` */
export function parseCell(field: FieldDef, value: unknown, me: number): Parsed {
  return value === null ? EMPTY : TYPES[field.type].parse(valueInNfc(value), field, me)
}

/**
 * The index expression for sorting by the field. It is the expression that queries sort by, because the planner only uses an index with
 * the same expression. Null if the sort key of the type cannot be indexed.
 */
export function indexKey(field: FieldDef): Sql | null {
  const { sort } = TYPES[field.type]
  // While a job changes cells, the index already has the expression for the final cells. Queries can use it once the job is done.
  return sort?.isIndexable(field) ? sort.key(withoutPendingChanges(field), ident(field.id), NO_CONTEXT) : null
}

/** An indexable key depends on the record alone, so it needs no context. */
const NO_CONTEXT = { lookups: new Map(), accountId: 0 }

/** The value of a cell of a row `r`, as SQL. Removed options are left out, and numbers are rounded, even before a job changes the cells. */
export const cellValue = (field: FieldDef) => TYPES[field.type].value(field, columnOf(field))
