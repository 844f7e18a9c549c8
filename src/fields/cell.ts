/** Cells as callers write them and as columns take them: the parts that types of fields share. */
import type { FileEntry } from '../platform/stored-files.ts'

/** A cell as its column takes it. Numbers and instants are text, so that nothing is lost on the way. */
export type Cell = string | number | boolean | number[] | FileEntry[] | null

/** A member by id or by address. */
export type UserRef = number | string

/** A user as callers read one. */
export interface UserValue {
  id: number
  email: string
  name: string
}

/** A record of another table as callers read one. */
export interface LookupValue {
  id: number
  title: string | null
}

/** A cell that is ready, one that names something which must be looked for, or the reason why the value is refused. */
export type Parsed =
  | { kind: 'cell'; cell: Cell }
  | { kind: 'users'; users: UserRef[] }
  | { kind: 'records'; ids: number[] }
  | { kind: 'files'; paths: string[] }
  | { kind: 'wrong'; reason: string }

/** Values that a list may hold (contract.md §1). */
export const MAX_VALUES = 1_000

export const EMPTY: Parsed = { kind: 'cell', cell: null }
export const cell = (value: Cell): Parsed => ({ kind: 'cell', cell: value })
export const wrong = (reason: string): Parsed => ({ kind: 'wrong', reason })

/** Reads a text by a function that returns the text to be kept, or null for a text that is refused. */
export const readAs =
  (read: (text: string) => string | null, expected: string) =>
  (value: unknown): Parsed => {
    const kept = typeof value === 'string' ? read(value) : null
    return kept === null ? wrong(`must be ${expected}`) : cell(kept)
  }

/**
 * Reads a list element by element, and keeps each value once.
 * @param read returns null for an element that is refused
 * @param expected names the elements in the reason, `noun` one of them
 * @returns the values, or the reason why the list is refused
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

/** A value's own property, as JSON has them; undefined for anything that has no such property. */
export function property(value: unknown, key: string): unknown {
  return value && typeof value === 'object' && Object.hasOwn(value, key) ? (value as Record<string, unknown>)[key] : undefined
}

/** A property that is a text, and not an empty one. */
export function textProperty(value: unknown, key: string): string | null {
  const text = property(value, key)
  return typeof text === 'string' && text !== '' ? text : null
}

/** The values that the ids of a list refer to, in their order. Ids that refer to none any more are left out. */
export function valuesOf<Value>(ids: unknown, values: ReadonlyMap<number, Value>): Value[] {
  const found: Value[] = []
  for (const id of (ids ?? []) as number[]) {
    const value = values.get(id)
    if (value !== undefined) found.push(value)
  }
  return found
}

// ── as values of a statement ────────────────────────────────────────────────

export const asItIs = (bound: Cell): Cell => bound
/** Lists of numbers are bound as text, because unequal lists make no array of arrays. */
export const asArrayText = (list: Cell): Cell => `{${(list as number[]).join(',')}}`
export const asJson = (entries: Cell): Cell => JSON.stringify(entries)
