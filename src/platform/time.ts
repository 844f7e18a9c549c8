/**
 * Instants, calendar dates and time zones. The only file that imports the date library, and the only one that turns
 * text into instants and back. A calendar date is text (`YYYY-MM-DD`) and never passes through an instant of some zone.
 *
 * date-fns does its arithmetic in the zone of the machine, where a day can be missing; so calendar arithmetic is done here
 * on UTC midnights, which are all there.
 */
// Not from the package itself, which loads all of date-fns: a second of every start.
import { fromZonedTime } from 'date-fns-tz/fromZonedTime'

const SECOND = 1000
const HOUR = 3_600_000
const DAY = 86_400_000

/** From `from` on, up to but not including `to`. */
export interface InstantRange {
  from: Date
  to: Date
}

export type WeekStart = 'monday' | 'sunday'

// ── text and instants ───────────────────────────────────────────────────────

/** `YYYY-MM-DD HH:MM:SS` in UTC; fractions of a second are cut off. */
export function formatInstant(instant: Date): string {
  return instant.toISOString().slice(0, 19).replace('T', ' ')
}

/** The instant of what `formatInstant` wrote, or the database: text that needs no check. */
export const instantOf = (text: string): Date => new Date(`${text.replace(' ', 'T')}Z`)

const INSTANT = /^(\d{4}-\d{2}-\d{2})[T ](\d{2}:\d{2}(?::\d{2})?)(?:\.\d{1,9})?(Z|[+-]\d{2}:?\d{2})?$/i

/**
 * Reads `YYYY-MM-DD HH:MM[:SS]` (UTC) or ISO 8601 with `T`, fractions and an offset; fractions of a second are cut off.
 * @returns null for anything else, and for what is no day or time
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
 * An instant in any form that `parseInstant` reads, as `YYYY-MM-DD HH:MM:SS` in UTC. What is in that form already, as most are in a
 * batch, comes back without a Date being made.
 * @returns null as `parseInstant`
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

/** `HH:MM:SS`, as every answer gives it, of `HH:MM` or `HH:MM:SS`. */
export function timeOfDay(text: string): string {
  return text.length === 5 ? `${text}:00` : text
}

/** Whether the instant lies in the years 1 to 9999 (UTC), for which there is text. The ends of local days can lie outside. */
export const isInRange = (instant: Date): boolean => instant.getTime() >= FIRST && instant.getTime() < AFTER_LAST
const FIRST = Date.parse('0001-01-01T00:00:00Z')
const AFTER_LAST = Date.parse('9999-12-31T00:00:00Z') + DAY

// ── calendar dates ──────────────────────────────────────────────────────────

const CALENDAR_DATE = /^(\d{4})-(\d{2})-(\d{2})$/

/** Whether the text is `YYYY-MM-DD` and such a day exists; years 1 to 9999. */
export function isCalendarDate(text: string): boolean {
  const match = CALENDAR_DATE.exec(text)
  if (!match) return false
  const [year, month, day] = [Number(match[1]), Number(match[2]), Number(match[3])]
  return year >= 1 && day >= 1 && day <= lastDayOf(year, month)
}

/** The number of days of a month, 1 to 12, by the Gregorian calendar; 0 for what is no month. */
function lastDayOf(year: number, month: number): number {
  if (month === 2) return year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0) ? 29 : 28
  return month < 1 || month > 12 ? 0 : [4, 6, 9, 11].includes(month) ? 30 : 31
}

/** The date so many days later; earlier for a negative number. */
export function addDays(date: string, days: number): string {
  return dateOf(new Date(utcMidnight(date) + days * DAY))
}

/** The same day so many months later, or the month's last day where it has no such day: a month after 31 January is 28 or 29 February. */
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

/** The first day of the week in which the date lies. */
export function startOfWeek(date: string, weekStart: WeekStart): string {
  const weekday = new Date(utcMidnight(date)).getUTCDay()
  return addDays(date, -(weekStart === 'sunday' ? weekday : (weekday + 6) % 7))
}

/** The first day of the span of so many months in which the date lies: 1 month, 3 a quarter, 12 a year. */
export function startOfMonths(date: string, months: 1 | 3 | 12): string {
  const first = new Date(utcMidnight(date))
  first.setUTCDate(1)
  first.setUTCMonth(Math.floor(first.getUTCMonth() / months) * months)
  return dateOf(first)
}

const utcMidnight = (date: string) => Date.parse(`${date}T00:00:00Z`)
const dateOf = (midnight: Date) => midnight.toISOString().slice(0, 10)

// ── time zones ──────────────────────────────────────────────────────────────

/** Whether the name is a time zone of the IANA database, such as `Europe/Berlin` or `UTC`, in its exact spelling or any case. */
export function isTimeZone(name: string): boolean {
  // Offsets such as +02:00 are zones to Intl; a person's zone has a name, because its offset changes.
  if (!/^[A-Za-z]/.test(name)) return false
  try {
    new Intl.DateTimeFormat('en-US', { timeZone: name })
    return true
  } catch {
    return false
  }
}

/** The calendar date that clocks in the zone show at that instant. */
export function localDate(instant: Date, timeZone: string): string {
  return dateOf(new Date(instant.getTime() + offsetAt(instant.getTime(), timeZone)))
}

