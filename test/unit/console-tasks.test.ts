/** When tasks are due where their reader is, at moments around midnight, changes of clocks and the ends of the world. */
import { describe, expect, test } from 'vitest'
import { dueWords } from '../../console/src/tasks/due-words.ts'
import { dueOf } from '../../console/src/tasks/editing/due-of.ts'
import { type Group, grouped, groupOf } from '../../console/src/tasks/groups.ts'
import { tasksSearch } from '../../console/src/tasks/list/list-search.ts'

const task = (due: string | null, more: { status?: 'open' | 'done'; completed_at?: string } = {}) => {
  const [due_date = null, due_time = null] = due?.split(' ') ?? []
  return { id: 1, status: 'open' as const, completed_at: null, due_date, due_time: due_time && `${due_time}:00`, ...more }
}

const groupAt = (due: string | null, zone: string, now: string): Group => groupOf(task(due), { zone, now: new Date(now) })

describe('a task for a whole day', () => {
  // 2026-11-30 is a Monday.
  test.each([
    ['2026-11-29', 'overdue'],
    ['2026-11-30', 'today'],
    ['2026-12-01', 'week'],
    ['2026-12-06', 'week'],
    ['2026-12-07', 'later'],
    [null, 'none'],
  ])('due %s is %s on Monday', (due, group) => {
    for (const zone of ['Europe/Berlin', 'America/Los_Angeles', 'Asia/Kathmandu']) {
      expect(groupAt(due, zone, '2026-11-30T12:00:00Z'), zone).toBe(group)
    }
  })

  test.each([
    // One instant, three dates: it is the 1st in Kiritimati, the 30th in Berlin, and still the 30th in Los Angeles.
    ['Pacific/Kiritimati', '2026-11-30T10:00:00Z', 'overdue', 'today'],
    ['Europe/Berlin', '2026-11-30T10:00:00Z', 'today', 'week'],
    ['America/Los_Angeles', '2026-11-30T10:00:00Z', 'today', 'week'],
    // The last and the first second of a day.
    ['Europe/Berlin', '2026-11-30T22:59:59Z', 'today', 'week'],
    ['Europe/Berlin', '2026-11-30T23:00:00Z', 'overdue', 'today'],
    ['America/Los_Angeles', '2026-12-01T07:59:59Z', 'today', 'week'],
    ['America/Los_Angeles', '2026-12-01T08:00:00Z', 'overdue', 'today'],
    ['Pacific/Kiritimati', '2026-11-30T09:59:59Z', 'today', 'week'],
    ['Pacific/Pago_Pago', '2026-12-01T10:59:59Z', 'today', 'week'],
  ])('in %s at %s the 30th is %s and the 1st %s', (zone, now, thirtieth, first) => {
    expect([groupAt('2026-11-30', zone, now), groupAt('2026-12-01', zone, now)]).toEqual([thirtieth, first])
  })

  test('changes at midnight of the zone on days on which clocks change, also where there is no midnight', () => {
    const around = (zone: string, day: string, midnight: string) => {
      const at = Date.parse(midnight)
      return [at - 1000, at].map((now) => groupOf(task(day), { zone, now: new Date(now) }))
    }
    expect(around('Europe/Berlin', '2027-03-28', '2027-03-28T22:00:00Z')).toEqual(['today', 'overdue'])
    expect(around('Europe/Berlin', '2027-10-31', '2027-10-31T23:00:00Z')).toEqual(['today', 'overdue'])
    // In Cairo the 24th of April 2026 begins at 1:00.
    expect(around('Africa/Cairo', '2026-04-23', '2026-04-23T22:00:00Z')).toEqual(['today', 'overdue'])
  })

  test('this week ends on Sunday: then nothing is left of it', () => {
    expect(groupAt('2026-12-07', 'Europe/Berlin', '2026-12-06T12:00:00Z')).toBe('later')
    expect(groupAt('2026-12-06', 'Europe/Berlin', '2026-12-05T12:00:00Z')).toBe('week')
  })
})

describe('a task with a time', () => {
  test.each([
    // 23:30 UTC on the 30th is the 1st in Berlin and Kiritimati, and the 30th in Los Angeles.
    ['2026-11-30 23:30', 'Europe/Berlin', '2026-11-30T12:00:00Z', 'week'],
    ['2026-11-30 23:30', 'America/Los_Angeles', '2026-11-30T12:00:00Z', 'today'],
    ['2026-11-30 23:30', 'Pacific/Kiritimati', '2026-11-30T12:00:00Z', 'today'],
    ['2026-11-30 11:59', 'Europe/Berlin', '2026-11-30T12:00:00Z', 'overdue'],
    ['2026-11-30 12:00', 'Europe/Berlin', '2026-11-30T12:00:00Z', 'today'],
  ])('due %s is in %s at %s %s', (due, zone, now, group) => {
    expect(groupAt(due, zone, now)).toBe(group)
  })
})

