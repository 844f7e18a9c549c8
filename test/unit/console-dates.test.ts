/** Dates, times and instants as people type them into the console, in their zone and language. */
import { describe, expect, test } from 'vitest'
import { dayText, readDay, readInstant, readTime } from '../../console/src/ui/locale/date-text.ts'
import { addDays, addMonths, isDay } from '../../console/src/ui/locale/days.ts'
import { clockAt, momentOf } from '../../console/src/ui/locale/zones.ts'

/** A Saturday. In Kiritimati it is Sunday the 29th already, in New York still the 28th. */
const now = new Date('2026-11-28T21:30:00Z')
const at = (locale: string, zone = 'Europe/Berlin') => ({ locale, zone, now })

const DAYS: [locale: string, text: string, day: string | null][] = [
  ['en-US', '2026-12-24', '2026-12-24'],
  ['en-US', '12/24/2026', '2026-12-24'],
  ['en-US', '12/4', '2026-12-04'],
  ['en-GB', '12/4/2026', '2026-04-12'],
  ['de', '24.12.', '2026-12-24'],
  ['de', '24.12', '2026-12-24'],
  ['en-US', '24.12.', '2026-12-24'],
  ['de', '1.2.27', '2027-02-01'],
  ['de', '1.2.87', '1987-02-01'],
  ['de', '24.', '2026-11-24'],
  ['de', '24. Dezember 2026', '2026-12-24'],
  ['de', '24 Dec', '2026-12-24'],
  ['en-US', 'Dec 24, 2026', '2026-12-24'],
  ['en-US', 'Thursday, December 24th 2026', '2026-12-24'],
  ['fr', '24 déc. 2026', '2026-12-24'],
  ['fr', '24/12/2026', '2026-12-24'],
  ['sv', '12/24', '2026-12-24'],
  ['ja', '2026年12月24日', '2026-12-24'],
  ['ja', '26/12/24', '2026-12-24'],
  ['ko', '2026. 12. 24.', '2026-12-24'],
  ['en-US', '20261224', '2026-12-24'],
  ['en-US', '2026/1/2', '2026-01-02'],
  // Only one order makes a day of these.
  ['en-US', '24/12/2026', '2026-12-24'],
  ['de', '12/24/2026', '2026-12-24'],
  ['en-US', 'today', '2026-11-28'],
  ['en-US', 'Tomorrow', '2026-11-29'],
  ['en-US', ' yesterday ', '2026-11-27'],
  ['de', 'morgen', '2026-11-29'],
  ['fr', 'demain', '2026-11-29'],
  ['en-US', 'friday', '2026-12-04'],
  ['en-US', 'sat', '2026-12-05'],
  ['de', 'Mo', '2026-11-30'],
  ['en-US', '+3d', '2026-12-01'],
  ['en-US', '-1w', '2026-11-21'],
  ['en-US', '+3m', '2027-02-28'],
  ['en-US', '+1y', '2027-11-28'],
  ['en-US', 'in 2 weeks', '2026-12-12'],
  ['en-US', '3 days ago', '2026-11-25'],
  ['en-US', '2026-12-24 14:30', '2026-12-24'],
  ['en-US', '29.2.2028', '2028-02-29'],
  ['en-US', '31.2.', null],
  ['en-US', '2026-02-29', null],
  ['en-US', '0000-01-01', null],
  ['en-US', '+999999y', null],
  ['en-US', '99/99/9999', null],
  ['en-US', 'soon', null],
  ['en-US', '14:30', null],
  ['en-US', '1', null],
  ['en-US', 'x'.repeat(100_000), null],
  ['en-US', '1.'.repeat(50_000), null],
  ['en-US', '<b>24.12.</b>', null],
]

describe('a day', () => {
  test.each(DAYS)('in %s, %s is %s', (locale, text, day) => {
    const read = readDay(text, at(locale))
    if (day === null) expect(read).toHaveProperty('problem')
    else expect(read).toEqual({ value: day })
  })

  test.each([
    ['Pacific/Kiritimati', '2026-11-30'],
    ['Asia/Kathmandu', '2026-11-30'],
    ['America/New_York', '2026-11-29'],
  ])('tomorrow in %s is %s', (zone, day) => {
    expect(readDay('tomorrow', at('en-US', zone))).toEqual({ value: day })
  })

  test('a problem names what was typed', () => {
    expect(readDay('31.2.', at('de'))).toEqual({ problem: '“31.2.” is not a day that exists' })
    expect(readDay('soon', at('de'))).toEqual({ problem: '“soon” is not a date' })
  })

  test.each(['en-US', 'en-GB', 'de', 'de-CH', 'fr', 'sv', 'ja', 'ko', 'hu', 'ar', 'fa', 'th', 'he', 'hi', 'pt-BR', 'lt', 'nl'])(
    'is read again as %s writes it',
    (locale) => {
      for (const day of ['2026-12-24', '2026-02-03', '0099-11-12', '9999-12-31'])
        expect(readDay(dayText(day, locale), at(locale))).toEqual({ value: day })
    },
  )
})

describe('a time', () => {
  test.each([
    ['14:30', '14:30:00'],
    ['14:30:15', '14:30:15'],
    ['9:05', '09:05:00'],
    ['2:30 pm', '14:30:00'],
    ['2:30 p.m.', '14:30:00'],
    ['12am', '00:00:00'],
    ['12 PM', '12:00:00'],
    ['9', '09:00:00'],
    ['0930', '09:30:00'],
    ['14.30', '14:30:00'],
    ['14h30', '14:30:00'],
    ['now', '22:30:00'],
  ])('%s is %s', (text, time) => expect(readTime(text, at('en-US'))).toEqual({ value: time }))

  test.each(['25:00', '24:00', '12:60', '13 pm', 'noonish', '2026-12-24', '1234567', '-1:00'])('%s is none', (text) =>
    expect(readTime(text, at('en-US'))).toEqual({ problem: `“${text}” is not a time of day` }),
  )
})

