import fc from 'fast-check'
import { describe, expect, test, vi } from 'vitest'
import { writtenDate, writtenInstant } from '../../src/platform/time/readable-time.ts'
import {
  addDays,
  addMonths,
  formatInstant,
  instant,
  instantOf,
  instantText,
  isCalendarDate,
  isTimeOfDay,
  parseInstant,
  startOfMonths,
  startOfWeek,
  timeOfDay,
} from '../../src/platform/time/time.ts'
import {
  dayRange,
  isTimeZone,
  localDate,
  localInstant,
  localTime,
  MOST_ZONES,
  startOfDay,
  startOfHour,
} from '../../src/platform/time/time-zones.ts'

const HOUR = 3_600_000
const DAY = 24 * HOUR

describe('calendar dates', () => {
  test.each(['2026-01-01', '2024-02-29', '2000-02-29', '0001-01-01', '9999-12-31'])('%s exists', (text) => {
    expect(isCalendarDate(text)).toBe(true)
  })

  test.each([
    '2026-02-29',
    '1900-02-29',
    '2026-04-31',
    '2026-13-01',
    '2026-00-10',
    '2026-01-00',
    '0000-01-01',
    '2026-1-1',
    '20260101',
    '',
    ' 2026-01-01',
    '2026-01-01T00:00:00Z',
    '+02026-01-01',
  ])('%j does not', (text) => {
    expect(isCalendarDate(text)).toBe(false)
  })

  test.each([
    ['2026-03-31', -1, '2026-02-28'],
    ['2024-03-31', -1, '2024-02-29'],
    ['2026-01-31', 1, '2026-02-28'],
    ['2026-01-31', 3, '2026-04-30'],
    ['2026-12-31', 2, '2027-02-28'],
    ['2024-02-29', 12, '2025-02-28'],
    ['2024-02-29', -48, '2020-02-29'],
    ['2026-05-15', -5, '2025-12-15'],
    ['0099-12-31', 1, '0100-01-31'],
  ])('%s and %d months is %s', (date, months, expected) => {
    expect(addMonths(date, months)).toBe(expected)
  })

  test.each([
    ['2026-12-31', 1, '2027-01-01'],
    ['2024-02-28', 1, '2024-02-29'],
    ['2026-03-01', -1, '2026-02-28'],
    ['2011-12-29', 1, '2011-12-30'],
  ])("%s and %d days is %s, also across days that the machine's zone skips", (date, days, expected) => {
    expect(addDays(date, days)).toBe(expected)
  })

  test.each([
    ['2026-11-20', 'monday', '2026-11-16'],
    ['2026-11-20', 'sunday', '2026-11-15'],
    ['2026-11-16', 'monday', '2026-11-16'],
    ['2026-11-15', 'monday', '2026-11-09'],
    ['2026-11-15', 'sunday', '2026-11-15'],
  ] as const)('the week of %s that starts on %s starts on %s', (date, weekStart, expected) => {
    expect(startOfWeek(date, weekStart)).toBe(expected)
  })

  test.each([
    ['2026-11-20', 1, '2026-11-01'],
    ['2026-11-20', 3, '2026-10-01'],
    ['2026-03-31', 3, '2026-01-01'],
    ['2026-12-31', 12, '2026-01-01'],
  ] as const)('%s lies in the span of %d months from %s', (date, months, expected) => {
    expect(startOfMonths(date, months)).toBe(expected)
  })
})

describe('instants as text', () => {
  test.each([
    ['2026-03-31 09:30:00', '2026-03-31 09:30:00'],
    ['2026-03-31 09:30', '2026-03-31 09:30:00'],
    ['2026-03-31T09:30:00Z', '2026-03-31 09:30:00'],
    ['2026-03-31T09:30:59.999Z', '2026-03-31 09:30:59'],
    ['2026-03-31T09:30:00+02:00', '2026-03-31 07:30:00'],
    ['2026-01-01T00:15:00+05:45', '2025-12-31 18:30:00'],
    ['2026-12-31T23:30:00-0330', '2027-01-01 03:00:00'],
  ])('%s is %s', (text, expected) => {
    const parsed = parseInstant(text)
    expect(parsed && formatInstant(parsed)).toBe(expected)
    expect(instantText(text)).toBe(expected)
  })

  test.each([
    '2026-02-29 09:30:00',
    '2026-03-31 24:00:00',
    '2026-03-31',
    '09:30',
    '2026-03-31 09:30:00+25:00',
    '2026-03-31 9:30',
    '0001-01-01T00:00:00+01:00',
    'now',
    '',
  ])('%j is not an instant', (text) => {
    expect(parseInstant(text)).toBeNull()
    expect(instantText(text)).toBeNull()
  })

  test('a date and a time make an instant in UTC', () => {
    expect(instant('2026-03-31', '09:30').toISOString()).toBe('2026-03-31T09:30:00.000Z')
    expect(instant('2026-03-31', '09:30:15').toISOString()).toBe('2026-03-31T09:30:15.000Z')
  })

  test('a time of day is HH:MM or HH:MM:SS', () => {
    expect(['00:00', '23:59', '23:59:59'].every(isTimeOfDay)).toBe(true)
    expect(['24:00', '9:30', '09:60', '09:30:60', '09:30:00.1', ''].some(isTimeOfDay)).toBe(false)
    expect(timeOfDay('09:30')).toBe('09:30:00')
    expect(timeOfDay('09:30:15')).toBe('09:30:15')
  })
})

