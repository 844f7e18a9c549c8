/**
 * Reads days, times and instants as people type and paste them: `24.12.`, `12/24/2026` by the language, `2026-12-24`, `24 Dec`, `tomorrow`,
 * `friday`, `+3d`, `14:30`, `2:30 pm`, `tomorrow 9:00`. Words are those of English and of the language.
 */
import { dateTexts } from '../../texts/dates.ts'
import { type DateWords, dateWords, type Part, plainWord } from './date-words.ts'
import { addDays, addMonths, dayOf, isDay, twoDigits, weekday } from './days.ts'
import { type Clock, clockAt, clockNow, instantOf, momentOf } from './zones.ts'

export interface DatePlace {
  zone: string
  locale: string
  now: Date
}

/** A value, with what to say of it; or what is wrong with the text, as a sentence. */
export type ReadDate = { value: string; note?: string } | { problem: string }

/** Reads a day, `YYYY-MM-DD`. */
export function readDay(text: string, place: DatePlace): ReadDate {
  const given = tidy(text)
  if (plainWord(given) === 'now') return { value: clockNow(place.now, place.zone).day }
  const day = dayIn(given, place)
  if (typeof day === 'string') return { value: day }
  // What is copied from a cell of instants has a time, too.
  const parts = day === null ? splitTime(given, place.locale) : null
  const dated = parts?.day ? dayIn(parts.day, place) : null
  if (typeof dated === 'string' && parts?.time) return { value: dated }
  return problemOf(day) ?? problemOf(dated) ?? { problem: dateTexts.noDate(short(text)) }
}

/** Reads a time of day, `HH:MM:SS`. */
export function readTime(text: string, place: DatePlace): ReadDate {
  const given = tidy(text)
  if (plainWord(given) === 'now') return { value: clockNow(place.now, place.zone).time }
  const time = timeIn(given, place.locale) ?? looseTime(given)
  return time ? { value: time } : { problem: dateTexts.noTime(short(text)) }
}

/**
 * Reads an instant, `YYYY-MM-DD HH:MM:SS` in UTC. Without an offset the text is meant in the zone of the place.
 * @param present the instant that the text replaces. A day alone keeps its time, a time alone its day
 */
export function readInstant(text: string, place: DatePlace, present: string | null = null): ReadDate {
  const given = tidy(text)
  const fixed = instantIn(given, place)
  if (fixed) return fixed
  const here = present === null ? null : clockAt(present, place.zone)
  const day = dayIn(given, place)
  if (typeof day === 'string') return instantAt({ day, time: here?.time ?? '00:00:00' }, place.zone)
  const parts = splitTime(given, place.locale)
  if (!parts) return day ?? { problem: dateTexts.noInstant(short(text)) }
  const dated = parts.day ? dayIn(parts.day, place) : (here ?? clockNow(place.now, place.zone)).day
  if (typeof dated !== 'string') return dated ?? { problem: dateTexts.noDate(short(parts.day)) }
  if (parts.time === null) return { problem: dateTexts.noTime(short(parts.clock)) }
  return instantAt({ day: dated, time: parts.time }, place.zone)
}

// ── instants ────────────────────────────────────────────────────────────────

/** The instant of a clock in the zone, with a note if the clock skips that time or shows it twice. */
function instantAt(clock: Clock, zone: string): ReadDate {
  const { at, exists } = momentOf(clock, zone)
  const value = instantOf(at)
  if (!isDay(value.slice(0, 10))) return { problem: dateTexts.outOfYears }
  if (exists === 'once') return { value }
  const time = clock.time.slice(0, 5)
  if (exists === 'twice') return { value, note: dateTexts.twice(time) }
  const shown = clockAt(value, zone)
  const later = shown.day === clock.day ? shown.time.slice(0, 5) : `${shown.day} ${shown.time.slice(0, 5)}`
  return { value, note: dateTexts.skipped(time, later) }
}

const WITH_OFFSET = /^(\d{4}-\d{2}-\d{2})(?:T| )(\d{2}:\d{2}(?::\d{2})?)(?:\.\d{1,9})?(Z|[+-]\d{2}:?\d{2})$/i
const OFFSET_IN_TIME = /^(now)?\s*([+-]\d{1,6})\s*(h|hours?|min|minutes?)$/i

/** An instant that does not depend on the zone: with an offset, or counted from now. */
function instantIn(text: string, { now }: DatePlace): ReadDate | null {
  const [, day = '', time = '', offset = ''] = WITH_OFFSET.exec(text) ?? []
  if (day) {
    const at = Date.parse(`${day}T${time}${offset.length === 5 ? `${offset.slice(0, 3)}:${offset.slice(3)}` : offset.toUpperCase()}`)
    return isDay(day) && Number.isFinite(at) ? { value: instantOf(at) } : { problem: dateTexts.noInstant(short(text)) }
  }
  if (plainWord(text) === 'now') return { value: instantOf(now.getTime()) }
  const [, , count = '', unit = ''] = OFFSET_IN_TIME.exec(text) ?? []
  if (!count) return null
  return { value: instantOf(now.getTime() + Number(count) * (unit.toLowerCase().startsWith('h') ? 3_600_000 : 60_000)) }
}

