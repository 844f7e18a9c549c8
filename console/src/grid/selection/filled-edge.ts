/** Ctrl with an arrow: the edge of the filled cells, as in a spreadsheet. */
import { type Bounds, type Cell, type Direction, STEPS } from './selection.ts'

/** What is known about a cell: whether it has a value, or undefined if its row is not loaded. */
export type IsFilled = (cell: Cell) => boolean | undefined

/**
 * The cell where the movement ends, or what has to be asked: from `from` on (its row is loaded), the next cell that is filled or empty.
 */
export type Edge = { cell: Cell } | { from: Cell; looksFor: 'filled' | 'empty' }

/**
 * Out of a filled cell with a filled neighbour, the last filled cell before an empty one; otherwise the next filled cell; and the end of
 * the grid if there is none.
 */
export function filledEdge(start: Cell, direction: Direction, bounds: Bounds, isFilled: IsFilled): Edge {
  const next = beside(start, direction)
  if (!isInside(next, bounds)) return { cell: start }
  const startsFilled = isFilled(start)
  const nextFilled = isFilled(next)
  if (startsFilled === undefined) return { cell: next }
  if (nextFilled === undefined) return { from: start, looksFor: startsFilled ? 'empty' : 'filled' }
  return searched(next, direction, bounds, isFilled, startsFilled && nextFilled ? 'empty' : 'filled')
}

function searched(start: Cell, direction: Direction, bounds: Bounds, isFilled: IsFilled, looksFor: 'filled' | 'empty'): Edge {
  for (let at = start; ; at = beside(at, direction)) {
    const filled = isFilled(at)
    if (filled === undefined) return { from: beside(at, direction, -1), looksFor }
    if (filled === (looksFor === 'filled')) return { cell: looksFor === 'filled' ? at : beside(at, direction, -1) }
    if (!isInside(beside(at, direction), bounds)) return { cell: at }
  }
}

function beside({ row, col }: Cell, direction: Direction, by = 1): Cell {
  const step = STEPS[direction]
  return { row: row + step.row * by, col: col + step.col * by }
}

const isInside = ({ row, col }: Cell, { rows, cols }: Bounds) => row >= 0 && col >= 0 && row < rows && col < cols
