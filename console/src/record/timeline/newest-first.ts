/**
 * A list of the service that is read by cursor, the newest first. A page says all of a part of the list: what is in that part and not on
 * the page is gone. So pages may be read again at any time: whatever comes and goes meanwhile, nothing is missing and nothing is twice.
 */

/** Where a row is in the order of its list. It never changes. */
export type Position = readonly [at: string, id: number]

export interface Page<Row> {
  rows: readonly Row[]
  /** Continues after the last row; null if nothing follows. */
  next: string | null
}

/** A cursor with the position after which its page begins. */
interface Start {
  cursor: string
  after: Position
}

export interface NewestFirst<Row> {
  /** The newest first. */
  rows: readonly Row[]
  /** The cursors that are known, those of newer rows first. */
  starts: readonly Start[]
  /** The cursor that continues below what is known; null if the list is known to its end, undefined if nothing was read. */
  next: string | null | undefined
  /** Where `next` begins. */
  bottom: Position | null
  /** Deleted rows. An answer that was on its way when they were deleted may have them still. */
  gone: ReadonlySet<number>
}

export interface Ordered<Row> {
  positionOf(row: Row): Position
}

export const unread = <Row>(): NewestFirst<Row> => ({ rows: [], starts: [], next: undefined, bottom: null, gone: new Set() })

/** Less than 0 if the first position is the newer one. */
export function compare([at, id]: Position, [otherAt, otherId]: Position): number {
  return at === otherAt ? otherId - id : at > otherAt ? -1 : 1
}

/**
 * Takes a page that was read.
 * @param after the position after which it begins; null for the newest rows
 */
export function withPage<Row>(list: NewestFirst<Row>, after: Position | null, page: Page<Row>, order: Ordered<Row>): NewestFirst<Row> {
  const { positionOf } = order
  const last = page.rows.at(-1)
  const end = page.next === null || !last ? null : positionOf(last)
  const isBeside = (row: Row) => {
    const position = positionOf(row)
    return (after !== null && compare(position, after) <= 0) || (end !== null && compare(position, end) > 0)
  }
  const answered = page.rows.filter((row) => !list.gone.has(positionOf(row)[1]))
  const rows = [...list.rows.filter(isBeside), ...answered].sort((one, other) => compare(positionOf(one), positionOf(other)))
  const starts = end === null || page.next === null ? list.starts : withStart(list.starts, { cursor: page.next, after: end })
  const isDeeper = list.next === undefined || end === null || (list.bottom !== null && compare(end, list.bottom) >= 0)
  return { ...list, rows, starts, ...(isDeeper && { next: end && page.next, bottom: end }) }
}

const withStart = (starts: readonly Start[], start: Start): readonly Start[] =>
  [...starts.filter(({ after }) => compare(after, start.after) !== 0), start].sort((one, other) => compare(one.after, other.after))

/** Whether the page of the newest rows joins what is known, so that nothing is missing between them. */
export function joins<Row>({ rows, next }: NewestFirst<Row>, page: Page<Row>, { positionOf }: Ordered<Row>): boolean {
  const [newest] = rows
  const last = page.rows.at(-1)
  if (next === undefined || page.next === null || !last) return true
  return newest !== undefined && compare(positionOf(last), positionOf(newest)) >= 0
}

/** Where to begin to read a row again: the nearest known cursor before it, or the newest rows. */
export const startBefore = <Row>({ starts }: NewestFirst<Row>, position: Position): Start | null =>
  starts.findLast(({ after }) => compare(after, position) < 0) ?? null

export function without<Row>(list: NewestFirst<Row>, id: number, { positionOf }: Ordered<Row>): NewestFirst<Row> {
  return { ...list, rows: list.rows.filter((row) => positionOf(row)[1] !== id), gone: new Set([...list.gone, id]) }
}
