/** Converts stored cells to what the API answers. The users and records that cells refer to are read for all rows together. */

import { valuesOf } from '../../fields/cell.ts'
import type { FieldDef } from '../../fields/definition.ts'
import type { FieldTypeDefinition, Lookups } from '../../fields/field-type.ts'
import { TYPES } from '../../fields/registry.ts'
import type { Database } from '../../platform/database/database.ts'
import { readTitles, readUsers } from './named.ts'

/** One record: its id, and by field id the cell of each field that was read. */
export type Row = { id: number } & Record<string, unknown>

/** The tables that the lookups among the fields refer to. */
export function lookupsOf(fields: readonly FieldDef[]): Lookups {
  return new Map(
    fields.flatMap(({ lookup_table_id, lookup }) =>
      lookup_table_id !== null && lookup ? [[lookup_table_id, { titleField: lookup.title_field }]] : [],
    ),
  )
}

/**
 * Converts cells in place: option ids to titles, ids of users and records to objects, empty lists and checkboxes to `[]` and `false`.
 * Runs at most two statements, whatever the number of rows.
 * @param lookups from `lookupsOf` with at least these fields
 */
export async function present(
  db: Database,
  accountId: number,
  fields: readonly FieldDef[],
  rows: readonly Row[],
  lookups: Lookups,
): Promise<void> {
  await nameReferences(db, accountId, fields, rows, lookups)
  for (const field of fields) if (!refersTo(field)) convertCells(field, rows)
}

const refersTo = ({ type }: FieldDef) => TYPES[type].names === 'users' || TYPES[type].names === 'records'

/** Replaces the ids of users and records by what they refer to, in place, and leaves all other cells as they are stored. */
export async function nameReferences(
  db: Database,
  accountId: number,
  fields: readonly FieldDef[],
  rows: readonly Row[],
  lookups: Lookups,
): Promise<void> {
  const referring = (to: FieldTypeDefinition['names']) => fields.filter(({ type }) => TYPES[type].names === to)
  const users = await readUsers(db, accountId, idsIn(referring('users'), rows))
  const records = referring('records')
  const titles = await readTitles(db, lookups, (tableId) =>
    idsIn(
      records.filter(({ lookup_table_id }) => lookup_table_id === tableId),
      rows,
    ),
  )
  for (const field of fields) {
    const { names, isMultiple } = TYPES[field.type]
    if (names === 'users') replaceIds(field.id, isMultiple, rows, users)
    else if (names === 'records') replaceIds(field.id, isMultiple, rows, titles.get(field.lookup_table_id ?? 0) ?? NONE)
  }
}

const NONE: ReadonlyMap<number, unknown> = new Map()

/** Replaces ids by what they refer to. A deleted record is left out of a list, and null in a single cell. */
function replaceIds(id: string, isMultiple: boolean, rows: readonly Row[], named: ReadonlyMap<number, unknown>): void {
  if (isMultiple) for (const row of rows) row[id] = valuesOf(row[id], named)
  else for (const row of rows) row[id] = named.get(row[id] as number) ?? null
}

function convertCells(field: FieldDef, rows: readonly Row[]): void {
  const convert = TYPES[field.type].presenter(field)
  if (convert) for (const row of rows) row[field.id] = convert(row[field.id])
}

function idsIn(fields: readonly FieldDef[], rows: readonly Row[]): number[] {
  const ids = new Set<number>()
  for (const { id } of fields) {
    for (const row of rows) {
      const cell = row[id]
      if (typeof cell === 'number') ids.add(cell)
      else if (Array.isArray(cell)) for (const each of cell) ids.add(each as number)
    }
  }
  return [...ids]
}
