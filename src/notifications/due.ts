/** Counts the tasks that a badge shows. */
import type { Actor } from '../platform/actor.ts'
import { formatInstant } from '../platform/time/time.ts'
import { dayAt } from '../platform/time/time-zones.ts'
import type { DueRow } from './queries.ts'

/**
 * Counts the open tasks that are due today or overdue, and among them those that are past due. A task without a time is compared with the
 * local calendar date; a task with a time is due at that instant (contract.md §4, badgeCount).
 */
export function countDue(
  { past_due, near_due }: DueRow,
  { timeZone }: Pick<Actor, 'timeZone'>,
  now: Date,
): { count: number; overdue: number } {
  const today = dayAt(now, timeZone)
  const [instant, end] = [formatInstant(now), formatInstant(today.to)]
  let [count, overdue] = [past_due, past_due]
  for (const [dueDate, dueTime] of near_due ?? []) {
    const at = `${dueDate} ${dueTime}`
    if (dueTime === null ? dueDate > today.date : at >= end) continue
    count++
    if (dueTime === null ? dueDate < today.date : at < instant) overdue++
  }
  return { count, overdue }
}
