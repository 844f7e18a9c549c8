/** Dates, instants and times of day. An instant is typed and copied as clocks in the user's zone show it. */
import { cellTexts } from '../../texts/cells.ts'
import { dayMeant, instantMeant, localInstant, timeShown } from '../../ui/locale/date-format.ts'
import { dayText, type ReadDate, readDay, readInstant, readTime, shortTime } from '../../ui/locale/date-text.ts'
import { clockAt, clockNow } from '../../ui/locale/zones.ts'
import { escapeHtml } from '../html.ts'
import type { CellText, Place } from '../kind.ts'
import { anyText, isEmpty, isText } from '../values.ts'

export interface DateForms {
  /** The form that spreadsheets read. */
  copied(value: string, place: Place): string
  /** The form that people type. */
  typed(value: string, place: Place): string
  /** What a typed value means, in words. */
  meant(value: string, place: Place): string
  /** What can be typed, in an example. */
  example(place: Place): string
  /** @param present the value that the text replaces */
  read(text: string, place: Place, present: string | null): ReadDate
}

function datesOf(forms: DateForms): CellText & DateForms {
  const toText: CellText['toText'] = (value, _, place) => (isText(value) ? forms.copied(value, place) : anyText(value))
  return {
    ...forms,
    align: 'left',
    toText,
    toHtml: (value, field, place) => escapeHtml(toText(value, field, place)),
    parse: (text, _, place) => {
      const found = text.trim() === '' ? { value: null } : forms.read(text, place, null)
      return 'problem' in found ? found : { value: found.value }
    },
    filled: (value) => !isEmpty(value),
  }
}

const today = ({ now, zone, locale }: Place) => dayText(clockNow(now, zone).day, locale)

export const date = datesOf({
  copied: (day) => day,
  typed: (day, { locale }) => dayText(day, locale),
  meant: (day, { locale }) => dayMeant(day, locale),
  example: (place) => cellTexts.dayForms(today(place)),
  read: readDay,
})

export const datetime = datesOf({
  copied: (instant, { zone }) => localInstant(instant, zone),
  typed: (instant, { locale, zone }) => {
    const { day, time } = clockAt(instant, zone)
    return `${dayText(day, locale)} ${shortTime(time)}`
  },
  meant: instantMeant,
  example: (place) => cellTexts.instantForms(today(place)),
  read: readInstant,
})

export const time = datesOf({
  copied: shortTime,
  typed: shortTime,
  meant: (time, { locale }) => timeShown(time, locale),
  example: () => cellTexts.timeForms,
  read: readTime,
})
