/**
 * Makes objects of rows, from the bytes that PostgreSQL prints. pg makes a string of every value first, also of the numbers, and asks for the name
 * and the format of each column again for each row.
 */
import type { DataRow, PrintedCell } from './printed-rows.ts'

/**
 * The name that a statement gives to the first of the columns that stay as PostgreSQL prints them, after those that are read. The row has the
 * `PrintedCell` of the first under this name, from which `next` goes on to the others. No field of a user can have the name.
 */
export const PRINTED = '#printed'

interface Column {
  name: string
  read(cell: PrintedCell): unknown
}

/** What pg (8.23.1, pinned) knows of the columns of a statement. */
export interface ColumnDescription {
  fields: unknown[]
  _parsers: unknown[]
  _prebuiltEmptyResultObject: object
}

const [BOOL, INT2, INT4, TEXT] = [16, 21, 23, 25]

export class RowReader {
  readonly #columns: readonly Column[]
  readonly #isPartly: boolean
  readonly #empty: object

  constructor({ fields, _parsers, _prebuiltEmptyResultObject }: ColumnDescription) {
    const described = fields as { name: string; dataTypeID: number }[]
    const printedFrom = described.findIndex(({ name }) => name === PRINTED)
    this.#isPartly = printedFrom >= 0
    this.#columns = described.slice(0, this.#isPartly ? printedFrom : undefined).map(({ name, dataTypeID }, index) => ({
      name,
      read: readerOf(dataTypeID, _parsers[index] as (text: string) => unknown),
    }))
    const names = this.#columns.map(({ name }) => name)
    this.#empty = this.#isPartly ? Object.fromEntries([...names, PRINTED].map((name) => [name, null])) : _prebuiltEmptyResultObject
  }

  read(data: DataRow): object {
    const row: Record<string, unknown> = { ...this.#empty }
    const cell = data.cellBeforeFirst()
    for (const { name, read } of this.#columns) {
      cell.next()
      row[name] = cell.isNull ? null : read(cell)
    }
    if (this.#isPartly) row[PRINTED] = data.copyBehind(cell)
    return row
  }
}

function readerOf(type: number, parse: (text: string) => unknown): Column['read'] {
  if (type === INT4 || type === INT2) return (cell) => cell.int()
  if (type === BOOL) return (cell) => cell.bool()
  if (type === TEXT) return (cell) => cell.text()
  return (cell) => parse(cell.text())
}
