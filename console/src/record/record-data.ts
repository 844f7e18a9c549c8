/** A record as the panel and the page show it: what the grid knows of it at once, then what the service says, kept up to date. */
import { type QueryClient, queryOptions, useQuery, useQueryClient } from '@tanstack/react-query'
import { useEffect, useMemo, useReducer } from 'react'
import type { Field, Value } from '../cells/kind.ts'
import { editsOfTable, type TableEdits } from '../grid/edits/table-edits.ts'
import { type ChangedRow, type Row, withChange } from '../grid/pages/row.ts'
import { type Client, useClient } from '../session/client.ts'
import { errorData, isNotHere } from '../session/errors.ts'
import { useLive } from '../session/live/use-live.ts'
import type { KnownRecord } from './record-parts.ts'

/** Null: there is no such record, or one may not see it. */
type Answer = Row | null

/** All fields of a record, the calculated ones too, which `records.get` leaves out. */
export const recordQuery = (client: Client, tableId: number, recordId: number) =>
  queryOptions({
    queryKey: ['record', tableId, recordId],
    queryFn: async ({ signal }): Promise<Answer> => {
      const condition = { column: 'id', compare: '=' as const, value: recordId }
      const query = { table_id: tableId, filter: condition, include: ['version' as const], limit: 1 }
      const { rows } = await client.records.query.query(query, { signal, context: { alone: true } })
      return (rows[0] as Row | undefined) ?? null
    },
    structuralSharing: (before, now) => later(before as Answer | undefined, now as Answer),
    retry: false,
  })

/** An answer that was on its way while an edit was saved is older than what the edit said. */
const later = (before: Answer | undefined, now: Answer): Answer =>
  before && now && (before._version ?? 0) > (now._version ?? 0) ? before : now

/** Whether the person may not read the table any more. A query of records says so by a 500 of its own (api.md). */
export const isLost = (error: unknown): boolean => isNotHere(error) || errorData(error)?.message === 'Not Authorized'

export interface OpenRecord {
  record: KnownRecord | undefined
  /** True until the service has answered: fields that the grid does not have are not known yet. */
  isWhole: boolean
  /** True if the service says that the record is not there; `record` is then what was known of it before. */
  isGone: boolean
  error: unknown
  table: TableEdits
  /** Shows a value that the service has stored already, such as the files of a field. */
  stored(field: string, value: Value): void
  readAgain(): void
}

/** @param known what the grid has of the record */
export function useRecord(tableId: number, recordId: number, fields: readonly Field[], known: Row | undefined): OpenRecord {
  const client = useClient()
  const queries = useQueryClient()
  const table = editsOfTable(client, tableId)
  const { data, error, refetch } = useQuery(recordQuery(client, tableId, recordId))
  const [, showEdits] = useReducer((count: number) => count + 1, 0)
  useEffect(() => {
    const saved = (rows: ChangedRow[]) => {
      noteChanges(queries, tableId, rows)
      if (rows.some(({ id }) => id === recordId)) void queries.invalidateQueries({ queryKey: ['record', tableId, recordId] })
    }
    return table.listen({ changed: showEdits, saved, refused: showEdits })
  }, [table, queries, tableId, recordId])
  useLive(
    ({ type, table_id, record_id }) => {
      const isMeant = record_id === recordId || ['records.changed', 'table.updated', 'table.lost', 'reset'].includes(type)
      if (!isMeant || (table_id !== undefined && table_id !== tableId)) return
      // The first page of a browser has a reset just after it has read.
      void queries.invalidateQueries({ queryKey: ['record', tableId, recordId] }, { cancelRefetch: type !== 'reset' })
    },
    { tables: [tableId], types: ['record', 'records', 'table'] },
  )
  const last = useLastKnown(`${tableId}-${recordId}`, data ?? known)
  const record = useMemo(() => last && knownRecord(last, fields), [last, fields])
  const stored = (field: string, value: Value) => {
    queries.setQueryData<Answer>(recordQuery(client, tableId, recordId).queryKey, (before) => before && { ...before, [field]: value })
    void queries.invalidateQueries({ queryKey: ['record', tableId, recordId] })
  }
  return { record, isWhole: data !== undefined, isGone: data === null, error, table, stored, readAgain: () => void refetch() }
}

/** What was known last stays, so that a record that goes while it is open can still be read. */
function useLastKnown(key: string, row: Row | undefined): Row | undefined {
  const kept = useMemo(() => new Map<string, Row>(), [])
  if (row) kept.set(key, row)
  return kept.get(key)
}

/** Shows what changes have made of records that are open. */
function noteChanges(queries: QueryClient, tableId: number, rows: readonly ChangedRow[]): void {
  for (const row of rows) {
    queries.setQueryData<Answer>(['record', tableId, row.id], (before) => (before ? withChange(before, row) : before))
  }
}

/** The first text field, which is the title of a record (contract.md §3). */
export const titleField = (fields: readonly Field[]): Field | undefined => fields.find(({ type, key }) => type === 'text' && !key)

function knownRecord(row: Row, fields: readonly Field[]): KnownRecord {
  const title = titleField(fields)
  const text = title && row[title.id]
  return { id: row.id, title: typeof text === 'string' && text !== '' ? text : null, version: row._version, values: row }
}
