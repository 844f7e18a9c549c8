/** What a cell of each type looks like in a file, and what a file's text means for it: a file that was exported can be imported. */

import type { LookupValue, UserValue } from '../fields/cell.ts'
import { type FieldDef, isLookup } from '../fields/definition.ts'
import type { FileEntry } from '../platform/stored-files.ts'
import { joinList, shielded, splitList, unshielded } from './format.ts'

/**
 * A value, as records/query has it, as the text of a cell; no value is empty text. Numbers and dates need no shield: a number may
 * be negative, and is no formula.
 */
export function printCell(field: FieldDef, value: unknown): string {
  if (value === null || value === undefined) return ''
  switch (field.type) {
    case 'number':
    case 'date':
    case 'datetime':
    case 'time':
    case 'checkbox':
      return String(value)
    case 'user':
      return shielded((value as UserValue).email)
    case 'lookup':
      return shielded(printLookup(value as LookupValue))
    case 'multi_select':
      return shielded(joinList(value as string[]))
    case 'multi_user':
      return shielded(joinList((value as UserValue[]).map(({ email }) => email)))
    case 'multi_lookup':
      return shielded(joinList((value as LookupValue[]).map(printLookup)))
    case 'file':
      return shielded(joinList((value as FileEntry[]).map(({ path }) => path)))
    default:
      return shielded(value as string)
  }
}

/** `Acme (12)`: for people and for the way back. */
const printLookup = ({ id, title }: LookupValue): string => (title === null ? String(id) : `${title} (${id})`)

/** What records of the tables that lookups point to are called, as far as a file names them. */
export interface Named {
  titles: ReadonlyMap<number, string | null>
  /** By title: the record that has it, 'several', or null for none. */
  ids: ReadonlyMap<string, number | 'several' | null>
}

/** A value for `records/cells.ts` to judge, or why there is none. */
export type Read = { value: unknown } | { reason: string }

/** @param named of the table that a lookup points to */
export function readCell(field: FieldDef, cell: string, named: Named | undefined): Read {
  if (cell === '') return { value: null }
  if (cell.includes('\0')) return { reason: 'must not contain NUL' }
  const text = unshielded(cell)
  switch (field.type) {
    case 'number':
    case 'date':
    case 'datetime':
    case 'time':
    case 'select':
      return { value: text.trim() || null }
    case 'checkbox':
      return { value: CHECKED[text.trim().toLowerCase()] ?? text }
    case 'user':
      return { value: userOf(text) }
    case 'lookup': {
      const found = recordOf(text, field, named)
      return typeof found === 'string' ? { reason: found } : { value: found }
    }
    case 'multi_select':
      return listOf(text, (title) => ({ value: title }))
    case 'multi_user':
      return listOf(text, (user) => ({ value: userOf(user) }))
    case 'multi_lookup':
      return listOf(text, (title) => {
        const found = recordOf(title, field, named)
        return typeof found === 'string' ? { reason: found } : { value: found }
      })
    case 'file':
      return listOf(text, (path) => ({ value: { path } }))
    default:
      return { value: text }
  }
}

/** What products write for a checkbox. */
const CHECKED: Readonly<Record<string, boolean>> = {
  ...Object.fromEntries(['true', 'yes', '1', 'on', 'x', 'checked'].map((word) => [word, true])),
  ...Object.fromEntries(['false', 'no', '0', 'off', 'unchecked'].map((word) => [word, false])),
}

/** An id or an address. */
const userOf = (text: string): number | string => (IS_ID.test(text.trim()) ? Number(text) : text)

const IS_ID = /^\d{1,10}$/

function listOf(text: string, read: (value: string) => Read): Read {
  const values = splitList(text)
  if (!values) return { reason: 'must be a list: a, b, "c, with a comma"' }
  const elements: unknown[] = []
  for (const value of values) {
    const element = read(value)
    if ('reason' in element) return element
    elements.push(element.value)
  }
  return { value: elements }
}

/** `Acme (12)`, as exports write it. */
const TITLE_AND_ID = /^(.*) \((\d{1,10})\)$/s

/**
 * The record that a file names: by id, by `title (id)` where that record has that title, or by a title that only one record has.
 * @returns its id, or what is wrong
 */
function recordOf(given: string, { lookup_table_id: tableId }: FieldDef, named: Named | undefined): number | string {
  const text = given.trim()
  if (IS_ID.test(text)) return Number(text)
  // Not trimmed: a title may begin with a blank.
  const [, title, id] = TITLE_AND_ID.exec(given) ?? []
  if (id !== undefined && named?.titles.get(Number(id)) === title) return Number(id)
  const found = named?.ids.get(text)
  if (found === 'several') return `several records of table ${tableId} have this title: name one by its id`
  return found ?? `there is no such record in table ${tableId}`
}

/** What has to be looked up to read these cells: titles, and ids whose title is to be compared. */
export function namesIn(field: FieldDef, cells: readonly string[]): { titles: Set<string>; ids: Set<number> } {
  const [titles, ids] = [new Set<string>(), new Set<number>()]
  if (!isLookup(field.type)) return { titles, ids }
  for (const cell of cells) {
    const text = unshielded(cell)
    for (const one of field.type === 'lookup' ? [text] : (splitList(text) ?? [])) {
      const name = one.trim()
      if (name === '' || IS_ID.test(name) || name.includes('\0')) continue
      titles.add(name)
      const [, , id] = TITLE_AND_ID.exec(name) ?? []
      if (id !== undefined && Number(id) <= 2_147_483_647) ids.add(Number(id))
    }
  }
  return { titles, ids }
}
