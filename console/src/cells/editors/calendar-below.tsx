/** The calendar under a text field. It shows the day that the text means. */
import { cellTexts } from '../../texts/cells.ts'
import { DayCalendar } from '../../ui/calendar/day-calendar.tsx'
import { dayText, shortTime } from '../../ui/locale/date-text.ts'
import { isDay } from '../../ui/locale/days.ts'
import { atOf, clockAt, clockNow } from '../../ui/locale/zones.ts'
import type { BelowProps } from './typed-editor.tsx'

/** A chosen date is the value. */
export function DateBelow({ value, surroundings, end }: BelowProps) {
  const { now, zone, locale } = surroundings
  const day = typeof value === 'string' && isDay(value) ? value : null
  return <DayCalendar label={cellTexts.calendar} day={day} today={clockNow(now, zone).day} locale={locale} onChoose={end} />
}

/** The day of an instant is put into the text, which keeps its time. */
export function DatetimeBelow({ value, surroundings, setText }: BelowProps) {
  const { now, zone, locale } = surroundings
  const clock = typeof value === 'string' && Number.isFinite(atOf(value)) ? clockAt(value, zone) : null
  const choose = (day: string) => setText(`${dayText(day, locale)} ${shortTime(clock?.time ?? '09:00:00')}`)
  return (
    <DayCalendar label={cellTexts.calendar} day={clock?.day ?? null} today={clockNow(now, zone).day} locale={locale} onChoose={choose} />
  )
}
