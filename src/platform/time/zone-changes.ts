/**
 * The clock changes of a time zone as lists. PostgreSQL and Node carry different editions of the zone data, so a statement that converts
 * between dates and instants is given the data of this process, which everything else uses (time-zones.ts).
 */
import { BoundedMap } from '../collections/bounded-map.ts'
import { formatInstant } from './time.ts'
import { firstSecond, offsetAt } from './time-zones.ts'

/** The offsets of clocks, and the starts of local days. The first of `offsets` and `leads` is for the time before the first change. */
export interface ZoneChanges {
  /** The instants from which on another offset applies, ascending: `YYYY-MM-DD HH:MM:SS` in UTC. */
  instants: string[]
  /** By how many seconds clocks are ahead of UTC, for each interval between two of the instants. */
  offsets: number[]
  /** The dates from which on another lead applies, ascending. */
  dates: string[]
  /** By how many seconds a local day begins before its midnight in UTC, for each interval between two of the dates. */
  leads: number[]
}

/**
 * The lists cover the time before this date. From it on the calendar of 400 years earlier applies: after that time a date has the same
 * weekday, and the last rule of a zone holds for ever.
 */
export const CYCLE_FROM = '2500-01-01'
/** The days of 400 years. */
export const CYCLE_DAYS = 146_097

const SECOND = 1000
const DAY = 86_400_000
/**
 * The steps in which each time is searched. No zone changed its clock before the first, and none changes it back within a step: the
 * shortest daylight saving time was a week, in Brazil in 2000, and the rules for the far future have one of months in every year.
 */
const SEARCHED = [
  { from: Date.parse('1800-01-01T00:00:00Z'), step: 60 * DAY },
  { from: Date.parse('1900-01-01T00:00:00Z'), step: 4 * DAY },
  { from: Date.parse('2100-01-01T00:00:00Z'), step: 25 * DAY },
]
const TO = Date.parse(`${CYCLE_FROM}T00:00:00Z`)

const known = new BoundedMap<string, ZoneChanges>(50)

/** Takes about 100 ms for a zone that is not kept. */
export function changesOfZone(timeZone: string): ZoneChanges {
  const kept = known.get(timeZone)
  if (kept) return kept
  const spans = spansOf(timeZone)
  const changes: ZoneChanges = {
    instants: spans.slice(1).map(({ from }) => formatInstant(new Date(from))),
    offsets: spans.map(({ offset }) => offset / SECOND),
    ...daysOf(spans),
  }
  known.set(timeZone, changes)
  return changes
}

/** A time with one offset, in milliseconds. It ends where the next one begins. */
interface Span {
  from: number
  offset: number
}

function spansOf(timeZone: string): Span[] {
  const spans: Span[] = []
  for (const [index, { from, step }] of SEARCHED.entries()) {
    const end = SEARCHED[index + 1]?.from ?? TO
    if (!spans.length) spans.push({ from: Number.NEGATIVE_INFINITY, offset: offsetAt(from, timeZone) })
    for (let at = from; at < end; at += step) spans.push(...changesWithin(at, Math.min(at + step, end), timeZone))
  }
  return spans
}

/** The spans that begin after `from`, up to and including `to`. */
function changesWithin(from: number, to: number, timeZone: string): Span[] {
  const [offset, last] = [offsetAt(from, timeZone), offsetAt(to, timeZone)]
  if (offset === last) return []
  const change = firstSecond(from, to, (at) => offsetAt(at, timeZone) !== offset)
  return [{ from: change, offset: offsetAt(change, timeZone) }, ...changesWithin(change, to, timeZone)]
}

function daysOf(spans: readonly Span[]): Pick<ZoneChanges, 'dates' | 'leads'> {
  const dates: string[] = []
  const leads = [(spans[0] as Span).offset / SECOND]
  let after = Number.NEGATIVE_INFINITY
  for (const [index, { from }] of spans.entries()) {
    if (!index) continue
    const day = Math.floor(from / DAY) * DAY
    // A change can affect the starts of these days: offsets are less than a day, and a jump over the date line is a day.
    for (let midnight = Math.max(day - 2 * DAY, after); midnight <= day + 3 * DAY; midnight += DAY) {
      const lead = (midnight - startOf(midnight, spans, Math.max(0, index - 3))) / SECOND
      if (lead !== leads.at(-1)) {
        dates.push(new Date(midnight).toISOString().slice(0, 10))
        leads.push(lead)
      }
      after = midnight + DAY
    }
  }
  return { dates, leads }
}

/**
 * The first instant at which clocks show the midnight or a later time, as `startOfDay` defines the start of a day.
 * @param midnight of the date, in UTC
 * @param first the span to begin with, at whose beginning clocks show an earlier time
 */
function startOf(midnight: number, spans: readonly Span[], first: number): number {
  for (let index = first; ; index++) {
    const { from, offset } = spans[index] as Span
    const at = Math.max(from, midnight - offset)
    if (at < (spans[index + 1]?.from ?? Number.POSITIVE_INFINITY)) return at
  }
}
