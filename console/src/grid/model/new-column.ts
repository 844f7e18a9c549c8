/** Columns of fields that the grid does not know yet: it learns of them when the definition of the table is read again. */
import { oneCell } from '../selection/selection.ts'
import { callFocus, type GridModel, rowCount } from './grid-model.ts'
import { showColumns } from './layout.ts'
import { select } from './navigation.ts'
import { reveal } from './scrolling.ts'

/** Runs once the grid knows the field, which may be one of another table, such as `company.city`. */
function onceKnown(grid: GridModel, id: string, run: () => void): void {
  const isKnown = () => grid.options.fields.some((field) => field.id === id) || grid.options.linkedField(id) !== undefined
  if (isKnown()) {
    run()
    return
  }
  const stop = grid.subscribe(() => {
    if (!isKnown()) return
    stop()
    run()
  })
}

/** Shows the column behind the others, as soon as the grid knows it. */
export function addColumn(grid: GridModel, id: string): void {
  onceKnown(grid, id, () => {
    const ids = grid.state.columns.map((column) => column.id)
    if (!ids.includes(id)) showColumns(grid, [...ids, id])
  })
}

/** Shows the column of a new field, and puts the focus into it. */
export function goToNewColumn(grid: GridModel, id: string): void {
  onceKnown(grid, id, () => {
    addColumn(grid, id)
    const col = grid.state.columns.findIndex((column) => column.id === id)
    if (col === -1) return
    const row = Math.max(0, Math.min(grid.state.selection.active.row, rowCount(grid) - 1))
    if (rowCount(grid)) select(grid, oneCell({ row, col }))
    else {
      grid.update({ heading: col })
      reveal(grid, { row, col })
    }
    // The dialog that made the field gives the focus back to its button in the next frame.
    requestAnimationFrame(() => requestAnimationFrame(() => callFocus(grid)))
  })
}
