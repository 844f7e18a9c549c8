/** Reads the titles of the records that notifications and tasks are about. */

import { type TableDef, titleField } from '../fields/definition.ts'
import type { Lookups } from '../fields/field-type.ts'
import type { Context } from '../platform/context.ts'
import { readTitles } from '../records/cells/named.ts'
import { readTogether } from '../tables/elsewhere/counting.ts'
import { withDefinitions } from '../tables/with-definition.ts'

export interface RecordPlace {
  table_id: number | null
  table_version: number | null
  record_id: number | null
}

/** The tables whose titles one statement reads. */
const TABLES_AT_ONCE = 200

/**
 * Returns the titles by `placeKey`, without records and tables that are deleted. One statement reads those of all tables on the main
 * server.
 */
export async function recordTitles(context: Pick<Context, 'db'>, places: readonly RecordPlace[]): Promise<Map<string, string | null>> {
  const { db } = context
  const versions = new Map<number, number>()
  const recordIds = new Map<number, Set<number>>()
  for (const { table_id: tableId, table_version: version, record_id: recordId } of places) {
    if (tableId === null || version === null || recordId === null) continue
    versions.set(tableId, version)
    recordIds.set(tableId, (recordIds.get(tableId) ?? new Set()).add(recordId))
  }
  const tables = [...versions].map(([id, version]) => ({ id, version }))
  if (!tables.length) return new Map()
  return withDefinitions(context, tables, async (definitions) => {
    const titles = new Map<string, string | null>()
    for (const ids of readTogether(db, [...definitions.keys()], TABLES_AT_ONCE)) {
      const lookups: Lookups = new Map(ids.map((id) => [id, { titleField: titleFieldOf(definitions.get(id)) }]))
      for (const [tableId, records] of await readTitles(db, lookups, (id) => [...(recordIds.get(id) ?? [])]))
        for (const { id, title } of records.values()) titles.set(placeKey({ table_id: tableId, record_id: id }), title)
    }
    return titles
  })
}

const titleFieldOf = (table: TableDef | undefined): string | null => (table && titleField(table)?.id) ?? null

export const placeKey = ({ table_id, record_id }: Pick<RecordPlace, 'table_id' | 'record_id'>): string => `${table_id}/${record_id}`
