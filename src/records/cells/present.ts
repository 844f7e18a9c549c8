/** Converts stored cells to what the API answers. The users and records that cells refer to are read for all rows together. */

import { type LookupValue, type UserValue, valuesOf } from '../../fields/cell.ts'
import type { FieldDef } from '../../fields/definition.ts'
import type { FieldTypeDefinition, Lookups } from '../../fields/field-type.ts'
import { TYPES } from '../../fields/registry.ts'
import { type Database, ident, join, recordsOf, type Sql, sql } from '../../platform/database/database.ts'

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
  const referring = (to: FieldTypeDefinition['names']) => fields.filter(({ type }) => TYPES[type].names === to)
  const users = await readUsers(db, accountId, idsIn(referring('users'), rows))
  const titles = await readTitles(db, referring('records'), rows, lookups)
  for (const field of fields) {
    const { names, isMultiple } = TYPES[field.type]
    if (names === 'users') replaceIds(field.id, isMultiple, rows, users)
    else if (names === 'records') replaceIds(field.id, isMultiple, rows, titles.get(field.lookup_table_id ?? 0) ?? NONE)
    else convertCells(field, rows)
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

/** Reads users, deleted ones included: their names stay readable. */
async function readUsers(db: Database, accountId: number, ids: number[]): Promise<ReadonlyMap<number, UserValue>> {
  if (!ids.length) return new Map()
  const users = await db.readShort<UserValue>(
    sql`select id, email, name from users where account_id = ${accountId} and id = any(${ids}::int[])`,
    'users-of-cells',
  )
  return new Map(users.map((user) => [user.id, user]))
}

/** The titles of the records that cells refer to, by table and id. */
async function readTitles(
  db: Database,
  fields: readonly FieldDef[],
  rows: readonly Row[],
  lookups: Lookups,
): Promise<Map<number, Map<number, LookupValue>>> {
  const titles = new Map<number, Map<number, LookupValue>>()
  const parts: Sql[] = []
  for (const [tableId, table] of lookups) {
    const ids = idsIn(
      fields.filter(({ lookup_table_id }) => lookup_table_id === tableId),
      rows,
    )
    if (!ids.length) continue
    const title = table.titleField === null ? sql`null::text` : sql`l.${ident(table.titleField)}`
    parts.push(
      sql`select ${tableId}::int as table_id, l.id, ${title} as title from ${recordsOf(tableId)} l where l.id = any(${ids}::int[])`,
    )
  }
  if (!parts.length) return titles
  for (const { table_id, ...record } of await db.query<LookupValue & { table_id: number }>(join(parts, ' union all '))) {
    const records = titles.get(table_id) ?? new Map<number, LookupValue>()
    titles.set(table_id, records.set(record.id, record))
  }
  return titles
}
