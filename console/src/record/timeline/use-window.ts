/** Which entries are in the page: those in sight, some beside them, and those that somebody writes in. Nothing that is read moves. */
import { type RefObject, useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState } from 'react'
import { flushSync } from 'react-dom'
import type { Entry } from './entry.ts'
import { type Anchor, anchorAt, indexAt, scrollFor, topsOf } from './heights.ts'

/** The first entries are in the page even if the timeline begins below what is in sight. */
const FEWEST = 20
/** What is in the page above and below what is in sight, in pixels. */
const SPARE = 600
const HEIGHTS: Record<Entry['kind'], number> = { comment: 88, change: 64, task: 64, email_out: 132, email_in: 132 }
const estimate = ({ kind }: Entry) => HEIGHTS[kind]

interface Sight {
  /** How much of the list is above the top edge of what scrolls; negative if the list begins below it. */
  scrolled: number
  height: number
}

interface Window {
  /** The indexes of the entries in the page, ascending. */
  shown: readonly number[]
  tops: Float64Array
  /** The first entry below what is in sight. */
  end: number
  /** Tells the height of an entry that is in the page. Given to its element as `ref`. */
  measure(key: string): (element: HTMLElement | null) => (() => void) | undefined
  /** Shows an entry at the top, or a bit below it. */
  scrollTo(index: number): void
}

export function useWindow(list: RefObject<HTMLElement | null>, entries: readonly Entry[], kept: ReadonlySet<string>): Window {
  const { heights, measure, revision } = useHeights()
  // biome-ignore lint/correctness/useExhaustiveDependencies: the heights are changed in place, and their revision with them
  const tops = useMemo(() => topsOf(entries, heights, estimate), [entries, heights, revision])
  const indexOf = useMemo(() => new Map(entries.map(({ key }, index) => [key, index])), [entries])
  const anchor = useRef<Anchor | null>(null)
  const latest = useRef({ entries, tops, indexOf })
  latest.current = { entries, tops, indexOf }
  const scrolledTo = useCallback(
    ({ scrolled, height }: Sight) => {
      const { entries, tops, indexOf } = latest.current
      const index = indexOf.get(focusedKey(list.current) ?? '')
      const isInSight = index !== undefined && (tops[index + 1] ?? 0) > scrolled && (tops[index] ?? 0) < scrolled + height
      anchor.current = anchorAt(entries, tops, scrolled, isInSight ? index : null)
    },
    [list],
  )
  /** Puts what was at the top edge back there. */
  const restore = useCallback(() => {
    const scroller = scrollerOf(list.current)
    if (!scroller || !list.current || !anchor.current) return
    const wanted = scrollFor(anchor.current, latest.current.indexOf, latest.current.tops)
    const by = wanted === null ? 0 : wanted - scrolledOf(list.current, scroller)
    if (Math.abs(by) >= 1) scroller.scrollTop += by
  }, [list])
  const sight = useSight(list, scrolledTo, restore)

  // It stays there, whatever has come, gone or grown above it.
  // biome-ignore lint/correctness/useExhaustiveDependencies: another order or other heights move it
  useLayoutEffect(restore, [restore, indexOf, tops])

  const first = indexAt(tops, sight.scrolled - SPARE)
  const inSight = indexAt(tops, sight.scrolled + sight.height + SPARE)
  const last = first === 0 ? Math.max(inSight, FEWEST) : inSight
  const shown = useMemo(() => {
    const near = entries.slice(first, last + 1).map((_, offset) => first + offset)
    const written = [...kept].flatMap((key) => indexOf.get(key) ?? []).filter((index) => index < first || index > last)
    return [...near, ...written].sort((one, other) => one - other)
  }, [entries, first, last, kept, indexOf])

  const scrollTo = useCallback(
    (index: number) => {
      const scroller = scrollerOf(list.current)
      if (!scroller || !list.current) return
      const above = (tops[index] ?? 0) - scroller.clientHeight / 4
      anchor.current = { keys: entries.slice(index, index + 1).map(({ key }) => key), offset: (tops[index] ?? 0) - above }
      scroller.scrollTop += above - scrolledOf(list.current, scroller)
    },
    [list, tops, entries],
  )
  return { shown, tops, end: inSight + 1, measure, scrollTo }
}

