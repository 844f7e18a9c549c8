/** How the active cell moves. */
import { cellKind } from '../../cells/registry.ts'
import { filledEdge, type IsFilled } from '../selection/filled-edge.ts'
import type { Command } from '../selection/keys.ts'
import { type Cell, type Direction, everything, moved, movingEnd, type Selection, step, tabbed } from '../selection/selection.ts'
import { boundsOf, cellValue, type GridModel, rowHeight, say, storedRow } from './grid-model.ts'
import { leaveRow } from './leaving.ts'
import { reveal } from './scrolling.ts'

/** Makes this the selection and shows its moving end. */
export function select(grid: GridModel, selection: Selection, { reveals = true } = {}): void {
  const before = grid.state.selection.active.row
  const isExtended = selection.extent.row !== selection.active.row || selection.extent.col !== selection.active.col
  grid.update({ selection, heading: null })
  if (reveals) reveal(grid, isExtended ? selection.extent : selection.active)
  if (selection.active.row !== before) leaveRow(grid)
}

export function moveBy(grid: GridModel, direction: Direction, extend = false, by = 1): void {
  select(grid, step(grid.state.selection, direction, boundsOf(grid), { extend, by }))
}

type Movement = Extract<Command, { do: 'move' | 'page' | 'edge' | 'row-end' | 'grid-end' | 'tab' }>

export function move(grid: GridModel, command: Movement): void {
  const { selection, heading } = grid.state
  if (heading !== null) moveHeading(grid, heading, command)
  else if (command.do === 'edge') void moveToEdge(grid, command.direction, command.extend)
  else if (command.do === 'move' && command.direction === 'up' && !command.extend && selection.active.row === 0) {
    grid.update({ heading: selection.active.col })
  } else select(grid, movedBy(grid, command))
}

function movedBy(grid: GridModel, command: Exclude<Movement, { do: 'edge' }>): Selection {
  const { selection, viewport } = grid.state
  const bounds = boundsOf(grid)
  if (command.do === 'tab') return tabbed(selection, command.back, bounds)
  const { extend } = command
  switch (command.do) {
    case 'move':
      return step(selection, command.direction, bounds, { extend })
    case 'page':
      return step(selection, command.direction, bounds, { extend, by: Math.max(1, Math.floor(viewport.height / rowHeight(grid)) - 1) })
    case 'row-end': {
      const { row } = movingEnd(selection, extend)
      return moved(selection, { row, col: command.isFirst ? 0 : bounds.cols - 1 }, bounds, extend)
    }
    case 'grid-end': {
      const end = command.isFirst ? { row: 0, col: 0 } : { row: bounds.rows - 1, col: bounds.cols - 1 }
      return moved(selection, end, bounds, extend)
    }
  }
}

export const selectAll = (grid: GridModel): void => select(grid, everything(boundsOf(grid)), { reveals: false })

/** The headings are above the first row: one moves along them, and down into the rows. */
function moveHeading(grid: GridModel, heading: number, command: Movement): void {
  if (command.do !== 'move' && command.do !== 'tab') return
  const direction = command.do === 'tab' ? (command.back ? 'left' : 'right') : command.direction
  const last = grid.state.columns.length - 1
  if (direction === 'up') return
  if (direction === 'down') {
    grid.update({ heading: null })
    return
  }
  const to = Math.max(0, Math.min(heading + (direction === 'left' ? -1 : 1), last))
  grid.update({ heading: to })
  reveal(grid, { row: grid.state.selection.active.row, col: to })
}

/** Ctrl with an arrow. What is not loaded is asked from the service, which knows where the filled cells end. */
async function moveToEdge(grid: GridModel, direction: Direction, extend: boolean): Promise<void> {
  const { selection } = grid.state
  const start = movingEnd(selection, extend)
  if (!(await isLoaded(grid, start))) return
  const bounds = boundsOf(grid)
  const edge = filledEdge(start, direction, bounds, isFilledIn(grid))
  const cell = 'cell' in edge ? edge.cell : await askedEdge(grid, edge, direction)
  // One who has moved on meanwhile stays there.
  if (cell && grid.state.selection === selection) select(grid, moved(selection, cell, bounds, extend))
}

/** Waits until the row of the cell is there. False if one has moved on meanwhile, or if it cannot be read. */
function isLoaded(grid: GridModel, cell: Cell): Promise<boolean> {
  const { selection } = grid.state
  const known = (): boolean | undefined => {
    if (storedRow(grid, cell.row)) return true
    return grid.state.selection !== selection || grid.pages.failure() !== undefined ? false : undefined
  }
  const now = known()
  if (now !== undefined) return Promise.resolve(now)
  reveal(grid, cell)
  return new Promise((resolve) => {
    const stop = grid.subscribe(() => {
      const found = known()
      if (found === undefined) return
      stop()
      resolve(found)
    })
  })
}

const isFilledIn =
  (grid: GridModel): IsFilled =>
  ({ row, col }) => {
    const stored = storedRow(grid, row)
    const column = grid.state.columns[col]
    if (!stored || !column) return undefined
    // A checkbox has a value whether it is checked or not.
    return column.field.type === 'checkbox' || cellKind(column.field).filled(cellValue(grid, stored, column.id))
  }

async function askedEdge(grid: GridModel, { from, looksFor }: { from: Cell; looksFor: 'filled' | 'empty' }, direction: Direction) {
  const column = grid.state.columns[from.col]
  const row = storedRow(grid, from.row)
  const isUp = direction === 'up'
  const end = { row: isUp ? 0 : boundsOf(grid).rows - 1, col: from.col }
  if (!column || !row || column.field.type === 'checkbox') return end
  try {
    const place = await grid.source.nextPlace(row.id, column.id, looksFor, isUp)
    if (place === null) return end
    return { row: looksFor === 'filled' ? place : place + (isUp ? 1 : -1), col: from.col }
  } catch (error) {
    say(grid, error instanceof Error ? error.message : String(error), true)
    return null
  }
}
