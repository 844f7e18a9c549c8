import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { dateMeant, type Moment, meaningOf, parseToken, type Token } from '../../src/fields/date-tokens.ts'
import { isCalendarDate, parseInstant } from '../../src/platform/time/time.ts'
import { localDate } from '../../src/platform/time/time-zones.ts'

const FRIDAY: Moment = { now: new Date('2026-11-20T15:30:45Z'), timeZone: 'UTC', weekStart: 'monday' }

function token(text: string): Token {
  const parsed = parseToken(text)
  if (!parsed) throw new Error(`${text} is no token`)
  return parsed
}

describe('tokens that mean a whole local day', () => {
  test.each([
    ['today', '2026-11-20'],
    ['TODAY', '2026-11-20'],
    ['yesterday', '2026-11-19'],
    ['tomorrow', '2026-11-21'],
    ['-7d', '2026-11-13'],
    ['+7d', '2026-11-27'],
    ['+0d', '2026-11-20'],
    ['-2w', '2026-11-06'],
    ['-1m', '2026-10-20'],
    ['+1Y', '2027-11-20'],
    ['start_of_day', '2026-11-20'],
    ['end_of_day', '2026-11-20'],
    ['start_of_last_day', '2026-11-19'],
    ['end_of_last_day', '2026-11-19'],
    ['end_of_next_day', '2026-11-21'],
    ['end_of_last_week', '2026-11-15'],
    ['END_of_next_week', '2026-11-29'],
    ['end_of_last_month', '2026-10-31'],
    ['end_of_next_month', '2026-12-31'],
    ['end_of_last_quarter', '2026-09-30'],
    ['end_of_next_quarter', '2027-03-31'],
    ['end_of_last_year', '2025-12-31'],
    ['end_of_next_year', '2027-12-31'],
    ['end_of_last_month+1d', '2026-11-01'],
    ['start_of_next_day', '2026-11-21'],
    ['start_of_week', '2026-11-16'],
    ['end_of_week', '2026-11-22'],
    ['start_of_last_week', '2026-11-09'],
    ['start_of_next_week', '2026-11-23'],
    ['start_of_month', '2026-11-01'],
    ['Start_Of_Month', '2026-11-01'],
    ['end_of_month', '2026-11-30'],
    ['start_of_last_month', '2026-10-01'],
    ['start_of_next_month', '2026-12-01'],
    ['start_of_quarter', '2026-10-01'],
    ['end_of_quarter', '2026-12-31'],
    ['start_of_last_quarter', '2026-07-01'],
    ['start_of_next_quarter', '2027-01-01'],
    ['start_of_year', '2026-01-01'],
    ['end_of_year', '2026-12-31'],
    ['start_of_last_year', '2025-01-01'],
    ['start_of_next_year', '2027-01-01'],
    ['start_of_month+7d', '2026-11-08'],
    ['end_of_month-1m', '2026-10-30'],
    ['start_of_next_quarter-1d', '2026-12-31'],
    ['today-1w', '2026-11-13'],
    ['now-1d', '2026-11-19'],
  ])('%s is %s', (text, day) => {
    expect(meaningOf(token(text), FRIDAY)).toEqual({ day })
  })

  test('a week that starts on Sunday', () => {
    const sunday: Moment = { ...FRIDAY, weekStart: 'sunday' }
    expect(dateMeant(token('start_of_week'), sunday)).toBe('2026-11-15')
    expect(dateMeant(token('end_of_week'), sunday)).toBe('2026-11-21')
    expect(dateMeant(token('start_of_last_week'), sunday)).toBe('2026-11-08')
  })

  test('a month before 31 March is the last of February', () => {
    expect(dateMeant(token('-1m'), { ...FRIDAY, now: new Date('2026-03-31T12:00:00Z') })).toBe('2026-02-28')
    expect(dateMeant(token('-1m'), { ...FRIDAY, now: new Date('2024-03-31T12:00:00Z') })).toBe('2024-02-29')
    expect(dateMeant(token('+1y'), { ...FRIDAY, now: new Date('2024-02-29T12:00:00Z') })).toBe('2025-02-28')
  })

  test.each([
    ['Pacific/Kiritimati', '2026-11-21'],
    ['Etc/GMT+12', '2026-11-20'],
    ['Asia/Kathmandu', '2026-11-20'],
  ])('today in %s is %s', (timeZone, day) => {
    expect(dateMeant(token('today'), { ...FRIDAY, timeZone })).toBe(day)
  })
})

