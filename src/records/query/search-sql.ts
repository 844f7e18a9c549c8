/** Prints `search`: each word must occur, ignoring case, in a text or select field of the record (contract.md §5). */

import { columnOf } from '../../fields/cell-sql.ts'
import type { TableDef } from '../../fields/definition.ts'
import { TYPES } from '../../fields/registry.ts'
import { join, type Sql, sql } from '../../platform/database/database.ts'
import { ALWAYS, NEVER } from './condition-sql.ts'

/** True for records in which each word occurs in at least one field; without words, true for all. */
export function printSearch(words: readonly string[], { fields }: TableDef): Sql {
  const perWord = words.map((word) => {
    const hits = fields.flatMap((field) => TYPES[field.type].search?.(field, columnOf(field), word) ?? [])
    return hits.length ? sql`(${join(hits, ' or ')})` : NEVER
  })
  return perWord.length ? join(perWord, ' and ') : ALWAYS
}
