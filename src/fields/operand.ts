/** The value of a condition, read as its field wants it. Nothing here needs to know the time or who asks. */
import { MAX_ID } from '../platform/http/schemas.ts'
import type { Compare } from './compares.ts'
import type { Token } from './date-tokens.ts'
import type { FieldSettings } from './settings.ts'

export type Operand =
  | { kind: 'nothing' }
  | { kind: 'text'; text: string }
  /** In decimal notation, since a column holds more digits than a JavaScript number. */
  | { kind: 'number'; decimal: string }
  | { kind: 'boolean'; value: boolean }
  /** A calendar date; on a datetime field, that whole local day. */
  | { kind: 'date'; date: string }
  | { kind: 'instant'; instant: Date }
  | { kind: 'token'; token: Token }
  | { kind: 'time'; time: string }
  /** Options of a select that the value names; none when it names no option. */
  | { kind: 'options'; ids: number[] }
  | { kind: 'id'; id: number }
  | { kind: 'email'; email: string }
  | { kind: 'me' }

/** What the value of a filter is read as. Kinds that several types have in common are here, the others beside their type. */
export interface ValueKind {
  /** Completes "must be …"; docs/queries.md is printed from it. */
  readonly wants: string
  /** Returns null for a value of the wrong kind. */
  read(value: unknown, field: FieldSettings, compare: Compare): Operand | null
  /** Whether the value is the whole title of an option, and so has to follow when the option gets another title. */
  readonly isOptionTitle?: true
}

export const NOTHING: ValueKind = { wants: 'left out', read: () => ({ kind: 'nothing' }) }
export const TEXT: ValueKind = { wants: 'a text', read: readText }
export const EMPTINESS = { is_empty: NOTHING, is_not_empty: NOTHING }

export function readText(value: unknown): Operand | null {
  return typeof value === 'string' ? { kind: 'text', text: value } : null
}

/** An id that no column can hold is a whole number all the same, and names nothing: it is read as 0. */
export function readId(value: unknown): Operand | null {
  return Number.isInteger(value) ? { kind: 'id', id: (value as number) > 0 && (value as number) <= MAX_ID ? (value as number) : 0 } : null
}

export const textOf = (operand: Operand): string => (operand.kind === 'text' ? operand.text : '')
