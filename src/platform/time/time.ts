/**
 * Instants and calendar dates. Only this file converts between text and instants. A calendar date is text (`YYYY-MM-DD`) and is never
 * converted to an instant of a zone. The arithmetic uses UTC midnights, which exist for every date; in a zone, a day may not exist
 * (time-zones.ts).
 */

const SECOND = 1000
const DAY = 86_400_000

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

/** The first and the last date that can be written, as YYYY-MM-DD from the year 1 on. */
export const FIRST_DATE = '0001-01-01'
export const LAST_DATE = '9999-12-31'

const CALENDAR_DATE = /^\d{4}-\d{2}-\d{2}$/

/** Whether the text is `YYYY-MM-DD` and the day exists, in the years 1 to 9999. */
export function isCalendarDate(text: string): boolean {
  if (!CALENDAR_DATE.test(text)) return false
  // A batch has thousands of dates, so the digits are read without creating a match for each date.
  const [year, month, day] = [numberAt(text, 0, 4), numberAt(text, 5, 7), numberAt(text, 8, 10)]
  return year >= 1 && day >= 1 && day <= lastDayOf(year, month)
}

/** The number that the digits between two positions spell. */
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

/** In milliseconds. */
export const utcMidnight = (date: string) => Date.parse(`${date}T00:00:00Z`)
const dateOf = (midnight: Date) => midnight.toISOString().slice(0, 10)

/** The date in UTC at this millisecond; before the first and after the last of all dates it is the first or the last. */
export const nearestDate = (at: number): string => dateOf(new Date(Math.min(Math.max(at, FIRST), AFTER_LAST - 1)))
