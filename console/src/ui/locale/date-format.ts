/** Dates, times and instants as cells show them, by the language and in the user's zone. */
import { type DatePlace, shortTime } from './date-text.ts'
import { isDay, midnight } from './days.ts'
import { atOf, clockAt } from './zones.ts'

const formats = new Map<string, Intl.DateTimeFormat>()

/** A formatter takes 50 µs to make and 1 µs to use. */
function formatOf(locale: string, zone: string, options: Intl.DateTimeFormatOptions): Intl.DateTimeFormat {
  const key = `${locale} ${zone} ${Object.keys(options).join()}`
  let format = formats.get(key)
  if (!format) {
    format = new Intl.DateTimeFormat(locale, { timeZone: zone, ...options })
    formats.set(key, format)
  }
  return format
}

const DAY = { year: 'numeric', month: 'short', day: 'numeric' } as const
const WEEKDAY = { weekday: 'short', ...DAY } as const
const MINUTES = { hour: 'numeric', minute: '2-digit' } as const
const SECONDS = { ...MINUTES, second: '2-digit' } as const

const withSeconds = (time: string) => (time.endsWith(':00') ? MINUTES : SECONDS)

/** A calendar date. It has no zone, so it is the same day everywhere. */
export function dateShown(day: string, locale: string): string {
  return isDay(day) ? formatOf(locale, 'UTC', DAY).format(midnight(day)) : day
}

/** An instant, as clocks in the user's zone show it. */
export function instantShown(instant: string, { locale, zone }: Pick<DatePlace, 'locale' | 'zone'>): string {
  const at = atOf(instant)
  return Number.isFinite(at) ? formatOf(locale, zone, { ...DAY, ...withSeconds(instant) }).format(at) : instant
}

/** What a typed day or instant means, with the day of the week, so that a slip is seen. */
export function dayMeant(day: string, locale: string): string {
  return formatOf(locale, 'UTC', WEEKDAY).format(midnight(day))
}
export function instantMeant(instant: string, { locale, zone }: Pick<DatePlace, 'locale' | 'zone'>): string {
  return formatOf(locale, zone, { ...WEEKDAY, ...withSeconds(instant) }).format(atOf(instant))
}

export function timeShown(time: string, locale: string): string {
  const at = Date.parse(`1970-01-01T${time}Z`)
  return Number.isFinite(at) ? formatOf(locale, 'UTC', withSeconds(time)).format(at) : time
}

/** `2026-12-24 14:30` as clocks in the zone show it: the form that spreadsheets read, and that is read again. */
export function localInstant(instant: string, zone: string): string {
  if (!Number.isFinite(atOf(instant))) return instant
  const { day, time } = clockAt(instant, zone)
  return `${day} ${shortTime(time)}`
}
