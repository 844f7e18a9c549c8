/** The order, the widths and the hiding of columns, the height of rows, and the sums. */

import { messageOf } from '../../session/errors.ts'
import { type ColumnLayout, clampWidth, movedColumn } from '../columns/column.ts'
import type { Layout } from '../columns/layout-store.ts'
import { resized } from '../pages/scaled-scroll.ts'
import { columnsFor, extentOf, type GridModel, rowHeight, say } from './grid-model.ts'
import { refreshRows } from './leaving.ts'
import { paced } from './pacing.ts'
import { resize, scrollTo } from './scrolling.ts'

/** Shows the layout, and keeps it if it is final. */
function change(grid: GridModel, changes: Partial<Layout>, isFinal = true): void {
  const layout = { ...grid.state.layout, ...changes }
  grid.update({ layout, columns: columnsFor(grid.options, layout, grid.state.viewport.width) })
  if (isFinal) grid.options.layoutStore.save(changes)
  readMissing(grid)
}

/** Rows of a table with many fields have those that were shown; what is shown besides is read. */
function readMissing(grid: GridModel): void {
  const missing = shownIds(grid).filter((id) => !grid.source.fields.includes(id))
  if (missing.length === 0) return
  grid.become(grid.options, grid.source.alsoReading(missing))
  refreshRows(grid)
}

const shownIds = ({ state }: GridModel) => state.columns.map(({ id }) => id)

export function setWidth(grid: GridModel, id: string, width: number, isFinal: boolean): void {
  change(grid, { widths: { ...grid.state.layout.widths, [id]: clampWidth(width) } }, isFinal)
}

/** Puts the column into this place. */
export function moveColumn(grid: GridModel, id: string, to: number): void {
  const ids = shownIds(grid)
  const from = ids.indexOf(id)
  const first = grid.state.columns[0]?.isFrozen ? 1 : 0
  const place = Math.max(first, Math.min(to, ids.length - 1))
  if (from === -1 || from === place) return
  change(grid, { columns: movedColumn(ids, from, place) })
  if (grid.state.heading === from) grid.update({ heading: place })
}

export function hideColumn(grid: GridModel, id: string): void {
  const ids = shownIds(grid)
  if (ids.length > 1)
    showColumns(
      grid,
      ids.filter((other) => other !== id),
    )
}

/** Shows these columns in this order, one at least; null shows all. */
export function showColumns(grid: GridModel, columns: readonly string[] | null): void {
  change(grid, { columns } satisfies Partial<ColumnLayout>)
  const last = grid.state.columns.length - 1
  const { heading, selection } = grid.state
  const stay = <C extends { row: number; col: number }>(cell: C) => ({ ...cell, col: Math.min(cell.col, last) })
  grid.update({
    heading: heading === null ? null : Math.min(heading, last),
    selection: { active: stay(selection.active), extent: stay(selection.extent) },
  })
}

export const showAllColumns = (grid: GridModel): void => showColumns(grid, null)

/** What is seen first stays when the height of the rows changes. */
export function setTall(grid: GridModel, isTall: boolean): void {
  const first = grid.state.at.top / rowHeight(grid)
  change(grid, { isTall })
  grid.update({ at: resized(extentOf(grid), grid.state.at) })
  scrollTo(grid, first * rowHeight(grid))
  resize(grid, grid.state.viewport)
}

export function setSum(grid: GridModel, field: string, isShown: boolean): void {
  const sums = grid.state.layout.sums.filter((id) => id !== field)
  change(grid, { sums: isShown ? [...sums, field] : sums })
  if (isShown) void readSums(grid)
}

const SUMS_REST_MS = 500

/** Reads the sums again after changes. */
export function readSumsLater(grid: GridModel): void {
  if (grid.state.layout.sums.length) sumUpLater(grid)
}

const sumUpLater = paced<GridModel>(async (grid) => {
  await new Promise((resolve) => setTimeout(resolve, SUMS_REST_MS))
  await readSums(grid)
}, 3)

/** The most sums of one request (contract.md §9). */
const MOST_SUMS = 10

/** Sums up the columns whose sums are shown. */
export async function readSums(grid: GridModel): Promise<void> {
  const fields = grid.state.layout.sums.filter((id) => grid.options.fields.some((field) => field.id === id && field.type === 'number'))
  const sums = new Map<string, string | number | null>()
  try {
    for (let from = 0; from < fields.length; from += MOST_SUMS) {
      const part = fields.slice(from, from + MOST_SUMS)
      const values = await grid.source.sums(part)
      for (const [index, field] of part.entries()) sums.set(field, values[index] ?? null)
    }
    grid.update({ sums })
  } catch (error) {
    say(grid, messageOf(error), true)
  }
}
