/** What an open grid does when its table, its view or the person's role are others by now. */

import type { RecordSource } from '../pages/record-source.ts'
import type { Cell } from '../selection/selection.ts'
import { redefineEdit } from './editing.ts'
import { columnsFor, type GridModel, type GridOptions } from './grid-model.ts'
import { readSumsLater } from './layout.ts'
import { refreshRows } from './leaving.ts'

interface Redefinition {
  isOther: boolean
  isArranged: boolean
}

/**
 * Shows the records by the new definition. The place, the selection and what is being edited stay.
 * @param isOther true if the view has other records now, or the records other fields, so that they are read anew
 * @param isArranged true if the layout was read anew
 */
export function redefine(grid: GridModel, options: GridOptions, source: RecordSource, { isOther, isArranged }: Redefinition): void {
  const { layoutStore } = grid.options
  // What one has just arranged is on its way, so that what was read is older.
  const isKept = !isArranged || layoutStore.isSaving()
  const layout = isKept ? grid.state.layout : options.layout
  const columns = columnsFor(options, layout, grid.state.viewport.width)
  const missing = columns.flatMap(({ id }) => (source.fields.includes(id) ? [] : id))
  grid.become(isKept ? { ...options, layout, layoutStore } : options, missing.length ? source.alsoReading(missing) : source)
  const before = grid.state.columns
  const place = (col: number) => placeOfColumn(before[col]?.id, columns, col)
  const moved = (cell: Cell): Cell => ({ ...cell, col: place(cell.col) })
  const { selection, heading, editing } = grid.state
  grid.update({
    layout,
    columns,
    selection: { active: moved(selection.active), extent: moved(selection.extent) },
    heading: heading === null ? null : place(heading),
  })
  if (editing) {
    const [was, now] = [before, columns].map((all) => all.find(({ id }) => id === editing.field))
    redefineEdit(grid, editing, was, now)
  }
  if (!isOther) return
  refreshRows(grid)
  readSumsLater(grid)
}

/** Where a column is by now; one that is gone leaves its place to the next one. */
function placeOfColumn(id: string | undefined, columns: GridModel['state']['columns'], before: number): number {
  const now = columns.findIndex((column) => column.id === id)
  return now === -1 ? Math.max(0, Math.min(before, columns.length - 1)) : now
}
