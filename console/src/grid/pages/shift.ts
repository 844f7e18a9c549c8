/** How far rows that were read anew have moved. */
import type { Row } from './row.ts'

export interface Seen {
  /** Rows that are seen, with their places before. */
  rows: readonly (readonly [number, Row])[]
  /** The place of the row that one is at, and that row if it is loaded. */
  held: number
  heldRow: Row | undefined
  /** How many rows are seen. */
  span: number
}

/**
 * What is seen moves with most of its rows: one that has gone far away takes nothing with it. The row that one is at is followed as far as
 * it stays near.
 * @param places where records are now
 */
export function shiftOf({ rows, held, heldRow, span }: Seen, places: ReadonlyMap<number, number>): { by: number; heldBy: number } {
  const counts = new Map<number, number>()
  for (const [before, { id }] of rows) {
    const now = places.get(id)
    if (now !== undefined) counts.set(now - before, (counts.get(now - before) ?? 0) + 1)
  }
  const [by] = [...counts].reduce((most, one) => (one[1] > most[1] ? one : most), [0, 0])
  const heldNow = heldRow && places.get(heldRow.id)
  const isNear = heldNow !== undefined && Math.abs(heldNow - held - by) <= span
  return { by, heldBy: isNear ? heldNow - held : by }
}
