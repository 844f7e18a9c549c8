/** Matches the titles of options, which are in the field's definition, by the same rules as the database matches text cells. */
import type { Compare } from './compares.ts'

/**
 * Lower-cases a text character by character, as the database does, so that options and text cells match alike. JavaScript alone would
 * choose the form of a sigma by its neighbours and turn İ into two characters.
 */
export const lowerCased = (text: string): string => text.replaceAll('Σ', 'σ').replaceAll('İ', 'i').toLowerCase()

/** True if the title contains, starts with or ends with the part, ignoring case. */
export function hasPart(title: string, compare: Compare, part: string): boolean {
  const [whole, wanted] = [lowerCased(title), lowerCased(part)]
  if (compare === 'starts_with') return whole.startsWith(wanted)
  return compare === 'ends_with' ? whole.endsWith(wanted) : whole.includes(wanted)
}

/** True for one or two characters, which a trigram index cannot find and almost every text contains: they match only the start of words. */
export const isShortWord = (word: string): boolean => [...word].length <= 2

/** True if a search for the word finds the title. Both have been lower-cased by `lowerCased`. */
export function hasWord(whole: string, wanted: string): boolean {
  if (!isShortWord(wanted)) return whole.includes(wanted)
  for (let at = whole.indexOf(wanted); at >= 0; at = whole.indexOf(wanted, at + 1)) {
    if (at === 0 || !/[\p{L}\p{N}]$/u.test(whole.slice(0, at))) return true
  }
  return false
}
