/** Cells are selected by dragging. At the edge of the grid it scrolls, the faster the farther the pointer is outside. */
import { frozenWidth } from '../columns/column.ts'
import { boundsOf, type GridModel, rowHeight } from '../model/grid-model.ts'
import { select } from '../model/navigation.ts'
import { scrollBy } from '../model/scrolling.ts'
import { type Cell, isSame, moved } from '../selection/selection.ts'

export interface Dragging {
  end(): void
}

interface Point {
  x: number
  y: number
}

/** How far the grid scrolls in a second for each pixel that the pointer is outside, and the most. */
const [SPEED, FASTEST] = [12, 4_000] as const
/** A frame that came late scrolls no farther. */
const LONGEST_FRAME_MS = 50

/** Selects from the active cell to where the pointer goes, until its button is released. */
export function dragFrom(grid: GridModel, frame: HTMLElement, pointerId: number): Dragging {
  const stop = new AbortController()
  const { signal } = stop
  let pointer: Point | undefined
  let tick = 0
  let before = 0

  function extend(): void {
    const cell = pointer && cellNear(grid, frame, pointer)
    if (cell && !isSame(cell, grid.state.selection.extent)) {
      select(grid, moved(grid.state.selection, cell, boundsOf(grid), true), { reveals: false })
    }
  }

  function scroll(now: number): void {
    tick = 0
    if (!pointer || signal.aborted) return
    const { right, down } = outside(grid, frame, pointer)
    if (right === 0 && down === 0) return
    const seconds = Math.min(now - before, LONGEST_FRAME_MS) / 1_000
    before = now
    scrollBy(grid, down * seconds, right * seconds)
    extend()
    tick = requestAnimationFrame(scroll)
  }

  function move(event: PointerEvent): void {
    if (event.pointerId !== pointerId) return
    if (event.buttons === 0) {
      end()
      return
    }
    pointer = { x: event.clientX, y: event.clientY }
    extend()
    if (tick) return
    before = performance.now()
    tick = requestAnimationFrame(scroll)
  }

  function end(): void {
    stop.abort()
    cancelAnimationFrame(tick)
  }

  addEventListener('pointermove', move, { signal })
  addEventListener('pointerup', end, { signal })
  addEventListener('pointercancel', end, { signal })
  return { end }
}

/** The box of the rows that scroll, on the screen. */
function boxOf(grid: GridModel, frame: HTMLElement) {
  const { left, top } = frame.getBoundingClientRect()
  const { viewport, columns } = grid.state
  const headings = frame.querySelector('.grid-headings')?.getBoundingClientRect().height ?? 0
  const rows = { top: top + headings, bottom: top + headings + viewport.height }
  return { ...rows, frame: left, left: left + frozenWidth(columns), right: left + viewport.width }
}

/** Pixels in a second by which the grid has to scroll. */
function outside(grid: GridModel, frame: HTMLElement, { x, y }: Point): { right: number; down: number } {
  const box = boxOf(grid, frame)
  const beyond = (value: number, from: number, to: number) => (value < from ? value - from : Math.max(0, value - to))
  const speed = (pixels: number) => Math.sign(pixels) * Math.min(Math.abs(pixels) * SPEED, FASTEST)
  // Over the frozen columns one selects them, so that the grid scrolls only left of them.
  return { right: speed(x < box.frame ? x - box.frame : beyond(x, box.frame, box.right)), down: speed(beyond(y, box.top, box.bottom)) }
}

/** The cell below the pointer, or the one that is seen and nearest to it. */
function cellNear(grid: GridModel, frame: HTMLElement, { x, y }: Point): Cell {
  const box = boxOf(grid, frame)
  const { at, left, columns } = grid.state
  const down = Math.max(0, Math.min(y, box.bottom - 1) - box.top)
  const across = Math.max(box.frame, Math.min(x, box.right - 1))
  const place = across - box.frame + (across < box.left ? 0 : left)
  const col = columns.findIndex((column) => place < column.left + column.width)
  return { row: Math.floor((at.top + down) / rowHeight(grid)), col: col === -1 ? columns.length - 1 : col }
}
