/** Parses and resolves date tokens, such as `today`, `-7d`, `start_of_last_month` and `start_of_month+7d` (contract.md §5). */
import { addDays, addMonths, startOfMonths, startOfWeek, type WeekStart } from '../platform/time/time.ts'
import { dayAt, localDate, startOfDay } from '../platform/time/time-zones.ts'

/** The context in which a token is resolved. */
export interface Moment {
  now: Date
  /** The acting user's time zone. */
  timeZone: string
  weekStart: WeekStart
}

/** A whole local day, or one instant. */
export type Meaning = { day: string } | { instant: Date }

const UNITS = ['day', 'week', 'month', 'quarter', 'year'] as const
type Unit = (typeof UNITS)[number]

type Base = 'now' | 'today' | 'yesterday' | 'tomorrow' | { edge: 'start' | 'end'; shift: -1 | 0 | 1; unit: Unit }
type Step = keyof typeof LARGEST
export interface Token {
  base: Base
  offset: { count: number; step: Step } | null
}

/** A thousand years in each unit, so that every token resolves to a year of four digits. */
const LARGEST = { h: 8_760_000, d: 365_000, w: 52_000, m: 12_000, y: 1_000 }

const TOKEN = new RegExp(
  `^(?:(now|today|yesterday|tomorrow)|(start|end)_of_(?:(last|next)_)?(${UNITS.join('|')}))?(?:([+-]\\d{1,7})([hdwmy]))?$`,
  'i',
)

/** Parses a token, ignoring case. Returns null for any other text. */
export function parseToken(text: string): Token | null {
  const match = text === '' ? null : TOKEN.exec(text)
  if (!match) return null
  const [, word, edge, shift, unit, count, step] = match.map((part) => part?.toLowerCase())
  const offset = count && step ? { count: Number(count), step: step as Step } : null
  if (offset && Math.abs(offset.count) > LARGEST[offset.step]) return null
  // An offset alone is relative to today, or to now if it is in hours.
  if (!word && !edge) return { base: offset?.step === 'h' ? 'now' : 'today', offset }
  if (word) return { base: word as Base, offset }
  return { base: { edge: edge as 'start' | 'end', shift: shift === 'last' ? -1 : shift === 'next' ? 1 : 0, unit: unit as Unit }, offset }
}

/** `now` and offsets in hours resolve to an instant, all other tokens to a local day. */
export function meaningOf({ base, offset }: Token, moment: Moment): Meaning {
  if (base === 'now' && !offset) return { instant: moment.now }
  const day = dayOf(base, moment)
  if (!offset) return { day }
  if (offset.step !== 'h') return { day: moved(day, offset.count, offset.step) }
  const from = base === 'now' ? moment.now : startOfDay(day, moment.timeZone)
  return { instant: new Date(from.getTime() + offset.count * 3_600_000) }
}

/** Resolves the token to a calendar date. An instant becomes its local day. */
export function dateMeant(token: Token, moment: Moment): string {
  const meaning = meaningOf(token, moment)
  return 'day' in meaning ? meaning.day : localDate(meaning.instant, moment.timeZone)
}

function dayOf(base: Base, { now, timeZone, weekStart }: Moment): string {
  const today = dayAt(now, timeZone).date
  if (base === 'now' || base === 'today') return today
  if (base === 'yesterday') return addDays(today, -1)
  if (base === 'tomorrow') return addDays(today, 1)
  const { edge, shift, unit } = base
  const first = later(startOf(unit, today, weekStart), unit, shift)
  return edge === 'start' ? first : addDays(later(first, unit, 1), -1)
}

const MONTHS = { month: 1, quarter: 3, year: 12 } as const

function startOf(unit: Unit, date: string, weekStart: WeekStart): string {
  if (unit === 'day') return date
  return unit === 'week' ? startOfWeek(date, weekStart) : startOfMonths(date, MONTHS[unit])
}

function later(date: string, unit: Unit, count: number): string {
  if (unit === 'day') return addDays(date, count)
  return unit === 'week' ? addDays(date, 7 * count) : addMonths(date, MONTHS[unit] * count)
}

function moved(date: string, count: number, step: Exclude<Step, 'h'>): string {
  if (step === 'd') return addDays(date, count)
  if (step === 'w') return addDays(date, 7 * count)
  return addMonths(date, step === 'm' ? count : 12 * count)
}
