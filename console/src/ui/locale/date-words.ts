/** The order and the words of dates in a language, as Intl knows them. */

export type Part = 'year' | 'month' | 'day'

export interface DateWords {
  /** The order of the parts of a date in digits. */
  order: readonly Part[]
  /** The months by their names, full and short, in lower case without points. */
  months: ReadonlyMap<string, number>
  /** The days of the week by their names, 0 for Sunday. */
  weekdays: ReadonlyMap<string, number>
  /** Words for days, by how many days they are from today. */
  days: ReadonlyMap<string, number>
  /** How times before and after noon are marked. */
  halves: ReadonlyMap<string, 'am' | 'pm'>
}

const known = new Map<string, DateWords>()

/** The words of the language, and those of English, which everybody may type. */
export function dateWords(locale: string): DateWords {
  let words = known.get(locale)
  if (!words) {
    const languages = ['en', locale]
    words = {
      order: orderOf(locale),
      months: named(languages, 12, (at) => Date.UTC(2024, at, 15), 'month', 1),
      // The first of September 2024 was a Sunday.
      weekdays: named(languages, 7, (at) => Date.UTC(2024, 8, 1 + at), 'weekday', 0),
      days: new Map(languages.flatMap(dayWords)),
      halves: new Map(languages.flatMap(halfWords)),
    }
    known.set(locale, words)
  }
  return words
}

/** Makes a word comparable: in lower case, without the points of an abbreviation. */
export const plainWord = (word: string): string => word.normalize('NFC').toLowerCase().replaceAll('.', '')

function orderOf(locale: string): Part[] {
  const parts = new Intl.DateTimeFormat(locale, { timeZone: 'UTC', calendar: 'gregory' }).formatToParts(0)
  return parts.flatMap(({ type }) => (type === 'year' || type === 'month' || type === 'day' ? [type] : []))
}

function named(languages: string[], count: number, at: (index: number) => number, part: 'month' | 'weekday', first: number) {
  const found = new Map<string, number>()
  // The names beside a day differ from those alone in some languages.
  const widths = [{ [part]: 'long' }, { [part]: 'short' }, { [part]: 'long', day: 'numeric' }, { [part]: 'short', day: 'numeric' }] as const
  for (const format of languages.flatMap((language) => widths.map((width) => formatOf(language, width)))) {
    for (let index = 0; index < count; index++) {
      const name = format.formatToParts(at(index)).find(({ type }) => type === part)?.value ?? ''
      if (/\p{L}/u.test(name)) found.set(plainWord(name), index + first)
    }
  }
  return found
}

const formatOf = (language: string, parts: Intl.DateTimeFormatOptions) =>
  new Intl.DateTimeFormat(language, { timeZone: 'UTC', calendar: 'gregory', ...parts })

function dayWords(language: string): [string, number][] {
  const relative = new Intl.RelativeTimeFormat(language, { numeric: 'auto' })
  // The word for tomorrow comes last, because some languages have the same one for yesterday.
  return [0, -1, 1].map((days) => [plainWord(relative.format(days, 'day')), days])
}

function halfWords(language: string): [string, 'am' | 'pm'][] {
  const format = new Intl.DateTimeFormat(language, { timeZone: 'UTC', hour: 'numeric', hour12: true })
  return (
    [
      ['am', 6],
      ['pm', 18],
    ] as const
  ).flatMap(([half, hour]) => {
    const word = format.formatToParts(Date.UTC(2024, 0, 1, hour)).find(({ type }) => type === 'dayPeriod')?.value
    return word ? [[plainWord(word), half] as [string, 'am' | 'pm']] : []
  })
}
