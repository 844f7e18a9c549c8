/** The staging table of an import, `t<id>.import`. No reader or writer of records uses it. */

import type { FieldDef } from '../fields/definition.ts'
import { TYPES } from '../fields/registry.ts'
import { type Database, ident, join, raw, type Sql, sql } from '../platform/database/database.ts'

export const stagingOf = (tableId: number): Sql => sql`${ident(`t${tableId}`)}."import"`

/** Creates the table, after dropping that of an earlier import. It is unlogged, because an import does not survive a crash anyway. */
export const createStaging = (tableId: number, fields: readonly FieldDef[]): Sql[] => [
  dropStaging(tableId),
  sql`create unlogged table ${stagingOf(tableId)} (${join([
    sql`"#" int not null`,
    ...fields.map(({ id, type }) => sql`${ident(id)} ${raw(TYPES[type].column)}`),
  ])}) with (autovacuum_enabled = false)`,
]

export const dropStaging = (tableId: number): Sql => sql`drop table if exists ${stagingOf(tableId)}`

/** The ids of the tables that have a staging table. */
export async function tablesWithStaging(db: Database): Promise<number[]> {
  const found = await db.read<{ id: number }>(sql`
    select substr(n.nspname, 2)::int as id from pg_class c join pg_namespace n on n.oid = c.relnamespace
    where c.relname = 'import' and c.relkind = 'r' and n.nspname ~ '^t[0-9]+$'`)
  return found.map(({ id }) => id)
}
