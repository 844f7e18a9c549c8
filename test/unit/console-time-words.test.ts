/** Instants in few words, in the reader's zone. */
import { describe, expect, test } from 'vitest'
import { dayWords, exactTime, machineTime, timeWords } from '../../console/src/ui/locale/time-words.ts'

/** Spaces of formatters are narrow ones in some editions of the data. */
const plain = (text: string) => text.replaceAll(/\s/gu, ' ')
const words = (instant: string, zone: string, now: string, locale = 'en-GB') =>
  plain(timeWords(instant, { zone, locale, now: new Date(now) }))

const CASES: [title: string, instant: string, zone: string, now: string, words: string][] = [
  ['today has its time alone', '2026-11-28 13:30:59', 'Europe/Berlin', '2026-11-28T21:30:00Z', '14:30'],
  ['today is a day of the zone', '2026-11-28 23:30:00', 'Europe/Berlin', '2026-11-29T11:00:00Z', '0:30'],
  ['the same instant is yesterday elsewhere', '2026-11-28 23:30:00', 'America/New_York', '2026-11-29T11:00:00Z', 'yesterday 18:30'],
  ['and the day after in the far east', '2026-11-28 23:30:00', 'Pacific/Kiritimati', '2026-11-28T09:59:00Z', 'tomorrow 13:30'],
  ['yesterday is less than a day ago', '2026-11-27 22:59:59', 'Europe/Berlin', '2026-11-27T23:00:00Z', 'yesterday 23:59'],
  ['two days ago is a date', '2026-11-26 13:30:00', 'Europe/Berlin', '2026-11-28T21:30:00Z', '26 Nov'],
  ['a day of this year', '2026-05-03 12:00:00', 'Europe/Berlin', '2026-11-28T21:30:00Z', '3 May'],
  ['of another year', '2025-05-03 12:00:00', 'Europe/Berlin', '2026-11-28T21:30:00Z', '3 May 2025'],
  ['the year is that of the zone', '2025-12-31 23:30:00', 'Europe/Berlin', '2026-02-01T00:00:00Z', '1 Jan'],
  ['so it is in the other direction', '2026-01-01 01:00:00', 'America/New_York', '2026-02-01T12:00:00Z', '31 Dec 2025'],
  ['yesterday of the first of January', '2025-12-31 12:00:00', 'UTC', '2026-01-01T12:00:00Z', 'yesterday 12:00'],
  ['the day of 25 hours', '2026-10-24 22:00:00', 'Europe/Berlin', '2026-10-25T22:59:59Z', '0:00'],
  ['the first 2:30 of it', '2026-10-25 00:30:00', 'Europe/Berlin', '2026-10-25T12:00:00Z', '2:30'],
  ['the second 2:30 of it', '2026-10-25 01:30:00', 'Europe/Berlin', '2026-10-25T12:00:00Z', '2:30'],
  ['the day before it', '2026-10-24 21:59:59', 'Europe/Berlin', '2026-10-25T22:59:59Z', 'yesterday 23:59'],
  ['the day of 23 hours', '2026-03-29 01:00:00', 'Europe/Berlin', '2026-03-29T12:00:00Z', '3:00'],
  ['the day without a midnight', '2026-04-23 22:00:00', 'Africa/Cairo', '2026-04-24T12:00:00Z', '1:00'],
  ['the day that Samoa left out', '2011-12-30 09:59:00', 'Pacific/Apia', '2011-12-30T10:30:00Z', '29 Dec'],
  ['what is no instant', 'never', 'UTC', '2026-11-28T21:30:00Z', 'never'],
]

describe('an instant in few words', () => {
  test.each(CASES)('%s', (_, instant, zone, now, expected) => {
    expect(words(instant, zone, now)).toBe(expected)
  })

  test('is written as the language does', () => {
    expect(words('2026-11-28 13:30:00', 'Europe/Berlin', '2026-11-28T21:30:00Z', 'en-US')).toBe('2:30 PM')
    expect(words('2026-05-03 13:30:00', 'Europe/Berlin', '2026-11-28T21:30:00Z', 'de')).toBe('3. Mai')
  })

  test('has the exact one beside it, with its zone', () => {
    const place = { zone: 'Europe/Berlin', locale: 'en-GB', now: new Date('2026-11-28T21:30:00Z') }
    expect(plain(exactTime('2026-05-03 12:00:07', place))).toBe('Sunday, 3 May 2026 at 14:00:07 CEST')
    expect(exactTime('never', place)).toBe('never')
    expect(machineTime('2026-05-03 12:00:07')).toBe('2026-05-03T12:00:07Z')
  })
})

test('a calendar date has its year only in another one, by the clocks of the reader', () => {
  const place = (zone: string, now: string) => ({ zone, locale: 'en-GB', now: new Date(now) })
  expect(dayWords('2026-05-03', place('UTC', '2026-12-01T12:00:00Z'))).toBe('3 May')
  expect(dayWords('2025-05-03', place('UTC', '2026-12-01T12:00:00Z'))).toBe('3 May 2025')
  expect(dayWords('2026-12-31', place('Pacific/Kiritimati', '2026-12-31T12:00:00Z'))).toBe('31 Dec 2026')
  expect(dayWords('soon', place('UTC', '2026-12-01T12:00:00Z'))).toBe('soon')
})
