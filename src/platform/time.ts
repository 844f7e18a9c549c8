/**
 * Instants, calendar dates and time zones. Only this file imports the date library and converts between text and instants. A calendar
 * date is text (`YYYY-MM-DD`) and is never converted to an instant of a zone.
 *
 * date-fns calculates in the zone of the machine, where a day may not exist, so the calendar arithmetic here uses UTC midnights, which
 * exist for every date.
 */
// The package's main entry loads all of date-fns, which takes a second at each start.
import { fromZonedTime } from 'date-fns-tz/fromZonedTime'
import { BoundedMap } from './bounded-map.ts'

const SECOND = 1000
const HOUR = 3_600_000
const DAY = 86_400_000

/** The instants from `from` up to, but not including, `to`. */
export interface InstantRange {
  from: Date
  to: Date
}

export type WeekStart = 'monday' | 'sunday'

// ── text and instants ───────────────────────────────────────────────────────

/** `YYYY-MM-DD HH:MM:SS` in UTC. Fractions of a second are truncated. */
export function formatInstant(instant: Date): string {
  const second = Math.floor(instant.getTime() / 1000)
  const slot = Math.abs(second % LATELY)
  const known = lately[slot]
  if (known?.second === second) return known.text
  const text = instant.toISOString().slice(0, 19).replace('T', ' ')
  lately[slot] = { second, text }
  return text
}

/** The instant as text, for statements that take its text where they are composed once. */
export const asInstantText = (instant: Date | string): string => (instant instanceof Date ? formatInstant(instant) : instant)

/** Requests format the present second, and the one a minute before, thousands of times. The number does not divide a minute. */
const LATELY = 17
const lately = new Array<{ second: number; text: string } | undefined>(LATELY)

/** The instant of a text that `formatInstant` or the database wrote. The text is not checked. */
export const instantOf = (text: string): Date => new Date(`${text.replace(' ', 'T')}Z`)

const INSTANT = /^(\d{4}-\d{2}-\d{2})[T ](\d{2}:\d{2}(?::\d{2})?)(?:\.\d{1,9})?(Z|[+-]\d{2}:?\d{2})?$/i

/**
 * Parses `YYYY-MM-DD HH:MM[:SS]` (UTC) or ISO 8601 with `T`, fractions and an offset. Fractions of a second are truncated.
 * @returns null for any other text, and for a date or time that does not exist
 */
export function parseInstant(text: string): Date | null {
  const match = INSTANT.exec(text)
  if (!match) return null
  const [, date = '', time = '', offset = 'Z'] = match
  if (!isCalendarDate(date) || !isTimeOfDay(time)) return null
  const minutes = offsetMinutes(offset)
  if (minutes === null) return null
  const parsed = new Date(instant(date, time).getTime() - minutes * 60 * SECOND)
  return isInRange(parsed) ? parsed : null
}

/**
 * Converts an instant in any form that `parseInstant` accepts to `YYYY-MM-DD HH:MM:SS` in UTC. A text in that form, the usual case in a
 * batch, is returned without creating a Date.
 * @returns null like `parseInstant`
 */
export function instantText(text: string): string | null {
  const match = INSTANT.exec(text)
  if (!match) return null
  const [, date = '', time = '', offset] = match
  if (offset === undefined) return isCalendarDate(date) && isTimeOfDay(time) ? `${date} ${timeOfDay(time)}` : null
  const parsed = parseInstant(text)
  return parsed && formatInstant(parsed)
}

function offsetMinutes(offset: string): number | null {
  if (offset === 'Z' || offset === 'z') return 0
  const [hours, minutes] = [Number(offset.slice(1, 3)), Number(offset.slice(-2))]
  if (hours > 23 || minutes > 59) return null
  return (offset[0] === '-' ? -1 : 1) * (hours * 60 + minutes)
}

/** The instant of a calendar date and a time of day (`HH:MM` or `HH:MM:SS`), both in UTC. */
export function instant(date: string, time: string): Date {
  return new Date(`${date}T${timeOfDay(time)}Z`)
}

const TIME_OF_DAY = /^([01]\d|2[0-3]):[0-5]\d(:[0-5]\d)?$/

/** Whether the text is `HH:MM` or `HH:MM:SS`. */
export function isTimeOfDay(text: string): boolean {
  return TIME_OF_DAY.test(text)
}

/** Converts `HH:MM` or `HH:MM:SS` to `HH:MM:SS`, the form of all responses. */
export function timeOfDay(text: string): string {
  return text.length === 5 ? `${text}:00` : text
}

/** Whether the instant is in the years 1 to 9999 (UTC), which can be formatted. The ends of local days may be outside. */
export const isInRange = (instant: Date): boolean => instant.getTime() >= FIRST && instant.getTime() < AFTER_LAST
const FIRST = Date.parse('0001-01-01T00:00:00Z')
const AFTER_LAST = Date.parse('9999-12-31T00:00:00Z') + DAY

// ── calendar dates ──────────────────────────────────────────────────────────

