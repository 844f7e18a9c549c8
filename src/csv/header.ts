/** The first row of a file, which names the field of each column. */

import { fieldNamed, notAField } from '../fields/by-id.ts'
import type { FieldDef, TableDef } from '../fields/definition.ts'
import type { CellIssue } from '../platform/errors.ts'
import { nfc } from '../platform/normal-forms.ts'
import { shielded, unshielded } from '../platform/writers/csv-format.ts'
import type { Row } from './reading/rows.ts'

/** Whether the text is the id or, in any case, the name of a field. */
export const namesField = (fields: TableDef['fields'], text: string): boolean =>
  fieldWith({ fields }, unshielded(text).trim()) !== undefined

/** Finds a field by its id, or by its name in any case; returns 'several' if more than one field has the name. */
function fieldWith(table: Pick<TableDef, 'fields'>, text: string): FieldDef | 'several' | undefined {
  const byId = table.fields.find(({ id }) => id === text)
  if (byId) return byId
  const name = comparable(text)
  const [only, another] = table.fields.filter((field) => comparable(field.name) === name)
  return another ? 'several' : only
}

/** The field of another table, by its name in requests: the header that an export gives it. */
function linkedWith(table: TableDef, text: string): FieldDef | undefined {
  const field = text.includes('.') ? fieldNamed(table, text) : undefined
  return typeof field === 'string' ? undefined : field
}

const comparable = (name: string) => nfc(name.trim()).toLowerCase()

/** The header of a column in an export: the field's name, or its id if an import would not find the field by the name. */
export function headerOf(table: TableDef, field: FieldDef): string {
  return shielded(fieldWith(table, field.name.trim()) === field ? field.name : field.id)
}

export interface FileColumn {
  /** The text in the file. */
  header: string
  /** Null for a column that is ignored. */
  field: FieldDef | null
}

/** The columns of a file whose fields are known by their position. @param ids null for a column that is ignored */
export function chosenColumns(
  { fields }: TableDef,
  { number: row, cells }: Row,
  ids: readonly (string | null)[],
): { columns: FileColumn[]; issues: CellIssue[] } {
  const columns = ids.map((id, index) => ({ header: cells[index] ?? '', field: fields.find((field) => field.id === id) ?? null }))
  const lost = columns.flatMap(({ header, field }, index) =>
    ids[index] !== null && !field ? [{ row, column: header, message: 'its field has been deleted' }] : [],
  )
  return { columns, issues: lost }
}

/**
 * Reads the columns of a file. The record's id, calculated fields and those of linked records, which an export contains, are ignored.
 * @param table with the tables of its lookups
 * @param required the fields that an import must contain
 */
export function readHeader(
  table: TableDef,
  { number: row, cells }: Row,
  required: readonly FieldDef[],
): { columns: FileColumn[]; issues: CellIssue[] } {
  const issues: CellIssue[] = []
  const seen = new Set<FieldDef>()
  const unnamed = (index: number): CellIssue => ({ row, column: null, message: `column ${index + 1} has no name` })
  const named = 1 + cells.findLastIndex((cell) => cell.trim() !== '')
  const columns = cells.slice(0, named).map((cell, index): FileColumn => {
    const header = unshielded(cell).trim()
    const refuse = (message: string): FileColumn => {
      issues.push({ row, column: header.slice(0, 200), message })
      return { header, field: null }
    }
    if (header === '') {
      issues.push(unnamed(index))
      return { header, field: null }
    }
    const field = fieldWith(table, header) ?? linkedWith(table, header)
    if (!field) return refuse(notAField(header))
    if (field === 'several') return refuse('is the name of several fields: use the id of one')
    if (seen.has(field)) return refuse('is listed twice')
    seen.add(field)
    return { header, field: field.key || field.calc || field.link ? null : field }
  })
  // Some programs end each line with separators. A value in such a column is refused with its row.
  if (issues.length) for (let index = named; index < cells.length; index++) issues.push(unnamed(index))
  for (const { id } of required.filter((field) => !seen.has(field))) issues.push({ row, column: id, message: 'is required' })
  if (!issues.length && !columns.some(({ field }) => field)) {
    issues.push({ row, column: null, message: 'must name at least one field that can be written' })
  }
  return { columns, issues }
}