/** The time of day, `HH:MM:SS`, that clocks in the zone show at that instant. */
export function localTime(instant: Date, timeZone: string): string {
  return localInstant(instant, timeZone).slice(-8)
}

/** `YYYY-MM-DD HH:MM:SS` as clocks in the zone show it at that instant; a sixth digit and a sign where the year is beyond 9999. */
export function localInstant(instant: Date, timeZone: string): string {
  return new Date(instant.getTime() + offsetAt(instant.getTime(), timeZone)).toISOString().slice(0, -5).replace('T', ' ')
}

/** A calendar date as a person reads it: Tuesday, 31 March 2026. */
export const readableDate = (date: string): string => readableDay(new Date(`${date}T00:00:00Z`), 'UTC')

/** An instant as a person in the zone reads it: Tuesday, 31 March 2026, 16:30. */
export const readableInstant = (at: Date, timeZone: string): string =>
  `${readableDay(at, timeZone)}, ${localTime(at, timeZone).slice(0, 5)}`

function readableDay(at: Date, timeZone: string): string {
  const format = new Intl.DateTimeFormat('en-GB', { weekday: 'long', day: 'numeric', month: 'long', year: 'numeric', timeZone })
  // Whether a comma follows the weekday depends on the version of ICU.
  return format.format(at).replace(/^(\p{L}+),? /u, '$1, ')
}

/**
 * The first instant at which the local hour has come: what the digests of mail go by. In zones of half hours that is at half past by
 * UTC; where the clock jumps into the middle of an hour it is the jump.
 */
export function startOfHour(instant: Date, timeZone: string): Date {
  const at = instant.getTime()
  const offset = offsetAt(at, timeZone)
  const start = at - ((((at + offset) % HOUR) + HOUR) % HOUR)
  if (offsetAt(start, timeZone) === offset) return new Date(start)
  return new Date(firstSecond(start, at, (moment) => offsetAt(moment, timeZone) === offset))
}

/**
 * The first instant at which the local date has come. That is midnight on most days; where the clock jumps over midnight it
 * is the jump; where midnight strikes twice it is the first; a date that a zone left out starts with the one after it.
 */
export function startOfDay(date: string, timeZone: string): Date {
  // date-fns-tz 3.2 knows no year before 1, in which the first day of all starts west of Greenwich or east of it.
  const isFirstYear = date < '0002'
  const midnight = isFirstYear
    ? utcMidnight(date) - offsetAt(utcMidnight(date), timeZone)
    : fromZonedTime(`${date}T00:00:00`, timeZone).getTime()
  const [earlier, later] = [midnight - WINDOW, midnight + WINDOW]
  const offsetBefore = offsetAt(earlier, timeZone)
  const offsetAfter = offsetAt(later, timeZone)
  if (offsetBefore === offsetAfter) return new Date(midnight)

  // date-fns-tz 3.2 is wrong where midnight is skipped, and takes either of two midnights, depending on the machine's zone.
  const change = firstSecond(earlier, later, (at) => offsetAt(at, timeZone) !== offsetBefore)
  const beforeChange = utcMidnight(date) - offsetBefore
  if (beforeChange < change) return new Date(beforeChange)
  return new Date(Math.max(change, utcMidnight(date) - offsetAfter))
}

/** Wider than a jump across the date line, so that it holds every clock change that can touch a midnight. */
const WINDOW = 26 * HOUR

/** The instants of a local day: 24 hours, or 23 or 25 (or none) where the clock changes. */
export function dayRange(date: string, timeZone: string): InstantRange {
  const from = startOfDay(date, timeZone)
  // No calendar date follows the last one.
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

/** Kept for the second: clocks change at whole seconds only, and many ask in one. There are as many as zones in use. */
const days = new Map<string, { second: number; date: string } & InstantRange>()

/** The last day that has a date of four digits. */
export const LAST_DATE = '9999-12-31'

/** The first whole second in the range at which a fact holds that goes on holding; clocks change at whole seconds only. */
function firstSecond(from: number, to: number, holds: (at: number) => boolean): number {
  let [low, high] = [Math.floor(from / SECOND), Math.ceil(to / SECOND)]
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2)
    if (holds(middle * SECOND)) high = middle
    else low = middle
  }
  return high * SECOND
}

/** Milliseconds by which clocks in the zone are ahead of UTC at that instant. */
function offsetAt(instant: number, timeZone: string): number {
  const parts: Record<string, number> = {}
  for (const { type, value } of clockOf(timeZone).formatToParts(instant)) parts[type] = Number(value)
  const { year = 0, month = 1, day = 1, hour = 0, minute = 0, second = 0 } = parts
  // Date.UTC reads the years 0 to 99 as 1900 to 1999, so the year is set apart; 2000 has every day that any year has.
  const clockIn = (year: number) => new Date(Date.UTC(2000, month - 1, day, hour, minute, second)).setUTCFullYear(year)
  // Intl counts the years before the year 1 backwards: the year 0 is 1 BC.
  const local = clockIn(instant < FIRST + WINDOW && month === 12 ? 1 - year : year)
  return local - Math.floor(instant / SECOND) * SECOND
}

const clocks = new Map<string, Intl.DateTimeFormat>()

/** Formatters are kept: making one takes some 50 µs, using one takes 2. There are as many as zones in use. */
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
