/** The titles of the records that notifications are about. */
import type { Client } from 'gridpost-client'
import type { Notification } from './feed.ts'

/** By `titleKey`. Without a title there is no entry. */
export type Titles = ReadonlyMap<string, string>

export const titleKey = ({ table_id, record_id }: Pick<Notification, 'table_id' | 'record_id'>): string => `${table_id}/${record_id}`

/** Reads the titles of the records. Tables that cannot be read any more have none: a title only helps to recognise a record. */
export async function readTitles(client: Client, rows: readonly Notification[]): Promise<Titles> {
  const recordIds = new Map<number, Set<number>>()
  for (const { table_id, record_id } of rows) {
    if (table_id !== null && record_id !== null) recordIds.set(table_id, (recordIds.get(table_id) ?? new Set()).add(record_id))
  }
  const found = await Promise.allSettled([...recordIds].map(([tableId, ids]) => titlesIn(client, tableId, [...ids])))
  return new Map(found.flatMap((titles) => (titles.status === 'fulfilled' ? titles.value : [])))
}

async function titlesIn(client: Client, table_id: number, ids: number[]): Promise<[string, string][]> {
  const { fields } = await client.tables.get.query({ table_id })
  const title = fields.find(({ type, calc }) => type === 'text' && !calc)?.id
  if (title === undefined) return []
  const filter = { column: 'id', compare: '=' as const, value: ids }
  const { rows } = await client.records.query.query({ table_id, fields: [title], filter, limit: ids.length })
  return rows.flatMap((row: Record<string, unknown>) => {
    const text = row[title]
    return typeof text === 'string' && text.trim() ? [[titleKey({ table_id, record_id: Number(row.id) }), text]] : []
  })
}
