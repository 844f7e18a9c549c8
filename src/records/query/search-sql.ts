/** `search`: every word, ignoring case, somewhere in the text and select fields of a record (contract.md §5). */

import { columnOf } from '../../fields/cell-sql.ts'
import type { TableDef } from '../../fields/definition.ts'
import { TYPES } from '../../fields/registry.ts'
import { join, type Sql, sql } from '../../platform/database/database.ts'
import { badInput } from '../../platform/http/errors.ts'
import { ALWAYS, NEVER } from './condition-sql.ts'

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

/** Holds for records that have every word in one of the fields; without words it holds for all. */
export function printSearch(words: readonly string[], { fields }: TableDef): Sql {
  const perWord = words.map((word) => {
    const hits = fields.flatMap((field) => TYPES[field.type].search?.(field, columnOf(field), word) ?? [])
    return hits.length ? sql`(${join(hits, ' or ')})` : NEVER
  })
  return perWord.length ? join(perWord, ' and ') : ALWAYS
}
