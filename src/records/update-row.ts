/** The statement that updates the cells of a record, composed once for the fields that it changes. */

import { type FieldDef, ownFields, type TableDef } from '../fields/definition.ts'
import type { IfMatch } from '../platform/answer.ts'
import { type Composed, composedByShape } from '../platform/database/composed-once.ts'
import { type Database, ident, join, recordsOf, type Sql, sql, writesOfTable } from '../platform/database/database.ts'
import type { PrintedCell } from '../platform/database/printed-rows.ts'
import { PRINTED } from '../platform/database/row-reader.ts'
import { memo } from '../platform/memo.ts'
import { formatInstant } from '../platform/time/time.ts'
import { boundValue, typeOf } from './cell-values.ts'
import type { Cells } from './drafts.ts'
import { type Change, requiringVersion, type StoredRow, storedColumns, updatePlaced } from './placed-rows.ts'
import { isCurrent, printedColumns } from './rows.ts'

/** An updated record: its cells for `writeRecord`, or the row if it is on another server. */
export interface UpdatedRow {
  version: number
  shown: PrintedCell | StoredRow
}

/**
 * Updates cells of a record. The version increases only if a cell changes, so that an update without effect makes no If-Match stale.
 * @returns undefined if the record does not exist, `ifMatch` lacks its version, or the table has a newer version than the definition
 * @throws an error of the class `isOutdated` in place of the last if the record is elsewhere
 */
export async function updateRow(
  db: Database,
  table: TableDef,
  recordId: number,
  cells: Cells,
  { now, userId, ifMatch }: Change & { ifMatch: IfMatch },
): Promise<UpdatedRow | undefined> {
  const own = ownFields(table).filter(({ id }) => cells.has(id))
  const values: Values = { recordId, ifMatch: ifMatch ?? null, at: formatInstant(now), userId }
  for (const field of own) values[cellName(field)] = boundValue(field, cells)
  if (db.isElsewhere(table.id)) {
    const row = await updatePlaced(db, table, composed(table).elsewhere(own)(values))
    return row && { version: row.version, shown: row }
  }
  const statement = composed(table).here(own)(values)
  const [row] = await db.writeShort<Updated>(statement, `update:${table.id}:${table.version}`, writesOfTable(table.id))
  return row && { version: row.version, shown: row[PRINTED] }
}

interface Updated {
  version: number
  [PRINTED]: PrintedCell
}

/** What each run binds: the names in `BOUND`, and a cell for each field. */
type Values = Record<string, unknown>
const BOUND = ['recordId', 'ifMatch', 'at', 'userId']
const cellName = ({ id }: FieldDef) => `cell ${id}`

/** Callers choose the fields, so only the statements that were used last are kept for a definition. */
const MOST_COMPOSED = 20

/** The statements for records on this server and for those elsewhere. Both check the version of the table. */
const composed = memo((table: TableDef) => ({
  here: composedByFields(table, isCurrent(table), sql`r.version, ${printedColumns(table)}`),
  elsewhere: composedByFields(table, requiringVersion(table), storedColumns(table)),
}))

function composedByFields(table: TableDef, condition: Sql, returned: Sql): (own: readonly FieldDef[]) => Composed<Values> {
  const composed = composedByShape<Values>(MOST_COMPOSED)
  return (own) =>
    composed(own.map(({ id }) => id).join(), [...BOUND, ...own.map(cellName)], (values) =>
      updating(table, own, values, condition, returned),
    )
}

function updating(table: TableDef, own: readonly FieldDef[], values: Values, condition: Sql, returned: Sql): Sql {
  const { recordId, ifMatch, at, userId } = values
  const columns = own.map(({ id }) => ident(id))
  const given = own.map((field) => sql`${values[cellName(field)]}::${typeOf(field)} as ${ident(field.id)}`)
  const differs = sql`row(${join(columns.map((column) => sql`r.${column}`))}) is distinct from row(${join(columns.map((column) => sql`n.${column}`))})`
  return sql`
    update ${recordsOf(table.id)} r set ${join([
      ...columns.map((column) => sql`${column} = n.${column}`),
      sql`version = r.version + (${differs})::int`,
      sql`updated_at = case when ${differs} then ${at}::timestamp else r.updated_at end`,
      sql`updated_by = case when ${differs} then ${userId}::int else r.updated_by end`,
    ])}
    from (select ${join(given)}) n
    where r.id = ${recordId} and (${ifMatch}::int[] is null or r.version = any(${ifMatch}::int[])) and ${condition}
    returning ${returned}`
}