describe('in a text', () => {
  test.each([
    ['2026-11-22', '22 November 2026'],
    ['0099-03-01', '1 March 99'],
    ['9999-12-31', '31 December 9999'],
  ])('%s is %s', (date, text) => {
    expect(writtenDate(date)).toBe(text)
  })

  test.each([
    ['2026-11-22T13:30:59Z', 'Europe/Berlin', '22 November 2026, 14:30 CET'],
    ['2026-06-30T22:30:00Z', 'Europe/Berlin', '1 July 2026, 00:30 CEST'],
    ['2026-11-22T13:30:00Z', 'America/New_York', '22 November 2026, 08:30 EST'],
    ['2026-11-22T13:30:00Z', 'Australia/Sydney', '23 November 2026, 00:30 AEDT'],
    ['2026-11-22T13:30:00Z', 'Asia/Kolkata', '22 November 2026, 19:00 IST'],
    ['2026-11-22T13:30:00Z', 'Asia/Tokyo', '22 November 2026, 22:30 GMT+9'],
    ['2026-11-22T13:30:00Z', 'UTC', '22 November 2026, 13:30 UTC'],
    ['0001-01-01T00:30:00Z', 'Etc/GMT+12', '31 December 1 BC, 12:30 GMT-12'],
    ['9999-12-31T23:30:00Z', 'Etc/GMT-12', '1 January 10000, 11:30 GMT+12'],
  ])('%s in %s is %s', (at, timeZone, text) => {
    expect(writtenInstant(new Date(at), timeZone)).toBe(text)
  })
})