// ── times ───────────────────────────────────────────────────────────────────

const CLOCK = /^(\d{1,2}):(\d{2})(?::(\d{2})(?:[.,]\d{1,9})?)?\s*(\D*)$/u
const HOUR = /^(\d{1,2})\s*(\D+)$/u

/** `14:30`, `14:30:15`, `2:30 pm`, `2pm`. */
function timeIn(text: string, locale: string): string | null {
  const clock = CLOCK.exec(text) ?? HOUR.exec(text)
  if (!clock) return null
  const hasMinutes = clock.length > 3
  const [hour = '', minute = '00', second = '00'] = hasMinutes ? clock.slice(1) : [clock[1]]
  const mark = plainWord(clock.at(-1) ?? '').trim()
  if (mark === '') return hasMinutes ? timeOf(hour, minute, second) : null
  const half = halfOf(mark, dateWords(locale))
  if (!half || Number(hour) < 1 || Number(hour) > 12) return null
  return timeOf(String((Number(hour) % 12) + (half === 'pm' ? 12 : 0)), minute, second)
}

function halfOf(mark: string, { halves }: DateWords): 'am' | 'pm' | undefined {
  return halves.get(mark) ?? { a: 'am' as const, p: 'pm' as const }[mark]
}

/** `9`, `0930`, `14.30`, `14h30`, `14h`: where nothing but a time can be meant. */
function looseTime(text: string): string | null {
  const [, hour, minute = '00'] = /^(\d{1,2})(?:(?:\.|h)([0-5]\d)|h)?$/i.exec(text) ?? /^(\d{1,2})([0-5]\d)$/.exec(text) ?? []
  return hour === undefined ? null : timeOf(hour, minute, '00')
}

function timeOf(hour: string, minute: string, second = '00'): string | null {
  if (Number(hour) > 23 || Number(minute) > 59 || Number(second) > 59) return null
  return `${hour.padStart(2, '0')}:${minute}:${second}`
}

/** Splits a text into a day and a time at its end; `time` is null if what stands there is none. Null if there is no time. */
function splitTime(text: string, locale: string): { day: string; clock: string; time: string | null } | null {
  const [, day = '', clock = ''] = /^(?:(.*?)(?:[\sT,]+(?:at\s+)?))?(\d{1,2}:\d{2}\S*(?:\s\D+)?|\d{1,2}\s?[ap]\.?m\.?)$/isu.exec(text) ?? []
  return clock ? { day: day.trim(), clock, time: timeIn(clock, locale) } : null
}

// ── days ────────────────────────────────────────────────────────────────────

type Day = string | { problem: string } | null
const problemOf = (day: Day) => (typeof day === 'string' ? null : day)

/** A day, a sentence if the text is a day that does not exist, or null if it is none. */
function dayIn(text: string, place: DatePlace): Day {
  const words = dateWords(place.locale)
  return wordDay(text, place, words) ?? movedDay(text, place) ?? namedMonth(text, place, words) ?? digits(text, place, words)
}

function wordDay(text: string, place: DatePlace, { days, weekdays }: DateWords): Day {
  const word = plainWord(text)
  const today = clockNow(place.now, place.zone).day
  const from = days.get(word)
  if (from !== undefined) return existing(addDays(today, from), text)
  const wanted = weekdays.get(word)
  // The next one: on a Friday, `friday` is in a week.
  return wanted === undefined ? null : existing(addDays(today, ((wanted - weekday(today) + 6) % 7) + 1), text)
}

/** `+3d`, `-2w`, `+1m`, `+1y`, `in 3 days`, `3 days ago`. */
function movedDay(text: string, place: DatePlace): Day {
  const short = /^(?:today)?\s*([+-]\s?\d{1,6})\s*(d|w|m|y|days?|weeks?|months?|years?)$/i.exec(text)
  const later = /^in\s+(\d{1,6})\s+(days?|weeks?|months?|years?)$/i.exec(text)
  const ago = /^(\d{1,6})\s+(days?|weeks?|months?|years?)\s+ago$/i.exec(text)
  const [, count, unit = ''] = short ?? later ?? ago ?? []
  if (count === undefined) return null
  const by = Number(count.replace(' ', '')) * (ago ? -1 : 1)
  const today = clockNow(place.now, place.zone).day
  const step = unit[0]?.toLowerCase()
  if (step === 'd' || step === 'w') return existing(addDays(today, step === 'w' ? by * 7 : by), text)
  return existing(addMonths(today, step === 'y' ? by * 12 : by), text)
}

