/** The texts of notifications about tasks; those about comments on tasks are in src/comments/notices.ts. */

import { actingName, type Notice } from '../notifications/notify.ts'
import type { Actor } from '../platform/actor.ts'
import { lateBy } from './reminders/reminder.ts'
import type { Status } from './schema.ts'

const quoted = (title: string) => `“${title}”`

/** How notifications name a task. */
export const taskTitle = (title: string) => `the task ${quoted(title)}`

export interface DueTask {
  title: string
  /** `YYYY-MM-DD` */
  due_date?: string | null | undefined
  /** `HH:MM` or `HH:MM:SS`, UTC */
  due_time?: string | null | undefined
}

function dueSentence({ title, due_date, due_time }: DueTask): string {
  if (!due_date) return `${quoted(title)} has no due date.`
  return `${quoted(title)} is due on ${due_date}${due_time ? ` at ${due_time.slice(0, 5)} UTC` : ''}.`
}

export const assigned = (task: DueTask, actor: Actor): Notice => ({
  event_type: 'TASK_ASSIGNED',
  message: `${actingName(actor)} assigned you ${taskTitle(task.title)}.`,
  summary: dueSentence(task),
})

export const marked = (title: string, status: Status, actor: Actor): Notice => ({
  event_type: status === 'done' ? 'TASK_DONE' : 'TASK_UNDONE',
  message: `${actingName(actor)} ${status === 'done' ? 'completed' : 'reopened'} ${taskTitle(title)}.`,
  summary: `${quoted(title)} is ${status}.`,
})

/** @param task its reminder_at: `YYYY-MM-DD HH:MM:SS`, UTC */
export function reminded(task: DueTask & { reminder_at: string }, now: Date): Notice {
  const late = lateBy(task.reminder_at, now)
  return {
    event_type: 'TASK_REMINDER',
    message: `Reminder${late ? ` (late by ${late})` : ''}: ${quoted(task.title)}.`,
    summary: dueSentence(task),
  }
}
