/** The reminder of a task, and when it will ring, as the service says it. */
import { useQuery } from '@tanstack/react-query'
import { type Outputs, useClient } from '../../session/client.ts'
import { useMe } from '../../session/me.ts'
import { taskTexts } from '../../texts/tasks.ts'
import { instantMeant, timeShown } from '../../ui/locale/date-format.ts'
import type { DatePlace } from '../../ui/locale/date-text.ts'
import { clockAt } from '../../ui/locale/zones.ts'
import { ringOnDay } from '../day-reminder.ts'
import { offsetWords } from '../reminder-words.ts'
import type { TaskDetail } from '../task/use-task.ts'
import type { Editing } from './use-editing.ts'

/** Minutes before a task that has a time. */
const OFFSETS = [0, 5, 10, 15, 30, 60, 120, 1440, 2880, 10_080]
/** Times on the day of a task that has none. */
const TIMES = ['07:00:00', '08:00:00', '09:00:00', '12:00:00', '15:00:00', '18:00:00']

export function ReminderEdit({ editing: { task, mayEdit, change }, place }: { editing: Editing; place: DatePlace }) {
  const choices = choicesFor(task, place)
  const chosen = choices.find(({ isChosen }) => isChosen)
  const canRemind = task.due_date !== null
  return (
    <div className="task-reminder">
      <select
        aria-label={taskTexts.reminder}
        disabled={!mayEdit || !canRemind}
        value={chosen?.id ?? ''}
        onChange={({ target }) => {
          const next = choices.find(({ id }) => id === target.value)
          void change(next?.change ?? { reminder_offset_mins: null, reminder_time: null }, next?.words ?? taskTexts.noReminder)
        }}
      >
        <option value="">{taskTexts.noReminder}</option>
        {choices.map(({ id, words }) => (
          <option key={id} value={id}>
            {words}
          </option>
        ))}
      </select>
      <p className="hint">{canRemind ? <Rings task={task} place={place} /> : mayEdit && taskTexts.reminderNeedsDue}</p>
    </div>
  )
}

interface ReminderChoice {
  id: string
  words: string
  isChosen: boolean
  change: Pick<TaskDetail, 'reminder_offset_mins' | 'reminder_time'>
}

function choicesFor(task: TaskDetail, place: DatePlace): ReminderChoice[] {
  if (task.due_date === null) return []
  if (task.due_time !== null) {
    const own = task.reminder_offset_mins
    const offsets = own === null || OFFSETS.includes(own) ? OFFSETS : [...OFFSETS, own].toSorted((one, other) => one - other)
    return offsets.map((minutes) => ({
      id: String(minutes),
      words: offsetWords(minutes, place.locale),
      isChosen: minutes === own,
      change: { reminder_offset_mins: minutes, reminder_time: null },
    }))
  }
  const date = task.due_date
  const own = task.reminder_time === null ? null : clockAt(`${date} ${task.reminder_time}`, place.zone).time
  const times = own === null || TIMES.includes(own) ? TIMES : [...TIMES, own].toSorted()
  return times.map((time) => ({
    id: time,
    words: taskTexts.at(timeShown(time, place.locale)),
    isChosen: time === own,
    change: { reminder_offset_mins: null, reminder_time: ringOnDay(date, time, place.zone).reminder_time },
  }))
}

type Reminder = Outputs['tasks']['reminder']

/** It rings where the assignee is: their clock is said, too, if it shows another time. */
function Rings({ task, place }: { task: TaskDetail; place: DatePlace }) {
  const client = useClient()
  const me = useMe().id
  const { data } = useQuery({
    queryKey: ['task', task.id, 'reminder', task.version],
    queryFn: ({ signal }) => client.tasks.reminder.query({ task_id: task.id }, { signal }),
    enabled: task.reminder_at !== null,
    // What rings soon has rung a minute later.
    refetchInterval: 60_000,
  })
  if (task.reminder_at === null || !data?.fires_at) return null
  return <>{ringWords({ ...data, fires_at: data.fires_at }, me, place)}</>
}

function ringWords({ fires_at, local, timezone, to, state }: Reminder & { fires_at: string }, me: number, place: DatePlace): string {
  const here = instantMeant(fires_at, place)
  const isElsewhere = local !== null && local.slice(0, 16) !== localHere(fires_at, place.zone)
  const there = isElsewhere ? taskTexts.there(local.slice(0, 16), timezone) : ''
  const when = `${here}${there}`
  if (state === 'scheduled') return to && to.id !== me ? taskTexts.willRingFor(when, to.name) : taskTexts.willRing(when)
  if (state === 'sent') return taskTexts.hasRung(when)
  return state === 'missed' ? taskTexts.missed(when) : taskTexts.willNotRing
}

function localHere(instant: string, zone: string): string {
  const { day, time } = clockAt(instant, zone)
  return `${day} ${time}`.slice(0, 16)
}
