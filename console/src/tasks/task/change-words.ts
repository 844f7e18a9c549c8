import { taskTexts } from '../../texts/tasks.ts'
import type { Changed } from './use-task.ts'

const NAMES: Record<string, string> = {
  title: taskTexts.title,
  details: taskTexts.details,
  due_date: taskTexts.due,
  due_time: taskTexts.due,
  reminder_at: taskTexts.reminder,
  attachments: taskTexts.files,
}

/** What somebody has changed of the task that is open, as a sentence. */
export function changeWords(change: Changed, nameOf: (id: number) => string): string {
  if (change.kind === 'assignee') return taskTexts.reassigned(nameOf(change.userId))
  if (change.kind === 'done') return taskTexts.wasDone(change.userId === null ? null : nameOf(change.userId))
  if (change.kind === 'open') return taskTexts.wasOpened
  return taskTexts.wasChanged([...new Set(change.keys.map((key) => NAMES[key] ?? key))])
}