const CALENDAR_DATE = /^\d{4}-\d{2}-\d{2}$/

/** Whether the text is `YYYY-MM-DD` and the day exists, in the years 1 to 9999. */
export function isCalendarDate(text: string): boolean {
  if (!CALENDAR_DATE.test(text)) return false
  // Of a batch thousands of dates are judged, so no match is made of each.
  const [year, month, day] = [numberAt(text, 0, 4), numberAt(text, 5, 7), numberAt(text, 8, 10)]
  return year >= 1 && day >= 1 && day <= lastDayOf(year, month)
}

/** The number that the digits from one place up to another spell. */
function numberAt(text: string, from: number, to: number): number {
  let number = 0
  for (let at = from; at < to; at++) number = 10 * number + text.charCodeAt(at) - 48
  return number
}

/** The number of days of a month, 1 to 12, in the Gregorian calendar; 0 for any other month. */
function lastDayOf(year: number, month: number): number {
  if (month === 2) return year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0) ? 29 : 28
  return month < 1 || month > 12 ? 0 : [4, 6, 9, 11].includes(month) ? 30 : 31
}

/** The date this many days later, or earlier for a negative number. After 9999-12-31 it is not a date of the wire (`isCalendarDate`). */
export function addDays(date: string, days: number): string {
  return dateOf(new Date(utcMidnight(date) + days * DAY))
}

/** The same day this many months later, or the last day of a shorter month: a month after 31 January is 28 or 29 February. */
export function addMonths(date: string, months: number): string {
  const moved = new Date(utcMidnight(date))
  const day = moved.getUTCDate()
  moved.setUTCDate(1)
  moved.setUTCMonth(moved.getUTCMonth() + months)
  return dateOf(new Date(moved.setUTCDate(Math.min(day, daysInMonth(moved)))))
}

function daysInMonth(first: Date): number {
  const next = new Date(first)
  next.setUTCMonth(next.getUTCMonth() + 1)
  return (next.getTime() - first.getTime()) / DAY
}

/** The first day of the week that contains the date, which is the first of all dates for a week that begins before it. */
export function startOfWeek(date: string, weekStart: WeekStart): string {
  const weekday = new Date(utcMidnight(date)).getUTCDay()
  const first = addDays(date, -(weekStart === 'sunday' ? weekday : (weekday + 6) % 7))
  return first < FIRST_DATE ? FIRST_DATE : first
}

/** The first day of the month (1), quarter (3) or year (12) that contains the date. */
export function startOfMonths(date: string, months: 1 | 3 | 12): string {
  const first = new Date(utcMidnight(date))
  first.setUTCDate(1)
  first.setUTCMonth(Math.floor(first.getUTCMonth() / months) * months)
  return dateOf(first)
}

const utcMidnight = (date: string) => Date.parse(`${date}T00:00:00Z`)
const dateOf = (midnight: Date) => midnight.toISOString().slice(0, 10)

// ── time zones ──────────────────────────────────────────────────────────────

/**
 * The number of time zones whose formats stay in memory. There are about 600 names, but each can be written in thousands of ways, in upper
 * and lower case, and a format takes 15 KB.
 */
export const MOST_ZONES = 1_000

/** Whether the name is a time zone of the IANA database, such as `Europe/Berlin` or `UTC`, in any case. */
export function isTimeZone(name: string): boolean {
  // Intl accepts offsets such as +02:00; the zone of a person has a name, because its offset changes.
  if (!/^[A-Za-z]/.test(name)) return false
  try {
    new Intl.DateTimeFormat('en-US', { timeZone: name })
    return true
  } catch {
    return false
  }
}

/**
 * The calendar date that clocks in the zone show at that instant. Hours of the year 0 west of UTC count as the first date, and hours of the
 * year 10000 east of it as the last, because no other dates can be written.
 */
export function localDate(instant: Date, timeZone: string): string {
  const shown = instant.getTime() + offsetAt(instant.getTime(), timeZone)
  return dateOf(new Date(Math.min(Math.max(shown, FIRST), AFTER_LAST - 1)))
}

/** The time of day, `HH:MM:SS`, that clocks in the zone show at that instant. */
export function localTime(instant: Date, timeZone: string): string {
  return localInstant(instant, timeZone).slice(-8)
}

/** `YYYY-MM-DD HH:MM:SS` as clocks in the zone show it at that instant. Years after 9999 have a sign and six digits. */
export function localInstant(instant: Date, timeZone: string): string {
  return new Date(instant.getTime() + offsetAt(instant.getTime(), timeZone)).toISOString().slice(0, -5).replace('T', ' ')
}

/**
 * The first instant of the local hour, at which mail digests are sent. In a zone with an offset of half an hour it is at half past in UTC;
 * if the clock jumps into the middle of an hour, it is the jump.
 */
export function startOfHour(instant: Date, timeZone: string): Date {
  const at = instant.getTime()
  const offset = offsetAt(at, timeZone)
  const start = at - ((((at + offset) % HOUR) + HOUR) % HOUR)
  if (offsetAt(start, timeZone) === offset) return new Date(start)
  return new Date(firstSecond(start, at, (moment) => offsetAt(moment, timeZone) === offset))
}

