/**
 * Dates and instants in the words of a mail or a notification, in English. A calendar date is text (`YYYY-MM-DD`); an instant is shown as
 * clocks in the reader's time zone show it.
 */
import { BoundedMap } from '../collections/bounded-map.ts'
import { localInstant, localTime, MOST_ZONES } from './time-zones.ts'

/** A calendar date for people: Tuesday, 31 March 2026. */
export const readableDate = (date: string): string => readableDay(midnightOf(date), 'UTC')

/** An instant for people in the zone: Tuesday, 31 March 2026, 16:30. */
export const readableInstant = (at: Date, timeZone: string): string =>
  `${readableDay(at, timeZone)}, ${localTime(at, timeZone).slice(0, 5)}`

function readableDay(at: Date, timeZone: string): string {
  const format = new Intl.DateTimeFormat('en-GB', { weekday: 'long', day: 'numeric', month: 'long', year: 'numeric', timeZone })
  // Whether a comma follows the weekday depends on the version of ICU.
  return format.format(at).replace(/^(\p{L}+),? /u, '$1, ')
}

/** A calendar date in a text: 31 March 2026. */
export const writtenDate = (date: string): string => (date.startsWith('0000') ? WRITTEN_ERA : WRITTEN_DATE).format(midnightOf(date))

const WRITTEN: Intl.DateTimeFormatOptions = { day: 'numeric', month: 'long', year: 'numeric', timeZone: 'UTC' }
const WRITTEN_DATE = new Intl.DateTimeFormat('en-GB', WRITTEN)
/** West of UTC, clocks show the year before the year 1 in its first hours. Without the era it would be taken for the year 1. */
const WRITTEN_ERA = new Intl.DateTimeFormat('en-GB', { ...WRITTEN, era: 'short' })

/** An instant in a text, as clocks in the zone show it: 31 March 2026, 16:30 CEST. */
export const writtenInstant = (at: Date, timeZone: string): string => {
  const [date = '', time = ''] = localInstant(at, timeZone).split(' ')
  return `${writtenDate(date)}, ${time.slice(0, 5)} ${zoneName(at, timeZone)}`
}

/** The short name of the zone at that instant, such as CEST; where English has none, its offset, such as GMT-3. */
function zoneName(at: Date, timeZone: string): string {
  let format = zoneNames.get(timeZone)
  if (!format) {
    const formats = ZONE_LOCALES.map((locale) => new Intl.DateTimeFormat(locale, { timeZone, timeZoneName: 'short' }))
    const isNamed = (one: Intl.DateTimeFormat) => SEASONS.every((season) => !/\d/.test(nameIn(one, season)))
    format = formats.find(isNamed) ?? (formats[0] as Intl.DateTimeFormat)
    zoneNames.set(timeZone, format)
  }
  return nameIn(format, at)
}

const nameIn = (format: Intl.DateTimeFormat, at: Date) => format.formatToParts(at).find(({ type }) => type === 'timeZoneName')?.value ?? ''

/** By zone, the format of the first variety of English that has a name for it, in winter and in summer. */
const zoneNames = new BoundedMap<string, Intl.DateTimeFormat>(MOST_ZONES)
/** Each variety of English has names for the zones of its countries only. */
const ZONE_LOCALES = ['en-GB', 'en-US', 'en-AU', 'en-NZ', 'en-ZA', 'en-IN', 'en-HK']
const SEASONS = [new Date('2026-01-01T00:00:00Z'), new Date('2026-07-01T00:00:00Z')]

const midnightOf = (date: string) => new Date(`${date}T00:00:00Z`)
