/** Indexes that calendar views ask for: `idx_layout_<startField>` on the table's records (api.md, View). */
import { type Database, ident, recordsOf, sql } from '../db.ts'

/** Up to this many records an index is built while the view is saved; above, by a job that lets others write meanwhile. */
const SMALL_TABLE = 20_000

export const layoutIndex = (fieldId: string): string => `idx_layout_${fieldId}`

export async function isSmall(db: Database, tableId: number): Promise<boolean> {
  const [found] = await db.query<{ n: number }>(
    sql`select count(*) as n from (select from ${recordsOf(tableId)} limit ${SMALL_TABLE + 1}) t`,
  )
  return (found?.n ?? 0) <= SMALL_TABLE
}

/** Builds it in the transaction under way; writers of the table wait meanwhile. */
export async function createLayoutIndex(db: Database, tableId: number, fieldId: string): Promise<void> {
  // Spelled as queries are sorted: an empty value is the smallest, ties go by id.
  await db.execute(
    sql`create index if not exists ${ident(layoutIndex(fieldId))} on ${recordsOf(tableId)} (${ident(fieldId)} nulls first, id)`,
  )
}

/** Builds it while others read and write. Outside a transaction, on a connection of its own. */
export async function createLayoutIndexConcurrently(db: Database, tableId: number, fieldId: string): Promise<void> {
  const [name, records] = [ident(layoutIndex(fieldId)).sql, recordsOf(tableId).sql]
  const client = await db.connect()
  try {
    await client.query('set statement_timeout = 0')
    const { rows } = await client.query(
      `select from pg_index i join pg_class c on c.oid = i.indexrelid join pg_namespace n on n.oid = c.relnamespace
       where n.nspname = $1 and c.relname = $2 and not i.indisvalid`,
      [`t${tableId}`, layoutIndex(fieldId)],
    )
    // A build that failed leaves an index behind that is kept up to date but never used.
    if (rows.length) await client.query(`drop index concurrently if exists ${ident(`t${tableId}`).sql}.${name}`)
    await client.query(`create index concurrently if not exists ${name} on ${records} (${ident(fieldId).sql} nulls first, id)`)
  } finally {
    await client.end()
  }
}

export async function dropLayoutIndex(db: Database, tableId: number, fieldId: string): Promise<void> {
  await db.execute(sql`drop index if exists ${ident(`t${tableId}`)}.${ident(layoutIndex(fieldId))}`)
}
