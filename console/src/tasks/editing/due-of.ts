/** A day and a time as they are typed, as the service takes them. */
import { dateTexts } from '../../texts/dates.ts'
import { taskTexts } from '../../texts/tasks.ts'
import { dayMeant, instantMeant } from '../../ui/locale/date-format.ts'
import { type DatePlace, readDay, readTime } from '../../ui/locale/date-text.ts'
import { clockAt, clockNow, instantOf, momentOf } from '../../ui/locale/zones.ts'

export type DueRead = { due_date: string | null; due_time: string | null; notes: string[] } | { problem: string }

/** A time alone is today's. A day may be typed with its time, such as `tomorrow 9:30`. */
export function dueOf({ day, time }: { day: string; time: string }, place: DatePlace): DueRead {
  const [, dayPart = day, timePart = time] = /^(.*?)[\s,]+(?:at\s+)?(\d{1,2}:\d{2}(?:\s?[ap]m)?|\d{1,2}\s?[ap]m)$/i.exec(day.trim()) ?? []
  if (dayPart.trim() === '' && timePart.trim() === '') return { due_date: null, due_time: null, notes: [] }
  const readDate = dayPart.trim() === '' ? { value: clockNow(place.now, place.zone).day } : readDay(dayPart, place)
  if ('problem' in readDate) return readDate
  if (timePart.trim() === '') return { due_date: readDate.value, due_time: null, notes: [] }
  const readClock = readTime(timePart, place)
  if ('problem' in readClock) return readClock
  return instantOfDue(readDate.value, readClock.value, place.zone)
}

/** A day and a time in the zone, in UTC for the service. */
function instantOfDue(day: string, time: string, zone: string): DueRead {
  const { at, exists } = momentOf({ day, time }, zone)
  const [due_date = '', due_time = ''] = instantOf(at).split(' ')
  if (due_date < '0001') return { problem: taskTexts.outOfYears }
  const short = time.slice(0, 5)
  const notes =
    exists === 'skipped'
      ? [dateTexts.skipped(short, clockAt(`${due_date} ${due_time}`, zone).time.slice(0, 5))]
      : exists === 'twice'
        ? [dateTexts.twice(short)]
        : []
  return { due_date, due_time, notes }
}

/** What it means, with the weekday and the year, so that a slip is seen. */
export function dueText({ due_date, due_time }: { due_date: string | null; due_time: string | null }, place: DatePlace): string {
  if (due_date === null) return ''
  return due_time === null ? dayMeant(due_date, place.locale) : instantMeant(`${due_date} ${due_time}`, place)
}
