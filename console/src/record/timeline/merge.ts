/** Joins lists, each the newest first and known down to some row, to one timeline. */

interface Merged<Entry> {
  entries: readonly Entry[]
  /** The lists that have to be read on before the next entry is known; none if these are all. */
  wanting: readonly number[]
}

/**
 * Takes the newest of the lists' next entries again and again, until a list would have to be read on. So what is known of the timeline only
 * grows at its end when lists are read on. Of entries of the same second those of the earlier list come first.
 */
export function merge<Entry extends { at: string }>(lists: readonly { entries: readonly Entry[]; isWhole: boolean }[]): Merged<Entry> {
  const next = lists.map(() => 0)
  const entries: Entry[] = []
  for (;;) {
    const wanting = lists.flatMap((list, index) => (!list.isWhole && (next[index] ?? 0) >= list.entries.length ? index : []))
    if (wanting.length) return { entries, wanting }
    const newest = lists.reduce<number | null>((best, { entries: ofList }, index) => {
      const entry = ofList[next[index] ?? 0]
      if (!entry) return best
      const other = best === null ? undefined : lists[best]?.entries[next[best] ?? 0]
      return !other || entry.at > other.at ? index : best
    }, null)
    if (newest === null) return { entries, wanting }
    entries.push(lists[newest]?.entries[next[newest] ?? 0] as Entry)
    next[newest] = (next[newest] ?? 0) + 1
  }
}
