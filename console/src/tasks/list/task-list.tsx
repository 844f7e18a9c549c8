/** Tasks in their groups. Those in sight are in the page; arrows move from one to the next. */
import type { TaskInContext } from 'gridpost-client'
import {
  type FocusEvent,
  type KeyboardEvent,
  type ReactNode,
  type RefObject,
  useEffect,
  useId,
  useLayoutEffect,
  useRef,
  useState,
} from 'react'
import { taskTexts } from '../../texts/tasks.ts'
import { announce } from '../../ui/announcer.ts'
import { useKeys } from '../../ui/keys/keys.ts'
import type { DatePlace } from '../../ui/locale/date-text.ts'
import { useMarking } from '../marks.ts'
import type { ShownGroup, ShownTask } from './shown.ts'
import { TaskRow } from './task-row.tsx'
import { isInSight, layoutOf, type Placed } from './window.ts'

interface Props {
  groups: readonly ShownGroup[]
  /** How many there are, those that are not read yet included. */
  total: number
  /** True once all of them are read. */
  isWhole: boolean
  place: DatePlace
  me: number
  openTask: number | undefined
  open(task: TaskInContext): void
  see(first: number, last: number): void
}

const PAGE_OF_KEYS = 10

export function TaskList({ groups, total, isWhole, place, me, openTask, open, see }: Props) {
  const scroller = useRef<HTMLDivElement>(null)
  const { top, height, isNarrow } = useScrolling(scroller)
  const layout = layoutOf(groups, total, isNarrow)
  const { active, setActive, moveTo, left, tasks } = useActive(groups, scroller, layout)
  const end = useWayToEnd(scroller, isWhole, layout.height, () => moveTo(tasks.at(-1)))
  const { mark, undo } = useMarking()
  const [first, last] = isInSight(layout, top, height)
  // biome-ignore lint/correctness/useExhaustiveDependencies: what is in sight is said once for each place.
  useEffect(() => see(first, last), [first, last, total])
  const enter = () => moveTo(tasks.find(({ task }) => task.id === active))
  // Within the list keys are heard below; J and K lead into it.
  useKeys(
    taskTexts.tasks,
    taskTexts.listKeys.map((key) => (key.keys === 'J' || key.keys === 'K' ? { ...key, run: enter } : key)),
  )

  const toggle = ({ task, status }: ShownTask) => mark(task, status === 'done' ? 'open' : 'done')
  const keyDown = (event: KeyboardEvent) => {
    const at = tasks.findIndex(({ task }) => task.id === active)
    const current = tasks[at]
    const deed = deedOf(event, at, tasks.length)
    if (deed === undefined || (deed !== 'undo' && !current)) return
    event.preventDefault()
    if (end.hear(event)) return
    if (deed === 'undo') undo()
    else if (typeof deed === 'number') moveTo(tasks[Math.max(0, Math.min(deed, tasks.length - 1))])
    else if (current && deed === 'open') open(current.task)
    else if (current) toggle(current)
  }

  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: it hears the keys of the checkboxes in it
    <div ref={scroller} className="task-groups" data-narrow={isNarrow ? '' : undefined} onKeyDown={keyDown} onBlur={left} {...end.stopping}>
      <div className="task-groups-all" style={{ height: layout.height }}>
        {layout.groups.map((placed, at) => (
          <GroupOfTasks
            key={placed.group}
            {...{ placed, top, height, active }}
            hasMore={at === layout.groups.length - 1 && total > tasks.length}
          >
            {(shown, at) => (
              <TaskRow
                key={shown.task.id}
                {...{ shown, place, me, openTask, open }}
                top={layout.topOf(placed, at)}
                position={[at + 1, placed.tasks.length]}
                isActive={shown.task.id === active}
                focused={() => setActive(shown.task.id)}
                toggle={() => toggle(shown)}
              />
            )}
          </GroupOfTasks>
        ))}
      </div>
    </div>
  )
}

/** What a key does; a number is the place of the task that the focus goes to. */
function deedOf(event: KeyboardEvent, at: number, count: number): 'undo' | 'open' | 'toggle' | number | undefined {
  const { key, altKey, ctrlKey, metaKey, target, nativeEvent } = event
  if (altKey || nativeEvent.isComposing) return undefined
  if (ctrlKey || metaKey) return key.toLowerCase() === 'z' ? 'undo' : undefined
  if (key === 'Enter') return target instanceof HTMLInputElement ? 'open' : undefined
  return ['d', 'x'].includes(key.toLowerCase()) ? 'toggle' : STEPS[key]?.(at, count)
}

const STEPS: Record<string, (at: number, count: number) => number> = {
  ArrowDown: (at) => at + 1,
  ArrowUp: (at) => at - 1,
  j: (at) => at + 1,
  k: (at) => at - 1,
  PageDown: (at) => at + PAGE_OF_KEYS,
  PageUp: (at) => at - PAGE_OF_KEYS,
  Home: () => 0,
  End: (_, count) => count - 1,
}

