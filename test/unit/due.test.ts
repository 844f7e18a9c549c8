import { describe, expect, test } from 'vitest'
import { countDue } from '../../src/notifications/due.ts'
import { addDays, formatInstant } from '../../src/platform/time/time.ts'
import { dayAt, dayRange, localDate } from '../../src/platform/time/time-zones.ts'

const HOUR = 3_600_000
const ZONES = ['UTC', 'Etc/GMT+12', ...Intl.supportedValuesOf('timeZone')]

/** Instants around days on which clocks changed, a date was skipped, or midnight occurred twice; and others. */
const MOMENTS = [
  ...['2026-03-29', '2026-11-01', '2026-04-24', '2026-12-31', '2011-12-30', '2010-11-07'],
  ...['1969-09-30', '1867-10-18', '1844-12-31'],
].flatMap((date) => [0, 11.9997].map((hours) => new Date(Date.parse(`${date}T00:00:00Z`) + hours * HOUR)))

describe('the badge', () => {
  // The statement sorts tasks by these bounds without knowing the zone (dueOfPrincipal).
  test('covers a local day within the days around that of UTC which the statement reads, in any zone', () => {
    for (const now of MOMENTS) {
      const utc = formatInstant(now).slice(0, 10)
      for (const zone of ZONES) {
        const { date, to } = dayAt(now, zone)
        const end = formatInstant(to)
        const place = `${zone} at ${formatInstant(now)}`
        expect([addDays(utc, -1), utc, addDays(utc, 1)], place).toContain(date)
        // A task due before the day before is overdue, and one due three days on is not due.
        expect(end >= `${addDays(utc, -1)} 00:00:00` && end <= `${addDays(utc, 3)} 00:00:00`, place).toBe(true)
      }
    }
  })

  test('returns the same day from its cache as without it', () => {
    for (const now of MOMENTS)
      for (const zone of ['UTC', 'Pacific/Apia', 'America/Havana', 'America/St_Johns'])
        for (const at of [now, new Date(now.getTime() + 999), new Date(now.getTime() + 1000)]) {
          const date = localDate(at, zone)
          expect(dayAt(at, zone)).toMatchObject({ date, ...dayRange(date, zone) })
        }
  })

  // Apia had no 30 December 2011; in Havana and St John's, midnight occurred twice.
  test.each([
    ['Pacific/Apia', '2011-12-30 09:59:59', '2011-12-29', null, '1/0'],
    ['Pacific/Apia', '2011-12-30 09:59:59', '2011-12-30', null, '0/0'],
    ['Pacific/Apia', '2011-12-30 09:59:59', '2011-12-30', '09:59:59', '1/0'],
    ['Pacific/Apia', '2011-12-30 09:59:59', '2011-12-30', '10:00:00', '0/0'],
    ['Pacific/Apia', '2011-12-30 10:00:00', '2011-12-30', null, '1/1'],
    ['Pacific/Apia', '2011-12-30 10:00:00', '2011-12-31', null, '1/0'],
    ['Pacific/Apia', '2011-12-30 10:00:00', '2011-12-31', '09:59:59', '1/0'],
    ['Pacific/Apia', '2011-12-30 10:00:00', '2011-12-31', '10:00:00', '0/0'],
    ['America/Havana', '2026-11-01 04:30:00', '2026-11-01', null, '1/0'],
    ['America/Havana', '2026-11-01 05:30:00', '2026-11-01', '04:45:00', '1/1'],
    ['America/Havana', '2026-11-01 05:30:00', '2026-11-02', '04:59:59', '1/0'],
    ['America/Havana', '2026-11-01 05:30:00', '2026-11-02', '05:00:00', '0/0'],
    ['America/St_Johns', '2010-11-07 02:30:30', '2010-11-07', null, '1/0'],
    ['America/St_Johns', '2010-11-07 02:31:30', '2010-11-07', null, '0/0'],
    ['America/St_Johns', '2010-11-07 02:31:30', '2010-11-06', null, '1/0'],
  ])('in %s at %s, of a task due %s %s says %s', (timeZone, at, date, time, expected) => {
    const { count, overdue } = countDue({ past_due: 0, near_due: [[date, time]] }, { timeZone }, new Date(`${at.replace(' ', 'T')}Z`))
    expect(`${count}/${overdue}`).toBe(expected)
  })

  test('counts the tasks that are overdue in every zone, too', () => {
    const now = new Date('2026-03-31T09:30:00Z')
    const near_due: [string, string | null][] = [
      ['2026-03-30', null],
      ['2026-03-31', '09:29:59'],
      ['2026-03-31', '09:30:00'],
      ['2026-04-01', null],
    ]
    expect(countDue({ past_due: 10, near_due }, { timeZone: 'UTC' }, now)).toEqual({ count: 13, overdue: 12 })
    expect(countDue({ past_due: 10, near_due: null }, { timeZone: 'UTC' }, now)).toEqual({ count: 10, overdue: 10 })
  })
})