describe('an instant', () => {
  test.each([
    ['tomorrow 9:00', 'Europe/Berlin', '2026-11-29 08:00:00'],
    ['tomorrow at 9am', 'Europe/Berlin', '2026-11-29 08:00:00'],
    ['24.12. 14:30', 'Asia/Kathmandu', '2026-12-24 08:45:00'],
    ['2026-12-24 14:30', 'Pacific/Kiritimati', '2026-12-24 00:30:00'],
    ['2026-12-24T14:30:15', 'UTC', '2026-12-24 14:30:15'],
    ['12/24/2026, 2:30 PM', 'America/New_York', '2026-12-24 19:30:00'],
    ['Dec 24, 2026, 2:30:05 PM', 'America/New_York', '2026-12-24 19:30:05'],
    ['2026-12-24T14:30:00Z', 'Asia/Kathmandu', '2026-12-24 14:30:00'],
    ['2026-12-24T14:30:00+0530', 'Asia/Kathmandu', '2026-12-24 09:00:00'],
    ['14:30', 'Pacific/Kiritimati', '2026-11-29 00:30:00'],
    ['tomorrow', 'Europe/Berlin', '2026-11-28 23:00:00'],
    ['now', 'Europe/Berlin', '2026-11-28 21:30:00'],
    ['+2h', 'Europe/Berlin', '2026-11-28 23:30:00'],
    ['-90 min', 'Europe/Berlin', '2026-11-28 20:00:00'],
  ])('%s in %s is %s', (text, zone, instant) => expect(readInstant(text, at('en-US', zone))).toEqual({ value: instant }))

  test('a time that clocks skip is later, and one that comes twice is the first; both are said', () => {
    expect(readInstant('2026-03-29 02:30', at('de'))).toEqual({
      value: '2026-03-29 01:30:00',
      note: 'Clocks skip 02:30 on that day; it becomes 03:30',
    })
    expect(readInstant('2026-10-25 02:30', at('de'))).toEqual({
      value: '2026-10-25 00:30:00',
      note: '02:30 comes twice on that day, as clocks go back; this is the first',
    })
  })

  test('a day without midnight begins with its first moment', () => {
    expect(readInstant('2026-04-24', at('de', 'Africa/Cairo'))).toEqual({
      value: '2026-04-23 22:00:00',
      note: 'Clocks skip 00:00 on that day; it becomes 01:00',
    })
  })

  test('a day that a zone skipped is the next one', () => {
    expect(readInstant('2011-12-30 10:00', at('de', 'Pacific/Apia'))).toEqual({
      value: '2011-12-30 20:00:00',
      note: 'Clocks skip 10:00 on that day; it becomes 2011-12-31 10:00',
    })
  })

  test('a day alone keeps the time that is there, and a time alone the day', () => {
    expect(readInstant('24.12.', at('de'), '2026-07-01 07:30:00')).toEqual({ value: '2026-12-24 08:30:00' })
    expect(readInstant('18:00', at('de'), '2026-07-01 07:30:00')).toEqual({ value: '2026-07-01 16:00:00' })
  })

  test.each(['25:00', 'tomorrow 25:00', 'someday 9:00', '31.2. 9:00', '2026-12-24T14:30:00+99:00', '+999999999h', ''])(
    '%s is none, which is said in words',
    (text) => expect(readInstant(text, at('en-US'))).toEqual({ problem: expect.stringMatching(/ is not | outside /) }),
  )
})

describe('days and zones', () => {
  test('days are counted over months, leap years and centuries', () => {
    expect(addDays('2024-02-28', 1)).toBe('2024-02-29')
    expect(addDays('0001-01-01', -1)).toBeNull()
    expect(addDays('9999-12-31', 1)).toBeNull()
    expect(addMonths('2026-01-31', 1)).toBe('2026-02-28')
    expect(addMonths('2026-01-31', -11)).toBe('2025-02-28')
    expect(isDay('2026-2-3')).toBe(false)
    expect(isDay('0000-12-31')).toBe(false)
  })

  test('every hour of a year is found again by its clock in zones with all kinds of changes', () => {
    for (const zone of [
      'Europe/Berlin',
      'Australia/Lord_Howe',
      'Asia/Kathmandu',
      'Pacific/Kiritimati',
      'Africa/Cairo',
      'America/St_Johns',
    ]) {
      for (let hour = 0; hour < 8760; hour += 1) {
        const moment = Date.UTC(2026, 0, 1, hour)
        const clock = clockAt(new Date(moment).toISOString().slice(0, 19), zone)
        const { at: found, exists } = momentOf(clock, zone)
        if (exists === 'twice') expect([0, 1_800_000, 3_600_000]).toContain(moment - found)
        else expect([zone, clock, found, exists]).toEqual([zone, clock, moment, 'once'])
      }
    }
  })

  test('the first and the last instant have a day in every zone', () => {
    expect(clockAt('0001-01-01 00:00:00', 'America/New_York').day).toBe('0001-01-01')
    expect(clockAt('9999-12-31 23:59:59', 'Pacific/Kiritimati').day).toBe('9999-12-31')
  })
})
