/** When a reminder rings, in words: `30 min before`, `1 day before`, `at 9:00`. */
import { taskTexts } from '../texts/tasks.ts'
import { timeShown } from '../ui/locale/date-format.ts'
import type { DatePlace } from '../ui/locale/date-text.ts'
import { clockAt } from '../ui/locale/zones.ts'

const UNITS = [
  ['week', 10_080],
  ['day', 1440],
  ['hour', 60],
] as const

interface Reminding {
  due_time: string | null
  reminder_offset_mins?: number | null
  /** UTC. */
  reminder_time?: string | null
  ringsAt: string
}

export function reminderWords({ reminder_offset_mins: minutes, ringsAt }: Reminding, place: DatePlace): string {
  return minutes == null ? taskTexts.at(timeShown(clockAt(ringsAt, place.zone).time, place.locale)) : offsetWords(minutes, place.locale)
}

export function offsetWords(minutes: number, locale: string): string {
  if (minutes === 0) return taskTexts.whenDue
  const [unit, size] = UNITS.find(([, length]) => minutes % length === 0) ?? (['minute', 1] as const)
  const count = minutes / size
  return taskTexts.before(new Intl.NumberFormat(locale, { style: 'unit', unit, unitDisplay: 'long' }).format(count))
}
