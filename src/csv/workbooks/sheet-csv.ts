/** The cells of a sheet as lines of CSV, in the forms that an import reads. */

import { formatInstant } from '../../platform/time/time.ts'
import { csvLine, shielded } from '../../platform/writers/csv-format.ts'

export type SheetCell = string | number | boolean | Date | null

const DAY_MS = 86_400_000
/** The dates of day 0 in the date systems of 1900 and 1904. A cell with such a date is a time of day. */
const DAYS_ZERO: ReadonlySet<number> = new Set([Date.UTC(1899, 11, 30), Date.UTC(1899, 11, 31), Date.UTC(1904, 0, 1)])

const dayOf = (date: Date) => Math.floor(date.getTime() / DAY_MS) * DAY_MS
const isMidnight = (date: Date) => date.getTime() === dayOf(date)
const isTimeOfDay = (date: Date) => !isMidnight(date) && DAYS_ZERO.has(dayOf(date))

/** Yields a line for each row, even for an empty one, so that line numbers equal row numbers. */
export function* csvOf(rows: readonly (readonly SheetCell[])[]): Generator<string> {
  const withTime = columnsWithTime(rows)
  for (const row of rows) {
    const isEmpty = row.every((cell) => cell === null || cell === '')
    yield isEmpty ? '\r\n' : csvLine(row.map((cell, index) => sheetCellText(cell, withTime.has(index))))
  }
}

/** The columns in which at least one date has a time. All dates of such a column are read as instants, because a column has one type. */
function columnsWithTime(rows: readonly (readonly SheetCell[])[]): Set<number> {
  const columns = new Set<number>()
  for (const row of rows)
    for (const [index, cell] of row.entries()) if (cell instanceof Date && !isMidnight(cell) && !isTimeOfDay(cell)) columns.add(index)
  return columns
}

function sheetCellText(cell: SheetCell, isInstant: boolean): string {
  if (cell === null) return ''
  if (typeof cell === 'string') return shielded(cell.toWellFormed())
  if (typeof cell === 'number') return numberText(cell)
  if (typeof cell === 'boolean') return String(cell)
  if (Number.isNaN(cell.getTime())) return ''
  const rounded = new Date(Math.round(cell.getTime() / 1_000) * 1_000)
  const text = formatInstant(rounded)
  if (isTimeOfDay(rounded)) return text.slice(11)
  return isInstant ? text : text.slice(0, 10)
}

/** A spreadsheet shows 15 digits of a number, so that 0.1 + 0.2 is 0.3. */
function numberText(number: number): string {
  const shown = Number(number.toPrecision(15))
  if (!Number.isFinite(shown)) return ''
  const text = String(shown)
  return text.includes('e') ? shown.toLocaleString('en-US', { useGrouping: false, maximumFractionDigits: 20 }) : text
}