/** The heights of the entries that were shown, which are measured before the page is painted and whenever they change. */
function useHeights() {
  const heights = useRef(new Map<string, number>()).current
  const [revision, setRevision] = useState(0)
  const [sizes] = useState(() => {
    const keys = new WeakMap<Element, string>()
    const observer = new ResizeObserver((changes) => {
      let isOther = false
      for (const { target } of changes) isOther = note(keys.get(target), target as HTMLElement) || isOther
      if (isOther) flushSync(() => setRevision((before) => before + 1))
    })
    const note = (key: string | undefined, element: HTMLElement): boolean => {
      if (key === undefined || !element.isConnected) return false
      const height = element.offsetHeight
      if (heights.get(key) === height) return false
      heights.set(key, height)
      return true
    }
    return { keys, observer, note }
  })
  useEffect(() => () => sizes.observer.disconnect(), [sizes])

  const refs = useRef(new Map<string, (element: HTMLElement | null) => (() => void) | undefined>()).current
  const measure = useCallback(
    (key: string) => {
      const ref =
        refs.get(key) ??
        ((element: HTMLElement | null) => {
          if (!element) return undefined
          sizes.keys.set(element, key)
          if (sizes.note(key, element)) setRevision((before) => before + 1)
          sizes.observer.observe(element)
          return () => sizes.observer.unobserve(element)
        })
      refs.set(key, ref)
      return ref
    },
    [refs, sizes],
  )
  return { heights, measure, revision }
}

/**
 * What of the list is in sight. It is asked again when something scrolls, or when something around the list changes its size.
 * @param scrolled is told where the person has scrolled to @param resized is called before, if nobody has scrolled
 */
function useSight(list: RefObject<HTMLElement | null>, scrolled: (sight: Sight) => void, resized: () => void): Sight {
  const [sight, setSight] = useState<Sight>({ scrolled: 0, height: 0 })
  useLayoutEffect(() => {
    const [feed, scroller] = [list.current, scrollerOf(list.current)]
    if (!feed || !scroller) return
    const look = () => {
      const next = { scrolled: scrolledOf(feed, scroller), height: scroller.clientHeight }
      scrolled(next)
      // Steps of the spare part are enough to have the next entries in the page before they are in sight.
      setSight((before) => (Math.abs(before.scrolled - next.scrolled) < SPARE / 3 && before.height === next.height ? before : next))
    }
    look()
    const target = scroller === document.scrollingElement ? document : scroller
    target.addEventListener('scroll', look, { passive: true })
    feed.addEventListener('focusin', look)
    const sizes = new ResizeObserver(() => {
      resized()
      look()
    })
    for (const element of [scroller, ...scroller.children]) sizes.observe(element)
    return () => {
      target.removeEventListener('scroll', look)
      feed.removeEventListener('focusin', look)
      sizes.disconnect()
    }
  }, [list, scrolled, resized])
  return sight
}

/** The key of the entry that has the focus. */
const focusedKey = (list: HTMLElement | null): string | undefined =>
  [...(list?.children ?? [])].find((entry): entry is HTMLElement => entry.matches(':focus-within'))?.dataset.key

const scrolledOf = (list: HTMLElement, scroller: Element): number =>
  (scroller === document.scrollingElement ? 0 : scroller.getBoundingClientRect().top) - list.getBoundingClientRect().top

/** The nearest element around that scrolls, or the page. */
function scrollerOf(element: HTMLElement | null): Element | null {
  for (let around = element?.parentElement; around; around = around.parentElement) {
    if (['auto', 'scroll'].includes(getComputedStyle(around).overflowY)) return around
  }
  return document.scrollingElement
}
