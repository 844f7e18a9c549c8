/** New records: they stand after the last row until the records are read anew. */

import { gridTexts } from '../../texts/grid.ts'
import type { Row } from '../pages/row.ts'
import { oneCell } from '../selection/selection.ts'
import { boundsOf, callFocus, type GridModel, rowOfRecord, say } from './grid-model.ts'
import { leaveDrafts } from './leaving.ts'
import { select } from './navigation.ts'

/** Adds an empty row and goes there. It is stored at once unless a field must have a value first. */
export function addRow(grid: GridModel): void {
  const values = Object.fromEntries(grid.state.columns.map(({ id, field }) => [id, field.type === 'checkbox' ? false : null]))
  const row: Row = { ...values, id: grid.table.newDraft() }
  grid.update({ newRows: [...grid.state.newRows, row] })
  select(grid, oneCell({ row: boundsOf(grid).rows - 1, col: 0 }))
  callFocus(grid)
  const required = requiredFields(grid)
  if (required.length) say(grid, gridTexts.fillRequired(required.map(({ name }) => name)))
  else create(grid, row)
}

export const requiredFields = ({ options }: GridModel) => options.fields.filter(({ required, key, calc }) => required && !key && !calc)

/** Keeps a value of a row that is not stored yet, and stores the row once it has all that it must have. */
export function storeNewRow(grid: GridModel, row: Row, values: Record<string, unknown>): void {
  const filled = { ...row, ...values }
  replaceNew(grid, row.id, filled)
  const missing = requiredFields(grid).filter(({ id }) => filled[id] === null || filled[id] === undefined || filled[id] === '')
  if (missing.length) say(grid, gridTexts.fillRequired(missing.map(({ name }) => name)))
  else create(grid, filled)
}

function create({ options, table }: GridModel, draft: Row): void {
  if (table.edits.isCreating(draft.id)) return
  table.send(gridTexts.newRow, [], [{ draft: draft.id, data: dataOf(options, draft) }])
}

/** What a record is created with: the values of own fields that have some. */
export function dataOf({ fields }: GridModel['options'], values: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const own = new Set(fields.filter(({ key, calc }) => !key && !calc).map(({ id }) => id))
  return Object.fromEntries(Object.entries(values).filter(([field, value]) => own.has(field) && value !== null && value !== false))
}

/** Shows the records of drafts that were created. */
export function settleNewRows(grid: GridModel, rows: ReadonlyMap<number, Row>): void {
  for (const [draft, row] of rows) replaceNew(grid, draft, row)
  leaveDrafts(grid, rows.keys())
}

function replaceNew(grid: GridModel, id: number, by: Row): void {
  const { editing } = grid.state
  grid.update({
    newRows: grid.state.newRows.map((row) => (row.id === id ? by : row)),
    editing: editing?.id === id ? { ...editing, id: by.id, version: by._version } : editing,
  })
}

/** Removes a row that is not stored. */
export function dropNewRow(grid: GridModel, id: number): void {
  if (rowOfRecord(grid, id) !== undefined) grid.update({ newRows: grid.state.newRows.filter((row) => row.id !== id) })
}