describe('time zones', () => {
  test('keep the formats of a bounded number of names, which can be written in any case', () => {
    const made = vi.spyOn(Intl, 'DateTimeFormat')
    const name = 'antarctica/dumontdurville'
    const spelled = (way: number) => name.replace(/[a-z]/g, (letter, at) => (way & (1 << at) ? letter.toUpperCase() : letter))
    const formatsMadeFor = (zone: string) => {
      made.mockClear()
      expect(localTime(new Date('2026-11-22T13:30:00Z'), zone)).toBe('23:30:00')
      return made.mock.calls.length
    }
    expect([formatsMadeFor(name), formatsMadeFor(name)]).toEqual([1, 0])
    for (let way = 1; way <= MOST_ZONES; way++) formatsMadeFor(spelled(way))
    expect(formatsMadeFor(name)).toBe(1)
    made.mockRestore()
  })

  test.each(['UTC', 'Europe/Berlin', 'Asia/Kathmandu', 'Pacific/Apia', 'America/Argentina/Buenos_Aires'])('%s is one', (name) => {
    expect(isTimeZone(name)).toBe(true)
  })

  test.each(['', 'Mars/Olympus', '+02:00', 'Europe/Berlin ', 'local', '../etc/passwd'])('%j is not a time zone', (name) => {
    expect(isTimeZone(name)).toBe(false)
  })

  test.each([
    ['2026-03-28T23:30:00Z', 'Europe/Berlin', '2026-03-29', '00:30:00'],
    ['2026-11-20T10:00:00Z', 'Pacific/Kiritimati', '2026-11-21', '00:00:00'],
    ['2026-11-20T11:59:59Z', 'Etc/GMT+12', '2026-11-19', '23:59:59'],
    ['2026-11-20T18:15:00Z', 'Asia/Kathmandu', '2026-11-21', '00:00:00'],
    ['2011-12-30T09:59:59Z', 'Pacific/Apia', '2011-12-29', '23:59:59'],
    ['2011-12-30T10:00:00Z', 'Pacific/Apia', '2011-12-31', '00:00:00'],
  ])('at %s clocks in %s show %s %s', (at, zone, date, time) => {
    expect(localDate(new Date(at), zone)).toBe(date)
    expect(localTime(new Date(at), zone)).toBe(time)
  })

  test.each([
    ['an ordinary day', '2026-07-01', 'Europe/Berlin', '2026-06-30 22:00:00', 24],
    ['a day that loses an hour', '2026-03-29', 'Europe/Berlin', '2026-03-28 23:00:00', 23],
    ['a day that gains an hour', '2026-10-25', 'Europe/Berlin', '2026-10-24 22:00:00', 25],
    ['a day without midnight', '2026-04-24', 'Africa/Cairo', '2026-04-23 22:00:00', 23],
    ['a day that the zone skipped', '2011-12-30', 'Pacific/Apia', '2011-12-30 10:00:00', 0],
    ['the day after it', '2011-12-31', 'Pacific/Apia', '2011-12-30 10:00:00', 24],
    ['a half-hour change', '2026-04-05', 'Australia/Lord_Howe', '2026-04-04 13:00:00', 24.5],
    ['a midnight that occurs twice', '2010-11-07', 'America/St_Johns', '2010-11-07 02:30:00', 25],
    ['a change that ends at midnight', '2026-11-01', 'America/Havana', '2026-11-01 04:00:00', 25],
    ['the first of all days', '0001-01-01', 'UTC', '0001-01-01 00:00:00', 24],
    ['the first of all days, west', '0001-01-01', 'America/New_York', '0001-01-01 04:56:02', 24],
    ['the first of all days, east', '0001-01-01', 'Europe/Berlin', '0000-12-31 23:06:32', 24],
    ['the last of all days', '9999-12-31', 'UTC', '9999-12-31 00:00:00', 24],
    ['the last of all days, east', '9999-12-31', 'Pacific/Kiritimati', '9999-12-30 10:00:00', 24],
  ])('%s: %s in %s starts at %s and has %d hours', (_, date, zone, start, hours) => {
    const { from, to } = dayRange(date, zone)
    expect(formatInstant(from)).toBe(start)
    expect((to.getTime() - from.getTime()) / HOUR).toBe(hours)
  })

  test('the start of a day is computed once, however often conditions name it', () => {
    const formats = vi.spyOn(Intl.DateTimeFormat.prototype as { readonly format: unknown }, 'format', 'get')
    const days = Array.from({ length: 200 }, (_, index) => addDays('2031-01-01', index))
    const starts = () => days.map((day) => dayRange(day, 'Europe/Lisbon').from.getTime())
    const first = starts()
    // Two offsets for each day; around a clock change some more.
    expect(formats.mock.calls.length).toBeLessThan(600)
    formats.mockClear()
    for (let again = 0; again < 200; again++) expect(starts()).toEqual(first)
    expect(formats).not.toHaveBeenCalled()
    formats.mockRestore()
  })

  const clocks = new Map<string, Intl.DateTimeFormat>()
  /**
   * Shows instants in a zone as Intl does, independently of the module under test. The formats are cached because they are slow to create.
   */
  function clock(zone: string) {
    const format = clocks.get(zone) ?? new Intl.DateTimeFormat('sv-SE', { timeZone: zone, dateStyle: 'short', timeStyle: 'medium' })
    clocks.set(zone, format)
    return (at: number) => format.format(at)
  }

  /** Returns the first second of each clock change in the time, found by bisecting spans of three weeks. */
  function* clockChanges(zone: string, from: number, to: number): Generator<number> {
    const show = clock(zone)
    const offset = (at: number) => Date.parse(`${show(at).replace(' ', 'T')}Z`) - at
    for (let at = from; at < to; at += 21 * DAY) {
      const before = offset(at)
      let [low, high] = [at, at + 21 * DAY]
      if (offset(high) === before) continue
      while (high - low > 1000) {
        const middle = Math.floor((low + high) / 2000) * 1000
        if (offset(middle) === before) low = middle
        else high = middle
      }
      yield high
    }
  }

  function startsWhenFirstShown(date: string, zone: string): boolean {
    const show = clock(zone)
    const start = startOfDay(date, zone).getTime()
    // Where midnight occurs twice, the first one starts the day: no earlier time within three hours shows the date.
    const isShownBefore = [15, 30, 45, 60, 90, 120, 150, 180].some((minutes) => show(start - minutes * 60_000) >= date)
    return show(start) >= date && show(start - 1000) < date && !isShownBefore
  }

  test('every local day around every clock change of every zone starts when Intl first shows it', () => {
    let changes = 0
    const wrong: string[] = []
    for (const zone of Intl.supportedValuesOf('timeZone')) {
      for (const change of clockChanges(zone, Date.UTC(2011, 0, 1), Date.UTC(2028, 0, 1))) {
        changes++
        const days = [-1, 0, 1].map((step) => addDays(clock(zone)(change).slice(0, 10), step))
        wrong.push(...days.filter((date) => !startsWhenFirstShown(date, zone)).map((date) => `${zone} ${date}`))
      }
    }
    expect(wrong).toEqual([])
    expect(changes).toBeGreaterThan(2000)
  })

  test('days follow each other without gap or overlap, and contain the instants with their local date', () => {
    const zones = fc.constantFrom(...Intl.supportedValuesOf('timeZone'))
    const instants = fc.date({ min: new Date('1990-01-01'), max: new Date('2037-12-31'), noInvalidDate: true })
    fc.assert(
      fc.property(zones, instants, (zone, at) => {
        const { from, to } = dayRange(localDate(at, zone), zone)
        expect(from.getTime()).toBeLessThanOrEqual(at.getTime())
        // Where midnight occurs twice, the hour between belongs to the new day.
        if (!(at.getTime() < to.getTime())) expect(localDate(to, zone) > localDate(at, zone)).toBe(true)
      }),
      { seed: 20261120, numRuns: 2000 },
    )
  })

  test.each([
    ['2026-03-30 09:59:59', 'UTC', '2026-03-30 09:00:00'],
    ['2026-03-30 10:00:00', 'UTC', '2026-03-30 10:00:00'],
    ['2026-03-30 10:00:00', 'Asia/Kolkata', '2026-03-30 09:30:00'],
    ['2026-03-30 09:29:59', 'Asia/Kolkata', '2026-03-30 08:30:00'],
    ['2026-03-30 10:00:00', 'Asia/Kathmandu', '2026-03-30 09:15:00'],
    ['2026-03-30 10:10:00', 'Pacific/Kiritimati', '2026-03-30 10:00:00'],
    ['2026-03-30 10:10:00', 'Etc/GMT+12', '2026-03-30 10:00:00'],
    ['1960-01-01 00:30:00', 'UTC', '1960-01-01 00:00:00'],
    // The clock moves from 02:00 to 03:00, and from 03:00 to 02:00; each hour still has a start.
    ['2026-03-29 01:10:00', 'Europe/Berlin', '2026-03-29 01:00:00'],
    ['2026-10-25 00:59:59', 'Europe/Berlin', '2026-10-25 00:00:00'],
    ['2026-10-25 01:10:00', 'Europe/Berlin', '2026-10-25 01:00:00'],
    // The clock moves from 02:00 to 02:30, and from 02:00 to 01:30.
    ['2026-10-03 15:29:59', 'Australia/Lord_Howe', '2026-10-03 14:30:00'],
    ['2026-10-03 15:59:59', 'Australia/Lord_Howe', '2026-10-03 15:30:00'],
    ['2026-10-03 16:00:00', 'Australia/Lord_Howe', '2026-10-03 16:00:00'],
    ['2026-04-04 15:10:00', 'Australia/Lord_Howe', '2026-04-04 15:00:00'],
    ['2026-04-04 15:30:00', 'Australia/Lord_Howe', '2026-04-04 15:30:00'],
  ])('the hour of %s in %s began at %s', (at, zone, start) => {
    expect(formatInstant(startOfHour(instantOf(at), zone))).toBe(start)
  })

  test('an hour starts when the clock of its zone reaches it, or jumps into it', () => {
    const zones = fc.constantFrom(...Intl.supportedValuesOf('timeZone'))
    const instants = fc.date({ min: new Date('1990-01-01'), max: new Date('2037-12-31'), noInvalidDate: true })
    fc.assert(
      fc.property(zones, instants, (zone, at) => {
        const start = startOfHour(at, zone)
        const show = clock(zone)
        const age = at.getTime() - start.getTime()
        expect(age >= 0 && age < HOUR).toBe(true)
        expect(show(start.getTime()).slice(0, 13)).toBe(show(at.getTime()).slice(0, 13))
        if (!show(start.getTime()).endsWith(':00:00')) {
          const elapsed =
            Date.parse(`${show(start.getTime()).replace(' ', 'T')}Z`) - Date.parse(`${show(start.getTime() - 1000).replace(' ', 'T')}Z`)
          expect(elapsed).not.toBe(1000)
        }
      }),
      { seed: 20261120, numRuns: 2000 },
    )
  })

  test('the hours of a local year 0 or 10000 count as the first or the last date', () => {
    expect(localDate(new Date('0001-01-01T00:00:00Z'), 'America/New_York')).toBe('0001-01-01')
    expect(localDate(new Date('9999-12-31T23:59:59Z'), 'Pacific/Kiritimati')).toBe('9999-12-31')
  })

  test('a local instant is its date and time, beyond the year 9999 too', () => {
    expect(localInstant(new Date('2026-03-29T01:00:00.999Z'), 'Europe/Berlin')).toBe('2026-03-29 03:00:00')
    expect(localInstant(new Date('9999-12-31T23:00:00Z'), 'Pacific/Kiritimati')).toBe('+010000-01-01 13:00:00')
    expect(localInstant(new Date('0001-01-01T00:00:00Z'), 'Asia/Kolkata')).toMatch(/^0001-01-01 05:/)
  })
})
