/** How a grid is scrolled: by its bar, and to what has to be seen. */
import { columnsBetween, frozenWidth, widthOf } from '../columns/column.ts'
import { placeAt, resized, scrolledTo, settled, topToShow } from '../pages/scaled-scroll.ts'
import { type Cell, type Selection, within } from '../selection/selection.ts'
import { boundsOf, columnsFor, extentOf, type GridModel, rowCount, rowHeight, rowOfRecord } from './grid-model.ts'

/** Rows above and below what is seen that are rendered, too. What is rendered changes by so many rows at once. */
const BESIDE = 4

export interface Rendered {
  firstRow: number
  lastRow: number
  firstCol: number
  lastCol: number
}

/** What has to be rendered. */
export function rendered(grid: GridModel): Rendered {
  const { at, left, viewport, columns } = grid.state
  const height = rowHeight(grid)
  const seen = Math.floor(at.top / height)
  const firstRow = Math.max(0, Math.floor(seen / BESIDE) * BESIDE - BESIDE)
  const last = Math.ceil((at.top + viewport.height) / height / BESIDE) * BESIDE + BESIDE
  const { first, last: lastCol } = columnsBetween(columns, left, viewport.width)
  return { firstRow, lastRow: Math.min(last, rowCount(grid)) - 1, firstCol: first, lastCol }
}

export function isSeen(grid: GridModel, recordId: number): boolean {
  const { at, viewport } = grid.state
  const row = rowOfRecord(grid, recordId)
  const top = (row ?? -1) * rowHeight(grid)
  return row !== undefined && top + rowHeight(grid) > at.top && top < at.top + viewport.height
}

/** Asks for the pages of what is seen. */
function showPages(grid: GridModel, isPassing = false): void {
  const height = rowHeight(grid)
  const first = Math.floor(grid.state.at.top / height)
  grid.pages.show(first, first + Math.ceil(grid.state.viewport.height / height), isPassing)
}

/** The bar has moved. @returns the place where it has to be */
export function scrollBar(grid: GridModel, bar: number, left: number): number {
  const { at, viewport } = grid.state
  const place = bar === at.bar ? at : scrolledTo(extentOf(grid), at, bar)
  grid.update({ at: place, left })
  if (place.top !== at.top || bar !== at.bar) showPages(grid, Math.abs(place.top - at.top) > 2 * viewport.height)
  return place.bar
}

/** The scrolling has come to rest: the bar goes where it belongs. */
export function settleBar(grid: GridModel): number {
  const place = settled(extentOf(grid), grid.state.at)
  if (place.bar !== grid.state.at.bar) grid.update({ at: place })
  return place.bar
}

/** The window, the rows or their height have changed: what is seen first stays. */
export function resize(grid: GridModel, viewport: { width: number; height: number }): void {
  const columns = columnsFor(grid.options, grid.state.layout, viewport.width)
  grid.update({ viewport, columns })
  grid.update({ at: resized(extentOf(grid), grid.state.at), selection: keptSelection(grid) })
  showPages(grid)
}

/** The selection within the rows that there are by now. */
function keptSelection(grid: GridModel): Selection {
  const { selection } = grid.state
  const bounds = boundsOf(grid)
  const isWithin = Math.max(selection.active.row, selection.extent.row) < bounds.rows
  if (isWithin || !grid.pages.length().isFinal) return selection
  return { active: within(bounds, selection.active), extent: within(bounds, selection.extent) }
}

/** Shows `top` first. */
export function scrollTo(grid: GridModel, top: number): void {
  const at = placeAt(extentOf(grid), top)
  if (at.top === grid.state.at.top) return
  grid.update({ at })
  showPages(grid)
}

/** Scrolls by so many pixels, as far as there is something to see. */
export function scrollBy(grid: GridModel, down: number, right: number): void {
  const { at, left, viewport, columns } = grid.state
  const width = Math.max(0, widthOf(columns) - viewport.width)
  const wanted = Math.max(0, Math.min(left + right, width))
  if (wanted !== left) grid.update({ left: wanted })
  if (down !== 0) scrollTo(grid, at.top + down)
}

/** Scrolls by as little as shows the cell. */
export function reveal(grid: GridModel, { row, col }: Cell): void {
  const height = rowHeight(grid)
  const { at, left, viewport, columns } = grid.state
  const top = topToShow(extentOf(grid), at.top, { start: row * height, size: height })
  const column = columns[col]
  const frozen = frozenWidth(columns)
  const start = (column?.left ?? 0) - frozen
  const room = viewport.width - frozen
  const isSeen = !column || column.isFrozen || (start >= left && start + column.width <= left + room)
  const wanted = isSeen ? left : start < left || column.width > room ? start : start + column.width - room
  if (top === at.top && wanted === left) return
  grid.update({ at: placeAt(extentOf(grid), top), left: Math.max(0, wanted) })
  showPages(grid)
}

/** Rows that are read anew stand elsewhere: all moves with them, so that nothing that is seen does, and one stays at one's record. */
export function shiftRows(grid: GridModel, by: number, heldBy: number): void {
  const { selection, at, editing } = grid.state
  const shift = (cell: Cell) => ({ row: Math.max(0, cell.row + heldBy), col: cell.col })
  grid.update({
    selection: { active: shift(selection.active), extent: shift(selection.extent) },
    editing: editing && { ...editing, row: editing.row + heldBy },
    ...(by !== 0 && { at: placeAt(extentOf(grid), at.top + by * rowHeight(grid)) }),
  })
}
