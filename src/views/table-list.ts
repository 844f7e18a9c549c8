/** The tables of a space, with what a caller asks for beside them: their fields, their views and the number of their records. */
import type { SpaceRef } from '../platform/access/resources.ts'
import type { Context } from '../platform/context.ts'
import { type Database, sql } from '../platform/database/database.ts'
import { definitionsOf } from '../tables/definition-cache.ts'
import { totalsOf } from '../tables/row-counts.ts'
import { fieldOf } from '../tables/schema.ts'
import { defaultView, readViewsOf, viewOf } from './saved.ts'
import type { ListedTable, TableQuery, View } from './schema.ts'

interface TableRow {
  id: number
  account_id: number
  name: string
  space_id: number
  version: number
}

/** Returns the tables, by name. One statement reads what is included of all of them (contract.md §9, Tables). */
export async function listTables(
  { db, signal }: Context,
  space: SpaceRef,
  { include }: TableQuery,
): Promise<{ rows: ListedTable[]; total: number }> {
  const tables = await db.read<TableRow>(sql`
    select id, account_id, name, space_id, version from tables where space_id = ${space.id} and deleted_at is null
    order by lower(name collate "pg_c_utf8"), id`)
  const ids = tables.map(({ id }) => id)
  const [definitions, views, totals] = await Promise.all([
    include.has('fields') ? definitionsOf(db, tables) : undefined,
    include.has('views') ? viewsOf(db, tables) : undefined,
    include.has('counts') ? totalsOf(db, ids, signal) : undefined,
  ])
  // A table that was deleted meanwhile has no definition any more.
  const present = definitions ? tables.filter(({ id }) => definitions.has(id)) : tables
  const rows = present.map(({ id, name, space_id }) => ({
    id,
    name,
    space_id,
    ...(definitions && { fields: definitions.get(id)?.fields.map(fieldOf) }),
    ...(views && { views: views.get(id) }),
    ...(totals && { record_count: totals.get(id) ?? 0 }),
  }))
  return { rows, total: rows.length }
}

/** The views of the tables, the Default view of each first. */
async function viewsOf(db: Database, tables: readonly TableRow[]): Promise<Map<number, View[]>> {
  const views = new Map(tables.map((table) => [table.id, [defaultView(table)]]))
  for (const view of await readViewsOf(db, [...views.keys()])) views.get(view.table_id)?.push(viewOf(view))
  return views
}
