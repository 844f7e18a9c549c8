/** Reads the titles of the records that notifications are about. */

import { titleField } from '../fields/definition.ts'
import type { Context } from '../platform/context.ts'
import { ident, recordsOf, type Sql, sql } from '../platform/database/database.ts'
import { withDefinition } from '../tables/with-definition.ts'

export interface RecordPlace {
  table_id: number | null
  table_version: number | null
  record_id: number | null
}

/**
 * Returns the titles by `placeKey`, without deleted records, with one statement per table.
 * @throws AppError 404 if a table has just been deleted
 */
export async function recordTitles(context: Pick<Context, 'db'>, places: readonly RecordPlace[]): Promise<Map<string, string | null>> {
  const titles = new Map<string, string | null>()
  const versions = new Map(places.flatMap(({ table_id: id, table_version: version }) => (id && version ? [[id, version]] : [])))
  for (const [id, version] of versions) {
    const ids = places.flatMap(({ table_id, record_id }) => (table_id === id && record_id !== null ? [record_id] : []))
    const rows = await withDefinition(context, { id, version }, (table) => {
      const field = titleField(table)
      const title: Sql = field ? sql`r.${ident(field.id)}` : sql`null`
      return context.db
        .records(id)
        .read<{ id: number; title: string | null }>(
          sql`select r.id, ${title} as title from ${recordsOf(id)} r where r.id = any(${ids}::int[])`,
        )
    })
    for (const row of rows) titles.set(placeKey({ table_id: id, record_id: row.id }), row.title)
  }
  return titles
}

export const placeKey = ({ table_id, record_id }: Pick<RecordPlace, 'table_id' | 'record_id'>): string => `${table_id}/${record_id}`
