/** The values of records as statements bind them. */

import type { Cell } from '../fields/cell.ts'
import { castType, type FieldDef, isMultiple } from '../fields/definition.ts'
import { TYPES } from '../fields/registry.ts'
import { ident, join, raw, type Sql, sql } from '../platform/database/database.ts'
import type { Cells } from './drafts.ts'

/** The names of the columns that a new row has values for. */
export const insertedNames = (own: readonly FieldDef[]): Sql =>
  join(['created_at', 'created_by', 'updated_at', 'updated_by', ...own.map(({ id }) => id)].map(ident))

/** The type of a field's column, as a cast spells it. */
export const typeOf = ({ type }: FieldDef): Sql => raw(castType(type))

/** The name of the parameter for a cell of the field, in a prepared statement. */
export const cellName = ({ id }: FieldDef): CellName => `cell ${id}`
type CellName = `cell ${string}`
/** The cells that a prepared statement binds. */
export type BoundCells = Record<CellName, Cell>

export function boundValue({ id, type }: FieldDef, cells: Cells): Cell {
  const cell = cells.get(id) ?? null
  return cell === null ? cell : TYPES[type].bind(cell)
}

/**
 * The cells of all records as one array for each field, for `unnestedRows`: JSON would cost the database twice as much. For a table
 * without fields it is one array of record numbers, so that the statement still inserts one row for each record.
 */
export function cellArrays(own: readonly FieldDef[], records: readonly Cells[]): unknown[][] {
  if (!own.length) return [records.map((_, index) => index)]
  return own.map((field) => records.map((record) => boundValue(field, record)))
}

/**
 * The array as PostgreSQL reads it. pg would replace the characters to escape in every value, though few values have any.
 * @param values texts, numbers, booleans and nulls
 */
const arrayText = (values: readonly unknown[]): string => `{${values.map(elementText).join(',')}}`

function elementText(value: unknown): string {
  if (value === null) return 'NULL'
  if (typeof value !== 'string') return String(value)
  return `"${IS_ESCAPED.test(value) ? value.replaceAll(/["\\]/g, '\\$&') : value}"`
}
const IS_ESCAPED = /["\\]/

/** The values as a parameter of an array type. @param type of its elements */
export const arrayOf = (values: readonly unknown[], type: Sql): Sql => sql`${arrayText(values)}::${type}[]`

/** The cells of the field as an array, whose elements `unnestedCell` brings to the type of the column. */
export const cellArray = (field: FieldDef, cells: readonly unknown[]): Sql =>
  arrayOf(cells, isMultiple(field.type) ? raw('text') : typeOf(field))

/** The rows `x` of arrays from `cellArrays`, with their numbers in `"#"`. */
export function unnestedRows(own: readonly FieldDef[], columns: readonly unknown[][]): Sql {
  const arrays = own.map((field, index) => cellArray(field, columns[index] ?? []))
  const names = [...own.map(({ id }) => ident(id)), ident('#')]
  if (!own.length) return sql`unnest(${arrayOf(columns[0] ?? [], raw('int'))}) as x (${join(names)})`
  return sql`unnest(${join(arrays)}) with ordinality as x (${join(names)})`
}

/** A cell of a row `x`, in the type of its column. */
export const unnestedCell = (field: FieldDef): Sql =>
  isMultiple(field.type) ? sql`x.${ident(field.id)}::${typeOf(field)}` : sql`x.${ident(field.id)}`

/**
 * What an update makes of a cell: the present one stays where the given one reads the same, such as false in an empty checkbox, so that
 * the record counts as unchanged.
 */
export function nextCell(field: FieldDef, present: Sql, given: Sql): Sql {
  const { sort } = TYPES[field.type]
  if (!sort?.isNeverEmpty) return given
  const [was, is] = [present, given].map((cell) => sort.key(field, cell, NO_CONTEXT)) as [Sql, Sql]
  return sql`case when ${was} = ${is} then ${present} else ${given} end`
}

/** A key that is never empty depends on the cell alone. */
const NO_CONTEXT = { lookups: new Map(), accountId: 0 }
