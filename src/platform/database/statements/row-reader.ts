/**
 * Makes objects of rows, from the bytes that PostgreSQL prints. pg makes a string of every value first, also of the numbers, and asks for
 * the name and the format of each column again for each row.
 */
import type { DataRow, PrintedCell } from './printed-rows.ts'

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
  readonly #empty: object

  constructor({ fields, _parsers, _prebuiltEmptyResultObject }: ColumnDescription) {
    const described = fields as { name: string; dataTypeID: number }[]
    this.#columns = described.map(({ name, dataTypeID }, index) => ({
      name,
      read: readerOf(dataTypeID, _parsers[index] as (text: string) => unknown),
    }))
    this.#empty = _prebuiltEmptyResultObject
  }

  read(data: DataRow): object {
    const row: Record<string, unknown> = { ...this.#empty }
    const cell = data.cellBeforeFirst()
    for (const { name, read } of this.#columns) {
      cell.next()
      row[name] = cell.isNull ? null : read(cell)
    }
    return row
  }
}

function readerOf(type: number, parse: (text: string) => unknown): Column['read'] {
  if (type === INT4 || type === INT2) return (cell) => cell.int()
  if (type === BOOL) return (cell) => cell.bool()
  if (type === TEXT) return (cell) => cell.text()
  return (cell) => parse(cell.text())
}
