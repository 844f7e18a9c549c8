/** The active cell and the range of cells that is selected with it. */

export interface Cell {
  row: number
  col: number
}

/** The range is the box from `active`, which has the focus, to `extent`, which Shift moves. */
export interface Selection {
  active: Cell
  extent: Cell
}

export interface Bounds {
  rows: number
  cols: number
}

/** A range, with both ends belonging to it. */
export interface Range {
  top: number
  bottom: number
  left: number
  right: number
}

export type Direction = 'up' | 'down' | 'left' | 'right'

export const STEPS: Readonly<Record<Direction, Cell>> = {
  up: { row: -1, col: 0 },
  down: { row: 1, col: 0 },
  left: { row: 0, col: -1 },
  right: { row: 0, col: 1 },
}

export const oneCell = (cell: Cell): Selection => ({ active: cell, extent: cell })

export const rangeOf = ({ active, extent }: Selection): Range => ({
  top: Math.min(active.row, extent.row),
  bottom: Math.max(active.row, extent.row),
  left: Math.min(active.col, extent.col),
  right: Math.max(active.col, extent.col),
})

export const cellsOf = ({ top, bottom, left, right }: Range): number => (bottom - top + 1) * (right - left + 1)

export const isSame = (a: Cell, b: Cell): boolean => a.row === b.row && a.col === b.col

export const contains = ({ top, bottom, left, right }: Range, { row, col }: Cell): boolean =>
  row >= top && row <= bottom && col >= left && col <= right

/** The cell within the bounds that is nearest; the first one if there are no cells. */
export const within = ({ rows, cols }: Bounds, { row, col }: Cell): Cell => ({
  row: Math.max(0, Math.min(row, rows - 1)),
  col: Math.max(0, Math.min(col, cols - 1)),
})

/** Moves the active cell, or with `extend` the other end of the range. */
export function moved(selection: Selection, to: Cell, bounds: Bounds, extend = false): Selection {
  const cell = within(bounds, to)
  return extend ? { active: selection.active, extent: cell } : oneCell(cell)
}

/** The end that a movement starts from. */
export const movingEnd = ({ active, extent }: Selection, extend: boolean): Cell => (extend ? extent : active)

export function step(selection: Selection, direction: Direction, bounds: Bounds, { extend = false, by = 1 } = {}): Selection {
  const { row, col } = movingEnd(selection, extend)
  const { row: rows, col: cols } = STEPS[direction]
  return moved(selection, { row: row + rows * by, col: col + cols * by }, bounds, extend)
}

/**
 * The next cell for Tab, the one before for Shift+Tab: at the end of a row it is the first of the next one. In a range that has several
 * cells Tab goes round in it.
 */
export function tabbed(selection: Selection, back: boolean, bounds: Bounds): Selection {
  const { active } = selection
  const at = active.row * bounds.cols + active.col + (back ? -1 : 1)
  if (at < 0 || at >= bounds.rows * bounds.cols) return oneCell(active)
  return oneCell({ row: Math.floor(at / bounds.cols), col: at % bounds.cols })
}

/** All cells; the active one stays, so the range begins at the first cell and its focus is the active one. */
export const everything = ({ rows, cols }: Bounds): Selection => ({
  active: { row: 0, col: 0 },
  extent: { row: Math.max(0, rows - 1), col: Math.max(0, cols - 1) },
})

/** The selection after rows came or went above it. */
export function shiftedBy(rows: number, { active, extent }: Selection, bounds: Bounds): Selection {
  const shift = (cell: Cell) => within(bounds, { row: cell.row + rows, col: cell.col })
  return { active: shift(active), extent: shift(extent) }
}
