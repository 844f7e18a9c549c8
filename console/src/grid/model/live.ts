/** What others change while a grid is open, and what its own edits do to the place of a record. */
import { type ChangedRow, type Row, withChange } from '../pages/row.ts'
import { type GridModel, rowOfRecord, storedRow } from './grid-model.ts'
import { readSumsLater } from './layout.ts'
import { refreshRows } from './leaving.ts'
import { isSeen } from './scrolling.ts'

/** Tells which records of a table have changed: their ids, or null if they are too many to name. */
export interface Changes {
  subscribe(tableId: number, listener: (recordIds: readonly number[] | null) => void): () => void
}

/**
 * Shows records as they are now. One that is seen and that the view no longer has stays, greyed, until one moves on; a record that is not
 * loaded may belong anywhere, so the pages are read anew.
 */
export async function applyChanges(grid: GridModel, ids: readonly number[] | null): Promise<void> {
  readSumsLater(grid)
  const loaded = ids?.filter((id) => rowOfRecord(grid, id) !== undefined)
  if (!ids || !loaded || loaded.length < ids.length) return refreshRows(grid)
  await readAgain(grid, loaded)
}

async function readAgain(grid: GridModel, ids: readonly number[]): Promise<void> {
  const inView = await grid.source.byIds(ids, true)
  const found = new Set(inView.map(({ id }) => id))
  const left = ids.filter((id) => !found.has(id))
  const outside = left.length ? await grid.source.byIds(left, false) : []
  const gone = new Set([...grid.state.gone].filter((id) => !found.has(id)))
  for (const id of left) gone.add(id)
  showRows(grid, [...inView, ...outside])
  grid.update({ gone })
  const present = new Set(outside.map(({ id }) => id))
  const active = storedRow(grid, grid.state.selection.active.row)
  // One that was deleted goes, and one that is not seen, too.
  if (left.some((id) => id !== active?.id && !(present.has(id) && isSeen(grid, id)))) refreshRows(grid)
}

/** Puts records in the place of what was known of them. */
export function showRows(grid: GridModel, rows: readonly Row[]): void {
  grid.pages.replace(rows)
  const byId = new Map(rows.map((row) => [row.id, row]))
  if (grid.state.newRows.some(({ id }) => byId.has(id))) grid.update({ newRows: grid.state.newRows.map((row) => byId.get(row.id) ?? row) })
}

/** Own edits were saved: shows the records as the service answered them, and looks whether they still belong where they stand. */
export async function applySaved(grid: GridModel, changed: readonly ChangedRow[]): Promise<void> {
  const rows = changed.flatMap((record) => {
    const index = rowOfRecord(grid, record.id)
    const row = index === undefined ? undefined : storedRow(grid, index)
    return row ? [withChange(row, record)] : []
  })
  showRows(grid, rows)
  readSumsLater(grid)
  const hasConditions = Object.keys(grid.source.narrowing).some((key) => key !== 'table_id')
  const hasLinked = grid.state.columns.some(({ id }) => id.includes('.'))
  if (rows.length && rows.length <= MOST_LOOKED_AT && (hasConditions || hasLinked))
    await readAgain(
      grid,
      rows.map(({ id }) => id),
    )
}

/** After larger pastes the places of the records are not looked at one by one. */
const MOST_LOOKED_AT = 200
