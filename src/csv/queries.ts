/** The statements that read an export. Each is short and selects by ids. */

import type { FieldDef, TableDef } from '../fields/definition.ts'
import type { QueryContext } from '../fields/field-type.ts'
import { type Database, join, raw, recordsOf, type Sql, sql } from '../platform/database/database.ts'
import type { PrintedRows } from '../platform/database/statements/printed-rows.ts'
import { labelled } from '../platform/database/statements/statement.ts'
import { memo } from '../platform/memo.ts'
import { columnRead } from '../records/query/condition-sql.ts'
import { printOrder, printRecords } from '../records/query/order-sql.ts'
import { printSelection } from '../records/query/print.ts'
import type { Selection } from '../records/query/selection.ts'
import { isStillCurrent } from '../records/rows.ts'
import type { Sort } from '../views/filters/order.ts'

/** Returns the next records by id, the id of each before its cells; none if the table has another version than the selection. */
export function rowsAfter(
  db: Database,
  selection: Selection,
  queryContext: QueryContext,
  fields: readonly FieldDef[],
  { after, limit }: { after: number; limit: number },
): Promise<PrintedRows> {
  const { table } = selection
  return whileCurrent(
    db,
    table,
    sql`select ${columns(fields)} from ${recordsOf(table.id)} r
      where ${printSelection(selection, queryContext)} and r.id > ${after}::int order by r.id limit ${limit}::int`,
  )
}

/** Runs a statement of an export. Returns no rows if the table has another version by the end of it. */
async function whileCurrent(db: Database, table: TableDef, statement: Sql): Promise<PrintedRows> {
  const rows = await db.records(table.id).page(labelled(`export:${table.version}`, statement))
  if (!(await isStillCurrent(db, table))) rows.free()
  return rows
}

/** Returns the records that still exist, in the order of the ids. Returns none, too, if the table has another version. */
export async function rowsOf(db: Database, table: TableDef, fields: readonly FieldDef[], ids: readonly number[]): Promise<PrintedRows> {
  const rows = await whileCurrent(db, table, sql`select ${columns(fields)} from ${recordsOf(table.id)} r where r.id = any(${ids}::int[])`)
  rows.putInOrder(ids)
  return rows
}

/** The ids of all selected records in order, as packed integers: a million take 4 MB. */
export async function idsInOrder(
  db: Database,
  selection: Selection,
  queryContext: QueryContext,
  order: readonly Sort[],
): Promise<Int32Array> {
  const [row] = await db.records(selection.table.id).read<{ ids: Buffer | null }>(sql`
    select string_agg(int4send(o.id), ''::bytea) as ids from (
      select r.id from ${printRecords(selection.table.id, order)}
      where ${printSelection(selection, queryContext)} order by ${printOrder(order, queryContext)}
    ) o`)
  const packed = row?.ids ?? Buffer.alloc(0)
  return Int32Array.from({ length: packed.length / 4 }, (_, index) => packed.readInt32BE(4 * index))
}

/** The id, by which pages follow each other, and then the cells: the id is there once more if it is a column. */
const columns = memo((fields: readonly FieldDef[]): Sql => raw(join([sql`r.id`, ...fields.map(columnRead)]).sql))
