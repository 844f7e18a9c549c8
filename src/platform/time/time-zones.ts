/**
 * Time zones: what clocks in a zone show, and when its days begin. Only this file imports the date library, which calculates in the zone of
 * the machine, where a day may not exist.
 */
// The package's main entry loads all of date-fns, which takes a second at each start.
import { fromZonedTime } from 'date-fns-tz/fromZonedTime'
import { BoundedMap } from '../collections/bounded-map.ts'
import { addDays, FIRST_DATE, LAST_DATE, nearestDate, utcMidnight } from './time.ts'

const SECOND = 1000
const HOUR = 3_600_000
const DAY = 86_400_000

/** The instants from `from` up to, but not including, `to`. */
export interface InstantRange {
  from: Date
  to: Date
}

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
  return nearestDate(instant.getTime() + offsetAt(instant.getTime(), timeZone))
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
  const key = `${date} ${timeZone}`
  let start = starts.get(key)
  if (start === undefined) {
    start = findStart(date, timeZone)
    starts.set(key, start)
  }
  return new Date(start)
}

/** By date and zone. A query may name 40,000 days, and its statements are printed from the conditions more than once. */
const starts = new BoundedMap<string, number>(10_000)

function findStart(date: string, timeZone: string): number {
  const shown = utcMidnight(date)
  // No zone has changed its clock and changed it back within four days.
  const offset = offsetAt(shown - 2 * DAY, timeZone)
  if (offsetAt(shown + 2 * DAY, timeZone) === offset) return shown - offset

  // date-fns-tz 3.2 does not support years before 1, in which the first day may start.
  const isFirstYear = date < '0002'
  const midnight = isFirstYear ? shown - offsetAt(shown, timeZone) : fromZonedTime(`${date}T00:00:00`, timeZone).getTime()
  const [earlier, later] = [midnight - WINDOW, midnight + WINDOW]
  const offsetBefore = offsetAt(earlier, timeZone)
  const offsetAfter = offsetAt(later, timeZone)
  if (offsetBefore === offsetAfter) return midnight

  // date-fns-tz 3.2 is wrong if midnight is skipped, and of two midnights its choice depends on the zone of the machine.
  const change = firstSecond(earlier, later, (at) => offsetAt(at, timeZone) !== offsetBefore)
  const beforeChange = shown - offsetBefore
  if (beforeChange < change) return beforeChange
  return Math.max(change, shown - offsetAfter)
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

const FIRST = utcMidnight(FIRST_DATE)

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
