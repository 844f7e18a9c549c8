/** Prints `search`: each word must occur, ignoring case, in a text or select field of the record (contract.md §5). */

import { columnOf, holds } from '../../fields/cell-sql.ts'
import { isText, type TableDef } from '../../fields/definition.ts'
import { TYPES } from '../../fields/registry.ts'
import { join, type Sql, sql } from '../../platform/database/database.ts'
import { ALWAYS, NEVER } from './condition-sql.ts'
import type { SearchedWord } from './search-plan.ts'

/** True for records in which each word occurs in at least one field; without words, true for all. */
export function printSearch(words: readonly string[], { fields }: TableDef): Sql {
  const perWord = words.map((word) => {
    const hits = fields.flatMap((field) => TYPES[field.type].search?.(field, columnOf(field), word) ?? [])
    return hits.length ? sql`(${join(hits, ' or ')})` : NEVER
  })
  return perWord.length ? join(perWord, ' and ') : ALWAYS
}

/** True if texts alone can contain the words, so that their trigram indexes find every record. */
export const isOfTexts = (words: readonly string[], { fields }: TableDef): boolean =>
  !fields.some((field) => !isText(field.type) && words.some((word) => TYPES[field.type].search?.(field, columnOf(field), word)))

/**
 * The same condition as `printSearch`, in a form in which only the trigrams of the words concern an index. The words must pass `isOfTexts`.
 * The longest texts come first, because a word is most likely in them.
 */
export function printSearchByTrigrams(words: readonly SearchedWord[], { fields }: TableDef): Sql {
  const texts = fields.filter(({ type }) => isText(type)).sort((a, b) => lengthOf(b) - lengthOf(a))
  const asked = words.filter(({ trigrams }) => trigrams.length)
  const rare = asked.map(({ trigrams }) => texts.map((field) => hasTrigrams(columnOf(field), trigrams)))
  const whole = words.map(({ word }) => texts.map((field) => holds(columnOf(field), word)))
  return join(
    [...rare, ...whole].map((hits) => sql`(${join(hits, ' or ')})`),
    ' and ',
  )
}

/**
 * The trigrams are selected, because constants would be looked for in the statistics, in a thousand texts of each field, which takes longer
 * than the rest of planning. What PostgreSQL would learn there has been decided by `planSearch`.
 */
const hasTrigrams = (text: Sql, trigrams: readonly string[]): Sql =>
  join(
    trigrams.map((trigram) => sql`lower(${text}) like (select ${`%${trigram}%`}::text)`),
    ' and ',
  )

const lengthOf = ({ type }: TableDef['fields'][number]) => TYPES[type].maxLength ?? 0
