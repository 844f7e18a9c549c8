/** The rows that are seen, and that of the active cell, which keeps the focus when it is scrolled away. */
import { type RefObject, useLayoutEffect, useRef } from 'react'
import { placeCaret } from '../input/caret.ts'
import { isMarked } from '../model/deleting.ts'
import { extentOf, type GridModel, rowCount, rowHeight, storedRow } from '../model/grid-model.ts'
import { rendered } from '../model/scrolling.ts'
import { barHeight } from '../pages/scaled-scroll.ts'
import { rangeOf } from '../selection/selection.ts'
import { GridRow } from './row.tsx'

/** Rows are placed from a row near to them, which changes only after a jump, so that those that stay are not placed anew. */
const NEAR = 20_000

export function Rows({ grid, frame }: { grid: GridModel; frame: RefObject<HTMLElement | null> }) {
  const { at, selection, columns } = grid.state
  const { firstRow, lastRow, firstCol, lastCol } = rendered(grid)
  const height = rowHeight(grid)
  const origin = Math.floor(firstRow / NEAR) * NEAR
  const { active } = selection
  const count = rowCount(grid)

  const indexes: number[] = []
  for (let index = firstRow; index <= lastRow; index++) indexes.push(index)
  if (active.row < count && (active.row < firstRow || active.row > lastRow)) indexes.push(active.row)

  useFocus(grid, frame)

  return (
    <div role="rowgroup" className="grid-body" style={{ height: barHeight(extentOf(grid)) }}>
      <div className="grid-layer" role="presentation" style={{ top: at.bar - at.top + origin * height }}>
        {indexes.map((index) => {
          const isAway = index < firstRow || index > lastRow
          const top = ((isAway ? firstRow : index) - origin) * height
          return <GridRow key={index} {...{ grid, index, top, columns, firstCol, lastCol, isAway }} {...stateOfRow(grid, index)} />
        })}
      </div>
    </div>
  )
}

/** What a row shows beside its place. */
function stateOfRow(grid: GridModel, index: number) {
  const { selection, editing, heading, gone } = grid.state
  const row = storedRow(grid, index)
  const { top, bottom, left, right } = rangeOf(selection)
  const isActive = index === selection.active.row
  const isInRange = index >= top && index <= bottom
  return {
    row,
    selectedFrom: isInRange ? left : -1,
    selectedTo: isInRange ? right : -1,
    activeCol: isActive ? selection.active.col : -1,
    hasFocus: heading === null,
    editing: isActive ? editing : null,
    pending: row && grid.table.edits.pending(row.id),
    refusals: row && grid.table.edits.refusals(row.id),
    isMarked: row !== undefined && isMarked(grid, row.id),
    isGone: row !== undefined && gone.has(row.id),
  }
}

/** Keeps the focus in the active cell, or in the heading that one has gone to, once the grid has it. */
function useFocus(grid: GridModel, frame: RefObject<HTMLElement | null>) {
  const { selection, heading, editing, focusCalls } = grid.state
  const called = useRef(focusCalls)
  const focused = useRef('')
  const wasEditing = useRef(false)
  /** The cell that was meant to have the focus was not in the page yet. */
  const isWaiting = useRef(false)
  // The element that has the focus may be one that this rendering removes.
  const hadFocus = frame.current?.contains(document.activeElement) ?? false
  const wanted = `${selection.active.row} ${selection.active.col} ${heading} ${editing === null} ${focusCalls}`
  useLayoutEffect(() => {
    if (focused.current === wanted) return
    // An editor that is closed leaves the focus to the page, and so does a cell that comes with the first rows only. Whoever has gone
    // elsewhere with it until then stays there.
    const isFree = (wasEditing.current || isWaiting.current) && document.activeElement === document.body
    const isCalled = called.current !== focusCalls
    const isMeant = (hadFocus || isFree || isCalled) && !editing
    wasEditing.current = editing !== null
    called.current = focusCalls
    isWaiting.current = isMeant && !focusGrid(frame.current, heading) && document.activeElement === document.body
    if (!isWaiting.current) focused.current = wanted
  })
}

/** @returns false if the cell is not in the page yet */
function focusGrid(frame: HTMLElement | null, heading: number | null): boolean {
  const selector = heading === null ? '.grid-cell.active' : `.grid-heading[data-col="${heading}"]`
  const element = frame?.querySelector<HTMLElement>(selector)
  element?.focus({ preventScroll: true })
  placeCaret(element)
  return Boolean(element)
}
