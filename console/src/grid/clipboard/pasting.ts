/** Ctrl+V: what will not fit is said first, and many cells are written only after a question. */
import { parseTexts, takesValuesOf } from '../../cells/cell-text.ts'
import type { Field, Parsed, Value } from '../../cells/kind.ts'
import { cellKind } from '../../cells/registry.ts'
import { messageOf } from '../../session/errors.ts'
import { gridTexts } from '../../texts/grid.ts'
import type { Column } from '../columns/column.ts'
import { isSameValue, type NewRecord, type RecordEdit } from '../edits/edit.ts'
import type { Misfit } from '../model/dialogs.ts'
import { beginEdit, editOf, sendEdits, whyNot } from '../model/editing.ts'
import { boundsOf, cellValue, type GridModel, say, surroundingsOf } from '../model/grid-model.ts'
import { select } from '../model/navigation.ts'
import { dataOf, requiredFields } from '../model/new-rows.ts'
import { rowsOf } from '../model/reading.ts'
import { cellsOf, rangeOf } from '../selection/selection.ts'
import { type CopiedValues, readHtmlTable } from './html-table.ts'
import { ASKS_FROM, MOST_CELLS, type PastePlan, planPaste } from './paste-plan.ts'
import { readTsv } from './tsv.ts'

/** HTML that is longer is not read; the text beside it is enough. */
const LONGEST_HTML = 5_000_000
const MOST_SHOWN = 10

interface Block {
  texts: string[][]
  values: CopiedValues | null
}

/** Pastes into the selected cells. */
export function paste(grid: GridModel, event: ClipboardEvent): void {
  event.preventDefault()
  const { clipboardData } = event
  const column = grid.state.columns[grid.state.selection.active.col]
  const files = [...(clipboardData?.files ?? [])]
  const block = readBlock(clipboardData?.getData('text/html') ?? '', clipboardData?.getData('text/plain') ?? '')
  if (files.length && column && cellKind(column.field).takesFiles) beginEdit(grid, { files })
  else if (block) pasteBlock(grid, block).catch((error: unknown) => say(grid, messageOf(error), true))
  else say(grid, gridTexts.nothingToPaste)
}

function readBlock(html: string, text: string): Block | null {
  const table = html && html.length <= LONGEST_HTML ? readHtmlTable(html) : null
  if (table?.texts.length) return table
  return text ? { texts: readTsv(text), values: null } : null
}

async function pasteBlock(grid: GridModel, block: Block): Promise<void> {
  const size = { rows: block.texts.length, cols: Math.max(...block.texts.map((row) => row.length)) }
  const range = rangeOf(grid.state.selection)
  // Until the number of records is known, it is not known either where the last one is.
  const plan = planPaste(size, range, boundsOf(grid), grid.pages.length().isFinal)
  const { target } = plan
  const cells = cellsOf(target)
  if (cells > MOST_CELLS) return say(grid, gridTexts.tooManyCells(cells, MOST_CELLS), true)
  const stored = target.bottom - target.top + 1 - plan.newRows
  const rows = stored ? await rowsOf(grid, { top: target.top, bottom: target.bottom - plan.newRows }) : []
  if (!rows) return
  const { values, misfits } = await readCells(grid, block, plan, stored + plan.newRows)
  const records = rows.flatMap((row, index): RecordEdit[] => {
    const changed = Object.entries(values[index] ?? {}).filter(([field, value]) => !isSameValue(value, cellValue(grid, row, field)))
    return changed.length ? [editOf(row, Object.fromEntries(changed))] : []
  })
  const creates = newRecords(grid, values.slice(stored), target.top + stored, misfits)
  const lost = [
    ...(plan.lostRows ? [gridTexts.lostRows(plan.lostRows)] : []),
    ...(plan.lostCols ? [gridTexts.lostColumns(plan.lostCols)] : []),
  ]
  const { top, left, right } = target
  const bottom = Math.max(top, target.bottom - plan.newRows)
  select(grid, { active: { row: top, col: left }, extent: { row: bottom, col: right } }, { reveals: false })
  if (misfits.length || lost.length || plan.newRows || cells > ASKS_FROM) {
    const shown = misfits.slice(0, MOST_SHOWN)
    grid.update({ dialog: { ask: 'paste', records, creates, cells, misfits: shown, moreMisfits: misfits.length - shown.length, lost } })
  } else sendEdits(grid, gridTexts.paste, records)
}

/** The records of the rows below the last one. One that has not what it must have is named, and left out. */
function newRecords(grid: GridModel, rows: readonly Record<string, unknown>[], from: number, misfits: Misfit[]): NewRecord[] {
  const required = requiredFields(grid)
  return rows.flatMap((values, index) => {
    const data = dataOf(grid.options, values)
    const missing = required.filter(({ id }) => data[id] === undefined || data[id] === '')
    for (const { name } of missing) misfits.push({ row: from + index + 1, column: name, text: '', problem: gridTexts.required })
    return missing.length || !Object.keys(data).length ? [] : [{ data }]
  })
}

/** The values that the cells of the target get, by row and field, and the texts that are none. */
async function readCells(grid: GridModel, block: Block, plan: PastePlan, rows: number) {
  const misfits: Misfit[] = []
  const values = Array.from({ length: rows }, (): Record<string, unknown> => ({}))
  const columns = grid.state.columns.slice(plan.target.left, plan.target.right + 1)
  for (const [index, column] of columns.entries()) {
    const copied = valuesOf(block, plan, index, rows, column.field)
    const parsed = await parseColumn(grid, column, textsOf(block, plan, index, rows), copied)
    for (const [row, { value, problem, text }] of parsed.entries()) {
      const cells = values[row]
      if (problem !== undefined) misfits.push({ row: plan.target.top + row + 1, column: column.field.name, text, problem })
      else if (cells) cells[column.id] = value
    }
  }
  return { values, misfits }
}

/** The texts of a column of the target, from its top. */
const textsOf = ({ texts }: Block, { target, source }: PastePlan, index: number, rows: number): string[] =>
  Array.from({ length: rows }, (_, row) => {
    const from = source(target.top + row, target.left + index)
    return texts[from.row]?.[from.col] ?? ''
  })

/** The values of a column as they were copied, if the field takes those of the field that they come from. */
function valuesOf({ values }: Block, { target, source }: PastePlan, index: number, rows: number, to: Field): Value[] | null {
  const column = source(target.top, target.left + index).col
  const from = values?.fields[column]
  if (!values || !from || !takesValuesOf(to, from as Field)) return null
  return Array.from(
    { length: rows },
    (_, row) => (values.rows[source(target.top + row, target.left + index).row]?.[column] ?? null) as Value,
  )
}

type ParsedCell = { text: string; value?: Value; problem?: string }

async function parseColumn(
  grid: GridModel,
  column: Column,
  texts: readonly string[],
  values: readonly Value[] | null,
): Promise<ParsedCell[]> {
  const reason = whyNot(grid, column)
  if (reason) return texts.map((text) => ({ text, problem: reason }))
  if (values) return texts.map((text, index) => ({ text, value: values[index] ?? null }))
  // A text that fills a column is read once.
  const distinct = [...new Set(texts)]
  const parsed = await parseTexts(distinct, column.field, surroundingsOf(grid, null))
  const byText = new Map<string, Parsed | undefined>(distinct.map((text, index) => [text, parsed[index]]))
  return texts.map((text) => ({ text, ...byText.get(text) }))
}
