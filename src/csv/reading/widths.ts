/** Rows that have not as many cells as the header. */
import type { Row } from './rows.ts'

/** How many rows were changed, and the lines of the first ten. */
export interface ChangedRows {
  rows: number
  lines: number[]
}

/** Only what was changed at all. */
export interface ChangedWidths {
  filled?: ChangedRows
  cut?: ChangedRows
}

const MOST_LINES = 10

/** Spreadsheets leave out the empty cells at the end of a row, or write more than the header has. */
export class RowWidths {
  readonly filled: ChangedRows = { rows: 0, lines: [] }
  readonly cut: ChangedRows = { rows: 0, lines: [] }
  readonly #width: number

  /** What was changed, for an answer. */
  changed(): ChangedWidths {
    return { ...(this.filled.rows && { filled: this.filled }), ...(this.cut.rows && { cut: this.cut }) }
  }

  constructor(width: number) {
    this.#width = width
  }

  /** Fills short rows with empty cells, and cuts empty cells off long ones. A row with more values than the header has stays as it is. */
  fit(rows: readonly Row[]): void {
    for (const { number, cells } of rows) {
      if (cells.length === this.#width) continue
      if (cells.length < this.#width) {
        note(this.filled, number)
        while (cells.length < this.#width) cells.push('')
      } else if (cells.slice(this.#width).every((cell) => cell === '')) {
        note(this.cut, number)
        cells.length = this.#width
      }
    }
  }
}

function note(changed: ChangedRows, line: number): void {
  changed.rows++
  if (changed.lines.length < MOST_LINES) changed.lines.push(line)
}
