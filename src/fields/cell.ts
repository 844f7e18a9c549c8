/** Parses cells that callers write into values that columns store: the parts that several field types share. */
import type { FileEntry } from '../platform/stored-files/rows.ts'

/** A cell as its column stores it. Numbers and instants are text, so that no digit is lost. */
export type Cell = string | number | boolean | number[] | FileEntry[] | null

/** A member's id or email address. */
export type UserRef = number | string

/** A user in an API answer. */
export interface UserValue {
  id: number
  /** Null for a user who was erased. */
  email: string | null
  name: string
}

/** A record of another table in an API answer. */
export interface LookupValue {
  id: number
  title: string | null
}

/** A cell that is ready to store, references that must be looked up first, or the reason why the value is invalid. */
export type Parsed =
  | { kind: 'cell'; cell: Cell }
  | { kind: 'users'; users: UserRef[] }
  | { kind: 'records'; ids: number[] }
  | { kind: 'files'; paths: string[] }
  | { kind: 'wrong'; reason: string }

/** The maximum number of values in a list (contract.md §1). */
export const MAX_VALUES = 1_000

export const EMPTY: Parsed = { kind: 'cell', cell: null }
export const cell = (value: Cell): Parsed => ({ kind: 'cell', cell: value })
export const wrong = (reason: string): Parsed => ({ kind: 'wrong', reason })

/** Makes a parser of text values. @param read returns the text to store, or null for an invalid text */
export const readAs =
  (read: (text: string) => string | null, expected: string) =>
  (value: unknown): Parsed => {
    const kept = typeof value === 'string' ? read(value) : null
    return kept === null ? wrong(`must be ${expected}`) : cell(kept)
  }

/**
 * Reads a list and keeps each value once.
 * @param read returns null for an invalid element
 * @param expected what the elements are, in the plural, for error messages; `noun` is the singular
 * @returns the values, or the reason why the list is invalid
 */
export function readList<Kept extends UserRef>(
  value: unknown,
  read: (element: unknown) => Kept | null,
  expected: string,
  noun: string,
): Kept[] | string {
  if (!Array.isArray(value)) return `must be a list of ${expected}`
  if (value.length > MAX_VALUES) return `must have at most ${MAX_VALUES} values`
  const kept = new Set<Kept>()
  for (const [index, element] of value.entries()) {
    const one = read(element)
    if (one === null) return `[${index}]: unknown ${noun}`
    kept.add(one)
  }
  return [...kept]
}

export const wholeNumber = (value: unknown): number | null => (Number.isSafeInteger(value) ? (value as number) : null)

/** Returns an own property of a JSON object; undefined if the value is not an object or has no such property. */
export function property(value: unknown, key: string): unknown {
  return value && typeof value === 'object' && Object.hasOwn(value, key) ? (value as Record<string, unknown>)[key] : undefined
}

/** Returns a property that is a non-empty text; null otherwise. */
export function textProperty(value: unknown, key: string): string | null {
  const text = property(value, key)
  return typeof text === 'string' && text !== '' ? text : null
}

// ── as values of a statement ────────────────────────────────────────────────

export const unchanged = (bound: Cell): Cell => bound
/** Binds a list of numbers as text, because Postgres has no array of arrays of different lengths. */
export const asArrayText = (list: Cell): Cell => `{${(list as number[]).join(',')}}`
export const asJson = (entries: Cell): Cell => JSON.stringify(entries)
