/** Lines that are typed to create a task, and what they become. */
import { describe, expect, test } from 'vitest'
import { type QuickAddPlace, readQuickAdd } from '../../console/src/tasks/quick-add/quick-add.ts'

const me = { id: 1, name: 'Olivia Owner', email: 'olivia@example.com' }
const marco = { id: 2, name: 'Marco Rossi', email: 'marco@example.com' }
const [annSmith, annLee] = [
  { id: 3, name: 'Ann Smith', email: 'ann.smith@example.com' },
  { id: 4, name: 'Ann Lee', email: 'ann.lee@example.com' },
]
/** Monday, 10:00 in Berlin. */
const MONDAY = new Date('2026-11-30T09:00:00Z')

const read = (line: string, { place = {}, kept = [] }: { place?: Partial<QuickAddPlace>; kept?: string[] } = {}) =>
  readQuickAdd(
    line,
    { zone: 'Europe/Berlin', locale: 'en-GB', now: MONDAY, me, people: [me, marco, annSmith, annLee], ...place },
    new Set(kept),
  )

/** `2026-12-01 09:30` on the clocks of the person, or the day alone. */
const dueOf = (line: string, place: Partial<QuickAddPlace> = {}) => {
  const { due } = read(line, { place })
  return due && [due.day, due.time?.slice(0, 5)].filter(Boolean).join(' ')
}

test('a line with everything becomes a task, in UTC for the service', () => {
  expect(read('Call Ann tomorrow 9:30 !30m @Marco')).toMatchObject({
    title: 'Call Ann',
    due: { day: '2026-12-01', time: '09:30:00', due_date: '2026-12-01', due_time: '08:30:00' },
    reminder: { reminder_offset_mins: 30, ringsAt: '2026-12-01 08:00:00' },
    assignee: marco,
    notes: [],
    problem: null,
  })
  expect(read('@Marco: call Ann tomorrow 9:30 !30m').parts.map(({ kind, text }) => [kind, text])).toEqual([
    ['assignee', '@Marco'],
    ['due', 'tomorrow 9:30'],
    ['reminder', '!30m'],
  ])
})

