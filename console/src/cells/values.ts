/**
 * Reads cells as the values of a type. A field may be converted while a page of records is shown, so a cell can hold the value of another
 * type: then it is shown as the text that it has.
 */
import type { Link, Person, StoredFile } from './kind.ts'

const isObject = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null && !Array.isArray(value)

export const isPerson = (value: unknown): value is Person =>
  isObject(value) && typeof value.id === 'number' && typeof value.name === 'string'
export const isLink = (value: unknown): value is Link => isObject(value) && typeof value.id === 'number' && 'title' in value
export const isFile = (value: unknown): value is StoredFile =>
  isObject(value) && typeof value.path === 'string' && typeof value.name === 'string'

/** The values of a cell that are of a kind: those of a list, or the only one. */
export function valuesOf<Kind>(value: unknown, is: (one: unknown) => one is Kind): Kind[] {
  return (Array.isArray(value) ? value : [value]).filter(is)
}

export const isText = (value: unknown): value is string => typeof value === 'string'
export const isDecimal = (value: unknown): value is number | string => typeof value === 'number' || typeof value === 'string'

/** True if a cell has no value: null, an empty text or an empty list. */
export const isEmpty = (value: unknown): boolean =>
  value === null || value === undefined || value === '' || (Array.isArray(value) && !value.length)

/** The text of any value, whatever its type. */
export function anyText(value: unknown): string {
  if (value === null || value === undefined) return ''
  if (Array.isArray(value)) return value.map(anyText).filter(Boolean).join(', ')
  if (isPerson(value) || isFile(value)) return value.name
  if (isLink(value)) return value.title ?? `(${value.id})`
  return isObject(value) ? '' : String(value)
}

/** The address if a browser can open it safely; null for any other text, `javascript:` addresses included. */
export function safeUrl(value: unknown): string | null {
  if (!isText(value) || !/^https?:\/\/\S+$/i.test(value)) return null
  return URL.canParse(value) ? value : null
}
