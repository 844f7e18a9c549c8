/** When something happened, in few words: `14:30`, `yesterday 14:30`, `3 May`, `3 May 2025`, by the clocks of the reader's zone. */
import { dateTexts } from '../../texts/dates.ts'
import type { DatePlace } from './date-text.ts'
import { addDays, isDay, midnight } from './days.ts'
import { atOf, clockAt, clockNow } from './zones.ts'

const MINUTES = { hour: 'numeric', minute: '2-digit' } as const
const DAY = { day: 'numeric', month: 'short' } as const
const DAY_OF_YEAR = { ...DAY, year: 'numeric' } as const
const EXACT = {
  ...DAY_OF_YEAR,
  ...{ weekday: 'long', month: 'long' },
  ...MINUTES,
  second: '2-digit',
  timeZoneName: 'short',
} as const satisfies Intl.DateTimeFormatOptions

const formats = new Map<string, Intl.DateTimeFormat>()

/** A formatter takes 50 µs to make and 1 µs to use. */
function formatted(at: number, { locale, zone }: DatePlace, options: Intl.DateTimeFormatOptions): string {
  const key = `${locale} ${zone} ${Object.keys(options).join()}`
  const format = formats.get(key) ?? new Intl.DateTimeFormat(locale, { timeZone: zone, ...options })
  formats.set(key, format)
  return format.format(at)
}

/**
 * The instant in few words. Yesterday and tomorrow are days of the calendar in the zone, however long they are.
 * @param instant `YYYY-MM-DD HH:MM:SS` in UTC; any other text is shown as it is
 */
export function timeWords(instant: string, place: DatePlace): string {
  const at = atOf(instant)
  if (!Number.isFinite(at)) return instant
  const today = clockNow(place.now, place.zone).day
  const { day } = clockAt(instant, place.zone)
  const time = formatted(at, place, MINUTES)
  if (day === today) return time
  if (day === addDays(today, -1)) return dateTexts.yesterday(time)
  if (day === addDays(today, 1)) return dateTexts.tomorrow(time)
  return formatted(at, place, day.slice(0, 4) === today.slice(0, 4) ? DAY : DAY_OF_YEAR)
}

/** A calendar date in few words: `3 May`, `3 May 2025`. It has no zone; the place says which year it is. */
export function dayWords(day: string, { locale, zone, now }: DatePlace): string {
  if (!isDay(day)) return day
  const isThisYear = day.slice(0, 4) === clockNow(now, zone).day.slice(0, 4)
  return formatted(midnight(day), { locale, zone: 'UTC', now }, isThisYear ? DAY : DAY_OF_YEAR)
}

/** The instant with its day of the week, its seconds and the zone, for whoever wants to know exactly. */
export function exactTime(instant: string, place: DatePlace): string {
  const at = atOf(instant)
  return Number.isFinite(at) ? formatted(at, place, EXACT) : instant
}

/** The instant as the `dateTime` of a `<time>`. */
export const machineTime = (instant: string): string => (Number.isFinite(atOf(instant)) ? `${instant.replace(' ', 'T')}Z` : instant)