interface GroupProps {
  placed: Placed
  top: number
  height: number
  active: number | null
  /** True if there are more that are not read yet. */
  hasMore: boolean
  children(task: ShownTask, at: number): ReactNode
}

function GroupOfTasks({ placed, top, height, active, hasMore, children }: GroupProps) {
  const id = useId()
  const [from, to] = placed.inSight(top, height)
  const inSight = placed.tasks.slice(from, to).map((task, offset) => ({ task, at: from + offset }))
  // The active task stays in the page out of sight, so that it keeps the focus.
  const at = placed.tasks.findIndex(({ task }) => task.id === active)
  const task = placed.tasks[at]
  const shown = task && (at < from || at >= to) ? [...inSight, { task, at }] : inSight
  return (
    <section aria-labelledby={id}>
      <h2 id={id} data-group={placed.group} style={{ top: placed.top }}>
        {taskTexts.groups[placed.group]} <span className="count">{taskTexts.count(placed.tasks.length, hasMore)}</span>
      </h2>
      <ul>{shown.map((one) => children(one.task, one.at))}</ul>
    </section>
  )
}

/** Which task has the place in the order of Tab, and how the focus goes to another one, which may be out of sight. */
function useActive(groups: readonly ShownGroup[], scroller: RefObject<HTMLDivElement | null>, layout: ReturnType<typeof layoutOf>) {
  const tasks = groups.flatMap((group) => group.tasks)
  const [wanted, setWanted] = useState<number | null>(null)
  const isMoving = useRef(false)
  /** Where the active task was, so that its neighbour follows it when it goes. */
  const lastAt = useRef(0)
  const at = tasks.findIndex(({ task }) => task.id === wanted)
  if (at >= 0) lastAt.current = at
  const active = (tasks[at] ?? tasks[Math.min(lastAt.current, tasks.length - 1)])?.task.id ?? null
  const hadFocus = useRef(false)

  useLayoutEffect(() => {
    const box = scroller.current?.querySelector<HTMLElement>(`[data-task="${active}"]`)
    const isLost = hadFocus.current && document.activeElement === document.body
    if (box && (isMoving.current || isLost)) {
      isMoving.current = false
      box.focus({ preventScroll: true })
    }
    hadFocus.current = scroller.current?.contains(document.activeElement) ?? false
  })

  return {
    tasks,
    active,
    setActive: (id: number) => {
      hadFocus.current = true
      setWanted(id)
    },
    /** Whoever takes the focus away keeps it; a task that goes leaves it to its neighbour. */
    left({ target }: FocusEvent) {
      if (target.isConnected && document.hasFocus()) hadFocus.current = false
    },
    moveTo(shown: ShownTask | undefined) {
      if (!shown) return
      isMoving.current = true
      setWanted(shown.task.id)
      scroller.current && layout.reveal(shown, scroller.current)
      // A task that is the active one already is not rendered again.
      scroller.current?.querySelector<HTMLElement>(`[data-task="${shown.task.id}"]`)?.focus({ preventScroll: true })
    },
  }
}

/** Goes to the end of a list of which not all is read: what is between is read first, unless the person goes elsewhere meanwhile. */
function useWayToEnd(scroller: RefObject<HTMLDivElement | null>, isWhole: boolean, height: number, arrive: () => void) {
  const [isGoing, setGoing] = useState(false)
  // biome-ignore lint/correctness/useExhaustiveDependencies: the end moves with the height
  useEffect(() => {
    if (!isGoing) return
    if (scroller.current) scroller.current.scrollTop = scroller.current.scrollHeight
    if (!isWhole) return
    setGoing(false)
    arrive()
  }, [isGoing, isWhole, height])
  const stop = () => setGoing(false)
  return {
    /** @returns whether the key leads there */
    hear({ key }: KeyboardEvent): boolean {
      const isMeant = key === 'End' && !isWhole
      setGoing(isMeant)
      if (isMeant) announce(taskTexts.loading)
      return isMeant
    },
    stopping: { onWheel: stop, onPointerDown: stop },
  }
}

/** What is in sight, in steps, so that not every pixel renders. */
function useScrolling(scroller: RefObject<HTMLDivElement | null>) {
  const [seen, setSeen] = useState({ top: 0, height: 800, isNarrow: false })
  useLayoutEffect(() => {
    const { current } = scroller
    if (!current) return
    const look = () => {
      const next = {
        top: Math.floor(current.scrollTop / STEP) * STEP,
        height: Math.ceil(current.clientHeight / STEP) * STEP + STEP,
        isNarrow: current.clientWidth < NARROW,
      }
      setSeen((before) => (Object.entries(next).every(([key, value]) => before[key as keyof typeof before] === value) ? before : next))
    }
    look()
    const sizes = new ResizeObserver(look)
    sizes.observe(current)
    current.addEventListener('scroll', look, { passive: true })
    return () => {
      sizes.disconnect()
      current.removeEventListener('scroll', look)
    }
  }, [scroller])
  return seen
}

const STEP = 120
/** Below this width a task has two lines, in pixels. */
const NARROW = 620
