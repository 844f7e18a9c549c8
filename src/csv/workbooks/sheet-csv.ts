/** The cells of a sheet as lines of CSV, in the forms that an import reads. */

import { csvLine, shielded } from '../../platform/writers/csv-format.ts'
import { Duration, Moment, type SheetCell } from './cell-values.ts'
import type { SheetRows } from './sheet.ts'

/** What the lines of a column do not show, by its index: the cells are texts, of which CSV alone would make something else. */
export interface SheetColumns {
  /** Columns with texts. Digits in them are no number, as in a room or the code of a part. */
  texts: number[]
  /** Columns with durations, which are neither numbers nor times of day. */
  durations: number[]
}

/** The columns of a sheet, apart from the header, which is its first row with a cell. */
export function columnsOf(rows: SheetRows): SheetColumns {
  const [texts, durations] = [new Set<number>(), new Set<number>()]
  let isBelowHeader = false
  rows.forEach((row) => {
    if (isBelowHeader) {
      row.forEach((cell, index) => {
        if (typeof cell === 'string') texts.add(index)
        if (cell instanceof Duration) durations.add(index)
      })
    }
    isBelowHeader = true
  })
  return { texts: [...texts], durations: [...durations] }
}

/** Yields a line for each row, even for an empty one, so that line numbers equal row numbers. */
export function* csvOf(rows: SheetRows): Generator<string> {
  const withTime = columnsWithTime(rows)
  const columns = rows.reduce((most, row) => Math.max(most, row.length), 0)
  for (let at = 0; at < rows.length; at++) {
    const row = rows[at]
    if (row) yield csvLine(Array.from({ length: columns }, (_, index) => cellText(row[index], withTime.has(index))))
    else yield '\r\n'
  }
}

/** The columns in which at least one date has a time. All dates of such a column are read as instants, because a column has one type. */
function columnsWithTime(rows: SheetRows): Set<number> {
  const columns = new Set<number>()
  rows.forEach((row) => {
    row.forEach((cell, index) => {
      if (cell instanceof Moment && cell.day && cell.hasTime) columns.add(index)
    })
  })
  return columns
}

function cellText(cell: SheetCell | undefined, isInstant: boolean): string {
  if (cell === undefined) return ''
  if (typeof cell === 'string') return shielded(cell.toWellFormed())
  if (typeof cell === 'number') return numberText(cell)
  if (cell instanceof Duration) return shielded(cell.text)
  if (!(cell instanceof Moment)) return String(cell)
  return cell.day && !isInstant ? cell.day : `${cell.day} ${cell.time || '00:00:00'}`.trim()
}

function numberText(number: number): string {
  const text = String(number)
  return text.includes('e') ? number.toLocaleString('en-US', { useGrouping: false, maximumFractionDigits: 20 }) : text
}
