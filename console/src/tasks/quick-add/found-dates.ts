/** Finds days and times of day in a line of text: dates in digits and with names of months by the language, and words by chrono-node. */
import { casual, type ParsedResult } from 'chrono-node/en'
import { taskTexts } from '../../texts/tasks.ts'
import { type DatePlace, readDay, readTime } from '../../ui/locale/date-text.ts'
import { type DateWords, dateWords, plainWord } from '../../ui/locale/date-words.ts'
import { addDays, dayOf, twoDigits, weekday } from '../../ui/locale/days.ts'
import { atOf, clockAt, clockNow, instantOf } from '../../ui/locale/zones.ts'

/** A part of the line that means a day, a time of day, or both, in the zone of the place. */
export interface FoundDate {
  start: number
  end: number
  day?: string
  /** `HH:MM:SS`. */
  time?: string
}

export interface FoundDates {
  found: FoundDate[]
  /** What looks like a date and is none, as sentences. */
  problems: string[]
}

/** @param line without what else was understood, which is blank */
export function findDates(line: string, place: DatePlace): FoundDates {
  const words = dateWords(place.locale)
  const problems: string[] = []
  const readable = line.replaceAll(NO_DATE, (address) => ' '.repeat(address.length))
  const digits = findWritten(readable, inDigits(readable), place, problems)
  const named = findWritten(digits.rest, namedMonths(digits.rest, words), place, problems)
  const clocked = blankBadTimes(named.rest, place, problems)
  const chrono = byChrono(clocked, place)
  const rest = chrono.reduce((left, { start, end }) => blanked(left, start, end), clocked)
  const found = [...digits.found, ...named.found, ...chrono, ...wordsOfLanguage(rest, place, words)]
  return { found: found.toSorted((one, other) => one.start - other.start), problems }
}

/** Addresses of mail and pages, and what says always: nothing in them is a date. */
const NO_DATE = /\S+@\S+|\bhttps?:\/\/\S+|\b24\/7\b/g

interface Written {
  text: string
  index: number
}

/** The days that are written out. Those that do not exist are problems, and neither is read again. */
function findWritten(line: string, written: readonly Written[], place: DatePlace, problems: string[]) {
  const found: FoundDate[] = []
  let rest = line
  for (const { text, index } of written) {
    const read = readDay(text, place)
    const end = index + text.length
    if ('problem' in read) problems.push(read.problem)
    else found.push({ start: index, end, day: hasYear(text) ? read.value : ahead(read.value, place) })
    rest = blanked(rest, index, end)
  }
  return { found, rest }
}

const inDigits = (line: string): Written[] => [...line.matchAll(IN_DIGITS)].map(({ 0: text, index }) => ({ text, index }))

function blankBadTimes(line: string, place: DatePlace, problems: string[]): string {
  let rest = line
  for (const { 0: text, index } of line.matchAll(CLOCK)) {
    const read = readTime(text, place)
    if (!('problem' in read)) continue
    problems.push(read.problem)
    rest = blanked(rest, index, index + text.length)
  }
  return rest
}

/** The text with blanks in the place of a part, so that the rest keeps its places. */
export const blanked = (text: string, start: number, end: number): string =>
  text.slice(0, start) + ' '.repeat(end - start) + text.slice(end)

/** `2026-12-24`, `24.12.`, `24.12.26`, `24/12`, `12/24/2026`. A number such as 1.5 or 2.10.3 is none. */
const IN_DIGITS =
  /(?<![\d.,:/-])(?:\d{4}-\d{1,2}-\d{1,2}|\d{1,2}\.\d{1,2}\.(?:\d{4}|\d{2})?|\d{1,2}\/\d{1,2}(?:\/(?:\d{4}|\d{2}))?)(?![\d/:-]|\.\d)/g
const CLOCK = /(?<![\d:.])\d{1,2}:\d{2}(?![\d:])/g

const hasYear = (text: string) => /\d{4}|\d\D+\d{1,2}\D+\d{2}$/.test(text)

/** A day without a year is the next one of that name. */
function ahead(day: string, place: DatePlace): string {
  if (day >= todayOf(place)) return day
  return dayOf(Number(day.slice(0, 4)) + 1, Number(day.slice(5, 7)), Number(day.slice(8))) ?? day
}

export const todayOf = ({ now, zone }: Pick<DatePlace, 'now' | 'zone'>): string => clockNow(now, zone).day

/** `24 Dec`, `24. Dezember 2026`, `Dec 24, 2026`. */
function namedMonths(line: string, words: DateWords): Written[] {
  let pattern = monthPatterns.get(words)
  if (!pattern) {
    const names = [...words.months.keys()].filter((name) => name.length > 2).map((name) => name.replaceAll(/[^\p{L}\p{N}\s]/gu, '\\$&'))
    const [name, day] = [`(?:${names.join('|')})\\.?(?!\\p{L})`, '\\d{1,2}(?:st|nd|rd|th)?']
    pattern = new RegExp(`(?<![\\p{L}\\d.:])(?:${day}\\.?\\s+${name}|${name}\\s+${day}(?![\\d:]))(?:,?\\s+\\d{4})?(?![\\p{L}\\d])`, 'giu')
    monthPatterns.set(words, pattern)
  }
  return [...line.matchAll(pattern)].map(({ 0: text, index }) => ({ text, index }))
}

