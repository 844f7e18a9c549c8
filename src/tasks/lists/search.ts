/** How a search finds tasks: each of its words is somewhere in the title or the details, in upper or lower case. */
import { type Sql, sql } from '../../platform/database/database.ts'
import { formsOf } from '../../platform/normal-forms.ts'
import type { TaskQuery } from './schema.ts'

export interface Search {
  words: readonly string[]
  /** Whether PostgreSQL may look for the words, which are in lower case then, by the case of ASCII letters alone. */
  arePlain: boolean
}

export function searchOf({ search = '' }: Pick<TaskQuery, 'search'>): Search {
  const words = search.split(/\s+/).filter(Boolean)
  return words.every(isPlain) ? { words: words.map((word) => word.toLowerCase()), arePlain: true } : { words, arePlain: false }
}

/** ASCII without i and k: these are also the lower case of two letters outside of ASCII, of U+0130 and of the Kelvin sign. */
const isPlain = (word: string): boolean => /^[!-HJL-hjl-~]+$/.test(word)

/** The conditions on a task `k`. */
export const conditionsOf = ({ words, arePlain }: Search): Sql[] => words.map(arePlain ? hasPlainWord : hasSpelling)

/** Titles and details that an earlier release stored may have the other spelling of a letter. */
function hasSpelling(word: string): Sql {
  const [composed, decomposed] = formsOf(word)
  return decomposed === undefined ? hasWord(composed ?? word) : sql`(${hasWord(composed ?? word)} or ${hasWord(decomposed)})`
}

// A scalar subquery runs once per statement; inline, a generic plan would lower the word again for each task.
const hasWord = (word: string): Sql =>
  sql`position((select lower(${word}::text collate pg_c_utf8)) in lower(${TITLE_AND_DETAILS} collate pg_c_utf8)) > 0`

// PostgreSQL lowers ASCII letters alone in half the time, and most of the time of a search goes into lowering.
const hasPlainWord = (word: string): Sql => sql`position(${word}::text in lower(${TITLE_AND_DETAILS} collate "C")) > 0`

const TITLE_AND_DETAILS = sql`(k.title || ' ' || coalesce(k.details, ''))`
