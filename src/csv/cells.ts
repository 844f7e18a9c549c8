/** Reads the cells of a CSV file, as the field types define it (`fields/types/`). */

import type { CsvRule, ReadText, TitledRecords } from '../fields/csv-rules.ts'
import type { FieldDef } from '../fields/definition.ts'
import { type FieldType, TYPES } from '../fields/registry.ts'
import { splitList, unshielded } from '../platform/writers/csv-format.ts'
import type { DateForm } from './reading/date-forms.ts'
import type { Separator } from './reading/separators.ts'

/** A point before three digits. In most countries whose files have semicolons it groups thousands. */
const GROUPED = /^\s*[-+]?\d{1,3}(\.\d{3})+\s*$/

/** True for a number that has another value in another country: 1.234, unless commas separate the cells. */
export const isAmbiguous = (text: string, separator: Separator): boolean => separator !== ',' && GROUPED.test(text)

/** A number with a decimal comma, whose thousands may be grouped by points: 1,5 and 1.234,50. */
const DECIMAL_COMMA = /^\s*[-+]?(\d+|\d{1,3}(\.\d{3})+),\d+\s*$/

/** True for a number with a decimal comma. Semicolons separate the cells of a file because its numbers have commas. */
export const hasDecimalComma = (text: string, separator: Separator): boolean => separator === ';' && DECIMAL_COMMA.test(text)

/** The text of such a number as the API takes it: 1234.50. */
export const withDecimalPoint = (text: string): string => text.replaceAll('.', '').replace(',', '.')

/** How the cells of a file are read. */
export interface CellReading {
  separator: Separator
  /** The form of the dates that are not written as the API does. */
  dateForm: DateForm | undefined
}

const MIDNIGHT = ' 00:00:00'

/**
 * The text of a cell of the type as the API takes it. A text that has the form of the file's dates is never read in another. An instant
 * without a time is midnight, and the other way round.
 * @returns null if it has the form and is no date
 */
export function dateText(type: FieldType, text: string, dateForm: DateForm | undefined): string | null {
  const { dates } = TYPES[type].csv
  if (!dates) return text
  const read = dateForm?.read(text)
  if (read === undefined || read === null) return read === null ? null : text
  if (dates === 'instant') return read.includes(' ') ? read : `${read}${MIDNIGHT}`
  return read.endsWith(MIDNIGHT) ? read.slice(0, -MIDNIGHT.length) : read
}

/** Reads the text of a cell as a value that drafts.ts then checks. @param named the records of the table that a lookup refers to */
export function readCell(
  field: FieldDef,
  cell: string,
  { named, separator, dateForm }: CellReading & { named: TitledRecords | undefined },
): ReadText {
  if (cell === '') return { value: null }
  if (cell.includes('\0')) return { reason: 'must not contain NUL' }
  const text = unshielded(cell)
  const { csv, isMultiple } = TYPES[field.type]
  if (csv.hasDecimalPoint && isAmbiguous(text, separator))
    return { reason: 'is ambiguous in a file without commas: write it without the point, or with other than three decimals' }
  if (csv.hasDecimalPoint && hasDecimalComma(text, separator)) return csv.read(withDecimalPoint(text), field, named)
  if (isMultiple) return readList(csv, text, field, named)
  const date = dateText(field.type, text, dateForm)
  return date === null ? { reason: 'is no date of the calendar' } : csv.read(date, field, named)
}

function readList(csv: CsvRule, text: string, field: FieldDef, named: TitledRecords | undefined): ReadText {
  const values = splitList(text)
  if (!values) return { reason: 'must be a list: a, b, "c, with a comma"' }
  const elements: unknown[] = []
  for (const value of values) {
    const element = csv.read(value, field, named)
    if ('reason' in element) return element
    elements.push(element.value)
  }
  return { value: elements }
}

/** The titles that have to be looked up to read the cells, and the ids whose titles have to be compared. */
export function namesIn({ type }: FieldDef, cells: readonly string[]): { titles: Set<string>; ids: Set<number> } {
  const [titles, ids] = [new Set<string>(), new Set<number>()]
  const { csv, isMultiple } = TYPES[type]
  for (const cell of cells) {
    const text = unshielded(cell)
    for (const one of isMultiple ? (splitList(text) ?? []) : [text]) {
      const named = csv.titleIn(one)
      if (!named) continue
      titles.add(named.title)
      if (named.id !== null) ids.add(named.id)
    }
  }
  return { titles, ids }
}