const monthPatterns = new WeakMap<DateWords, RegExp>()

// ── chrono ──────────────────────────────────────────────────────────────────

function byChrono(line: string, place: DatePlace): FoundDate[] {
  const { day, time } = clockNow(place.now, place.zone)
  const [year = 0, month = 0, date = 0] = day.split('-').map(Number)
  const [hour = 0, minute = 0, second = 0] = time.split(':').map(Number)
  // chrono counts in the zone of the machine, so it is given the clock of the person as one of the machine, and only its parts are read.
  const reference = new Date(year, month - 1, date, hour, minute, second)
  return casual.parse(line, reference, { forwardDate: true }).flatMap((result) => {
    const meant = meantBy(result, line, reference, place)
    return meant ? [{ start: result.index, end: result.index + result.text.length, ...meant }] : []
  })
}

type Meant = Pick<FoundDate, 'day' | 'time'>

function meantBy({ start, end, text, index }: ParsedResult, line: string, reference: Date, place: DatePlace): Meant | null {
  const tags = start.tags()
  // A span of time is no due date, and `now` is a word of titles.
  if (end || tags.has('casualReference/now')) return null
  if (tags.has('result/relativeDateAndTime')) return laterToday(start, text, reference, place)
  const time = timeOf(start)
  const isDated = start.isCertain('day') || start.isCertain('weekday') || tags.has('result/relativeDate')
  // The name of a month alone says no day.
  if (!isDated) return time && !start.isCertain('month') ? { time } : null
  const day = isWordOfTitle(text, index, line) ? null : dayMeant(start, text, place)
  if (day === null) return null
  if (time && start.isCertain('timezoneOffset')) return clockAt(withOffset(day, time, start.get('timezoneOffset') ?? 0), place.zone)
  return time ? { day, time } : { day }
}

/** "5 minutes" says how long, "in 5 minutes" says when. */
function laterToday(start: ParsedResult['start'], text: string, reference: Date, { now, zone }: DatePlace): Meant | null {
  if (!/^(?:in|within)\s/i.test(text)) return null
  return clockAt(instantOf(now.getTime() + start.date().getTime() - reference.getTime()), zone)
}

/** The day, if it is one that something new can be due on: what was before is spoken of in titles. */
function dayMeant(start: ParsedResult['start'], text: string, place: DatePlace): string | null {
  const day = dayOf(start.get('year') ?? 0, start.get('month') ?? 0, start.get('day') ?? 0)
  const today = todayOf(place)
  if (day === null || day < today) return null
  // As in cells: on a Monday, `monday` is in a week.
  const isBareWeekday = start.isCertain('weekday') && !start.isCertain('day') && !/^(?:this|today)/i.test(text)
  return isBareWeekday && day === today ? addDays(day, 7) : day
}

/** An instant by a clock that is so many minutes ahead of UTC. */
const withOffset = (day: string, time: string, minutes: number): string => instantOf(atOf(`${day} ${time}`) - minutes * 60_000)

/** Parts of a day, by the hours at which people expect them. */
const PARTS_OF_DAY = { morning: '09:00:00', afternoon: '15:00:00', evening: '18:00:00', tonight: '20:00:00' }

function timeOf(start: ParsedResult['start']): string | undefined {
  if (start.isCertain('hour')) return `${twoDigits(start.get('hour') ?? 0)}:${twoDigits(start.get('minute') ?? 0)}:00`
  const tags = start.tags()
  return Object.entries(PARTS_OF_DAY).find(([part]) => tags.has(`casualReference/${part}`))?.[1]
}

/** Short names of weekdays that are other words, too, unless they stand at the end or after a word such as `on`. */
function isWordOfTitle(text: string, index: number, line: string): boolean {
  if (!/^(?:sat|sun|wed)$/i.test(text)) return false
  return line.slice(index + text.length).trim() !== '' && !/\b(?:on|by|until|next|this)\s+$/i.test(line.slice(0, index))
}

// ── other languages ─────────────────────────────────────────────────────────

/** `morgen`, `Freitag`: the words of the language for days, as far as Intl knows them. */
function wordsOfLanguage(line: string, place: DatePlace, { days, weekdays }: DateWords): FoundDate[] {
  const today = todayOf(place)
  return [...line.matchAll(/(?<![\p{L}\p{N}@])\p{L}{3,}(?![\p{L}\p{N}])/gu)].flatMap(({ 0: text, index }) => {
    const word = plainWord(text)
    const ahead = days.get(word)
    const wanted = word.length > 3 ? weekdays.get(word) : undefined
    const by = ahead ?? (wanted === undefined ? undefined : ((wanted - weekday(today) + 6) % 7) + 1)
    const day = by === undefined || by < 0 ? null : addDays(today, by)
    return day === null ? [] : [{ start: index, end: index + text.length, day }]
  })
}

/** What is said of a second date or time. */
export const leftOver = (line: string, { start, end }: FoundDate): string => taskTexts.onlyFirstDate(line.slice(start, end).trim())
