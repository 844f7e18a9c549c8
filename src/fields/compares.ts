/** The compares of conditions and their accepted spellings. Each type in `types/` lists the compares that it supports. */

export const COMPARES = ['=', '!=', '>', '<', '>=', '<=', 'contains', 'starts_with', 'ends_with', 'is_empty', 'is_not_empty'] as const
export type Compare = (typeof COMPARES)[number]

/** Returns an object that gives each compare of a group the same value. Field types combine such objects into their compares. */
export const equality = <Value>(value: Value) => ({ '=': value, '!=': value })
export const order = <Value>(value: Value) => ({ '>': value, '<': value, '>=': value, '<=': value })
export const within = <Value>(value: Value) => ({ contains: value, starts_with: value, ends_with: value })

const SPELLINGS = new Map<string, Compare>([
  ...COMPARES.map((compare) => [compare.toUpperCase(), compare] as const),
  ['EQ', '='],
  ['NE', '!='],
  ['NEQ', '!='],
  ['GT', '>'],
  ['GTE', '>='],
  ['LT', '<'],
  ['LTE', '<='],
  ['C', 'contains'],
  ['SW', 'starts_with'],
  ['EW', 'ends_with'],
  ['EMPTY', 'is_empty'],
  ['NEMPTY', 'is_not_empty'],
])

/** Returns the compare for any accepted spelling, ignoring case; undefined for an unknown one. */
export const compareOf = (spelling: unknown): Compare | undefined =>
  typeof spelling === 'string' ? SPELLINGS.get(spelling.toUpperCase()) : undefined

/** True if the compare tests for emptiness, and so needs no value. */
export const needsNoValue = (compare: Compare): boolean => compare === 'is_empty' || compare === 'is_not_empty'
