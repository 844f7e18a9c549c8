/** The due date of a task and its reminder: the rules between the four inputs (api.md, Create body; contract.md §4). */
import type { Issue } from '../../platform/errors.ts'
import { formatInstant, instant, instantOf, isCalendarDate, timeOfDay } from '../../platform/time/time.ts'

/** Dates `YYYY-MM-DD`; times `HH:MM` or `HH:MM:SS`, UTC. */
export interface Due {
  due_date: string | null
  due_time: string | null
  /** Minutes before the instant that due_date and due_time make. */
  reminder_offset_mins: number | null
  /** On due_date, for a task without due_time. */
  reminder_time: string | null
}

/** An update of these keys: an absent key keeps its value, null clears it. */
export type DueChange = { [Key in keyof Due]?: Due[Key] | undefined }

/** The problems of a combination. Each issue names the input to remove. */
export function dueIssues(due: Due): Issue[] {
  const { due_date, due_time, reminder_offset_mins, reminder_time } = due
  const issues: Issue[] = []
  const refuse = (key: keyof Due, message: string) => issues.push({ path: [key], message })
  if (due_time !== null && due_date === null) refuse('due_time', 'needs due_date')
  if (reminder_offset_mins !== null && reminder_time !== null) refuse('reminder_time', 'cannot be combined with reminder_offset_mins')
  if (reminder_offset_mins !== null && due_time === null) refuse('reminder_offset_mins', 'needs due_time')
  if (reminder_time !== null && due_date === null) refuse('reminder_time', 'needs due_date')
  if (reminder_time !== null && due_time !== null) refuse('reminder_time', 'is for tasks without due_time')
  // On the first days of the calendar, the reminder could be in the year 0, which PostgreSQL cannot store.
  if (!issues.length && !isStorable(reminderAt(due))) refuse('reminder_offset_mins', 'lies before the first day of the calendar')
  return issues
}

const isStorable = (at: string | null) => at === null || isCalendarDate(at.slice(0, 10))

/** The instant of the reminder, `YYYY-MM-DD HH:MM:SS` in UTC, or null without a reminder. @param due a combination without issues */
export function reminderAt({ due_date, due_time, reminder_offset_mins, reminder_time }: Due): string | null {
  if (due_date === null) return null
  if (reminder_time !== null) return formatInstant(instant(due_date, reminder_time))
  if (due_time === null || reminder_offset_mins === null) return null
  return formatInstant(new Date(instant(due_date, due_time).getTime() - reminder_offset_mins * 60_000))
}

/** True for a reminder that is past when it is set, and therefore not sent. @param reminder `YYYY-MM-DD HH:MM:SS`, UTC */
export const isPast = (reminder: string | null, now: Date): boolean => reminder !== null && reminder < formatInstant(now)

/** A delay that the minute between two sweeps can cause does not count as late. */
const PUNCTUAL_MS = 2 * 60_000

/**
 * The delay of a reminder in its largest full unit, such as `3 h`, or null when it is on time.
 * @param reminder `YYYY-MM-DD HH:MM:SS`, UTC
 */
export function lateBy(reminder: string, now: Date): string | null {
  const late = now.getTime() - instantOf(reminder).getTime()
  if (late < PUNCTUAL_MS) return null
  const minutes = Math.floor(late / 60_000)
  if (minutes < 60) return `${minutes} min`
  const hours = Math.floor(minutes / 60)
  if (hours < 24) return `${hours} h`
  const days = Math.floor(hours / 24)
  return days === 1 ? '1 day' : `${days} days`
}

/** The facts that decide the state of a reminder. */
export interface ReminderFacts {
  /** `YYYY-MM-DD HH:MM:SS`, UTC; null without a reminder. */
  reminder_at: string | null
  reminder_sent_at: string | null
  reminder_missed: boolean
  status: 'open' | 'done'
  /** Whether the assignee exists and may see the task. */
  can_see: boolean
}

/** The state of a reminder. `none` includes a reminder that will not fire unless the task or the assignee's rights change. */
export function reminderState(facts: ReminderFacts, now: Date): 'none' | 'scheduled' | 'sent' | 'missed' {
  if (facts.reminder_at === null) return 'none'
  if (facts.reminder_sent_at !== null) return 'sent'
  if (facts.reminder_missed) return 'missed'
  if (facts.status === 'open' && facts.can_see) return 'scheduled'
  return isPast(facts.reminder_at, now) ? 'missed' : 'none'
}

/**
 * The result of an update. Values that the update makes impossible are dropped: time and reminder without a date, the offset without a
 * time, the reminder of date-only tasks with a time. Values that the update itself names stay, so that `dueIssues` refuses them.
 */
export function changeDue(current: Due, change: DueChange): Due {
  const next = { ...current }
  for (const key of KEYS) if (change[key] !== undefined) Object.assign(next, { [key]: change[key] })
  // In the stored form, so that 14:30 and 14:30:00 are equal.
  for (const key of ['due_time', 'reminder_time'] as const) next[key] &&= timeOfDay(next[key])
  const drop = (key: keyof Due) => {
    if (change[key] === undefined) next[key] = null
  }
  if (next.due_date === null) for (const key of DEPENDENT) drop(key)
  if (next.due_time === null) drop('reminder_offset_mins')
  else drop('reminder_time')
  return next
}

const KEYS = ['due_date', 'due_time', 'reminder_offset_mins', 'reminder_time'] as const
const DEPENDENT = ['due_time', 'reminder_offset_mins', 'reminder_time'] as const
