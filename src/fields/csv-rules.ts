/** CSV rules of field types, and the parts that several share. Cells are written from what PostgreSQL prints, as in pages. */

import type { PrintedCell } from '../platform/database/statements/printed-rows.ts'
import { csvCell, joinList, shielded, textOfCell } from '../platform/writers/csv-format.ts'
import { type CsvValue, CsvWriter } from '../platform/writers/csv-writer.ts'
import { cellsIn } from './cell-json.ts'
import type { FieldSettings } from './settings.ts'

/** Values as finished CSV, by the ids that cells hold. */
export type CsvById = ReadonlyMap<number, CsvValue>

/**
 * Writes one cell. An empty one writes nothing.
 * @param named the users or records that the cells of the field refer to; empty for a type that names neither
 */
export type CellCsv = (cell: PrintedCell, csv: CsvWriter, named: CsvById) => void

/** The records of a table that a file names. */
export interface TitledRecords {
  /** By id: the titles of the records that exist, among those with an id that the file names. */
  titles: ReadonlyMap<number, string | null>
  /** By title: the id of its only record, the lowest and the highest id if several records have the title, or no id. */
  ids: ReadonlyMap<string, readonly number[]>
}

/** The value that a text of a file stands for, to be parsed like the value of a request, or the reason why the text is invalid. */
export type ReadText = { value: unknown } | { reason: string }

/** How cells are written into files of comma-separated values and read back. For a list, reading applies to each value. */
export interface CsvRule {
  /** True for numbers: a point in the text is a decimal point, although the writer may have meant one between thousands. */
  readonly hasDecimalPoint: boolean
  /** What of a date a cell holds, if it holds one: it may then be written in the form of dates that the file has. */
  readonly dates?: 'day' | 'instant'
  /**
   * Returns a function that writes a cell, to be created once for all rows. A text gets an apostrophe where a spreadsheet would take it for
   * a formula; a negative number needs none.
   */
  write(field: FieldSettings): CellCsv
  /** The text of a user or record that cells name by its id, from its form in API answers. Absent for other types. */
  readonly textOf?: (named: unknown) => string
  /** @param text not empty @param named for a lookup, the records of its table with the titles that `titleIn` found in the file */
  read(text: string, field: FieldSettings, named: TitledRecords | undefined): ReadText
  /** Returns the title by which a text may name a record, and the id if it has one; null if the text names no record. */
  titleIn(text: string): { title: string; id: number | null } | null
}

const noTitle = () => null

/** For values whose printed text needs neither quotes nor an apostrophe. Blanks around them are ignored. */
export const UNSHIELDED: CsvRule = {
  hasDecimalPoint: false,
  write: () => (cell, csv) => csv.printed(cell),
  read: (text) => ({ value: text.trim() || null }),
  titleIn: noTitle,
}

/** For texts, which are read unchanged. */
export const SHIELDED: CsvRule = {
  hasDecimalPoint: false,
  write: () => (cell, csv) => csv.string(cell),
  read: (text) => ({ value: text }),
  titleIn: noTitle,
}

/** Writes the value with the id that the cell holds; nothing if there is none. */
export function writeOneCsv(cell: PrintedCell, csv: CsvWriter, values: CsvById): void {
  const value = cell.isNull ? undefined : values.get(cell.int())
  if (value) csv.piece(value.cell)
}

/** Writes the values with the ids of the list that the cell holds, in order. Ids of deleted values are left out. */
export function writeListCsv(cell: PrintedCell, csv: CsvWriter, values: CsvById): void {
  csv.list(cell.ints(), values)
}

/** Writes a list of cells, whose texts the cell holds as a JSON list, as one cell. Empty ones are left out. @param write writes one */
export function eachCsv(write: CellCsv): CellCsv {
  const alone = new CsvWriter()
  const textOf = (cell: PrintedCell, named: CsvById) => {
    write(cell, alone, named)
    return textOfCell(alone.flush().toString())
  }
  return (cell, csv, named) => {
    const texts = cellsIn(cell).map((one) => textOf(one, named))
    csv.text(csvCell(shielded(joinList(texts.filter((text) => text !== '')))))
  }
}

/** The id of a user or a record in a cell of a file. */
export const ID_PATTERN = /^\d{1,10}$/
