/** When a task is due: a day, and a time if it matters. Both are read as people type them, in the reader's zone. */
import { type KeyboardEvent, type RefObject, useEffect, useId, useRef, useState } from 'react'
import { taskTexts } from '../../texts/tasks.ts'
import { Icon } from '../../ui/icons/icon.tsx'
import type { IconName } from '../../ui/icons/icon-paths.ts'
import { lazyPart } from '../../ui/lazy-part.tsx'
import { timeShown } from '../../ui/locale/date-format.ts'
import { type DatePlace, dayText } from '../../ui/locale/date-text.ts'
import { clockNow } from '../../ui/locale/zones.ts'
import { AnchoredBox } from '../../ui/overlays/anchored-box.tsx'
import { dueClock } from '../groups.ts'
import { type DueRead, dueOf, dueText } from './due-of.ts'
import type { Editing } from './use-editing.ts'

const DayCalendar = lazyPart(async () => ({ default: (await import('../../ui/calendar/day-calendar.tsx')).DayCalendar }))

export function DueEdit({ editing, place }: { editing: Editing; place: DatePlace }) {
  const { mayEdit } = editing
  const id = useId()
  const { due, day, time, problem, note, typeDay, typeTime, choose, clear, commit, keyDown } = useTyping(editing, place)
  const [isCalendarOpen, setCalendarOpen] = useState(false)
  const anchor = useRef<HTMLFieldSetElement>(null)
  const told = problem ?? note
  const field = {
    readOnly: !mayEdit,
    'aria-invalid': problem ? (true as const) : undefined,
    'aria-describedby': told ? `${id}-note` : undefined,
    onKeyDown: keyDown,
  }
  return (
    <>
      <fieldset
        ref={anchor}
        className="task-due-fields"
        aria-label={taskTexts.due}
        onBlur={({ currentTarget, relatedTarget }) => !currentTarget.contains(relatedTarget) && !isCalendarOpen && commit()}
      >
        <input
          {...field}
          aria-label={taskTexts.dueDate}
          placeholder={mayEdit ? taskTexts.dueExample : undefined}
          value={day}
          onChange={({ target }) => typeDay(target.value)}
        />
        <input
          {...field}
          className="task-time"
          aria-label={taskTexts.dueTime}
          placeholder={mayEdit ? taskTexts.timeExample : undefined}
          value={time}
          onChange={({ target }) => typeTime(target.value)}
        />
        {mayEdit && <IconButton icon="calendar" label={taskTexts.chooseDay} run={() => setCalendarOpen(!isCalendarOpen)} />}
        {mayEdit && due && <IconButton icon="x" label={taskTexts.removeDue} run={clear} />}
      </fieldset>
      {told && (
        <p className={problem ? 'problem' : 'hint'} id={`${id}-note`} role={problem ? 'alert' : undefined}>
          {told}
        </p>
      )}
      {isCalendarOpen && (
        <CalendarBelow
          {...{ anchor, place }}
          day={due?.day ?? null}
          close={() => setCalendarOpen(false)}
          choose={(chosen) => {
            setCalendarOpen(false)
            choose(chosen)
          }}
        />
      )}
    </>
  )
}

/** What is typed, until it is the task's. What somebody else changes is shown, unless something is typed here. */
function useTyping({ task, change }: Editing, place: DatePlace) {
  const due = dueClock(task, place.zone)
  const shownDay = due ? dayText(due.day, place.locale) : ''
  const shownTime = due?.time ? timeShown(due.time, place.locale) : ''
  const [day, setDay] = useState(shownDay)
  const [time, setTime] = useState(shownTime)
  useEffect(() => setDay(shownDay), [shownDay])
  useEffect(() => setTime(shownTime), [shownTime])

  const isChanged = day !== shownDay || time !== shownTime
  const read = dueOf({ day, time }, place)
  const problem = isChanged && 'problem' in read ? read.problem : null
  const note = isChanged && !('problem' in read) ? [dueText(read, place), ...read.notes].filter(Boolean).join('. ') : null
  const reset = () => {
    setDay(shownDay)
    setTime(shownTime)
  }
  const put = (next: DueRead) => {
    if ('problem' in next) return
    const { due_date, due_time } = next
    if (due_date === task.due_date && due_time === task.due_time) reset()
    else void change({ due_date, due_time }, dueText(next, place))
  }
  return {
    ...{ due, day, time, problem, note, typeDay: setDay, typeTime: setTime },
    commit: () => isChanged && put(read),
    clear: () => put({ due_date: null, due_time: null, notes: [] }),
    choose(chosen: string) {
      setDay(dayText(chosen, place.locale))
      put(dueOf({ day: chosen, time }, place))
    },
    keyDown(event: KeyboardEvent) {
      if (event.key === 'Enter') put(read)
      if (event.key !== 'Escape' || !isChanged) return
      event.stopPropagation()
      reset()
    },
  }
}

function IconButton({ icon, label, run }: { icon: IconName; label: string; run(): void }) {
  return (
    <button type="button" className="button quiet icon-only small" aria-label={label} onClick={run}>
      <Icon name={icon} />
    </button>
  )
}

interface CalendarProps {
  anchor: RefObject<HTMLElement | null>
  place: DatePlace
  day: string | null
  close(): void
  choose(day: string): void
}

function CalendarBelow({ anchor, place, day, close, choose }: CalendarProps) {
  return (
    <AnchoredBox anchor={anchor} label={taskTexts.chooseDay} className="task-calendar">
      {/* biome-ignore lint/a11y/noStaticElementInteractions: it only hears Escape and where the focus goes */}
      <div
        onKeyDown={(event) => {
          if (event.key !== 'Escape') return
          event.stopPropagation()
          close()
        }}
        onBlur={({ currentTarget, relatedTarget }) => relatedTarget && !currentTarget.contains(relatedTarget) && close()}
      >
        <DayCalendar
          label={taskTexts.chooseDay}
          day={day}
          today={clockNow(place.now, place.zone).day}
          locale={place.locale}
          onChoose={choose}
          failed={close}
        />
      </div>
    </AnchoredBox>
  )
}
