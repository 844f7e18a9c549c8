/**
 * The records of a view by their positions, in pages that are read when they are needed: with the cursor of the page before where one
 * reads on, and with an offset where one jumps. Requests for what is passed by are aborted, and only so many pages are kept.
 */
import type { Pace } from './request-pace.ts'
import type { Row } from './row.ts'
import { createRowCount } from './row-count.ts'
import { type Seen, shiftOf } from './shift.ts'

/** The rows of a page. */
export const PAGE = 200
/** The pages that are kept. Those that are farthest from what is shown go first. */
const KEPT = 24
/** While the bar is dragged, pages that are not loaded wait until it rests for so many milliseconds. */
const REST_MS = 60
/** How long to wait after a failure, growing from the first to the last. */
const RETRY_MS = [1_000, 2_000, 4_000, 8_000]

export type PagePlace = { cursor: string } | { offset: number }
export interface PageAnswer {
  rows: Row[]
  next_cursor?: string | undefined
}

export interface PagesOptions {
  read(place: PagePlace, signal: AbortSignal): Promise<PageAnswer>
  pace: Pace
  now(): number
  /** Runs after so many milliseconds, unless the function that it returns is called before. */
  later(ms: number, run: () => void): () => void
  /** Called when rows, the number of rows or the failure have changed. */
  changed(): void
  /** The row that one is at. */
  held(): number
  /** Called when rows that were read anew stand elsewhere: what is seen moved by so many places, the row that one is at by `heldBy`. */
  shifted(by: number, heldBy: number): void
  /** Milliseconds to wait before a failed request is sent again; null if it is final. */
  retryAfter(error: unknown, attempt: number): number | null
}

export interface Pages {
  rowAt(index: number): Row | undefined
  indexOf(id: number): number | undefined
  /** The number of rows, as far as it is known: `isFinal` is false until the end was seen or the count has come. */
  length(): { rows: number; isFinal: boolean }
  setCount(count: number): void
  /** Says what is shown: these rows are read first. @param isPassing true while the bar is dragged */
  show(first: number, last: number, isPassing?: boolean): void
  /** Puts rows in the place of those with the same ids. */
  replace(rows: readonly Row[]): void
  /**
   * Reads all pages anew. What is shown stays until the answer has come.
   * @param settled called with true when all that is shown is new, with false if it cannot be read
   */
  refresh(settled?: (isNew: boolean) => void): void
  failure(): unknown
  /** The error for which a request waits before it is sent again; undefined if none does. */
  waitsFor(): unknown
  retry(): void
  loadedPages(): number
  end(): void
}

interface Page {
  rows: Row[]
  nextCursor: string | undefined
  isStale: boolean
}

