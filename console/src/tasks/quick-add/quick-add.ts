/**
 * Reads a line such as "Call Ann tomorrow 9:30 !30m @Marco" as a task. What is not understood stays in the title. Days and times are those
 * of the person's zone; the service gets them in UTC.
 */

import { dateTexts } from '../../texts/dates.ts'
import { taskTexts } from '../../texts/tasks.ts'
import { dayMeant } from '../../ui/locale/date-format.ts'
import type { DatePlace } from '../../ui/locale/date-text.ts'
import { addDays } from '../../ui/locale/days.ts'
import { atOf, clockAt, instantOf, momentOf } from '../../ui/locale/zones.ts'
import { ringOnDay } from '../day-reminder.ts'
import { blanked, type FoundDate, findDates, leftOver, todayOf } from './found-dates.ts'
import { mentionsIn, type Person, personMeant } from './found-people.ts'
import { type FoundReminder, remindersIn } from './found-reminder.ts'

/** Characters that a title may have (contract.md §4). */
const MOST_CHARACTERS = 500
/** A year, in minutes. */
const LONGEST_REMINDER = 525_600

export interface QuickAddPlace extends DatePlace {
  me: Person
  /** Those whom the texts after an @ can mean. */
  people: readonly Person[]
}

/** A part of the line that has become something else than title. */
export interface Part {
  kind: 'due' | 'reminder' | 'assignee'
  start: number
  end: number
  text: string
}

export interface Due {
  /** The day where the person is, and the time there, if there is one. */
  day: string
  time: string | null
  /** The same for the service: with a time both are UTC, a day alone is the same everywhere. */
  due_date: string
  due_time: string | null
}

export interface Reminder {
  reminder_offset_mins?: number
  /** UTC. */
  reminder_time?: string
  /** The instant, UTC. */
  ringsAt: string
}

export interface QuickTask {
  title: string
  due: Due | null
  reminder: Reminder | null
  assignee: Person | null
  parts: Part[]
  /** What is good to know, as sentences. */
  notes: string[]
  /** Why it cannot be created as it is. */
  problem: string | null
}

/** @param kept the texts of parts that are to stay in the title, although they are understood */
export function readQuickAdd(line: string, place: QuickAddPlace, kept: ReadonlySet<string> = new Set()): QuickTask {
  const reading = readingOf(line, kept)
  // Nothing that long is read: the field says that it is too long.
  if (line.length > 4 * MOST_CHARACTERS) return { ...NOTHING, title: line.trim(), problem: taskTexts.tooLong(line.trim().length) }
  const assignee = readAssignee(reading, place)
  const reminders = remindersIn(reading.rest())
  for (const { start, end } of reminders) reading.blank(start, end)
  const due = readDue(reading, place)
  const reminder = readReminder(reading, reminders, due, place)
  const title = reading.title()
  const problem = title === '' ? taskTexts.noTitle : title.length > MOST_CHARACTERS ? taskTexts.tooLong(title.length) : null
  return {
    title,
    due,
    reminder,
    assignee,
    parts: reading.parts.toSorted((one, other) => one.start - other.start),
    notes: [...new Set(reading.notes)],
    problem,
  }
}

const NOTHING = { due: null, reminder: null, assignee: null, parts: [], notes: [] }

/** The line while it is read: what is taken from it, and what is still to be read. */
function readingOf(line: string, kept: ReadonlySet<string>) {
  const parts: Part[] = []
  let rest = line
  const blank = (start: number, end: number) => {
    rest = blanked(rest, start, end)
  }
  return {
    line,
    parts,
    notes: [] as string[],
    blank,
    rest: () => rest,
    isKept: (start: number, end: number) => kept.has(line.slice(start, end).trim()),
    take(kind: Part['kind'], start: number, end: number) {
      parts.push({ kind, start, end, text: line.slice(start, end).trim() })
      blank(start, end)
    },
    title: () => titleOf(line, parts),
  }
}

type Reading = ReturnType<typeof readingOf>

/** What is left, without the words that led to a date. */
function titleOf(line: string, parts: readonly Part[]): string {
  let left = line
  for (const { kind, start, end } of parts) {
    const [led = ''] = kind === 'due' ? (LEADS_TO_DATE.exec(left.slice(0, start)) ?? []) : []
    left = blanked(left, start - led.length, end)
  }
  return left
    .replaceAll(/\s+/g, ' ')
    .replaceAll(SPACE_BEFORE_MARK, '')
    .replace(/[\s,;]+$/, '')
    .trim()
}

const SPACE_BEFORE_MARK = / (?=[,.;:]( |$))/g
const LEADS_TO_DATE = /(?<![\p{L}\p{N}])(?:on|by|at|due|until|am|um|bis)\s+$/iu