describe('days and times', () => {
  test.each([
    ['Call Ann', 'Call Ann', null],
    ['Call Ann tomorrow', 'Call Ann', '2026-12-01'],
    ['Call Ann today', 'Call Ann', '2026-11-30'],
    ['tomorrow at 9 call Ann', 'call Ann', '2026-12-01 09:00'],
    ['Call Ann by friday', 'Call Ann', '2026-12-04'],
    ['Call Ann on friday at noon, please', 'Call Ann, please', '2026-12-04 12:00'],
    ['Call Ann monday', 'Call Ann', '2026-12-07'],
    ['Call Ann in 3 days', 'Call Ann', '2026-12-03'],
    ['Call Ann in 2 hours', 'Call Ann', '2026-11-30 12:00'],
    ['Call Ann next week', 'Call Ann', '2026-12-07'],
    ['Call Ann tomorrow morning', 'Call Ann', '2026-12-01 09:00'],
    ['Call Ann tonight', 'Call Ann', '2026-11-30 20:00'],
    ['Call Ann 5pm', 'Call Ann', '2026-11-30 17:00'],
    ['Call Ann 24.12.', 'Call Ann', '2026-12-24'],
    ['Call Ann 24.12. 14:30', 'Call Ann', '2026-12-24 14:30'],
    ['Call Ann at 14:30 on 24.12.2027', 'Call Ann', '2027-12-24 14:30'],
    ['Call Ann 24.12.27', 'Call Ann', '2027-12-24'],
    ['Call Ann 3.1.', 'Call Ann', '2027-01-03'],
    ['Call Ann 24/12', 'Call Ann', '2026-12-24'],
    ['Call Ann 2026-12-24', 'Call Ann', '2026-12-24'],
    ['Call Ann 24 Dec', 'Call Ann', '2026-12-24'],
    ['Call Ann Dec 24th 9:00', 'Call Ann', '2026-12-24 09:00'],
    // What is no date stays.
    ['Release version 2.10.3', 'Release version 2.10.3', null],
    ['Pay 1.5 euro', 'Pay 1.5 euro', null],
    ['Call 555-1234, room 12', 'Call 555-1234, room 12', null],
    ['Support is there 24/7', 'Support is there 24/7', null],
    ['Ann may come', 'Ann may come', null],
    ['March on', 'March on', null],
    ['She sat down', 'She sat down', null],
    ['Do it now', 'Do it now', null],
    ['Ring for 5 minutes', 'Ring for 5 minutes', null],
    ['Talk about what was yesterday', 'Talk about what was yesterday', null],
    ['Write to a@tomorrow.example', 'Write to a@tomorrow.example', null],
  ])('%s', (line, title, due) => {
    expect(read(line)).toMatchObject({ title, problem: null, notes: [] })
    expect(dueOf(line)).toBe(due)
  })

  test('the order of the digits and the words are those of the language', () => {
    expect(dueOf('Call Ann 3/4', { locale: 'en-US' })).toBe('2027-03-04')
    expect(dueOf('Call Ann 3/4', { locale: 'en-GB' })).toBe('2027-04-03')
    expect(dueOf('Ann anrufen morgen um 9:30', { locale: 'de' })).toBe('2026-12-01 09:30')
    expect(read('Ann anrufen morgen um 9:30', { place: { locale: 'de' } }).title).toBe('Ann anrufen')
    expect(dueOf('Ann anrufen am Freitag', { locale: 'de' })).toBe('2026-12-04')
    expect(dueOf('Ann anrufen 24. Dezember', { locale: 'de' })).toBe('2026-12-24')
  })

  test.each([
    ['Call Ann 31.2.', '“31.2.” is not a day that exists, so it stays in the title.'],
    ['Call Ann 31 Feb', '“31 Feb” is not a day that exists, so it stays in the title.'],
    ['Call Ann 2026-02-30', '“2026-02-30” is not a day that exists, so it stays in the title.'],
    ['Call Ann 25:00', '“25:00” is not a time of day, so it stays in the title.'],
    ['Call Ann 9:75', '“9:75” is not a time of day, so it stays in the title.'],
  ])('%s says what is wrong', (line, note) => {
    expect(read(line)).toMatchObject({ title: line, due: null, notes: [note], problem: null })
  })

  test('a day counts although the time beside it does not exist', () => {
    expect(read('Call Ann tomorrow 25:00')).toMatchObject({ title: 'Call Ann 25:00', due: { day: '2026-12-01', due_time: null } })
  })

  test('only a time is today, or tomorrow once it has passed, which is said', () => {
    expect(read('Call Ann 10:30')).toMatchObject({ due: { day: '2026-11-30', due_time: '09:30:00' }, notes: [] })
    expect(read('Call Ann 9:30')).toMatchObject({
      due: { day: '2026-12-01', due_time: '08:30:00' },
      notes: ['9:30 has passed today, so it is due tomorrow.'],
    })
  })

  test('of two dates the first counts, which is said', () => {
    expect(read('Call Ann 24.12. or 27.12.')).toMatchObject({
      title: 'Call Ann or 27.12.',
      due: { day: '2026-12-24' },
      notes: ['Only the first date counts: “27.12.” stays in the title.'],
    })
    expect(read('Call Ann tomorrow 9:30 about friday')).toMatchObject({ title: 'Call Ann about friday', due: { day: '2026-12-01' } })
  })

  test('a time that the clocks skip is the later one, one that comes twice the first, which is said', () => {
    expect(read('Call Ann 28.3.2027 2:30')).toMatchObject({
      due: { day: '2027-03-28', time: '03:30:00', due_time: '01:30:00' },
      notes: ['Clocks skip 02:30 on that day; it becomes 03:30'],
    })
    expect(read('Call Ann 31.10.2027 2:30')).toMatchObject({
      due: { day: '2027-10-31', time: '02:30:00', due_time: '00:30:00' },
      notes: ['02:30 comes twice on that day, as clocks go back; this is the first'],
    })
  })

  test.each([
    ['Pacific/Kiritimati', '2026-12-01', '2026-11-30', '19:30:00'],
    ['America/Los_Angeles', '2026-12-01', '2026-12-01', '17:30:00'],
    ['Asia/Kathmandu', '2026-12-01', '2026-12-01', '03:45:00'],
  ])('in %s days are those of the zone', (zone, day, due_date, due_time) => {
    // In Kiritimati it is 23:00, in Los Angeles 1:00 of the same day.
    expect(read('Call Ann tomorrow 9:30', { place: { zone } }).due).toMatchObject({ day, time: '09:30:00', due_date, due_time })
    expect(read('Call Ann tomorrow', { place: { zone } }).due).toMatchObject({ day, due_date: day, due_time: null })
  })

  test('what is due in some hours counts them in the zone, over a change of the clocks', () => {
    const now = new Date('2027-03-28T00:30:00Z')
    expect(read('Call Ann in 2 hours', { place: { now } }).due).toMatchObject({ time: '04:30:00', due_time: '02:30:00' })
  })
})

