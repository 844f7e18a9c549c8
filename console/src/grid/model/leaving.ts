/** What happens to the records that a view no longer shows, or not where they stand. */
import type { GridModel } from './grid-model.ts'
import { paced } from './pacing.ts'

/** One has moved on to another row: records that have left the view go, and new rows go where the order has them. */
export function leaveRow(grid: GridModel): void {
  if (grid.state.gone.size) refreshRows(grid)
}

/**
 * Reads the records anew, and counts them. What is shown stays until the answers come, records that have left the view and new rows
 * included. While a cell is edited nothing is read, so that its record stays where it is.
 */
export function refreshRows(grid: GridModel): void {
  if (grid.state.editing) {
    refreshLater(grid)
    return
  }
  readRows(grid)
  countRows(grid)
}

/** One reading ends before the next one begins: rows that change all the time are shown all the same. */
const readRows = paced<GridModel>((grid) => {
  const { gone } = grid.state
  const added = new Set(grid.state.newRows.map(({ id }) => id))
  const drafts = [...added].filter((id) => id < 0)
  draftsOfReading.set(grid, new Set([...(draftsOfReading.get(grid) ?? []), ...drafts]))
  const reading = new Promise<void>((resolve) => {
    grid.pages.refresh((isNew) => {
      resolve()
      if (!isNew) return
      const left = grid.state.newRows.filter(({ id }) => id < 0 || !added.has(id))
      grid.update({ gone: new Set([...grid.state.gone].filter((id) => !gone.has(id))), newRows: left })
    })
  })
  readings.set(grid, reading)
  return reading
}, 0)

const readings = new WeakMap<GridModel, Promise<void>>()

/** The new rows that were not stored when a reading began. */
const draftsOfReading = new WeakMap<GridModel, Set<number>>()

/** Reads the records again if the record of a draft, which was stored meanwhile, may be among those that were read. */
export function leaveDrafts(grid: GridModel, drafts: Iterable<number>): void {
  const known = draftsOfReading.get(grid)
  if ([...drafts].filter((id) => known?.delete(id)).length) refreshRows(grid)
}

const waiting = new WeakSet<GridModel>()

function refreshLater(grid: GridModel): void {
  if (waiting.has(grid)) return
  waiting.add(grid)
  const stop = grid.subscribe(() => {
    if (grid.state.editing) return
    stop()
    waiting.delete(grid)
    refreshRows(grid)
  })
}

/** Counts beside the rows, which do not wait for it. */
export const countRows = paced<GridModel>(async (grid) => {
  // The rows say themselves what is wrong with the query; without a count their end is seen when it is reached.
  const count = await grid.source.count().catch(() => undefined)
  // Rows that are only counted would push new rows away from under the caret.
  await readings.get(grid)
  if (count !== undefined) grid.pages.setCount(count)
}, 3)
