/** Where groups and tasks are in a long list, in pixels, and which of them are in sight. */
import type { Group } from '../groups.ts'
import type { ShownGroup, ShownTask } from './shown.ts'

const HEADING = 44
const ROW = 42
const ROW_OF_TWO_LINES = 64
/** Tasks beyond the edges that are in the page, so that scrolling shows no gap. */
const SPARE = 6

export interface Placed {
  group: Group
  tasks: ShownTask[]
  top: number
  /** Which of its tasks are in the page, from the first to the one after the last. */
  inSight(top: number, height: number): [number, number]
}

export interface Layout {
  groups: Placed[]
  /** Those included that are not read yet. */
  height: number
  row: number
  topOf(placed: Placed, at: number): number
  /** Scrolls as little as it takes to show the task. */
  reveal(shown: ShownTask, scroller: HTMLElement): void
}

export function layoutOf(groups: readonly ShownGroup[], total: number, isNarrow: boolean): Layout {
  const row = isNarrow ? ROW_OF_TWO_LINES : ROW
  let top = 0
  const placed = groups.map(({ group, tasks }): Placed => {
    const start = top
    top += HEADING + tasks.length * row
    return {
      ...{ group, tasks, top: start },
      inSight: (from, height) => {
        const first = Math.floor((from - start - HEADING) / row) - SPARE
        const last = Math.ceil((from + height - start - HEADING) / row) + SPARE
        return [Math.max(0, Math.min(first, tasks.length)), Math.max(0, Math.min(last, tasks.length))]
      },
    }
  })
  const known = placed.reduce((count, { tasks }) => count + tasks.length, 0)
  const topOf = (group: Placed, at: number) => group.top + HEADING + at * row
  return {
    groups: placed,
    height: top + Math.max(0, total - known) * row,
    row,
    topOf,
    reveal(shown, scroller) {
      const group = placed.find(({ tasks }) => tasks.includes(shown))
      if (!group) return
      const at = topOf(group, group.tasks.indexOf(shown))
      if (at - HEADING < scroller.scrollTop) scroller.scrollTop = at - HEADING
      else if (at + row > scroller.scrollTop + scroller.clientHeight) scroller.scrollTop = at + row - scroller.clientHeight
    },
  }
}

/** The places in the whole list of the first and the last task in sight. */
export function isInSight({ height: whole, row }: Layout, top: number, height: number): [number, number] {
  const at = (y: number) => Math.max(0, Math.floor(Math.min(y, whole) / row))
  return [at(top), at(top + height) + 2 * SPARE]
}
