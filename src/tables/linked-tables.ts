/** The definitions of the tables that the lookups of a table refer to, for requests that name their fields (contract.md §9). */

import type { TableDef } from '../fields/definition.ts'
import type { Database } from '../platform/database/database.ts'
import { memo } from '../platform/memo.ts'
import { tableDefinitions } from './definition-cache.ts'

/** Every change of the tables gives the table that refers to them a new version, and so a new definition (alter-table.ts). */
const known = memo((_: TableDef): { table?: TableDef } => ({}))

/** The tables that `withLinkedTables` has read for the definition; undefined if it has read none. */
export const linkedTables = (definition: TableDef): TableDef['linked'] => definition.linked ?? known(definition).table?.linked

/** The definition with the tables of its lookups. They are read once for each definition, and deleted ones are left out. */
export async function withLinkedTables(db: Database, definition: TableDef): Promise<TableDef> {
  if (definition.linked) return definition
  const ids = new Set(definition.fields.flatMap(({ lookup_table_id: id }) => id ?? []))
  if (!ids.size) return definition
  const kept = known(definition)
  kept.table ??= { ...definition, linked: await tableDefinitions(db, [...ids]) }
  return kept.table
}