describe('reminders', () => {
  test.each([
    ['!30m', 30],
    ['!2h', 120],
    ['!1d', 1440],
    ['!1w', 10_080],
    ['!0m', 0],
    ['!9:00', 90],
  ])('%s is so many minutes before', (reminder, minutes) => {
    expect(read(`Call Ann tomorrow 10:30 ${reminder}`)).toMatchObject({ title: 'Call Ann', reminder: { reminder_offset_mins: minutes } })
  })

  test('on a whole day it is a time, and rings on the date in UTC, which is said where that is another day', () => {
    expect(read('Call Ann tomorrow !9:00')).toMatchObject({
      reminder: { reminder_time: '08:00:00', ringsAt: '2026-12-01 08:00:00' },
      notes: [],
    })
    expect(read('Call Ann tomorrow !9:00', { place: { zone: 'Pacific/Kiritimati' } })).toMatchObject({
      due: { day: '2026-12-01' },
      reminder: { reminder_time: '19:00:00', ringsAt: '2026-12-01 19:00:00' },
      notes: ['Reminders of whole days go by the date in UTC: here it rings on Wed, 2 Dec 2026.'],
    })
  })

  test.each([
    ['Call Ann !30m', 'A reminder needs a date: “!30m” stays in the title.'],
    ['Call Ann tomorrow !1d', /^“!1d” needs a time of day to count from/],
    ['Call Ann tomorrow 9:30 !10:00', '“!10:00” is after the task is due, and stays in the title.'],
    ['Call Ann tomorrow 9:30 !400d', '“!400d” is more than a year before, and stays in the title.'],
    ['Call Ann today 11:00 !2h', 'That time has passed, so the reminder will not ring.'],
    ['Call Ann tomorrow 9:30 !1h !2h', 'Only the first reminder counts: “!2h” stays in the title.'],
  ])('%s', (line, note) => {
    expect(read(line).notes).toEqual([typeof note === 'string' ? note : expect.stringMatching(note)])
  })

  test('an exclamation mark alone is none', () => {
    expect(read('Call Ann now! Really! 30m')).toMatchObject({ title: 'Call Ann now! Really! 30m', reminder: null, notes: [] })
  })
})

describe('people', () => {
  test.each([
    ['Call @Marco', marco],
    ['Call @marco rossi tomorrow', marco],
    ['Call @ROSSI.', marco],
    ['Call @marco@example.com', marco],
    ['Call @Mar', marco],
    ['Call @Ann Lee', annLee],
    ['Call @me', me],
  ])('%s', (line, assignee) => {
    expect(read(line)).toMatchObject({ assignee, notes: [] })
    expect(read(line).title).toMatch(/^Call\.?$/)
  })

  test('an unknown name, one of several people, and a second one stay in the title, which is said', () => {
    expect(read('Call @Zoe')).toMatchObject({
      ...{ title: 'Call @Zoe', assignee: null },
      notes: ['Nobody here is called “Zoe”: “@Zoe” stays in the title.'],
    })
    expect(read('Call @Ann')).toMatchObject({
      ...{ title: 'Call @Ann', assignee: null },
      notes: ['“@Ann” can mean Ann Smith or Ann Lee: choose one, or it stays in the title.'],
    })
    expect(read('Call @Marco @me')).toMatchObject({ title: 'Call @me', assignee: marco })
    expect(read('Mail ann@example.com @ 5 euro')).toMatchObject({ title: 'Mail ann@example.com @ 5 euro', notes: [] })
  })
})

test('what is kept stays in the title', () => {
  expect(read('Call Ann tomorrow 9:30 @Marco', { kept: ['tomorrow 9:30', '@Marco'] })).toMatchObject({
    ...{ title: 'Call Ann tomorrow 9:30 @Marco', due: null, assignee: null, notes: [] },
  })
})

test('a title is there, and has 500 characters at most', () => {
  expect(read('tomorrow 9:30').problem).toBe('Say what is to be done.')
  expect(read(' ').problem).toBe('Say what is to be done.')
  expect(read(`${'x'.repeat(500)} tomorrow`)).toMatchObject({ problem: null, due: { day: '2026-12-01' } })
  expect(read('x'.repeat(501)).problem).toBe('A title may have 500 characters; this one has 501.')
  expect(read('x '.repeat(50_000)).problem).toMatch(/this one has/)
})

test('no line makes it fail', () => {
  for (const line of [
    '@',
    '!',
    '@@@ !!! 1.1.1.1 ::: 00:00:00',
    '99.99.9999',
    '0000-00-00',
    '24:00',
    '\u202e@Ma\u0000rco',
    '😀'.repeat(200),
  ]) {
    expect(read(line).problem, line).toBeNull()
  }
})
