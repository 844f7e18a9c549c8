/** An edit of one or many records, or new ones, that the service takes or refuses as a whole, and what becomes of it. */
import type { ChangedRow } from '../pages/row.ts'

/** What changes in a record: the new values, the ones that the cells had when the edit began, and the version of then. */
export interface RecordEdit {
  id: number
  version: number | undefined
  values: Readonly<Record<string, unknown>>
  before: Readonly<Record<string, unknown>>
}

/** A record that is to be created. `draft` is the negative id of the row that shows it meanwhile. */
export interface NewRecord {
  draft?: number
  data: Readonly<Record<string, unknown>>
}

/** It changes records, or creates some. */
export interface Edit {
  key: string
  records: RecordEdit[]
  creates: readonly NewRecord[]
  /** Several edits of one group are one thing that a person did. */
  group: string
  /** What the person did, for undo: `Paste`, `Clear`. */
  label: string
  /** waiting: for its turn, or for the connection. asking: others changed a cell meanwhile. */
  state: 'waiting' | 'sending' | 'asking'
  /** True once it may have reached the service, so that only the service can undo it. */
  wasSent: boolean
  conflicts: Conflict[]
}

/** A cell that somebody else has changed since the edit began. */
export interface Conflict {
  id: number
  field: string
  mine: unknown
  theirs: unknown
}

/** A cell whose edit was refused: what was typed is kept, beside the reason. */
export interface Refusal {
  message: string
  value: unknown
  /** A text that is no value of the field, in place of one. */
  typed?: string
}

export interface RefusedCell {
  id: number
  field: string
  refusal: Refusal
}

/** A record that has another version than the edit, as the 409 of a batch shows it. */
export interface StaleRecord {
  id: number
  version: number
  current: ChangedRow
}

/** Whether two values of a cell are the same; values are JSON. */
export function isSameValue(a: unknown, b: unknown): boolean {
  if (isEmpty(a) && isEmpty(b)) return true
  if (Array.isArray(a) && Array.isArray(b)) return a.length === b.length && a.every((value, index) => isSameValue(value, b[index]))
  const [idOfA, idOfB] = [idIn(a), idIn(b)]
  if (idOfA !== undefined || idOfB !== undefined) return idOfA === idOfB
  return a === b || JSON.stringify(a) === JSON.stringify(b)
}

const isEmpty = (value: unknown) => value === null || value === undefined || value === '' || (Array.isArray(value) && !value.length)

/** People and links are the same if their ids are, whatever they are called by now. */
function idIn(value: unknown): unknown {
  return typeof value === 'object' && value !== null && 'id' in value ? value.id : undefined
}

/**
 * The edit on top of what others have changed meanwhile. A cell that is as it was when the edit began, or that has the new value already,
 * keeps its edit; the others are conflicts.
 */
export function rebased(records: readonly RecordEdit[], stale: readonly StaleRecord[]): { records: RecordEdit[]; conflicts: Conflict[] } {
  const present = new Map(stale.map((record) => [record.id, record]))
  const conflicts: Conflict[] = []
  const moved = records.map((record): RecordEdit => {
    const now = present.get(record.id)
    if (!now) return record
    const fields = Object.keys(record.values)
    for (const field of fields) {
      const theirs = now.current.data[field] ?? null
      const mine = record.values[field]
      if (!isSameValue(theirs, record.before[field]) && !isSameValue(theirs, mine)) conflicts.push({ id: record.id, field, mine, theirs })
    }
    const before = Object.fromEntries(fields.map((field) => [field, now.current.data[field] ?? null]))
    return { ...record, version: now.version, before }
  })
  return { records: moved, conflicts }
}

/** The edit without the cells of the conflicts, which stay as the others left them. */
export function withoutConflicts(records: readonly RecordEdit[], conflicts: readonly Conflict[]): RecordEdit[] {
  const isTheirs = (id: number, field: string) => conflicts.some((conflict) => conflict.id === id && conflict.field === field)
  return records.flatMap((record) => {
    const kept = Object.entries(record.values).filter(([field]) => !isTheirs(record.id, field))
    return kept.length ? [{ ...record, values: Object.fromEntries(kept) }] : []
  })
}
