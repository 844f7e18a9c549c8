/** The page of a table: its grid, through the view of the address. */
import { Link } from '@tanstack/react-router'
import { type ComponentType, type ReactNode, useEffect, useMemo, useRef } from 'react'
import { useClient } from '../session/client.ts'
import { isNotHere, messageOf } from '../session/errors.ts'
import { gridTexts } from '../texts/grid.ts'
import { NotHere } from '../ui/not-here.tsx'
import { Loading, Notice } from '../ui/notice.tsx'
import { useTitle } from '../ui/title.ts'
import { editsOfTable } from './edits/table-edits.ts'
import type { GridModel } from './model/grid-model.ts'
import { refreshRows } from './model/leaving.ts'
import { applyChanges, type Changes } from './model/live.ts'
import { Grid } from './shown/grid.tsx'
import type { Sorted } from './shown/headings.tsx'
import { type TableData, useTableData, type View, viewOf } from './table-data.ts'
import { conditionsOf, type TableSearch } from './table-search.ts'
import { useGrid } from './use-grid.ts'

interface Props {
  tableId: number
  viewId?: number | undefined
  search?: TableSearch | undefined
  openRecord?: ((id: number) => void) | undefined
  changes?: Changes | undefined
  /** What stands above the grid. */
  Bar?: ComponentType<BarProps> | undefined
  /** What stands beside the grid, such as the record that is open. */
  Beside?: ComponentType<BarProps> | undefined
}

/** What is above a grid or beside it knows its table and its view. */
export interface BarProps {
  data: TableData
  view: View
  search: TableSearch
  grid: GridModel
}

export function TablePage({ tableId, ...props }: Props) {
  const { data, error, refetch } = useTableData(tableId)
  const isGone = error !== null && isNotHere(error)
  const stays = useStays(isGone, tableId, data, props.search)
  if (isGone && !stays) return <NotHere />
  if (data) return <TableOfView key={tableId} data={data} isGone={isGone} readAgain={refetch} {...props} />
  if (!error) return <Loading text={gridTexts.loadingTable} />
  return (
    <Notice title={gridTexts.notLoaded} isAlert actions={<RetryButton retry={() => void refetch()} />}>
      <p>{messageOf(error)}</p>
    </Notice>
  )
}

function RetryButton({ retry }: { retry(): void }) {
  return (
    <button type="button" className="button" onClick={retry}>
      {gridTexts.retry}
    </button>
  )
}

/** Whether what is gone is shown as it was, because it holds something that was typed, or a record that is open beside it. */
function useStays(isGone: boolean, tableId: number, data: TableData | undefined, search: TableSearch | undefined): boolean {
  const table = editsOfTable(useClient(), tableId)
  const before = useRef({ isGone: false, stays: false })
  if (isGone !== before.current.isGone)
    before.current = { isGone, stays: isGone && (table.holdsTyped(data?.table.fields ?? []) || search?.record !== undefined) }
  return before.current.stays
}

/** The view of the address: as it was, if it was deleted and stays. */
function useView(data: TableData, viewId: number | undefined, search: TableSearch): { view: View | undefined; isViewGone: boolean } {
  const present = viewOf(data, viewId)
  const known = useRef<{ viewId: number | undefined; view: View }>(undefined)
  if (present) known.current = { viewId, view: present }
  const stays = useStays(!present, data.table.id, data, search)
  const before = stays && known.current?.viewId === viewId ? known.current?.view : undefined
  return { view: present ?? before, isViewGone: !present }
}

interface TableOfViewProps extends Omit<Props, 'tableId'> {
  data: TableData
  /** The table was deleted, or may not be read any more. */
  isGone: boolean
  readAgain(): void
}

function TableOfView({ data, isGone, readAgain, viewId, search = {}, openRecord, changes, Bar, Beside }: TableOfViewProps) {
  const { view, isViewGone } = useView(data, viewId, search)
  const conditions = search.tried
  const grid = useGrid(data, view, conditions, openRecord)
  useChanges(grid, changes)
  useFailure(grid, readAgain)
  const sorted = useMemo(() => sortedBy(view, conditions), [view, conditions])
  const name = view ? gridTexts.grid(data.table.name, view.is_default ? null : view.name) : undefined
  useTitle(name)

  if (!view) {
    return (
      <Notice title={gridTexts.viewNotHere} actions={<ToTable {...data} />}>
        <p>{gridTexts.viewNotHereWhy}</p>
      </Notice>
    )
  }
  const hasConditions = conditions !== undefined || view.filters.length > 0 || view.filter !== undefined
  return (
    <main className="grid-page">
      {isGone && <Gone text={gridTexts.tableGone} />}
      {!isGone && isViewGone && (
        <Gone text={gridTexts.viewGone}>
          <ToTable {...data} />
        </Gone>
      )}
      {Bar && grid ? <Bar data={data} view={view} search={search} grid={grid} /> : <h1 className="visually-hidden">{name}</h1>}
      <div className="grid-beside">
        {grid && <Grid grid={grid} name={name ?? ''} viewId={view.id} sorted={sorted} hasConditions={hasConditions} />}
        {grid && Beside && <Beside data={data} view={view} search={search} grid={grid} />}
      </div>
    </main>
  )
}

const ToTable = ({ table: { id, name } }: TableData) => (
  <Link to="/table/$tableId" params={{ tableId: String(id) }} search={{}} className="button">
    {gridTexts.toTable(name)}
  </Link>
)

const Gone = ({ text, children }: { text: string; children?: ReactNode }) => (
  <div className="notice-bar" role="alert">
    <p>{text}</p>
    {children}
  </div>
)

/** Shows what others change. */
function useChanges(grid: GridModel | null, changes: Changes | undefined) {
  useEffect(() => {
    if (!grid || !changes) return
    return changes.subscribe(grid.options.tableId, (ids) => {
      // Pages are asked for until they come, and say what is wrong.
      applyChanges(grid, ids).catch(() => refreshRows(grid))
    })
  }, [grid, changes])
}

/** A definition that is read again so often does not help. */
const READ_AGAIN_MS = 10_000

/** Records that cannot be read may be those of a table whose columns are others by now, so the definition is read again. */
function useFailure(grid: GridModel | null, readAgain: () => void) {
  const latest = useRef({ readAgain, at: Number.NEGATIVE_INFINITY })
  latest.current.readAgain = readAgain
  useEffect(() => {
    return grid?.subscribe(() => {
      if (grid.pages.failure() === undefined || performance.now() - latest.current.at < READ_AGAIN_MS) return
      latest.current.at = performance.now()
      latest.current.readAgain()
    })
  }, [grid])
}

/** An order that is tried counts in place of the view's. */
function sortedBy(view: View | undefined, tried: string | undefined): Sorted {
  const saved = view?.order ?? (view?.order_by ? [{ field: view.order_by, dir: view.order_dir ?? 'A' }] : [])
  const { order, replaces } = conditionsOf(tried === undefined ? {} : { tried })
  const shown = order ?? (replaces ? [] : saved)
  return new Map(shown.map(({ field, dir }) => [field, dir === 'D' || dir === 'd' ? 'descending' : 'ascending']))
}
