/** The first row of a file: which field each column is. */

import { notAField } from '../fields/by-id.ts'
import type { FieldDef, TableDef } from '../fields/definition.ts'
import type { CellIssue } from '../platform/http/errors.ts'
import { shielded, unshielded } from './format.ts'
import type { Row } from './reader.ts'

/** The field that a header names: by its id, or by its name in any case; 'several' for a name that more than one field has. */
function fieldNamed(table: TableDef, text: string): FieldDef | 'several' | undefined {
  const byId = table.fields.find(({ id }) => id === text)
  if (byId) return byId
  const name = text.toLowerCase()
  const [only, another] = table.fields.filter((field) => field.name.trim().toLowerCase() === name)
  return another ? 'several' : only
}

/** What an export calls a column: the field's name, or its id where the name would lead an import elsewhere. */
export function headerOf(table: TableDef, field: FieldDef): string {
  return shielded(fieldNamed(table, field.name.trim()) === field ? field.name : field.id)
}

export interface Column {
  /** As the file has it. */
  header: string
  /** null: the column is passed over. */
  field: FieldDef | null
}

/**
 * The columns of a file. The record's id and calculated fields, which an export has, are passed over.
 * @param required fields that an import cannot do without
 */
export function readHeader(
  table: TableDef,
  { number: row, cells }: Row,
  required: readonly FieldDef[],
): { columns: Column[]; issues: CellIssue[] } {
  const issues: CellIssue[] = []
  const seen = new Set<FieldDef>()
  const columns = cells.map((cell, index): Column => {
    const header = unshielded(cell).trim()
    const refuse = (message: string, column: string | null = header.slice(0, 200)): Column => {
      issues.push({ row, column, message })
      return { header, field: null }
    }
    if (header === '') return refuse(`column ${index + 1} has no name`, null)
    const field = fieldNamed(table, header)
    if (!field) return refuse(notAField(header))
    if (field === 'several') return refuse('is the name of several fields: use the id of one')
    if (seen.has(field)) return refuse('is listed twice')
    seen.add(field)
    return { header, field: field.key || field.calc ? null : field }
  })
  for (const { id } of required.filter((field) => !seen.has(field))) issues.push({ row, column: id, message: 'is required' })
  if (!issues.length && !columns.some(({ field }) => field)) {
    issues.push({ row, column: null, message: 'names no field that can be written' })
  }
  return { columns, issues }
}
