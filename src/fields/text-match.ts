/** Finds a text within another as the database does, for texts that stand in the definition of a field: titles of options. */
import type { Compare } from './compares.ts'

/**
 * The lower case that the database gives to texts, character by character, so that an option is found by the part of its title by
 * which a text is found. JavaScript looks at the letters around a sigma, and makes two characters of an İ.
 */
export const lowerCased = (text: string): string => text.replaceAll('Σ', 'σ').replaceAll('İ', 'i').toLowerCase()

/** Whether the title contains, starts with or ends with the part, ignoring case. */
export function hasPart(title: string, compare: Compare, part: string): boolean {
  const [whole, wanted] = [lowerCased(title), lowerCased(part)]
  if (compare === 'starts_with') return whole.startsWith(wanted)
  return compare === 'ends_with' ? whole.endsWith(wanted) : whole.includes(wanted)
}

/** One or two characters are too few for a trigram index and occur in almost any text: they match beginnings of words only. */
export const isShortWord = (word: string): boolean => [...word].length <= 2

/** Whether a search for the word finds the title. @param wanted the word as `lowerCased` gives it */
export function hasWord(title: string, wanted: string): boolean {
  const whole = lowerCased(title)
  if (!isShortWord(wanted)) return whole.includes(wanted)
  for (let at = whole.indexOf(wanted); at >= 0; at = whole.indexOf(wanted, at + 1)) {
    if (at === 0 || !/[\p{L}\p{N}]$/u.test(whole.slice(0, at))) return true
  }
  return false
}
