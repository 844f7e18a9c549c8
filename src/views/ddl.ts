/** The DDL of calendar indexes: `idx_layout_<startField>` on the table's records (api.md, View). */
import { type FieldDef, indexKey } from '../fields/definition.ts'
import { type Database, ident, recordsOf, sql } from '../platform/database/database.ts'
import { settle } from '../tables/ddl.ts'

/** Up to this number of records an index of a calendar view is built as the view is saved (contract.md §5). */
const SMALL_TABLE = 20_000

export async function isSmall(db: Database, tableId: number): Promise<boolean> {
  const [found] = await db
    .records(tableId)
    .read<{ n: number }>(sql`select count(*) as n from (select from ${recordsOf(tableId)} limit ${SMALL_TABLE + 1}) t`)
  return (found?.n ?? 0) <= SMALL_TABLE
}

/** Creates the index in the current transaction, which blocks writers of the table until it ends. */
export async function createLayoutIndex(db: Database, tableId: number, name: string, field: FieldDef): Promise<void> {
  // The same order as queries print: empty values first, ties by id.
  const key = indexKey(field) ?? ident(field.id)
  await settle(db, tableId)
  await dropUnusable(db, tableId, name)
  await db.write(sql`create index if not exists ${ident(name)} on ${recordsOf(tableId)} (${key} nulls first, id)`)
}

export async function dropLayoutIndex(db: Database, tableId: number, name: string): Promise<void> {
  await settle(db, tableId)
  await db.write(sql`drop index if exists ${ident(`t${tableId}`)}.${ident(name)}`)
}

/** Drops what a build has left that was cancelled, perhaps by `settle`: `create index if not exists` takes it for the index. */
async function dropUnusable(db: Database, tableId: number, name: string): Promise<void> {
  const index = sql`${ident(`t${tableId}`)}.${ident(name)}`
  const found = await db.read(sql`select from pg_index where indexrelid = to_regclass(${index.sql}) and not indisvalid`)
  if (found.length) await db.write(sql`drop index ${index}`)
}
