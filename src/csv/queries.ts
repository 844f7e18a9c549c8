/** The statements that read an export. Each is short and selects by ids. */

import { columnOf } from '../fields/cell-sql.ts'
import { cellValue, type FieldDef, type TableDef } from '../fields/definition.ts'
import type { QueryContext } from '../fields/field-type.ts'
import { TYPES } from '../fields/registry.ts'
import { type Database, ident, join, raw, recordsOf, type Sql, sql } from '../platform/database/database.ts'
import type { Row } from '../records/cells/present.ts'
import { printOrder } from '../records/query/order-sql.ts'
import { printSelection } from '../records/query/print.ts'
import type { Selection } from '../records/query/selection.ts'
import { isCurrent, isStillCurrent } from '../records/rows.ts'
import type { Sort } from '../views/filters/order.ts'

/** Returns the next records by id. Returns none, too, if the table has another version than the selection. */
export function rowsAfter(
  db: Database,
  selection: Selection,
  queryContext: QueryContext,
  fields: readonly FieldDef[],
  { after, limit }: { after: number; limit: number },
): Promise<Row[]> {
  const { table } = selection
  return whileCurrent(
    db,
    table,
    (current) => sql`select ${columns(fields)} from ${recordsOf(table.id)} r
      where ${printSelection(selection, queryContext)} and r.id > ${after}::int and ${current} order by r.id limit ${limit}::int`,
  )
}

/** Runs a statement of an export. Returns no rows if the table has another version by the end of it. */
async function whileCurrent(db: Database, table: TableDef, statement: (current: Sql) => Sql): Promise<Row[]> {
  const label = `export:${table.version}`
  if (!db.isElsewhere(table.id)) return db.query<Row>(statement(isCurrent(table)), label)
  const rows = await db.records(table.id).query<Row>(statement(sql`true`), label)
  return (await isStillCurrent(db, table)) ? rows : []
}

/** Returns the records that still exist, in the order of the ids. Returns none, too, if the table has another version. */
export async function rowsOf(db: Database, table: TableDef, fields: readonly FieldDef[], ids: readonly number[]): Promise<Row[]> {
  const rows = await whileCurrent(
    db,
    table,
    (current) => sql`select ${columns(fields)} from ${recordsOf(table.id)} r where r.id = any(${ids}::int[]) and ${current}`,
  )
  const found = new Map(rows.map((row) => [row.id, row]))
  return ids.flatMap((id) => found.get(id) ?? [])
}

/** The ids of all selected records in order, as packed integers: a million take 4 MB. */
export async function idsInOrder(
  db: Database,
  selection: Selection,
  queryContext: QueryContext,
  order: readonly Sort[],
): Promise<Int32Array> {
  const [row] = await db.records(selection.table.id).query<{ ids: Buffer | null }>(sql`
    select string_agg(int4send(o.id), ''::bytea) as ids from (
      select r.id from ${recordsOf(selection.table.id)} r where ${printSelection(selection, queryContext)} order by ${printOrder(order, queryContext)}
    ) o`)
  const packed = row?.ids ?? Buffer.alloc(0)
  return Int32Array.from({ length: packed.length / 4 }, (_, index) => packed.readInt32BE(4 * index))
}

const columns = (fields: readonly FieldDef[]): Sql =>
  raw(
    join([
      sql`r.id`,
      ...fields.flatMap((field) => {
        if (field.key) return []
        return TYPES[field.type].csv.isReadAsText ? sql`${cellValue(field)}::text as ${ident(field.id)}` : columnOf(field)
      }),
    ]).sql,
  )