export function createPages(options: PagesOptions): Pages {
  const pages = new Map<number, Page>()
  const places = new Map<number, number>()
  const asked = new Map<number, AbortController>()
  /** Requests that are older than what has changed since. */
  const outdated = new WeakSet<AbortController>()
  let shown = { first: 0, last: 0 }
  /** 1 or -1 while one reads on or back, 0 after a jump. */
  let direction = 0
  const count = createRowCount()
  let failure: unknown
  let delay: unknown
  const refreshing: ((isNew: boolean) => void)[] = []
  let attempts = 0
  let notBefore = 0
  let isEnded = false
  let cancelTimer: (() => void) | undefined

  const pageOf = (index: number) => Math.floor(index / PAGE)

  function wanted(): number[] {
    const [from, to] = [pageOf(shown.first), pageOf(shown.last)]
    const visible = Array.from({ length: to - from + 1 }, (_, index) => from + index)
    const ahead = direction === 0 ? [] : [direction > 0 ? to + 1 : from - 1]
    const last = count.known()
    const isThere = (page: number) => page >= 0 && (last === undefined || page * PAGE < last || page === 0)
    return [...visible, ...ahead.filter((page) => isNear(page))].filter(isThere)
  }

  /** The page beside what is shown is read ahead only if what is shown comes near to it. */
  function isNear(page: number): boolean {
    const distance = page * PAGE > shown.last ? page * PAGE - shown.last : shown.first - (page + 1) * PAGE
    return distance < PAGE * 0.75
  }

  function schedule(afterMs = 0): void {
    cancelTimer?.()
    cancelTimer = undefined
    if (isEnded) return
    if (afterMs > 0) cancelTimer = options.later(afterMs, () => schedule())
    else sendNext()
  }

  function sendNext(): void {
    const pagesWanted = wanted()
    for (const [page, controller] of asked) if (!pagesWanted.includes(page)) abandon(page, controller)
    if (failure !== undefined) return
    for (const page of pagesWanted.filter(isMissing)) {
      const place = placeOf(page, pagesWanted)
      if (!place) continue
      const wait = Math.max(options.pace.wait(options.now()), notBefore - options.now())
      if (wait > 0) {
        schedule(wait)
        return
      }
      options.pace.begin(options.now())
      void load(page, place)
    }
  }

  const isMissing = (page: number) => !asked.has(page) && pages.get(page)?.isStale !== false

  function abandon(page: number, controller: AbortController): void {
    asked.delete(page)
    controller.abort()
  }

  /** Undefined if the page has to wait for the cursor of the one before, which is on its way. */
  function placeOf(page: number, pagesWanted: readonly number[]): PagePlace | undefined {
    if (page === 0) return { cursor: '' }
    const before = pages.get(page - 1)
    if (before && !before.isStale && before.nextCursor !== undefined) return { cursor: before.nextCursor }
    const isAhead = page * PAGE > shown.last
    if (isAhead && asked.has(page - 1) && pagesWanted.includes(page - 1)) return undefined
    return { offset: page * PAGE }
  }

  async function load(page: number, place: PagePlace): Promise<void> {
    const controller = new AbortController()
    asked.set(page, controller)
    try {
      const answer = await options.read(place, controller.signal)
      if (asked.get(page) !== controller) return
      asked.delete(page)
      attempts = 0
      delay = undefined
      keep(page, answer, 'cursor' in place, outdated.has(controller))
    } catch (error) {
      if (asked.get(page) !== controller) return
      asked.delete(page)
      // It may have asked for what is no longer there, such as a column that was deleted.
      if (outdated.has(controller)) schedule()
      else fail(error)
    }
  }

  function fail(error: unknown): void {
    const wait = options.retryAfter(error, attempts)
    attempts++
    delay = wait === null ? undefined : error
    if (wait === null) {
      failure = error
      settleRefresh(false)
    } else {
      notBefore = options.now() + wait
      schedule(wait)
    }
    options.changed()
  }

  function keep(number: number, { rows: read, next_cursor }: PageAnswer, isByCursor: boolean, isStale: boolean): void {
    const before = seenBefore()
    const rows = read.map(newest)
    forget(number)
    pages.set(number, { rows, nextCursor: next_cursor, isStale })
    for (const [index, row] of rows.entries()) places.set(row.id, number * PAGE + index)
    const from = number * PAGE
    const isLast = isByCursor ? next_cursor === undefined : rows.length < PAGE
    count.notePage({ from, end: from + rows.length, isLast })
    forgetFarPages()
    const { by, heldBy } = shiftOf(before, places)
    shown = { first: shown.first + by, last: shown.last + by }
    if (by !== 0 || heldBy !== 0) options.shifted(by, heldBy)
    if (wanted().every((page) => !isMissing(page) && !asked.has(page))) settleRefresh(true)
    options.changed()
    schedule()
  }

  /** The row as it is known, if an answer that is older comes later. */
  function newest(row: Row): Row {
    const known = rowAt(places.get(row.id) ?? -1)
    return known && (known._version ?? 0) > (row._version ?? 0) ? known : row
  }

  function settleRefresh(isNew: boolean): void {
    for (const run of refreshing.splice(0)) run(isNew)
  }

  /** What is seen of the first page that is, and the row that one is at. */
  function seenBefore(): Seen {
    const end = Math.min(shown.last, (pageOf(shown.first) + 1) * PAGE - 1)
    const rows: [number, Row][] = []
    for (let index = shown.first; index <= end; index++) {
      const row = rowAt(index)
      if (row) rows.push([index, row])
    }
    const held = options.held()
    return { rows, held, heldRow: rowAt(held), span: shown.last - shown.first }
  }

  function forgetFarPages(): void {
    const middle = pageOf((shown.first + shown.last) / 2)
    const far = [...pages.keys()].sort((a, b) => Math.abs(a - middle) - Math.abs(b - middle)).slice(KEPT)
    for (const page of far) forget(page)
  }

  /** A record that stands in another page by now keeps its place there. */
  function forget(page: number): void {
    for (const row of pages.get(page)?.rows ?? []) if (pageOf(places.get(row.id) ?? -1) === page) places.delete(row.id)
    pages.delete(page)
  }

  const rowAt = (index: number): Row | undefined => pages.get(pageOf(index))?.rows[index % PAGE]
  /** Until the count has come, the end is that of the last page that is loaded, and one row more. */
  function provisionalLength(): number {
    const last = Math.max(-1, ...pages.keys())
    const page = pages.get(last)
    return page ? last * PAGE + page.rows.length + 1 : 0
  }

  return {
    rowAt,
    indexOf: (id) => places.get(id),
    length() {
      const known = count.known()
      return known === undefined ? { rows: provisionalLength(), isFinal: false } : { rows: known, isFinal: true }
    },
    setCount(counted) {
      count.set(counted, provisionalLength() - 1)
      options.changed()
    },
    show(first, last, isPassing = false) {
      const step = first - shown.first
      if (step !== 0) direction = Math.abs(step) > PAGE ? 0 : Math.sign(step)
      shown = { first, last }
      const isLoaded = rowAt(first) !== undefined && rowAt(last) !== undefined
      schedule(isPassing && !isLoaded ? REST_MS : 0)
    },
    replace(rows) {
      for (const row of rows) {
        const index = places.get(row.id)
        const page = index === undefined ? undefined : pages.get(pageOf(index))
        if (page && index !== undefined) page.rows[index % PAGE] = newest(row)
      }
      options.changed()
    },
    refresh(settled) {
      if (settled) refreshing.push(settled)
      for (const page of pages.values()) page.isStale = true
      for (const [page, controller] of asked) {
        // The first rows are shown when they come, and then read again.
        if (pages.has(page)) abandon(page, controller)
        else outdated.add(controller)
      }
      const shownPages = wanted()
      for (const page of [...pages.keys()]) if (!shownPages.includes(page)) forget(page)
      count.forgetEnd()
      failure = undefined
      schedule()
    },
    failure: () => failure,
    waitsFor: () => delay,
    retry() {
      failure = undefined
      delay = undefined
      attempts = 0
      notBefore = 0
      options.changed()
      schedule()
    },
    loadedPages: () => pages.size,
    end() {
      isEnded = true
      cancelTimer?.()
      for (const [page, controller] of asked) abandon(page, controller)
    },
  }
}

/** How long a request that failed for now waits, by the number of failures before. */
export const retryDelay = (attempt: number): number => RETRY_MS[Math.min(attempt, RETRY_MS.length - 1)] ?? 1_000
