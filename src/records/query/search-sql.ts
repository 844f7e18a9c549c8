/** `search`: every word, ignoring case, somewhere in the text and select fields of a record (contract.md §5). */

import type { FieldDef, TableDef } from '../../fields/definition.ts'
import { join, type Sql, sql } from '../../platform/database/database.ts'
import { badInput } from '../../platform/http/errors.ts'
import { RULES } from '../../views/filters/compares.ts'
import { lowerCased } from '../../views/filters/resolve.ts'
import { ALWAYS, columnOf, like, lower, NEVER } from './condition-sql.ts'

/** Each word is looked for in each field, and a statement takes 65,535 values: twice this many times 300 fields stay below. */
const MAX_WORDS = 100

/**
 * The words of a search, each once.
 * @throws AppError 400 for too many
 */
export function wordsOf(search: string): string[] {
  const words = [...new Set(search.split(/\s+/).filter((word) => word !== ''))]
  if (words.length > MAX_WORDS) throw badInput('search', `must have at most ${MAX_WORDS} different words`)
  return words
}

/** Holds for records that have every word in one of the fields; no words hold for all. */
export function printSearch(words: readonly string[], table: TableDef): Sql {
  const searched = table.fields.filter((field) => RULES[field.type].searched)
  const perWord = words.map((word) => {
    const hits = searched.flatMap((field) => (field.options ? inOptions(field, word) : inText(field, word)))
    return hits.length ? sql`(${join(hits, ' or ')})` : NEVER
  })
  return perWord.length ? join(perWord, ' and ') : ALWAYS
}

/** One or two characters are too little for a trigram index and stand in almost any text: they match beginnings of words only. */
const isShort = (word: string) => [...word].length <= 2

function inText(field: FieldDef, word: string): Sql {
  const column = columnOf(field)
  if (!isShort(word)) return like(column, 'contains', word)
  return sql`lower(${column}) ~ ${lower(`(^|[^[:alnum:]])${word.replaceAll(/[^\p{L}\p{N}]/gu, '\\$&')}`)}`
}

function inOptions(field: FieldDef, word: string): Sql | [] {
  const wanted = lowerCased(word)
  const ids = (field.options ?? []).filter(({ title }) => hasWord(lowerCased(title), wanted)).map(({ id }) => id)
  return ids.length ? sql`${columnOf(field)} = any(${ids}::int[])` : []
}

function hasWord(title: string, word: string): boolean {
  if (!isShort(word)) return title.includes(word)
  for (let at = title.indexOf(word); at >= 0; at = title.indexOf(word, at + 1)) {
    if (at === 0 || !/[\p{L}\p{N}]$/u.test(title.slice(0, at))) return true
  }
  return false
}
