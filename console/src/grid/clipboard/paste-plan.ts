/** Where the cells of a block that is pasted go, and which of them have no place. */
import type { Range } from '../selection/selection.ts'

export interface Block {
  rows: number
  cols: number
}

export interface PastePlan {
  /** The cells that are written. */
  target: Range
  /** How many rows of the target lie below the last record, so that they are new ones. */
  newRows: number
  /** The rows and columns of the block that have no place. */
  lostRows: number
  lostCols: number
  /** The cell of the block that goes into a cell of the grid. */
  source(row: number, col: number): { row: number; col: number }
}

/** Cells from which on a paste or a deletion asks first. */
export const ASKS_FROM = 1_000
/** The most cells that one paste may write. */
export const MOST_CELLS = 200_000

/**
 * A block goes where the selection begins. A selection that is a multiple of the block is filled with it, as in a spreadsheet: one value
 * fills all cells, a row all rows.
 * @param grows true if what lies below the last record becomes new records
 */
export function planPaste(block: Block, selected: Range, grid: Block, grows: boolean): PastePlan {
  const height = selected.bottom - selected.top + 1
  const width = selected.right - selected.left + 1
  const repeats = height % block.rows === 0 && width % block.cols === 0
  const rows = repeats ? height : block.rows
  const cols = repeats ? width : block.cols
  const below = Math.max(0, selected.top + rows - grid.rows)
  const newRows = grows ? below : 0
  const bottom = selected.top + rows - 1 - (below - newRows)
  const right = Math.min(selected.left + cols, grid.cols) - 1
  return {
    target: { top: selected.top, left: selected.left, bottom, right },
    newRows,
    lostRows: below - newRows,
    lostCols: selected.left + cols - 1 - right,
    source: (row, col) => ({ row: (row - selected.top) % block.rows, col: (col - selected.left) % block.cols }),
  }
}
