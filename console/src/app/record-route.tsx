/** The page of a record at its address. */
import { usePrefetchQuery } from '@tanstack/react-query'
import { useNavigate, useParams, useSearch } from '@tanstack/react-router'
import { useMemo } from 'react'
import { createSource } from '../grid/pages/record-source.ts'
import { type TableData, useTableData, viewOf } from '../grid/table-data.ts'
import type { TableSearch } from '../grid/table-search.ts'
import { type RecordSearch, recordAddress, triedIn } from '../record/record-address.ts'
import { recordQuery } from '../record/record-data.ts'
import { RecordView } from '../record/record-view.tsx'
import { useClient } from '../session/client.ts'
import { isNotHere, messageOf } from '../session/errors.ts'
import { gridTexts } from '../texts/grid.ts'
import { recordTexts } from '../texts/record/record.ts'
import { NotHere } from '../ui/not-here.tsx'
import { Loading, Notice } from '../ui/notice.tsx'
import { useLiveChanges } from './live-changes.ts'
import { recordParts } from './record-parts.tsx'

const isId = (text: string | undefined) => /^[1-9]\d{0,14}$/.test(text ?? '')

export function RecordRoute() {
  const { tableId, recordId } = useParams({ strict: false })
  const search: RecordSearch = useSearch({ strict: false })
  // Beside the definition of its table.
  usePrefetchQuery(recordQuery(useClient(), Number(tableId), Number(recordId)))
  // The definition is read again when it changes. The record hears of its own changes.
  useLiveChanges(Number(tableId))
  const { data, error, refetch } = useTableData(Number(tableId))
  // What was typed stays on the page, even if the table has gone meanwhile.
  if (!isId(recordId)) return <NotHere />
  if (data) return <RecordPage key={tableId} definition={data} recordId={Number(recordId)} search={search} />
  if (error && isNotHere(error)) return <NotHere />
  if (!error) return <Loading text={recordTexts.loading} />
  return (
    <Notice
      title={recordTexts.notLoaded}
      isAlert
      actions={
        <button type="button" className="button" onClick={() => void refetch()}>
          {gridTexts.retry}
        </button>
      }
    >
      <p>{messageOf(error)}</p>
    </Notice>
  )
}

function RecordPage({ definition, recordId, search }: { definition: TableData; recordId: number; search: RecordSearch }) {
  const { table } = definition
  const navigate = useNavigate()
  const view = viewOf(definition, search.view)
  const narrowing = useNarrowing(table.id, view?.id ?? 0, search)
  const { compose: _, entry: __, ...rest } = search
  const showRecord = (id: { tableId: number; recordId: number }, next: RecordSearch, replace = false) =>
    void navigate({
      to: '/table/$tableId/record/$recordId',
      params: { tableId: String(id.tableId), recordId: String(id.recordId) },
      search: next,
      replace,
    })
  const toTable = (open: TableSearch = {}) => {
    const search = { ...(rest.tried !== undefined && { tried: rest.tried }), ...open }
    const params = { tableId: String(table.id) }
    if (rest.view === undefined) void navigate({ to: '/table/$tableId', params, search })
    else void navigate({ to: '/table/$tableId/view/$viewId', params: { ...params, viewId: String(rest.view) }, search })
  }
  const own = { tableId: table.id, recordId }
  return (
    <RecordView
      {...own}
      frame="page"
      parts={recordParts}
      definition={definition}
      narrowing={narrowing}
      compose={search.compose}
      entry={search.entry}
      setCompose={(compose) => showRecord(own, { ...rest, ...(compose !== undefined && { compose }) })}
      show={(id) => showRecord({ tableId: table.id, recordId: id }, rest, true)}
      openLinked={{ href: recordAddress, open: (linked) => showRecord(linked, {}) }}
      back={{ label: table.name, run: () => toTable() }}
      showDeleted={() => toTable({ deleted: true })}
      view={search.view === undefined ? undefined : view && { id: view.id, name: view.name, tried: triedIn(rest) }}
      pageAddress={recordAddress(own)}
    />
  )
}

/** The query of the view that one has come from, or of the one that the table opens. */
function useNarrowing(tableId: number, viewId: number, { tried }: RecordSearch) {
  const client = useClient()
  return useMemo(() => {
    const conditions = triedIn(tried === undefined ? {} : { tried })
    return createSource({ client, tableId, viewId, conditions, fields: [] }).narrowing
  }, [client, tableId, viewId, tried])
}
