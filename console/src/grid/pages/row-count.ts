/** How many rows there are, as far as pages and the service's count have said. */

export interface RowCount {
  /** The end, if a page has shown it or the service has counted it. */
  known(): number | undefined
  /** Notes what the service has counted. An end that was seen is newer. @param atLeast the rows that are loaded */
  set(count: number, atLeast: number): void
  /** Notes a page: the place after its last row, and whether the rows end there. */
  notePage(page: { from: number; end: number; isLast: boolean }): void
  /** The rows may have changed: the next page that shows an end counts. */
  forgetEnd(): void
}

export function createRowCount(): RowCount {
  let counted: number | undefined
  let seenEnd: number | undefined

  function noteMore(end: number): void {
    if (seenEnd !== undefined && seenEnd <= end) seenEnd = undefined
    if (counted !== undefined && counted <= end) counted = end + 1
  }

  return {
    known: () => seenEnd ?? counted,
    set(count, atLeast) {
      if (seenEnd === undefined) counted = Math.max(count, atLeast)
    },
    notePage({ from, end, isLast }) {
      if (!isLast) return noteMore(end)
      // A page past the end says only that the end is before it.
      const isSeen = end > from || from === 0
      counted = isSeen ? end : Math.min(counted ?? end, end)
      seenEnd = isSeen ? end : undefined
    },
    forgetEnd() {
      seenEnd = undefined
    },
  }
}
