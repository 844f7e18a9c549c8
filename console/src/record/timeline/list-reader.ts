/** Reads one list of a timeline: on at its end, and again what was changed. It asks for one page at a time, so later answers are newer. */
import { messageOf } from '../../session/errors.ts'
import {
  compare,
  joins,
  type NewestFirst,
  type Ordered,
  type Page,
  type Position,
  startBefore,
  unread,
  without,
  withPage,
} from './newest-first.ts'

type ReadPage<Row> = (cursor: string | null) => Promise<Page<Row>>

export interface ListReader<Row> {
  list(): NewestFirst<Row>
  /** What the service said if the last page could not be read. It is asked again by itself. */
  problem(): string | null
  isReading(): boolean
  /** Reads the next page, or the first. */
  more(): void
  /** Reads what is new. */
  head(): void
  /** Reads a row again, if it is known, and what is new otherwise. */
  again(id: number): void
  /** Takes a deleted row away. */
  remove(id: number): void
  /** Reads everything that is known again. */
  all(): void
  end(): void
}

/** What came in so many pages is not joined to what was known: the list begins anew. */
const MOST_NEW_PAGES = 20
const RETRY_MS = 1_000
const MOST_RETRY_MS = 30_000

export function createListReader<Row>(read: ReadPage<Row>, order: Ordered<Row>, changed: () => void): ListReader<Row> {
  let list = unread<Row>()
  let wantsMore = false
  let wantsHead = false
  let wantsAll = false
  /** Positions of which the page is to be read again. */
  let stale: readonly Position[] = []
  /** Changed rows that were not known, but may be in the answer that is on its way, as they were before. */
  let unknown: ReadonlySet<number> = new Set()
  let isReading = false
  let hasEnded = false
  let problem: string | null = null
  let failures = 0
  let timer: ReturnType<typeof setTimeout> | undefined

  function put(next: NewestFirst<Row>): void {
    list = next
    changed()
  }

  async function readNew(): Promise<void> {
    wantsHead = false
    const pages: Page<Row>[] = []
    do {
      pages.push(await read(pages.at(-1)?.next ?? null))
    } while (!joins(list, pages.at(-1) as Page<Row>, order) && pages.length < MOST_NEW_PAGES)
    const isJoined = joins(list, pages.at(-1) as Page<Row>, order)
    let after: Position | null = null
    let next: NewestFirst<Row> = isJoined ? list : { ...unread<Row>(), gone: list.gone }
    for (const page of pages) {
      next = withPage(next, after, page, order)
      const last = page.rows.at(-1)
      after = last ? order.positionOf(last) : after
    }
    put(next)
  }

  /** Walks from the newest row down to the end of what is known. */
  async function readAll(): Promise<void> {
    wantsAll = false
    wantsHead = false
    // A deleted record with all that belongs to it may have been brought back.
    list = { ...list, gone: new Set() }
    let after: Position | null = null
    let cursor: string | null = null
    do {
      const page: Page<Row> = await read(cursor)
      const { bottom } = list
      put(withPage(list, after, page, order))
      const last = page.rows.at(-1)
      after = last ? order.positionOf(last) : null
      cursor = page.next
      if (after && bottom && compare(after, bottom) >= 0) break
    } while (cursor !== null)
  }

  async function readMore(cursor: string): Promise<void> {
    wantsMore = false
    const { bottom } = list
    const page = await read(cursor)
    put(withPage(list, bottom, page, order))
  }

  async function readAgain(position: Position): Promise<void> {
    const start = startBefore(list, position)
    const page = await read(start?.cursor ?? null)
    const last = page.rows.at(-1)
    const isReached = page.next === null || !last || compare(order.positionOf(last), position) >= 0
    stale = stale.filter((one) => one !== position)
    // What came since then has moved the row to a later page.
    if (!isReached) stale = [...stale, position]
    if (start || isReached || joins(list, page, order)) put(withPage(list, start?.after ?? null, page, order))
    else wantsHead = true
  }

  /** The next thing to do; null if there is none. */
  function nextStep(): (() => Promise<void>) | null {
    const { next } = list
    if (next === undefined) return wantsMore || wantsHead ? readNew : null
    if (wantsAll) return readAll
    if (wantsHead) return readNew
    if (wantsMore && next !== null) return () => readMore(next)
    const [position] = stale
    return position ? () => readAgain(position) : null
  }

  async function work(): Promise<void> {
    if (isReading || hasEnded) return
    isReading = true
    let wanted = { wantsMore, wantsHead, wantsAll }
    try {
      for (let step = nextStep(); step && !hasEnded; step = nextStep()) {
        wanted = { wantsMore, wantsHead, wantsAll }
        await step()
        const known = list.rows.map(order.positionOf).filter(([, id]) => unknown.has(id))
        stale = [...stale, ...known]
        unknown = new Set([...unknown].filter((id) => !known.some(([, other]) => other === id)))
        failures = 0
        problem = null
      }
    } catch (error) {
      wantsAll ||= wanted.wantsAll
      wantsMore ||= wanted.wantsMore
      wantsHead ||= wanted.wantsHead
      failures += 1
      problem = messageOf(error)
      clearTimeout(timer)
      timer = setTimeout(() => void work(), Math.min(RETRY_MS * 2 ** (failures - 1), MOST_RETRY_MS))
    } finally {
      isReading = false
      if (!hasEnded) changed()
    }
  }

  /** A list that nobody wants has nothing to read again. */
  const isBegun = () => list.next !== undefined || isReading || failures > 0
  const idOf = (row: Row) => order.positionOf(row)[1]
  return {
    list: () => list,
    problem: () => problem,
    isReading: () => isReading,
    more() {
      wantsMore = true
      void work()
    },
    head() {
      if (!isBegun()) return
      wantsHead = true
      void work()
    },
    again(id) {
      if (!isBegun()) return
      const row = list.rows.find((one) => idOf(one) === id)
      if (row) stale = [...stale.filter(([, other]) => other !== id), order.positionOf(row)]
      else {
        wantsHead = true
        unknown = new Set([...unknown, id])
      }
      void work()
    },
    remove(id) {
      put(without(list, id, order))
    },
    all() {
      if (!isBegun()) return
      wantsAll = true
      void work()
    },
    end() {
      hasEnded = true
      clearTimeout(timer)
    },
  }
}
