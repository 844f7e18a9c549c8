/** What an undo sets back of a change, and why it leaves the rest (contract.md §10, Undo). */

import type { Cell } from '../../fields/cell.ts'
import { cellOfText } from '../../fields/cell-json.ts'
import { type FieldDef, holdsFiles, isMultiple, isSelect, ownFields, parseCell, type TableDef } from '../../fields/definition.ts'
import { TYPES } from '../../fields/registry.ts'
import type { Role } from '../../platform/access/authorize.ts'
import type { FileEntry } from '../../platform/stored-files/rows.ts'
import { type Cells, mayWrite } from '../drafts.ts'
import type { CellChange } from '../history/entries.ts'
import type { Reference } from '../references.ts'
import type { ChangeEntry } from './change.ts'

export const SKIP_REASONS = [
  'changed since',
  'deleted',
  'field is gone',
  'type changed',
  'option is gone',
  'link is gone',
  'file is gone',
  'not a member',
  'field is required',
  'no right',
] as const
export type SkipReason = (typeof SKIP_REASONS)[number]

/** A field of a record, or a whole record, that was left as it is. */
export interface Skip {
  record_id: number
  /** Null for a whole record. */
  field: string | null
  reason: SkipReason
}

/** A field of a record that the change has made different. */
export interface ChangedCell {
  recordId: number
  fieldId: string
  change: CellChange
}

/** A cell that may be set back, if it still has the value that the change gave it. */
export interface RevertibleCell extends ChangedCell {
  field: FieldDef
}

/**
 * The cells of the entries that the table's definition and the caller's role let an undo set back, and those that it leaves.
 * @param since the ids of fields that are younger than the change
 */
export function revertible(
  table: TableDef,
  role: Role,
  entries: readonly ChangeEntry[],
  since: ReadonlySet<string>,
): { cells: RevertibleCell[]; skips: Skip[] } {
  const fields = new Map(ownFields(table).map((field) => [field.id, field]))
  const cells: RevertibleCell[] = []
  const skips: Skip[] = []
  for (const { record_id: recordId, changes } of entries)
    for (const [fieldId, change] of Object.entries(changes ?? {})) {
      const field = fields.get(fieldId)
      const reason = whyNever(field, change, since, role)
      if (field && !reason) cells.push({ recordId, fieldId, change, field })
      else skips.push({ record_id: recordId, field: fieldId, reason: reason ?? 'field is gone' })
    }
  return { cells, skips }
}

/** Why no cell of the field can be set back; undefined if some can. */
function whyNever(field: FieldDef | undefined, { type }: CellChange, since: ReadonlySet<string>, role: Role): SkipReason | undefined {
  if (!field) return 'field is gone'
  if (field.type !== type) return 'type changed'
  // Another field has the id now, or its cells were converted to another type and back.
  if (since.has(field.id)) return 'field is gone'
  return mayWrite(field, role) ? undefined : 'no right'
}

/** The value before a change: a cell, what it refers to, or why it cannot be stored any more. */
export type Earlier = { cell: Cell } | { reference: Reference } | { reason: SkipReason }

export function earlierOf(field: FieldDef, { from }: CellChange): Earlier {
  if (from === undefined) return field.required ? { reason: 'field is required' } : { cell: null }
  const { names } = TYPES[field.type]
  if (holdsFiles(field)) return { reference: { kind: 'files', paths: filesIn(from).map(({ path }) => path) } }
  if (names === 'users') return { reference: { kind: 'users', users: idsIn(from) } }
  if (names === 'records') return { reference: { kind: 'records', ids: idsIn(from) } }
  if (isSelect(field.type)) {
    const ids = idsIn(from)
    const present = new Set(field.options?.map(({ id }) => id))
    if (!ids.every((id) => present.has(id))) return { reason: 'option is gone' }
    return { cell: isMultiple(field.type) ? ids : (ids[0] ?? null) }
  }
  // A number may have more digits than its field has by now. Other types store what PostgreSQL prints.
  const parsed = TYPES[field.type].takes === 'decimals' ? parseCell(field, from, 0) : undefined
  return { cell: parsed?.kind === 'cell' ? parsed.cell : from }
}

/** Why a reference cannot be stored any more. */
export function missingReason({ kind }: Reference): SkipReason {
  if (kind === 'users') return 'not a member'
  return kind === 'records' ? 'link is gone' : 'file is gone'
}

/** The files of a cell, as the history has it. */
export const filesIn = (text: string | undefined): FileEntry[] => (text === undefined ? [] : JSON.parse(text))

/** The ids of a cell, as the history has it: `4` or `{4,5}`. */
const idsIn = (text: string): number[] => cellOfText(text).ints()

/** The cells by record. */
export function cellsByRecord(cells: readonly { recordId: number; fieldId: string; cell: Cell }[]): Map<number, Cells> {
  const records = new Map<number, Cells>()
  for (const { recordId, fieldId, cell } of cells) records.set(recordId, (records.get(recordId) ?? new Map()).set(fieldId, cell))
  return records
}
