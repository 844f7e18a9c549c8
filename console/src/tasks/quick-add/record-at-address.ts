/** The record that is open at the present address: a new task is about it, unless one says otherwise. */
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useParams, useSearch } from '@tanstack/react-router'
import { tableDataQuery } from '../../grid/table-data.ts'
import type { TableSearch } from '../../grid/table-search.ts'
import { recordQuery, titleField } from '../../record/record-data.ts'
import { useClient } from '../../session/client.ts'
import { taskTexts } from '../../texts/tasks.ts'
import type { RecordOfTask } from './opened.ts'

export function useRecordAtAddress(): RecordOfTask | undefined {
  const client = useClient()
  const queries = useQueryClient()
  const params = useParams({ strict: false })
  const search: TableSearch = useSearch({ strict: false })
  const [tableId, recordId] = placeOf(params, search)
  const isOpen = tableId > 0 && recordId > 0
  const { data: definition } = useQuery({ ...tableDataQuery(client, queries, tableId), enabled: isOpen })
  const { data: row } = useQuery({ ...recordQuery(client, tableId, recordId), enabled: isOpen })
  if (!isOpen || !definition || row === null) return undefined
  const { table } = definition
  const field = titleField(table.fields)
  const title = field && row?.[field.id]
  return {
    ...{ tableId, recordId, spaceId: table.space_id, table: table.name },
    title: typeof title === 'string' && title ? title : taskTexts.untitled(recordId),
  }
}

/** The last of the linked records that were opened one after the other, or the record itself. Zeros without one. */
function placeOf(params: { tableId?: string; recordId?: string }, { record, linked }: TableSearch): [number, number] {
  const [, table, last] = /(\d+)-(\d+)$/.exec(linked ?? '') ?? []
  if (table) return [Number(table), Number(last)]
  return [Number(params.tableId ?? 0), Number(params.recordId ?? record ?? 0)]
}
