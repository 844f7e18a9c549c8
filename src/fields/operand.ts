/** Parses the value of a condition for its field. The result depends on neither the time nor the caller. */
import { MAX_ID } from '../platform/row-ids.ts'
import type { Compare } from './compares.ts'
import type { Token } from './date-tokens.ts'
import type { FieldSettings } from './settings.ts'

export type Operand =
  | { kind: 'nothing' }
  | { kind: 'text'; text: string }
  /** In decimal notation, because a column holds more digits than a JavaScript number. */
  | { kind: 'number'; decimal: string }
  | { kind: 'boolean'; value: boolean }
  /** A calendar date; on a datetime field, that whole local day. */
  | { kind: 'date'; date: string }
  | { kind: 'instant'; instant: Date }
  | { kind: 'token'; token: Token }
  | { kind: 'time'; time: string }
  /** The options of a select that match the value; empty if no option does. */
  | { kind: 'options'; ids: number[] }
  | { kind: 'id'; id: number }
  | { kind: 'email'; email: string }
  | { kind: 'me' }

/** The values of a condition that takes a list: a record has one of them, or with `isAll` each of them. */
export interface OperandList {
  kind: 'list'
  operands: readonly Operand[]
  isAll: boolean
}

/** A kind of filter value. Kinds that several field types share are in this file; the others are in the file of their type. */
export interface ValueKind {
  /** Completes the message "must be …". docs/queries.md is generated from it, too. */
  readonly wants: string
  /** Returns null for a value of the wrong kind. */
  read(value: unknown, field: FieldSettings, compare: Compare): Operand | null
  /** True if the value is the whole title of an option, so that a rename of the option must change the value, too. */
  readonly isOptionTitle?: true
}

export const NOTHING: ValueKind = { wants: 'left out', read: () => ({ kind: 'nothing' }) }
export const TEXT: ValueKind = { wants: 'a text', read: readText }
export const EMPTINESS = { is_empty: NOTHING, is_not_empty: NOTHING }

export function readText(value: unknown): Operand | null {
  return typeof value === 'string' ? { kind: 'text', text: value } : null
}

/** Reads an id. A whole number that is too large for an id column is valid but matches nothing, so it is read as 0. */
export function readId(value: unknown): Operand | null {
  return Number.isInteger(value) ? { kind: 'id', id: (value as number) > 0 && (value as number) <= MAX_ID ? (value as number) : 0 } : null
}

export const operandText = (operand: Operand): string => (operand.kind === 'text' ? operand.text : '')
