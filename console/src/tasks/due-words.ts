/** When a task is due, in words: `Today`, `Tomorrow 9:30`, `Friday`, `24 Dec`, `2 Jan 2027`. */
import { timeShown } from '../ui/locale/date-format.ts'
import type { DatePlace } from '../ui/locale/date-text.ts'
import { midnight } from '../ui/locale/days.ts'
import { dayWords } from '../ui/locale/time-words.ts'
import { clockNow } from '../ui/locale/zones.ts'
import { type Dated, dueClock } from './groups.ts'

const DAY_MS = 86_400_000
/** A weekday without a date is the next one of that name. */
const DAYS_BY_NAME = 6

/** Undefined without a date. */
export function dueWords(task: Dated, place: DatePlace): string | undefined {
  const due = dueClock(task, place.zone)
  if (!due) return undefined
  const day = wordsOfDay(due.day, place)
  return due.time === null ? day : `${day} ${timeShown(due.time, place.locale)}`
}

function wordsOfDay(day: string, place: DatePlace): string {
  const { locale, zone, now } = place
  const today = clockNow(now, zone).day
  const ahead = Math.round((midnight(day) - midnight(today)) / DAY_MS)
  if (Math.abs(ahead) <= 1) return capital(new Intl.RelativeTimeFormat(locale, { numeric: 'auto' }).format(ahead, 'day'), locale)
  const isNear = ahead > 0 && ahead <= DAYS_BY_NAME
  const words = isNear ? new Intl.DateTimeFormat(locale, { timeZone: 'UTC', weekday: 'long' }).format(midnight(day)) : dayWords(day, place)
  return capital(words, locale)
}

const capital = (text: string, locale: string) => text.charAt(0).toLocaleUpperCase(locale) + text.slice(1)
