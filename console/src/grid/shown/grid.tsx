/** The grid of a table's records, with its headings, sums and questions. */
import './grid.css'
import { type KeyboardEvent, useEffect, useLayoutEffect, useRef, useSyncExternalStore } from 'react'
import { preloadEditors } from '../../cells/editors/lazy-editors.tsx'
import { messageOf } from '../../session/errors.ts'
import { gridTexts } from '../../texts/grid.ts'
import { useKeys } from '../../ui/keys/keys.ts'
import { isInEditor, usePointing } from '../input/pointing.ts'
import { runKey, useTyping } from '../input/typing.ts'
import { callFocus, type GridModel, rowCount, totalWidth } from '../model/grid-model.ts'
import { readSums } from '../model/layout.ts'
import { countRows } from '../model/leaving.ts'
import { resize, scrollBar, settleBar } from '../model/scrolling.ts'
import { Headings, type Sorted } from './headings.tsx'
import { Questions } from './questions.tsx'
import { Rows } from './rows.tsx'
import { Status } from './status.tsx'
import { Sums } from './sums.tsx'

const SETTLE_MS = 150
const HEADINGS_HEIGHT = 34
/** Room for the button behind the last column. */
const NEW_FIELD_WIDTH = 40
const SUMS_HEIGHT = 30
/** A frame without a bound, such as one that is printed, does not render all records. */
const TALLEST_SCREEN = 4_000

interface Props {
  grid: GridModel
  name: string
  viewId: number
  sorted: Sorted
  hasConditions: boolean
}

export function Grid({ grid, name, viewId, sorted, hasConditions }: Props) {
  useSyncExternalStore(grid.subscribe, grid.version)
  const frame = useRef<HTMLDivElement>(null)
  useScrolling(grid, frame)
  useTyping(grid, frame)
  useKeys(gridTexts.page, gridTexts.keys)
  const pointing = usePointing(grid)
  useEffect(() => {
    countRows(grid)
    if (grid.state.layout.sums.length) void readSums(grid)
    if (document.activeElement === document.body) callFocus(grid)
  }, [grid])

  const { rows, isFinal } = grid.pages.length()
  const isShown = grid.pages.rowAt(0) !== undefined || (isFinal && rows === 0)
  useEffect(() => {
    if (!isShown) return
    const idle = globalThis.requestIdleCallback ?? ((run: () => void) => setTimeout(run, 500))
    idle(() => preloadEditors())
  }, [isShown])
  const failure = grid.pages.failure()
  const count = rowCount(grid)
  return (
    <div className={grid.state.layout.isTall ? 'grid tall' : 'grid'}>
      <div className="grid-frame" ref={frame}>
        <div
          role="grid"
          tabIndex={-1}
          aria-label={name}
          aria-rowcount={isFinal ? count + 1 : -1}
          aria-colcount={grid.state.columns.length + 1}
          aria-multiselectable="true"
          aria-busy={rows === 0 && !isFinal}
          className="grid-table"
          style={{ width: totalWidth(grid) + (grid.options.role === 'admin' ? NEW_FIELD_WIDTH : 0) }}
          onKeyDown={(event) => onKeyDown(grid, event)}
          {...pointing}
        >
          <Headings grid={grid} sorted={sorted} />
          <Rows grid={grid} frame={frame} />
        </div>
        {isFinal && count === 0 && failure === undefined && (
          <p className="grid-message">{hasConditions ? gridTexts.emptyView : gridTexts.empty}</p>
        )}
        {failure !== undefined && (
          <p className="grid-message error" role="alert">
            {messageOf(failure)}{' '}
            <button type="button" className="grid-button" onClick={() => grid.pages.retry()}>
              {gridTexts.retry}
            </button>
          </p>
        )}
        <Sums grid={grid} />
      </div>
      <Status grid={grid} viewId={viewId} />
      <Questions grid={grid} />
    </div>
  )
}

function onKeyDown(grid: GridModel, event: KeyboardEvent) {
  if (event.nativeEvent.isComposing || event.defaultPrevented || isInEditor(event.target)) return
  // Buttons and marks within the grid have their own keys.
  if (event.target instanceof HTMLElement && event.target.closest('button, input, [role=menu]')) return
  if (runKey(grid, event)) event.preventDefault()
}

/** Binds the bars of the frame to the grid, and tells it how much of it is seen. */
function useScrolling(grid: GridModel, frame: { current: HTMLDivElement | null }) {
  const scrolled = useRef<{ bar: number; left: number } | null>(null)
  useLayoutEffect(() => {
    const element = frame.current
    if (!element) return
    let timer: ReturnType<typeof setTimeout> | undefined
    const put = (bar: number) => {
      if (Math.abs(element.scrollTop - bar) >= 1) element.scrollTop = bar
    }
    const onScroll = () => {
      // The browser rounds what it was told, so that a place that is almost the same is the same.
      const bar = Math.abs(element.scrollTop - grid.state.at.bar) < 1 ? grid.state.at.bar : element.scrollTop
      put(scrollBar(grid, bar, element.scrollLeft))
      scrolled.current = { bar: grid.state.at.bar, left: grid.state.left }
      clearTimeout(timer)
      timer = setTimeout(() => put(settleBar(grid)), SETTLE_MS)
    }
    const measure = () => {
      const height = Math.min(element.clientHeight, TALLEST_SCREEN) - HEADINGS_HEIGHT - SUMS_HEIGHT
      resize(grid, { width: element.clientWidth, height: Math.max(0, height) })
    }
    const observer = new ResizeObserver(measure)
    observer.observe(element)
    measure()
    element.addEventListener('scroll', onScroll, { passive: true })
    return () => {
      observer.disconnect()
      clearTimeout(timer)
      element.removeEventListener('scroll', onScroll)
    }
  }, [grid, frame])

  // Where the grid was told to go, the bars go, too. Where the bars have gone by themselves, they may be further by now.
  useLayoutEffect(() => {
    const element = frame.current
    const { at, left } = grid.state
    if (!element) return
    if (at.bar !== scrolled.current?.bar) element.scrollTop = at.bar
    if (left !== scrolled.current?.left) element.scrollLeft = left
    scrolled.current = { bar: at.bar, left }
  })
}
