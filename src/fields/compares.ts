/** The compares that conditions are written with, in all their spellings. Which of them a type has is said in `types/`. */

export const COMPARES = ['=', '!=', '>', '<', '>=', '<=', 'contains', 'starts_with', 'ends_with', 'is_empty', 'is_not_empty'] as const
export type Compare = (typeof COMPARES)[number]

/** The same value for each of some compares: what a type's table of compares is put together from. */
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

/** The compare that is meant, of all accepted spellings in any case; undefined for an unknown one. */
export const compareOf = (spelling: unknown): Compare | undefined =>
  typeof spelling === 'string' ? SPELLINGS.get(spelling.toUpperCase()) : undefined

/** Whether the compare asks for emptiness and so needs no value. */
export const needsNoValue = (compare: Compare): boolean => compare === 'is_empty' || compare === 'is_not_empty'
