/** The record of a table's address, beside its grid: `?record=12`. */
import { useNavigate } from '@tanstack/react-router'
import { useEffect } from 'react'
import { callFocus, type GridModel, rowOfRecord } from '../grid/model/grid-model.ts'
import { select } from '../grid/model/navigation.ts'
import { oneCell } from '../grid/selection/selection.ts'
import { type TableData, useTableData, type View } from '../grid/table-data.ts'
import type { BarProps } from '../grid/table-page.tsx'
import { conditionsOf, type TableSearch } from '../grid/table-search.ts'
import type { LinkedRecord } from '../record/fields/links.tsx'
import { linkedIn, linkedText, recordAddress } from '../record/record-address.ts'
import { RecordView } from '../record/record-view.tsx'
import { isNotHere, messageOf } from '../session/errors.ts'
import { appTexts } from '../texts/app.ts'
import { recordTexts } from '../texts/record/record.ts'
import { preloadParts, recordParts } from './record-parts.tsx'

/** Loads what a record shows at once, for a page that has time. */
export const preloadRecord = (): Promise<void> => preloadParts()

/** `record` is in the address. */
export function RecordPanel({ data, view, search, grid }: BarProps) {
  const chain = linkedIn(search)
  const linked = chain.at(-1)
  const own = { tableId: data.table.id, recordId: search.record ?? 0 }
  const isOwn = !linked || linked.tableId === own.tableId
  const other = linked && linked.tableId !== own.tableId ? linked : undefined
  useFollowingRow(grid, isOwn ? (linked ?? own).recordId : undefined)
  if (other) return <LinkedPanel key={other.tableId} {...{ search, grid, own, chain, view }} record={other} />
  return <Panel {...{ search, grid, own, chain, view }} record={linked ?? own} definition={data} />
}

interface PanelProps {
  search: TableSearch
  grid: GridModel
  view: View
  /** The record of the table's own address. */
  own: LinkedRecord
  chain: readonly LinkedRecord[]
  record: LinkedRecord
}

/** A record of another table, whose definition has to be read first. */
function LinkedPanel(props: PanelProps) {
  const { data, error } = useTableData(props.record.tableId)
  const change = useSearchChange()
  if (data) return <Panel {...props} definition={data} />
  return (
    <aside className="record record-panel" aria-label={recordTexts.panel}>
      {error && (
        <div className="notice-bar" role="alert">
          <p>{isNotHere(error) ? appTexts.notHere : messageOf(error)}</p>
          <button type="button" className="button small" onClick={() => change({ ...props.search, linked: undefined })}>
            {recordTexts.backTo}
          </button>
        </div>
      )}
    </aside>
  )
}

function Panel({ search, grid, view, own, chain, record, definition }: PanelProps & { definition: TableData }) {
  const change = useSearchChange()
  const isInGrid = record.tableId === own.tableId
  const { compose: _, entry: __, deleted: ___, ...rest } = search
  const back = chain.length > 0 ? () => change({ ...rest, linked: linkedText(chain.slice(0, -1)) }) : undefined
  return (
    <RecordView
      {...record}
      frame="panel"
      parts={recordParts}
      definition={definition}
      grid={isInGrid ? grid : undefined}
      narrowing={chain.length === 0 ? grid.source.narrowing : undefined}
      compose={search.compose}
      entry={search.entry}
      view={chain.length === 0 ? { id: view.id, name: view.name, tried: conditionsOf(search) } : undefined}
      setCompose={(compose) => change({ ...search, compose })}
      show={(recordId) => change({ ...rest, record: recordId, linked: undefined }, { replace: true })}
      openLinked={{
        href: recordAddress,
        open: (linked) => change({ ...rest, linked: linkedText([...chain, linked]) }),
      }}
      showDeleted={() => change({ ...search, deleted: true })}
      back={back && { label: recordTexts.backTo, run: back }}
      close={() => {
        change({ ...rest, record: undefined, linked: undefined })
        callFocus(grid)
      }}
      pageAddress={isInGrid ? pageAddress(record, view, search) : recordAddress(record)}
    />
  )
}

const pageAddress = (record: LinkedRecord, view: View, { tried }: TableSearch): string =>
  `${recordAddress(record)}?${new URLSearchParams({ view: String(view.id), ...(tried && { tried }) })}`

type Changes = { [Key in keyof TableSearch]?: TableSearch[Key] | undefined }

/** Changes the search parameters of the address. */
function useSearchChange() {
  const navigate = useNavigate()
  return (changes: Changes, { replace = false } = {}) => {
    const search = Object.fromEntries(Object.entries(changes).filter(([, value]) => value !== undefined)) as TableSearch
    void navigate({ to: '.', search, replace })
  }
}

/** The active cell is in the row of the record that is shown, so that the focus comes back to it. */
function useFollowingRow(grid: GridModel, recordId: number | undefined) {
  useEffect(() => {
    const row = recordId === undefined ? undefined : rowOfRecord(grid, recordId)
    const { active } = grid.state.selection
    if (row !== undefined && row !== active.row) select(grid, oneCell({ row, col: active.col }))
  }, [grid, recordId])
}
