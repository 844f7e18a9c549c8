/** The page of a table at its address, with the record that is open beside its grid. */
import { useNavigate, useParams, useSearch } from '@tanstack/react-router'
import { Suspense, useCallback, useEffect, useRef } from 'react'
import { refreshRows } from '../grid/model/leaving.ts'
import { type BarProps, TablePage } from '../grid/table-page.tsx'
import type { TableSearch } from '../grid/table-search.ts'
import { focusOpenRecord } from '../record/open-record.ts'
import { lazyPart } from '../ui/lazy-part.tsx'
import { loadedPart } from '../ui/loaded-part.tsx'
import { useLiveChanges } from './live-changes.ts'
import { ManagedBar, ManagedTable } from './managed-table.tsx'

const panel = loadedPart(async () => {
  const { RecordPanel, preloadRecord } = await import('./record-panel.tsx')
  await preloadRecord()
  return RecordPanel
})
const DeletedRecords = lazyPart(async () => ({ default: (await import('../record/deleted/deleted-records.tsx')).DeletedRecords }))

export function TableRoute() {
  const { tableId, viewId } = useParams({ strict: false })
  const search: TableSearch = useSearch({ strict: false })
  const navigate = useNavigate()
  const latest = useRef(search)
  latest.current = search
  const changes = useLiveChanges(Number(tableId))
  const openRecord = useCallback(
    (id: number) => {
      const { tried, record, linked } = latest.current
      if (record === id && linked === undefined) return focusOpenRecord()
      void navigate({ to: '.', search: { ...(tried !== undefined && { tried }), record: id } })
    },
    [navigate],
  )
  return (
    <ManagedTable key={tableId}>
      <TablePage
        tableId={Number(tableId)}
        viewId={viewId === undefined ? undefined : Number(viewId)}
        search={search}
        openRecord={openRecord}
        Bar={ManagedBar}
        Beside={Beside}
        changes={changes}
      />
    </ManagedTable>
  )
}

/** What is beside the grid is loaded once its rows are shown and the page has time, so that it is there with the key that opens it. */
function Beside(props: BarProps) {
  const { grid } = props
  useEffect(() => {
    const idle = globalThis.requestIdleCallback ?? ((run: () => void) => setTimeout(run, 500))
    const stop = grid.subscribe(() => {
      if (!grid.pages.rowAt(0)) return
      stop()
      // What fails to load is asked for again when it is needed.
      idle(() => void panel.preload().catch(() => undefined))
    })
    return () => void stop()
  }, [grid])
  const { record, deleted } = props.search
  return (
    <>
      <Suspense>{record !== undefined && <panel.Part {...props} />}</Suspense>
      <Suspense>{deleted && <Deleted {...props} />}</Suspense>
    </>
  )
}

function Deleted({ data: { table, role }, search, grid }: BarProps) {
  const navigate = useNavigate()
  const { deleted: _, ...rest } = search
  return (
    <DeletedRecords
      table={table}
      mayWrite={role !== 'viewer'}
      back={() => refreshRows(grid)}
      open={(record) => void navigate({ to: '.', search: { ...rest, record } })}
      close={() => void navigate({ to: '.', search: rest })}
    />
  )
}