/**
 * The first instant of the local date. On most days it is midnight. If the clock jumps over midnight, it is the jump; if midnight occurs
 * twice, it is the first; a date that the zone skipped starts with the next date.
 */
export function startOfDay(date: string, timeZone: string): Date {
  // date-fns-tz 3.2 does not support years before 1, in which the first day may start.
  const isFirstYear = date < '0002'
  const midnight = isFirstYear
    ? utcMidnight(date) - offsetAt(utcMidnight(date), timeZone)
    : fromZonedTime(`${date}T00:00:00`, timeZone).getTime()
  const [earlier, later] = [midnight - WINDOW, midnight + WINDOW]
  const offsetBefore = offsetAt(earlier, timeZone)
  const offsetAfter = offsetAt(later, timeZone)
  if (offsetBefore === offsetAfter) return new Date(midnight)

  // date-fns-tz 3.2 is wrong if midnight is skipped, and of two midnights its choice depends on the zone of the machine.
  const change = firstSecond(earlier, later, (at) => offsetAt(at, timeZone) !== offsetBefore)
  const beforeChange = utcMidnight(date) - offsetBefore
  if (beforeChange < change) return new Date(beforeChange)
  return new Date(Math.max(change, utcMidnight(date) - offsetAfter))
}

/** Longer than a jump across the date line, so that it includes every clock change that can affect a midnight. */
const WINDOW = 26 * HOUR

/** The instants of a local day: 24 hours, or another number (even none) if the clock changes. */
export function dayRange(date: string, timeZone: string): InstantRange {
  const from = startOfDay(date, timeZone)
  // There is no calendar date after the last one.
  return { from, to: date === LAST_DATE ? new Date(from.getTime() + DAY) : startOfDay(addDays(date, 1), timeZone) }
}

/** The calendar date in the zone at that instant, with the instants of that day. */
export function dayAt(instant: Date, timeZone: string): { date: string } & InstantRange {
  const second = Math.floor(instant.getTime() / SECOND)
  let day = days.get(timeZone)
  if (day?.second !== second) {
    const date = localDate(instant, timeZone)
    day = { second, date, ...dayRange(date, timeZone) }
    days.set(timeZone, day)
  }
  return day
}

/** By zone, each for the current second: clocks change only at whole seconds, and many requests ask within one. */
const days = new BoundedMap<string, { second: number; date: string } & InstantRange>(MOST_ZONES)

/** The first and the last date that can be written, as YYYY-MM-DD from the year 1 on. */
export const FIRST_DATE = '0001-01-01'
export const LAST_DATE = '9999-12-31'

/** Searches the first whole second of the range from which on a condition holds; clocks change only at whole seconds. */
export function firstSecond(from: number, to: number, holds: (at: number) => boolean): number {
  let [low, high] = [Math.floor(from / SECOND), Math.ceil(to / SECOND)]
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2)
    if (holds(middle * SECOND)) high = middle
    else low = middle
  }
  return high * SECOND
}

/** By how many milliseconds clocks in the zone are ahead of UTC at that instant. */
export function offsetAt(instant: number, timeZone: string): number {
  // One text is read: formatToParts, which makes an object of each part, takes three times as long.
  const [, shownYear, month, day, hour, minute, second] = CLOCK.exec(clockOf(timeZone).format(instant)) ?? []
  // Intl counts years before the year 1 backwards: the year 0 is 1 BC.
  const year = instant < FIRST + WINDOW && month === '12' ? 1 - Number(shownYear) : Number(shownYear)
  // Date.UTC takes the years 0 to 99 for 1900 to 1999, so it is asked for the same day four centuries later.
  const later = Date.UTC(year + 400, Number(month) - 1, Number(day), Number(hour), Number(minute), Number(second))
  return later - FOUR_CENTURIES - Math.floor(instant / SECOND) * SECOND
}

/** A clock in the ISO 8601 calendar, which has this order. */
const CLOCK = /(\d+)\D+(\d+)\D+(\d+)\D+(\d+)\D+(\d+)\D+(\d+)/

/** In the Gregorian calendar any four centuries have this many days. */
const FOUR_CENTURIES = 146_097 * DAY

const clocks = new BoundedMap<string, Intl.DateTimeFormat>(MOST_ZONES)

/** Formatters are kept, one for each zone in use: creating one takes about 50 µs, using it 1 µs. */
function clockOf(timeZone: string): Intl.DateTimeFormat {
  let clock = clocks.get(timeZone)
  if (!clock) {
    clock = new Intl.DateTimeFormat('en-US', {
      timeZone,
      hourCycle: 'h23',
      calendar: 'iso8601',
      year: 'numeric',
      month: 'numeric',
      day: 'numeric',
      hour: 'numeric',
      minute: 'numeric',
      second: 'numeric',
    })
    clocks.set(timeZone, clock)
  }
  return clock
}
