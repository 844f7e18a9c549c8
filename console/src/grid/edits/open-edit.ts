/** An editor that is open on a field of a record, in a cell or beside the grid: what it begins with, and what becomes of it. */
import { cellText } from '../../cells/cell-text.ts'
import type { Field, Place, Value } from '../../cells/kind.ts'
import { gridTexts } from '../../texts/grid.ts'
import type { Row } from '../pages/row.ts'
import { isSameValue, type RecordEdit, type Refusal } from './edit.ts'
import type { Edits } from './edits.ts'
import type { TableEdits } from './table-edits.ts'

/** What opens an editor beside a key: the characters that replace the value, or files. */
export interface Begun {
  typed?: string | undefined
  files?: readonly File[] | undefined
}

/** The field whose editor is open, with what its record was when it was opened. */
export interface OpenEdit extends Begun {
  id: number
  field: string
  /** What the editor begins with. */
  value: Value
  version: number | undefined
  before: unknown
}

/** The value that a field shows: an edit that is on its way counts before what the service said. */
export function shownValue(edits: Edits, row: Row, field: string): Value {
  const pending = edits.pending(row.id)
  return (pending && field in pending ? pending[field] : (row[field] ?? null)) as Value
}

/** Opens an editor on the value that is shown, or on what was typed and refused before. */
export function openEdit(edits: Edits, row: Row, field: string, begun: Begun = {}): OpenEdit {
  const refused = begun.typed === undefined ? edits.refusals(row.id)?.[field] : undefined
  const value = refused && refused.typed === undefined ? (refused.value as Value) : shownValue(edits, row, field)
  const typed = refused?.typed ?? begun.typed
  return { ...begun, ...(typed !== undefined && { typed }), id: row.id, field, value, version: row._version, before: row[field] ?? null }
}

/** The edit of what was typed, with the version that the record had when the editor was opened; undefined if nothing has changed. */
export function editOfOpen({ id, field, version, before }: OpenEdit, value: Value): RecordEdit | undefined {
  return isSameValue(value, before) ? undefined : { id, version, values: { [field]: value }, before: { [field]: before } }
}

/** Keeps a text that the field does not take for the next time that its editor is opened. */
export function refuseOpenEdit({ edits, noteTyped }: TableEdits, { id, field }: OpenEdit, text: string, problem: string): void {
  edits.refuse(id, field, { message: problem, value: null, typed: text })
  noteTyped(null)
}

export function cancelOpenEdit({ edits, noteTyped }: TableEdits, { id, field }: OpenEdit): void {
  noteTyped(null)
  edits.forgetRefusal(id, field)
}

/** Keeps what is being typed, for the case that the page ends. */
export function noteTyping({ noteTyped }: TableEdits, { id, field }: OpenEdit, text: string): void {
  noteTyped({ id, field, text })
}

/** An editor goes without an end of its own, such as with its page: what was typed is kept for the next time that it is opened. */
export function leaveOpenEdit(table: TableEdits, open: OpenEdit, why: string = gridTexts.closedWhileTyping): void {
  const text = typedInto(table, open)
  if (text !== undefined) refuseOpenEdit(table, open, text, why)
}

/** The text in an open editor; undefined if nothing was typed. */
export const typedInto = ({ typedIn }: TableEdits, open: OpenEdit): string | undefined => typedIn(open) ?? open.typed

/** Why an edit was not saved, and what was typed, so that it can be read and copied until the cell is edited again. */
export function refusalText({ message, typed, value }: Refusal, field: Field, place: Place): string {
  const text = typed ?? (typeof value === 'string' ? value : cellText(field).toText(value as Value, field, place))
  return text ? gridTexts.refusedAndTyped(message, text) : gridTexts.refusedCell(message)
}
