/**
 * Tasks by when they are due, where the reader is. A date without a time is a day of the calendar, the same one in every zone; a date
 * with a time is an instant (contract.md §4).
 */
import { addDays, weekday } from '../ui/locale/days.ts'
import { atOf, clockAt, clockNow } from '../ui/locale/zones.ts'

export const GROUPS = ['overdue', 'today', 'week', 'later', 'none', 'done'] as const
export type Group = (typeof GROUPS)[number]

/** What says when a task is due: a day alone, or a day and a time in UTC. */
export interface Dated {
  due_date: string | null
  due_time: string | null
}

export interface Grouped extends Dated {
  id: number
  status: 'open' | 'done'
  completed_at: string | null
}

/** Now, where the reader is. */
export interface Now {
  zone: string
  now: Date
}

/** The day on which it is due there, and the time of a clock there; null without a date. */
export function dueClock({ due_date, due_time }: Dated, zone: string): { day: string; time: string | null } | null {
  if (due_date === null) return null
  return due_time === null ? { day: due_date, time: null } : clockAt(`${due_date} ${due_time}`, zone)
}

/** Whether its day or its instant has passed. */
export function isOverdue(task: Dated, { zone, now }: Now): boolean {
  if (task.due_date === null) return false
  if (task.due_time === null) return task.due_date < clockNow(now, zone).day
  return atOf(`${task.due_date} ${task.due_time}`) < now.getTime()
}

export function groupOf(task: Omit<Grouped, 'id' | 'completed_at'>, here: Now): Group {
  if (task.status === 'done') return 'done'
  const due = dueClock(task, here.zone)
  if (!due) return 'none'
  if (isOverdue(task, here)) return 'overdue'
  const today = clockNow(here.now, here.zone).day
  if (due.day <= today) return 'today'
  return due.day <= lastDayOfWeek(today) ? 'week' : 'later'
}

/** The Sunday of the week, as the service counts weeks (ISO 8601). */
const lastDayOfWeek = (day: string): string => addDays(day, (7 - weekday(day)) % 7) ?? day

/** The tasks in their groups, in the order in which they are shown. Groups without tasks are left out. */
export function grouped<Task extends Grouped>(tasks: readonly Task[], here: Now): { group: Group; tasks: Task[] }[] {
  const found = new Map<Group, { task: Task; key: string }[]>(GROUPS.map((group) => [group, []]))
  for (const task of tasks) found.get(groupOf(task, here))?.push({ task, key: orderKey(task, here.zone) })
  return [...found].flatMap(([group, members]) => {
    const order = group === 'done' ? -1 : 1
    const sorted = members.toSorted((one, other) => order * compare(one.key, other.key) || order * (one.task.id - other.task.id))
    return members.length ? [{ group, tasks: sorted.map(({ task }) => task) }] : []
  })
}

/** By the day there, then by the time, a whole day last; done ones by when they were done. */
function orderKey(task: Grouped, zone: string): string {
  if (task.status === 'done') return task.completed_at ?? ''
  const due = dueClock(task, zone)
  return due ? `${due.day} ${due.time ?? '99'}` : ''
}

const compare = (one: string, other: string) => (one < other ? -1 : one > other ? 1 : 0)
