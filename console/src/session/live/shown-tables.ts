/** Which of the tables that the tabs of a browser show its stream names. */

/** A table that a tab shows: since when, and when the tab came into sight (milliseconds of the machine's clock). */
export interface Shown {
  id: number
  since: number
  seen: number
}

/** How many tables a stream may name (docs/events.md). */
const MOST_TABLES = 50

/** The tables that are followed: those that came into sight last, if they are too many. */
export const followedTables = (shown: readonly Shown[]): number[] =>
  [...new Set([...shown].sort((one, other) => other.seen - one.seen).map(({ id }) => id))].slice(0, MOST_TABLES)

/**
 * The tables that are followed from now on, but were shown while an event came: the stream goes on after that event, so that what happened
 * in them before it is not told.
 */
export function staleTables(shown: readonly Shown[], wanted: readonly number[], followed: readonly number[], heardAt: number): number[] {
  const wasHeardOf = new Set(shown.filter(({ since }) => since <= heardAt).map(({ id }) => id))
  return wanted.filter((id) => !followed.includes(id) && wasHeardOf.has(id))
}
