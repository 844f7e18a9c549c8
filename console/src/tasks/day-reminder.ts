/** Reminders of tasks for a whole day. */
import { instantOf, momentOf } from '../ui/locale/zones.ts'

/** A reminder of a whole day is a time in UTC on that date, so that far from Greenwich it rings on the day before or after. */
export function ringOnDay(date: string, time: string, zone: string): { ringsAt: string; reminder_time: string } {
  const [, reminder_time = ''] = instantOf(momentOf({ day: date, time }, zone).at).split(' ')
  return { ringsAt: `${date} ${reminder_time}`, reminder_time }
}
