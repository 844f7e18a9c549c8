/** Clocks of time zones. Instants are as the service writes them: `YYYY-MM-DD HH:MM:SS` in UTC. */
import { isDay, midnight } from './days.ts'

const SECOND = 1000
const DAY = 86_400_000

/** What the clocks of a zone show: a day, and a time `HH:MM:SS`. */
export interface Clock {
  day: string
  time: string
}

/** What clocks in the zone show at an instant. */
export function clockAt(instant: string, zone: string): Clock {
  return shown(atOf(instant), zone)
}

/** What clocks in the zone show now. */
export const clockNow = (now: Date, zone: string): Clock => shown(now.getTime(), zone)

/** The instant of a moment, to the second. */
export const instantOf = (at: number): string => new Date(at).toISOString().slice(0, 19).replace('T', ' ')

/** The moment of an instant, in milliseconds. */
export const atOf = (instant: string): number => Date.parse(`${instant.replace(' ', 'T')}Z`)

/** How a wall clock time was found: it is there once, or it is skipped, or it is there twice and the first is meant. */
export type Found = { at: number; exists: 'once' | 'skipped' | 'twice' }

/**
 * The moment at which clocks in the zone show a day and a time. A time that the clocks skip is as much later as they skip, so that a day
 * without midnight begins at its first moment.
 * @param time `HH:MM` or `HH:MM:SS`
 */
export function momentOf({ day, time }: Clock, zone: string): Found {
  const asUtc = midnight(day) + secondsOf(time) * SECOND
  // No zone changes its clock and changes it back within two days.
  const before = offsetAt(asUtc - DAY, zone)
  const after = offsetAt(asUtc + DAY, zone)
  const found = [...new Set([asUtc - before, asUtc - after])].filter((at) => at + offsetAt(at, zone) === asUtc)
  const [first = asUtc - before] = found.sort((one, other) => one - other)
  return { at: first, exists: found.length === 0 ? 'skipped' : found.length === 1 ? 'once' : 'twice' }
}

const secondsOf = (time: string): number =>
  time.split(':').reduce((seconds, part, at) => seconds + Number(part) * ([3600, 60, 1][at] ?? 0), 0)

function shown(at: number, zone: string): Clock {
  const [date = '', clock = ''] = new Date(at + offsetAt(at, zone)).toISOString().split('T')
  const time = clock.slice(0, 8)
  if (isDay(date)) return { day: date, time }
  // Only the years 1 to 9999 can be written. Years after them have a plus sign.
  return { day: date.startsWith('+') ? '9999-12-31' : '0001-01-01', time }
}

/** By how many milliseconds clocks in the zone are ahead of UTC. */
function offsetAt(at: number, zone: string): number {
  const { year, month, day, era, hour, minute, second } = CLOCK.exec(formatOf(zone).format(at))?.groups ?? {}
  // Date.UTC takes the years 0 to 99 for 1900 to 1999, so it is asked for the same day four centuries later.
  const later = (era === 'B' ? 1 - Number(year) : Number(year)) + 400
  const clock = Date.UTC(later, Number(month) - 1, Number(day), Number(hour), Number(minute), Number(second))
  return clock - FOUR_CENTURIES - Math.floor(at / SECOND) * SECOND
}

/** What the formatter below writes: `12/24/2026 A, 14:30:00`, with B for years before the year 1. */
const CLOCK = /^(?<month>\d+)\/(?<day>\d+)\/(?<year>\d+) (?<era>[AB])\D+(?<hour>\d+):(?<minute>\d+):(?<second>\d+)/

const FOUR_CENTURIES = 146_097 * DAY

const formats = new Map<string, Intl.DateTimeFormat>()

/** A formatter takes 50 µs to make and 1 µs to use. */
function formatOf(zone: string): Intl.DateTimeFormat {
  let format = formats.get(zone)
  if (!format) {
    const numeric = 'numeric' as const
    format = new Intl.DateTimeFormat('en-US', {
      ...{ timeZone: zone, hourCycle: 'h23', era: 'narrow' },
      ...{ year: numeric, month: numeric, day: numeric, hour: numeric, minute: numeric, second: numeric },
    })
    formats.set(zone, format)
  }
  return format
}