/** `24 Dec`, `24. Dezember 2026`, `Dec 24, 2026`, perhaps after the name of the weekday. */
function namedMonth(text: string, place: DatePlace, { months, weekdays }: DateWords): Day {
  const parts = text.split(/[\s,./-]+/u).filter(Boolean)
  if (parts.length > 2 && weekdays.has(plainWord(parts[0] ?? ''))) parts.shift()
  const at = parts.findIndex((part) => months.has(plainWord(part)))
  if (at < 0 || parts.length < 2 || parts.length > 3) return null
  const month = months.get(plainWord(parts[at] ?? '')) ?? 0
  const rest = parts.filter((_, index) => index !== at).map((part) => part.replace(/^(\d{1,2})(st|nd|rd|th)$/i, '$1'))
  if (!rest.every((part) => /^\d{1,4}$/.test(part))) return null
  const [first = '', second] = rest
  const isYearFirst = first.length > 2 && second !== undefined
  const [day, year] = isYearFirst ? [second, first] : [first, second]
  return existing(dayOf(yearOf(year, place), month, Number(day)), text)
}

/** `24.12.`, `24.12.26`, `12/24/2026`, `2026-12-24`, `20261224`, `2026年12月24日`. */
function digits(text: string, place: DatePlace, { order }: DateWords): Day {
  const [, year, month, day] = /^(\d{4})(\d{2})(\d{2})$/.exec(text) ?? /^(\d{4})\D{1,2}(\d{1,2})\D{1,2}(\d{1,2})\D{0,2}$/u.exec(text) ?? []
  if (year !== undefined) return existing(dayOf(Number(year), Number(month), Number(day)), text)
  const match = /^(\d{1,2})([./-])\s?(?:(\d{1,2})(?:\2\s?(\d{4}|\d{2})?)?)?$/.exec(text)
  if (!match) return null
  const [, first = '', separator, second, third] = match
  if (second === undefined) return separator === '.' ? existing(dayOf(thisYear(place), thisMonth(place), Number(first)), text) : null
  const shown = order.filter((part): part is Part => part !== 'year')
  // Dates with points begin with the day, except where the year comes first.
  const isDayFirst = separator === '.' ? order[0] !== 'year' : shown[0] === 'day'
  const own = third === undefined || order[0] !== 'year' || third.length === 4
  const wanted = own ? dated(third, first, second, isDayFirst, place) : dated(first, second, third, false, place)
  // What is no day in the order of the language may be one in the other.
  return existing(wanted ?? (own ? dated(third, first, second, !isDayFirst, place) : null), text)
}

function dated(year: string | undefined, first: string, second: string, isDayFirst: boolean, place: DatePlace): string | null {
  const [day, month] = isDayFirst ? [first, second] : [second, first]
  return dayOf(yearOf(year, place), Number(month), Number(day))
}

const thisYear = ({ now, zone }: DatePlace) => Number(clockNow(now, zone).day.slice(0, 4))
const thisMonth = ({ now, zone }: DatePlace) => Number(clockNow(now, zone).day.slice(5, 7))

/** Two digits are the year that is at most fifty years ahead. */
function yearOf(year: string | undefined, place: DatePlace): number {
  if (year === undefined) return thisYear(place)
  if (year.length > 2) return Number(year)
  const century = Math.floor(thisYear(place) / 100) * 100
  return century + Number(year) > thisYear(place) + 50 ? century - 100 + Number(year) : century + Number(year)
}

const existing = (day: string | null, text: string): Day => day ?? { problem: dateTexts.noDay(short(text)) }

// ── texts ───────────────────────────────────────────────────────────────────

/** Nothing that is longer is a date. Expressions that look for dates take long for such a text. */
const LONGEST = 100

function tidy(text: string): string {
  if (text.length > LONGEST) return ''
  return text
    .normalize('NFKC')
    .replaceAll(/[\s\u200e\u200f]+/gu, ' ')
    .trim()
    .replaceAll('−', '-')
}
const short = (text: string): string => (text.length > 60 ? `${text.slice(0, 60)}…` : text)

/** The time `HH:MM`, with seconds only if there are some. */
export const shortTime = (time: string): string => (time.endsWith(':00') ? time.slice(0, 5) : time)

/** The day as the language writes it in digits, with four digits for the year, so that it can be read again. */
export function dayText(day: string, locale: string): string {
  const [year = '', month = '', date = ''] = day.split('-')
  const { order } = dateWords(locale)
  const separator = order[0] === 'year' ? '-' : separatorOf(locale)
  if (separator === '-') return day
  const parts: Record<Part, string> = { year, month: String(Number(month)), day: String(Number(date)) }
  const padded = order[0] === 'day' ? { ...parts, month: twoDigits(Number(month)), day: twoDigits(Number(date)) } : parts
  return order.map((part) => padded[part]).join(separator)
}

function separatorOf(locale: string): string {
  const parts = new Intl.DateTimeFormat(locale, { timeZone: 'UTC', calendar: 'gregory' }).formatToParts(0)
  const literal = parts.find(({ type }) => type === 'literal')?.value ?? ''
  return literal.includes('.') ? '.' : literal.includes('/') ? '/' : '-'
}