function readAssignee(reading: Reading, { people, me }: QuickAddPlace): Person | null {
  let assignee: Person | null = null
  for (const mention of mentionsIn(reading.line)) {
    const meant = personMeant(mention, people, me)
    const end = mention.start + 1 + (meant && 'person' in meant ? meant.length : mention.word.length)
    if (reading.isKept(mention.start, end) || !mention.word) {
      reading.blank(mention.start, end)
    } else if (meant && 'person' in meant && !assignee) {
      assignee = meant.person
      reading.take('assignee', mention.start, end)
    } else {
      reading.notes.push(noteOnPerson(mention.word, meant && 'several' in meant ? meant.several : null, assignee))
      reading.blank(mention.start, end)
    }
  }
  return assignee
}

function noteOnPerson(word: string, several: readonly Person[] | null, assignee: Person | null): string {
  if (assignee) return taskTexts.onlyOneAssignee(`@${word}`)
  return several
    ? taskTexts.severalPeople(
        word,
        several.slice(0, 3).map(({ name }) => name),
      )
    : taskTexts.unknownPerson(word)
}

// ── due ─────────────────────────────────────────────────────────────────────

function readDue(reading: Reading, place: QuickAddPlace): Due | null {
  const { found, problems } = findDates(reading.rest(), place)
  reading.notes.push(...problems.map(taskTexts.staysTitle))
  const read = found.filter(({ start, end }) => !reading.isKept(start, end))
  const dated = read.find(({ day }) => day !== undefined)
  const timed = dated?.time === undefined ? read.find(({ day, time }) => day === undefined && time !== undefined) : undefined
  for (const one of read) {
    if (one === dated || one === timed) reading.take('due', one.start, one.end)
    else reading.notes.push(leftOver(reading.line, one))
  }
  const time = dated?.time ?? timed?.time ?? null
  if (dated?.day !== undefined) return dueAt(dated.day, time, reading, place)
  return timed && time !== null ? dueToday(timed, time, reading, place) : null
}

/** Only a time: today, or tomorrow if it has passed. */
function dueToday({ start, end }: FoundDate, time: string, reading: Reading, place: QuickAddPlace): Due | null {
  const today = todayOf(place)
  if (momentOf({ day: today, time }, place.zone).at > place.now.getTime()) return dueAt(today, time, reading, place)
  reading.notes.push(taskTexts.isTomorrow(reading.line.slice(start, end).trim()))
  return dueAt(addDays(today, 1) ?? today, time, reading, place)
}

function dueAt(day: string, time: string | null, reading: Reading, { zone }: QuickAddPlace): Due {
  if (time === null) return { day, time, due_date: day, due_time: null }
  const { at, exists } = momentOf({ day, time }, zone)
  const [due_date = '', due_time = ''] = instantOf(at).split(' ')
  const shown = clockAt(`${due_date} ${due_time}`, zone)
  if (exists === 'skipped') reading.notes.push(dateTexts.skipped(time.slice(0, 5), shown.time.slice(0, 5)))
  if (exists === 'twice') reading.notes.push(dateTexts.twice(time.slice(0, 5)))
  return { ...shown, due_date, due_time }
}

// ── reminder ────────────────────────────────────────────────────────────────

function readReminder(reading: Reading, found: readonly FoundReminder[], due: Due | null, place: QuickAddPlace): Reminder | null {
  const [first, ...others] = found.filter(({ start, end }) => !reading.isKept(start, end))
  for (const { text } of others) reading.notes.push(taskTexts.onlyFirstReminder(text))
  if (!first) return null
  const read = reminderOf(first, due, place)
  if ('problem' in read) {
    reading.notes.push(read.problem)
    return null
  }
  if (read.note) reading.notes.push(read.note)
  reading.take('reminder', first.start, first.end)
  return read.reminder
}

type ReadReminder = { reminder: Reminder; note?: string } | { problem: string }

function reminderOf({ text, minutes, time }: FoundReminder, due: Due | null, { zone, locale, now }: QuickAddPlace): ReadReminder {
  if (!due) return { problem: taskTexts.reminderNeedsDate(text) }
  if (due.due_time === null) {
    if (time === undefined) return { problem: taskTexts.reminderNeedsTime(text) }
    const { ringsAt, reminder_time } = ringOnDay(due.due_date, time, zone)
    const shown = clockAt(ringsAt, zone)
    const note = shown.day === due.day ? isOver(ringsAt, now) : taskTexts.ringsOtherDay(dayMeant(shown.day, locale))
    return { reminder: { reminder_time, ringsAt }, ...(note && { note }) }
  }
  const dueAtMs = atOf(`${due.due_date} ${due.due_time}`)
  const before = minutes ?? (dueAtMs - momentOf({ day: due.day, time: time ?? '' }, zone).at) / 60_000
  if (before < 0) return { problem: taskTexts.reminderIsLater(text) }
  if (before > LONGEST_REMINDER) return { problem: taskTexts.reminderTooEarly(text) }
  const ringsAt = instantOf(dueAtMs - before * 60_000)
  const note = isOver(ringsAt, now)
  return { reminder: { reminder_offset_mins: before, ringsAt }, ...(note && { note }) }
}

const isOver = (instant: string, now: Date) => (atOf(instant) < now.getTime() ? taskTexts.reminderIsOver : undefined)