test('tasks are shown in their groups, by the day and the time there, done ones last and the latest first', () => {
  const tasks = [
    { ...task('2026-12-24'), id: 1 },
    { ...task('2026-11-30'), id: 2 },
    { ...task('2026-11-30 14:00'), id: 3 },
    { ...task('2026-11-01', { status: 'done', completed_at: '2026-11-30 08:00:00' }), id: 4 },
    { ...task(null, { status: 'done', completed_at: '2026-11-30 08:30:00' }), id: 5 },
    { ...task(null), id: 6 },
    { ...task('2026-11-28'), id: 7 },
    { ...task('2026-11-28'), id: 8 },
  ]
  const shown = grouped(tasks, { zone: 'Europe/Berlin', now: new Date('2026-11-30T12:00:00Z') })
  expect(shown.map(({ group, tasks: members }) => [group, members.map(({ id }) => id)])).toEqual([
    ['overdue', [7, 8]],
    ['today', [3, 2]],
    ['later', [1]],
    ['none', [6]],
    ['done', [5, 4]],
  ])
})

describe('in words', () => {
  const now = new Date('2026-11-30T12:00:00Z')
  test.each([
    ['2026-11-30', 'Europe/Berlin', 'Today'],
    ['2026-11-29', 'Europe/Berlin', 'Yesterday'],
    ['2026-12-01', 'Europe/Berlin', 'Tomorrow'],
    ['2026-12-01', 'Pacific/Kiritimati', 'Today'],
    ['2026-12-01 08:30', 'Europe/Berlin', 'Tomorrow 9:30'],
    ['2026-12-04', 'Europe/Berlin', 'Friday'],
    ['2026-12-04 23:30', 'Europe/Berlin', 'Saturday 0:30'],
    ['2026-12-07', 'Europe/Berlin', '7 Dec'],
    ['2026-11-20', 'Europe/Berlin', '20 Nov'],
    ['2027-01-02', 'Europe/Berlin', '2 Jan 2027'],
  ])('%s is in %s %s', (due, zone, words) => {
    expect(dueWords(task(due), { zone, locale: 'en-GB', now })).toBe(words)
  })
})

describe('a due date that is typed', () => {
  const place = { zone: 'Europe/Berlin', locale: 'en-GB', now: new Date('2026-11-30T12:00:00Z') }
  test.each([
    ['tomorrow', '', '2026-12-01', null],
    ['24.12.', '9:30', '2026-12-24', '08:30:00'],
    ['tomorrow 9:30', '', '2026-12-01', '08:30:00'],
    ['tomorrow 9:30', '16:00', '2026-12-01', '08:30:00'],
    ['24 Dec 2pm', '', '2026-12-24', '13:00:00'],
    ['', '0:30', '2026-11-29', '23:30:00'],
    ['', '', null, null],
  ])('%s and %s', (day, time, due_date, due_time) => {
    expect(dueOf({ day, time }, place)).toEqual({ due_date, due_time, notes: [] })
  })

  test('says what does not exist, and what the clocks do', () => {
    expect(dueOf({ day: '31.2.', time: '' }, place)).toEqual({ problem: '“31.2.” is not a day that exists' })
    expect(dueOf({ day: 'tomorrow', time: '25:00' }, place)).toEqual({ problem: '“25:00” is not a time of day' })
    expect(dueOf({ day: '28.3.2027', time: '2:30' }, place)).toMatchObject({
      due_time: '01:30:00',
      notes: ['Clocks skip 02:30 on that day; it becomes 03:30'],
    })
    expect(dueOf({ day: '1.1.0001', time: '0:00' }, { ...place, zone: 'Asia/Tokyo' })).toHaveProperty('problem')
  })
})

test.each([
  [{}, {}],
  [
    { list: 'delegated', search: 'Ann', done: 'true', task: '12' },
    { list: 'delegated', search: 'Ann', done: true, task: 12 },
  ],
  [{ list: 'my', search: '', done: false, task: 0 }, {}],
  [{ list: ['all'], search: { a: 1 }, done: 'yes', task: 'x' }, {}],
  [{ search: 2026 }, { search: '2026' }],
  // What the service would refuse is left out.
  [{ search: '\0' }, {}],
  [{ search: 'A\0nn \ud83d\ude00\ud83d' }, { search: 'Ann \ud83d\ude00' }],
  [{ search: `${'x'.repeat(499)}\ud83d\ude00` }, { search: 'x'.repeat(499) }],
])('the address of the list says %j', (address, search) => {
  expect(tasksSearch(address)).toEqual(search)
})
