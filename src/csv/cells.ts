/** Cells in a file, and the values that a file's text means: a file that was exported can be imported. The types say how (`fields/types/`). */

import type { FieldDef } from '../fields/definition.ts'
import type { CsvRule, ReadText, TitledRecords } from '../fields/field-type.ts'
import { TYPES } from '../fields/registry.ts'
import { joinList, shielded, splitList, unshielded } from './format.ts'

/** Prints values of a field, as records/query has them, as the text of a cell; no value is empty text. Made once for all rows. */
export function cellPrinter({ type }: FieldDef): (value: unknown) => string {
  const { csv, isMultiple } = TYPES[type]
  const print = isMultiple ? (value: unknown) => joinList((value as unknown[]).map((one) => csv.print(one))) : csv.print
  if (!csv.isShielded) return (value) => (value === null || value === undefined ? '' : print(value))
  return (value) => (value === null || value === undefined ? '' : shielded(print(value)))
}

/** Reads a cell as a value for drafts.ts to judge. @param named of the table that a lookup points to */
export function readCell(field: FieldDef, cell: string, named: TitledRecords | undefined): ReadText {
  if (cell === '') return { value: null }
  if (cell.includes('\0')) return { reason: 'must not contain NUL' }
  const text = unshielded(cell)
  const { csv, isMultiple } = TYPES[field.type]
  return isMultiple ? readList(csv, text, field, named) : csv.read(text, field, named)
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

/** The titles that have to be looked up to read these cells, and the ids whose title is to be compared. */
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