describe('tokens that mean an instant', () => {
  test.each([
    ['now', '2026-11-20T15:30:45.000Z'],
    ['-36h', '2026-11-19T03:30:45.000Z'],
    ['+1h', '2026-11-20T16:30:45.000Z'],
    ['now+2h', '2026-11-20T17:30:45.000Z'],
    ['start_of_day+9h', '2026-11-20T09:00:00.000Z'],
  ])('%s is %s', (text, instant) => {
    expect(meaningOf(token(text), FRIDAY)).toEqual({ instant: new Date(instant) })
  })

  test('hours count across a clock change', () => {
    const berlin: Moment = { now: new Date('2026-03-29T12:00:00Z'), timeZone: 'Europe/Berlin', weekStart: 'monday' }
    expect(meaningOf(token('today+3h'), berlin)).toEqual({ instant: new Date('2026-03-29T02:00:00Z') })
  })

  test('on a date field they count as their local day', () => {
    const tokyo: Moment = { ...FRIDAY, timeZone: 'Asia/Tokyo' }
    expect(dateMeant(token('now'), tokyo)).toBe('2026-11-21')
    expect(dateMeant(token('-1h'), tokyo)).toBe('2026-11-20')
  })
})

test.each([
  ...[
    '',
    'd',
    '7d',
    '-d',
    '- 7d',
    '-7',
    '-7s',
    '--7d',
    '-7.5d',
    'todayy',
    'to day',
    ' today',
    'today\n',
    'start_of_',
    'start_of_hour',
    'start_of_last',
  ],
  ...[
    'end_of_last_hour',
    'end_of_last_next_month',
    'start_of_month+',
    'start_of_month+7',
    '+7d+7d',
    '-1001y',
    '+99999999d',
    '2026-01-01',
    'constructor',
  ],
])('%j is not a token', (text) => {
  expect(parseToken(text)).toBeNull()
})

test('every token is an existing day, within a thousand years, in every zone', () => {
  const unit = fc.constantFrom('day', 'week', 'month', 'quarter', 'year')
  const base = fc.oneof(
    fc.constantFrom('', 'now', 'today', 'yesterday', 'tomorrow'),
    fc.tuple(fc.constantFrom('start_of_', 'end_of_', 'start_of_last_', 'start_of_next_'), unit).map((parts) => parts.join('')),
  )
  const offset = fc.tuple(fc.integer({ min: -1000, max: 1000 }), fc.constantFrom('h', 'd', 'w', 'm', 'y'))
  const zone = fc.constantFrom(...Intl.supportedValuesOf('timeZone'))
  const now = fc.date({ min: new Date('1970-01-01'), max: new Date('2100-01-01'), noInvalidDate: true })
  fc.assert(
    fc.property(base, offset, zone, now, fc.constantFrom('monday', 'sunday'), (start, [count, step], timeZone, at, weekStart) => {
      const moment: Moment = { now: at, timeZone, weekStart }
      const meaning = meaningOf(token(`${start}${count < 0 ? '' : '+'}${count}${step}`), moment)
      const day = 'day' in meaning ? meaning.day : localDate(meaning.instant, timeZone)
      expect(isCalendarDate(day)).toBe(true)
      expect(parseInstant(`${day} 00:00`)).not.toBeNull()
    }),
    { seed: 20261120, numRuns: 1000 },
  )
})
