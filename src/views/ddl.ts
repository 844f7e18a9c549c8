/** Indexes that calendar views ask for: `idx_layout_<startField>` on the table's records (api.md, View). */
import { type Database, ident, recordsOf, sql } from '../platform/database/database.ts'

/** Up to this many records a table needs no indexes but the primary key and those of calendars, which are built while a view is saved. */
export const SMALL_TABLE = 20_000

export async function isSmall(db: Database, tableId: number): Promise<boolean> {
  const [found] = await db.query<{ n: number }>(
    sql`select count(*) as n from (select from ${recordsOf(tableId)} limit ${SMALL_TABLE + 1}) t`,
  )
  return (found?.n ?? 0) <= SMALL_TABLE
}

/** Builds it in the transaction under way; writers of the table wait meanwhile. */
export async function createLayoutIndex(db: Database, tableId: number, name: string, fieldId: string): Promise<void> {
  // Spelled as queries are sorted: an empty value is the smallest, ties go by id.
  await db.execute(sql`create index if not exists ${ident(name)} on ${recordsOf(tableId)} (${ident(fieldId)} nulls first, id)`)
}

export async function dropLayoutIndex(db: Database, tableId: number, name: string): Promise<void> {
  await db.execute(sql`drop index if exists ${ident(`t${tableId}`)}.${ident(name)}`)
}
