/** Times within sentences about mails, by the clocks of the reader's zone. */

import { deliveryTexts } from '../../texts/mail/delivery.ts'
import { timeShown } from '../../ui/locale/date-format.ts'
import type { DatePlace } from '../../ui/locale/date-text.ts'
import { addDays } from '../../ui/locale/days.ts'
import { dayWords, exactTime, timeWords } from '../../ui/locale/time-words.ts'
import { clockAt, clockNow } from '../../ui/locale/zones.ts'
import type { Times } from './delivery-words.ts'

export function timesOf(place: DatePlace): Times {
  const today = clockNow(place.now, place.zone).day
  return {
    now: place.now,
    plain: (instant) => timeWords(instant, place),
    exact: (instant) => exactTime(instant, place),
    at(instant) {
      const words = timeWords(instant, place)
      const { day, time } = clockAt(instant, place.zone)
      if (day === today) return deliveryTexts.atTime(words)
      // `yesterday 14:30` needs no preposition, and has its time of day.
      if (day === addDays(today, -1) || day === addDays(today, 1)) return words
      return deliveryTexts.onDay(words, timeShown(`${time.slice(0, 5)}:00`, place.locale))
    },
    day: (day) => dayWords(day, place),
  }
}
