/** When a task is due, to the letter: with its weekday, year, time and zone. */
import { dayMeant } from '../ui/locale/date-format.ts'
import type { DatePlace } from '../ui/locale/date-text.ts'
import { exactTime } from '../ui/locale/time-words.ts'
import type { Dated } from './groups.ts'

export function exactDue({ due_date, due_time }: Dated, place: DatePlace): string | undefined {
  if (due_date === null) return undefined
  return due_time === null ? dayMeant(due_date, place.locale) : exactTime(`${due_date} ${due_time}`, place)
}
