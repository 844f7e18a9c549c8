/** How cells are edited: opened, stored, emptied, checked. */

import { whyNotEditable } from '../../cells/cell-text.ts'
import type { Move, Value } from '../../cells/kind.ts'
import { cellKind } from '../../cells/registry.ts'
import { gridTexts } from '../../texts/grid.ts'
import { ASKS_FROM } from '../clipboard/paste-plan.ts'
import type { Column } from '../columns/column.ts'
import type { NewRecord, RecordEdit } from '../edits/edit.ts'
import { type Begun, cancelOpenEdit, editOfOpen, leaveOpenEdit, openEdit, refuseOpenEdit, typedInto } from '../edits/open-edit.ts'
import type { Row } from '../pages/row.ts'
import { type Cell, cellsOf, rangeOf } from '../selection/selection.ts'
import { cellValue, type Editing, type GridModel, rowOfRecord, say, storedRow } from './grid-model.ts'
import { showRows } from './live.ts'
import { moveBy } from './navigation.ts'
import { storeNewRow } from './new-rows.ts'
import { rowsOf } from './reading.ts'
import { reveal } from './scrolling.ts'

/** Why a cell cannot be edited, as a sentence; null if it can. */
export const whyNot = ({ options }: GridModel, { field }: Column): string | null => whyNotEditable(field, options.role)

/** Opens the editor of the active cell. @param typed the characters that replace its value */
export function beginEdit(grid: GridModel, { typed, files }: { typed?: string; files?: readonly File[] } = {}): void {
  const { active } = grid.state.selection
  const column = grid.state.columns[active.col]
  const row = storedRow(grid, active.row)
  if (!column || !row) return
  const reason = whyNot(grid, column)
  const toggled = cellKind(column.field).toggled?.(cellValue(grid, row, column.id))
  if (reason) say(grid, reason)
  else if (toggled !== undefined) {
    // Letters mean nothing to a cell that has no editor.
    if (typed === undefined) storeValue(grid, row, column.id, toggled)
  } else openEditor(grid, row, column, { typed, files })
}

function openEditor(grid: GridModel, row: Row, { id: field }: Column, begun: Begun): void {
  const { active } = grid.state.selection
  reveal(grid, active)
  grid.update({ editing: { ...openEdit(grid.table.edits, row, field, begun), row: active.row } })
}

/** The focus has left a text that the cell does not take: it is kept for the next time that the editor is opened. */
export function refuseEdit(grid: GridModel, text: string, problem: string): void {
  const { editing } = grid.state
  if (!editing) return
  grid.update({ editing: null })
  refuseOpenEdit(grid.table, editing, text, problem)
  say(grid, problem, true)
}

/** Stores what was typed, with the version that the record had when the editor was opened, and moves on. */
export function commitEdit(grid: GridModel, value: Value, move: Move = 'stay'): void {
  const { editing } = grid.state
  if (!editing) return
  grid.update({ editing: null })
  const edit = editOfOpen(editing, value)
  if (edit) sendEdits(grid, gridTexts.edit, [edit])
  else cancelOpenEdit(grid.table, editing)
  if (move !== 'stay') moveBy(grid, move)
}

/** Shows a value that an editor has stored by itself, which may end after the editor was closed. */
export function savedByEditor(grid: GridModel, { id, field }: Editing, value: Value): void {
  const index = rowOfRecord(grid, id)
  const row = index === undefined ? undefined : storedRow(grid, index)
  if (row) showRows(grid, [{ ...row, [field]: value }])
}

export function cancelEdit(grid: GridModel): void {
  const { editing } = grid.state
  if (!editing) return
  cancelOpenEdit(grid.table, editing)
  grid.update({ editing: null })
}

/** The editor goes without an end of its own, such as with the grid. */
export function leaveEdit(grid: GridModel): void {
  const { editing } = grid.state
  if (!editing) return
  grid.update({ editing: null })
  leaveOpenEdit(grid.table, editing)
}

/** The column of the open editor has another type by now, or is gone. What was typed goes into the new editor, or is kept and said. */
export function redefineEdit(grid: GridModel, editing: Editing, before: Column | undefined, now: Column | undefined): void {
  if (now && now.field.type === before?.field.type) return
  const text = typedInto(grid.table, editing)
  const takesText = now !== undefined && whyNot(grid, now) === null && cellKind(now.field).toggled === undefined
  if (takesText && text !== undefined) {
    grid.update({ editing: { ...editing, typed: text, value: null } })
    return
  }
  grid.update({ editing: null })
  leaveOpenEdit(grid.table, editing, now ? gridTexts.convertedWhileTyping : gridTexts.removedWhileTyping)
  const said = now ? gridTexts.columnConverted : gridTexts.columnGone
  say(grid, text === undefined ? said : `${said} ${gridTexts.youTyped(text)}`, true)
}

/** Sends edits of many records; what belongs to a row that is not stored yet stays with it. */
export function sendEdits(grid: GridModel, label: string, edits: readonly RecordEdit[], creates: readonly NewRecord[] = []): void {
  for (const { id, values } of edits) {
    const draft = grid.state.newRows.find((row) => row.id === id && id < 0)
    if (draft) storeNewRow(grid, draft, { ...values })
  }
  grid.table.send(
    label,
    edits.filter(({ id }) => id > 0),
    creates,
  )
}

function storeValue(grid: GridModel, row: Row, field: string, value: Value): void {
  if (row.id < 0) storeNewRow(grid, row, { [field]: value })
  else grid.table.send(gridTexts.edit, [editOf(row, { [field]: value })])
}

export function editOf(row: Row, values: Record<string, unknown>): RecordEdit {
  const before = Object.fromEntries(Object.keys(values).map((field) => [field, row[field] ?? null]))
  return { id: row.id, version: row._version, values, before }
}

/** Empties the selected cells; many only after a question. */
export async function clearCells(grid: GridModel): Promise<void> {
  const range = rangeOf(grid.state.selection)
  const columns = grid.state.columns.slice(range.left, range.right + 1)
  const writable = columns.filter((column) => !whyNot(grid, column))
  const reason = columns.map((column) => whyNot(grid, column)).find(Boolean)
  if (!writable.length) return reason ? say(grid, reason) : undefined
  const rows = await rowsOf(grid, range)
  if (!rows) return
  const records = rows.flatMap((row) => {
    const filled = writable.filter(({ id, field }) => cellKind(field).filled(cellValue(grid, row, id)))
    return filled.length ? [editOf(row, Object.fromEntries(filled.map(({ id, field }) => [id, emptyOf(field.type)])))] : []
  })
  const cells = cellsOf({ ...range, right: range.left + writable.length - 1 })
  if (cells > ASKS_FROM) grid.update({ dialog: { ask: 'clear', records, cells } })
  else sendEdits(grid, gridTexts.clear, records)
}

const emptyOf = (type: Column['field']['type']) => (type === 'checkbox' ? false : null)

/** True if the cell may be edited, so that the pointer and the keys open its editor. */
export const isEditable = (grid: GridModel, { row, col }: Cell): boolean => {
  const column = grid.state.columns[col]
  return column !== undefined && storedRow(grid, row) !== undefined && !whyNot(grid, column)
}
