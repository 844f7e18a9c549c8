/** The entries of a timeline: of thousands those in sight are in the page. Arrows go from one to the next. */
import { type ComponentType, type KeyboardEvent, memo, type ReactNode, useCallback, useEffect, useMemo, useRef, useState } from 'react'
import { timelineTexts } from '../../texts/record/timeline.ts'
import { announce } from '../../ui/announcer.ts'
import type { Entry, EntryKind, EntryPlace } from './entry.ts'
import type { TimelineSource } from './timeline-source.ts'
import { useTimelineState } from './use-timeline.ts'
import { useWindow } from './use-window.ts'

/** Entries that are read before they are in sight. */
const AHEAD = 30
/** How many are read at a time while an entry is looked for. */
const MANY = 500

interface FeedProps {
  source: TimelineSource
  kinds: readonly EntryKind[]
  place: Omit<EntryPlace, 'isMarked' | 'keep'>
  empty: string
}

export function Feed({ source, kinds, place, empty }: FeedProps) {
  const { entries, isWhole, isLoading, problem } = useTimelineState(source)
  const list = useRef<HTMLDivElement>(null)
  const { kept, keep, keepFocused } = useKept()
  const { shown, tops, end, measure, scrollTo } = useWindow(list, entries, kept)
  const { marked, isGone } = useMarked(source, entries, place.entry, scrollTo)
  const focus = useFocus(list, entries, scrollTo)
  useEffect(() => source.need(end + AHEAD), [source, end])

  const shownKinds = useMemo(() => new Map(kinds.map((kind) => [kind.kind, kind as unknown as AnyKind])), [kinds])
  const places = useMemo(() => {
    const common: EntryPlace = { ...place, keep, isMarked: false }
    return { common, marked: { ...common, isMarked: true } }
  }, [place, keep])

  return (
    <>
      {isGone && <p className="feed-foot">{timelineTexts.entryGone}</p>}
      <div
        ref={list}
        className="feed"
        role="feed"
        aria-label={timelineTexts.title}
        aria-busy={isLoading}
        style={{ height: tops.at(-1) }}
        onKeyDown={focus.keyDown}
        onFocus={keepFocused}
        onBlur={keepFocused}
      >
        {shown.map((index) => {
          const entry = entries[index]
          const kind = entry && shownKinds.get(entry.kind)
          if (!entry || !kind) return null
          return (
            <article
              key={entry.key}
              ref={measure(entry.key)}
              className="feed-entry"
              data-key={entry.key}
              data-kind={entry.kind}
              data-marked={entry.key === marked ? '' : undefined}
              aria-label={kind.label(entry, places.common)}
              aria-posinset={index + 1}
              aria-setsize={isWhole ? entries.length : -1}
              tabIndex={focus.key === entry.key || (focus.key === null && index === shown[0]) ? 0 : -1}
              style={{ top: tops[index] }}
            >
              <OneEntry kind={kind} entry={entry} place={entry.key === marked ? places.marked : places.common} />
            </article>
          )
        })}
      </div>
      <Foot {...{ source, isLoading, problem }} text={entries.length === 0 && isWhole ? empty : ''} />
    </>
  )
}

/** A kind gets entries of its own kind only, because it is found by it. */
interface AnyKind {
  Shown: ComponentType<{ entry: Entry; place: EntryPlace }>
  label(entry: Entry, place: EntryPlace): string
}

const OneEntry = memo(
  ({ kind: { Shown }, entry, place }: { kind: AnyKind; entry: Entry; place: EntryPlace }): ReactNode => (
    <Shown entry={entry} place={place} />
  ),
)

function Foot({ source, isLoading, problem, text }: { source: TimelineSource; isLoading: boolean; problem: string | null; text: string }) {
  if (problem !== null)
    return (
      <p className="feed-foot" role="alert">
        {timelineTexts.notLoaded(problem)}{' '}
        <button type="button" className="button small" onClick={() => source.retry()}>
          {timelineTexts.retry}
        </button>
      </p>
    )
  if (isLoading) return <output className="feed-foot feed-loading">{timelineTexts.loading}</output>
  return text ? <p className="feed-foot">{text}</p> : null
}

/** Entries that stay in the page wherever one scrolls: what is written in them would be gone. */
function useKept() {
  const [written, setWritten] = useState<ReadonlySet<string>>(new Set())
  const [focused, setFocused] = useState<string | null>(null)
  const keep = useCallback(
    ({ key }: Entry, isKept: boolean) =>
      setWritten((before) => {
        if (before.has(key) === isKept) return before
        return isKept ? new Set([...before, key]) : new Set([...before].filter((one) => one !== key))
      }),
    [],
  )
  const keepFocused = useCallback(() => {
    const entry = document.activeElement?.closest('.feed > .feed-entry')
    setFocused(entry instanceof HTMLElement ? (entry.dataset.key ?? null) : null)
  }, [])
  const kept = useMemo(() => new Set(focused === null ? written : [...written, focused]), [written, focused])
  return { kept, keep, keepFocused }
}

/** Scrolls to the comment or mail that the address names, once it has been read. @returns its key, and whether it is known to be gone */
function useMarked(source: TimelineSource, entries: readonly Entry[], id: number | undefined, scrollTo: (index: number) => void) {
  const shown = useRef<{ source: TimelineSource; id: number } | null>(null)
  const { isWhole } = source.state()
  useEffect(() => {
    if (id === undefined || (shown.current?.id === id && shown.current.source === source)) return
    const index = entries.findIndex(({ kind, row }) => kind !== 'change' && kind !== 'task' && row.id === id)
    if (index < 0 && !isWhole) return source.need(entries.length + MANY)
    shown.current = { source, id }
    if (index < 0) return announce(timelineTexts.entryGone)
    scrollTo(index)
  }, [source, entries, isWhole, id, scrollTo])
  const marked = id === undefined ? null : `comment-${id}`
  return { marked, isGone: marked !== null && isWhole && entries.every(({ key }) => key !== marked) }
}

const STEPS: Record<string, number> = { ArrowDown: 1, ArrowUp: -1, PageDown: 1, PageUp: -1 }

/** One entry has the place in the order of Tab. From there arrows go on, as in every feed. */
function useFocus(list: React.RefObject<HTMLDivElement | null>, entries: readonly Entry[], scrollTo: (index: number) => void) {
  const [key, setKey] = useState<string | null>(null)
  const keyDown = (event: KeyboardEvent) => {
    const step = STEPS[event.key]
    const at = event.target instanceof HTMLElement ? event.target.dataset.key : undefined
    if (step === undefined || at === undefined || event.ctrlKey || event.metaKey || event.altKey) return
    event.preventDefault()
    const index = entries.findIndex((entry) => entry.key === at) + step
    const next = entries[index]
    if (!next) return
    setKey(next.key)
    const element = list.current?.querySelector<HTMLElement>(`[data-key="${next.key}"]`)
    if (!element) return scrollTo(index)
    element.focus({ preventScroll: true })
    element.scrollIntoView({ block: 'nearest' })
  }
  return { key, keyDown }
}
