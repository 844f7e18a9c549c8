/** Ctrl+C and Ctrl+X: the selected cells as text with tabs, as HTML, and with their values for cells of Gridpost. */
import { cellKind } from '../../cells/registry.ts'
import { gridTexts } from '../../texts/grid.ts'
import type { Column } from '../columns/column.ts'
import { clearCells } from '../model/editing.ts'
import { cellValue, type GridModel, say } from '../model/grid-model.ts'
import { loadedRows, MOST_ROWS, rowsOf } from '../model/reading.ts'
import type { Row } from '../pages/row.ts'
import { cellsOf, type Range, rangeOf } from '../selection/selection.ts'
import { writeHtmlTable } from './html-table.ts'
import { writeTsv } from './tsv.ts'

/** Beyond so many cells the clipboard has texts without values, which would be several times as long. */
const MOST_WITH_VALUES = 20_000

interface Copied {
  text: string
  html: string
}

/** Rows that were read for copying, since a page may write to the clipboard only while a key is pressed. */
let readForCopy: { range: Range; grid: GridModel; rows: Row[] } | undefined

/** Puts the selected cells on the clipboard. */
export function copy(grid: GridModel, event: ClipboardEvent): void {
  event.preventDefault()
  const range = rangeOf(grid.state.selection)
  const read = readForCopy?.grid === grid && JSON.stringify(readForCopy.range) === JSON.stringify(range) ? readForCopy.rows : null
  const rows = (range.bottom - range.top < MOST_ROWS ? loadedRows(grid, range) : null) ?? read
  if (!rows) return void readThenCopy(grid, range)
  const copied = copiedOf(grid, rows, grid.state.columns.slice(range.left, range.right + 1))
  event.clipboardData?.setData('text/plain', copied.text)
  event.clipboardData?.setData('text/html', copied.html)
  say(grid, gridTexts.copied(cellsOf(range)))
}

export function cut(grid: GridModel, event: ClipboardEvent): void {
  copy(grid, event)
  void clearCells(grid)
}

async function readThenCopy(grid: GridModel, range: Range): Promise<void> {
  const rows = await rowsOf(grid, range)
  if (!rows) return
  readForCopy = { range, grid, rows }
  const { text, html } = copiedOf(grid, rows, grid.state.columns.slice(range.left, range.right + 1))
  try {
    const parts = { 'text/plain': new Blob([text], { type: 'text/plain' }), 'text/html': new Blob([html], { type: 'text/html' }) }
    await navigator.clipboard.write([new ClipboardItem(parts)])
    say(grid, gridTexts.copied(cellsOf(range)))
  } catch {
    // The browser allows it only right after a key, or on pages of https: the next Ctrl+C finds the rows.
    say(grid, gridTexts.copyAgain)
  }
}

function copiedOf(grid: GridModel, rows: readonly Row[], columns: readonly Column[]): Copied {
  const { place } = grid.options
  const kinds = columns.map(({ field }) => cellKind(field))
  const each = (write: 'toText' | 'toHtml') =>
    rows.map((row) => columns.map(({ id, field }, index) => kinds[index]?.[write](cellValue(grid, row, id), field, place) ?? ''))
  const hasValues = rows.length * columns.length <= MOST_WITH_VALUES
  const values = {
    fields: columns.map(({ id, field: { type, table, options, linked } }) => ({ id, type, table, options, linked })),
    rows: rows.map((row) => columns.map(({ id }) => cellValue(grid, row, id))),
  }
  return { text: writeTsv(each('toText')), html: writeHtmlTable(each('toHtml'), hasValues ? values : null) }
}
