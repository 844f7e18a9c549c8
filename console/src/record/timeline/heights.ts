/** Where the entries of a timeline are: their heights differ, and are known once they were shown. */

/** The tops of all entries, and after them the height of all together. */
export function topsOf<One extends { key: string }>(
  entries: readonly One[],
  heights: ReadonlyMap<string, number>,
  estimate: (entry: One) => number,
): Float64Array {
  const tops = new Float64Array(entries.length + 1)
  for (const [index, entry] of entries.entries()) tops[index + 1] = (tops[index] ?? 0) + (heights.get(entry.key) ?? estimate(entry))
  return tops
}

/** The index of the entry at a distance from the top; the last one beyond the end. */
export function indexAt(tops: Float64Array, distance: number): number {
  let [low, high] = [0, Math.max(0, tops.length - 2)]
  while (low < high) {
    const middle = (low + high + 1) >> 1
    if ((tops[middle] ?? 0) <= distance) low = middle
    else high = middle - 1
  }
  return low
}

/** What stays where it is on the screen while entries above it come, go and change their heights. */
export interface Anchor {
  /** The entries from the first in sight on: if one is gone, the next one stays. */
  keys: readonly string[]
  /** How far the top of the first is below the top edge, in pixels; negative if it is above. */
  offset: number
}

/** The entries that are named, so that some of them may go at once. */
const MOST_NAMED = 50

/** @param held the index of an entry in sight that somebody writes in: it stays, whatever is above it */
export function anchorAt(
  entries: readonly { key: string }[],
  tops: Float64Array,
  scrolled: number,
  held: number | null = null,
): Anchor | null {
  // The beginning is in sight: new entries are to be seen.
  if (held === null && (scrolled <= 0 || entries.length === 0)) return null
  const first = held ?? indexAt(tops, scrolled)
  return { keys: entries.slice(first, first + MOST_NAMED).map(({ key }) => key), offset: (tops[first] ?? 0) - scrolled }
}

/** How far to scroll so that the anchor is where it was; null if none of its entries is left. */
export function scrollFor({ keys, offset }: Anchor, indexOf: ReadonlyMap<string, number>, tops: Float64Array): number | null {
  for (const [nth, key] of keys.entries()) {
    const index = indexOf.get(key)
    // The next entry takes the place of one that is gone, but none that is cut off at the top.
    if (index !== undefined) return (tops[index] ?? 0) - (nth === 0 ? offset : Math.max(offset, 0))
  }
  return null
}
