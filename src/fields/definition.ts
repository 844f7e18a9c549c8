/** What a field and a table are. What the cells of a field are depends on its type: `types/`. */
import { ident, type Sql } from '../platform/database/database.ts'
import { EMPTY, type Parsed } from './cell.ts'
import { columnOf } from './cell-sql.ts'
import { type FieldType, TYPES } from './registry.ts'
import type { FieldSettings } from './settings.ts'

/** The values that a field is about to lose: digits beyond `decimals`, or options by their ids (lossy-change.ts). */
export type Loss = { decimals: number } | { options: number[] }

export interface FieldDef extends FieldSettings {
  name: string
  type: FieldType
  required: boolean
  always_hidden: boolean
  admin_only: boolean
  /** What it loses if no cell has it, and the version of the table that said so first; null for nothing. */
  narrowing: (Loss & { since: number }) | null
  /** Kept by the service: when and by whom. */
  calc: boolean
}

export interface TableDef {
  id: number
  space_id: number
  account_id: number
  name: string
  /** Changes with every change to the name, fields, options or views. */
  version: number
  /** Whether a field of it, or of a table that its lookups show, may be given another type while this version lasts. */
  isConverting: boolean
  /** The key first, then the fields of the user in their order, calc fields last. */
  fields: FieldDef[]
}

const given = {
  required: false,
  always_hidden: false,
  admin_only: false,
  options: null,
  removed_options: [],
  decimals: null,
  is_rounding: false,
  narrowing: null,
  lookup_table_id: null,
}

export const KEY_FIELD: FieldDef = { ...given, id: 'id', name: 'ID', type: 'number', decimals: 0, key: true, calc: false }

export const CALC_FIELDS: readonly FieldDef[] = [
  { ...given, id: 'created_at', name: 'Created at', type: 'datetime', key: false, calc: true },
  { ...given, id: 'created_by', name: 'Created by', type: 'user', key: false, calc: true },
  { ...given, id: 'updated_at', name: 'Updated at', type: 'datetime', key: false, calc: true },
  { ...given, id: 'updated_by', name: 'Updated by', type: 'user', key: false, calc: true },
]

/** The field without what is still under way in its cells: two that are the same so hold the same values. */
export const settled = (field: FieldDef): FieldDef => ({ ...field, removed_options: [], is_rounding: false, narrowing: null })

/** The fields that a user made: what `data` of a record holds. */
export const ownFields = (table: TableDef): FieldDef[] => table.fields.filter((field) => !field.key && !field.calc)

/** The first text field is a record's title; undefined for a table that has none. */
export const titleField = (table: TableDef): FieldDef | undefined => table.fields.find((field) => field.type === 'text')

/** For sentences: `a text field`, `an email field`. */
export const aField = (type: FieldType) => `${/^[aei]/.test(type) ? 'an' : 'a'} ${type} field`

export const isSelect = (type: FieldType) => TYPES[type].takes === 'options'
export const isLookup = (type: FieldType) => TYPES[type].takes === 'table'
export const isText = (type: FieldType) => TYPES[type].maxLength !== null
export const holdsFiles = ({ type }: FieldDef) => TYPES[type].names === 'files'
/** Whether a cell holds a list. */
export const isMultiple = (type: FieldType) => TYPES[type].isMultiple

/** The type of a field's column as a cast names it. */
export const castType = (type: FieldType): string => TYPES[type].column.replace(/ collate .*/, '')

/** Reads what a caller writes into a cell. @param me the acting user, for `@me` */
export function parseCell(field: FieldDef, value: unknown, me: number): Parsed {
  return value === null ? EMPTY : TYPES[field.type].parse(value, field, me)
}

/**
 * The expression by which an index has records in the field's order: the one by which queries are sorted, so that the planner knows it
 * again. Null where the type has none that an index can hold.
 */
export function indexKey(field: FieldDef): Sql | null {
  const { sort } = TYPES[field.type]
  // Cells that a job is still changing are indexed as they will be; until it is done, no query can use the index.
  return sort?.isIndexable(field) ? sort.key(settled(field), ident(field.id), NO_OTHERS) : null
}

/** An indexable key asks for nothing beside the record itself. */
const NO_OTHERS = { lookups: new Map(), accountId: 0 }

/** The value of a cell of a row `r`, as SQL. An option that was removed is none, and digits that are too many count as rounded. */
export const cellValue = (field: FieldDef) => TYPES[field.type].value(field, columnOf(field))
