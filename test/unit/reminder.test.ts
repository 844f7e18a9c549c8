import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  changeDue,
  type Due,
  dueIssues,
  isPast,
  lateBy,
  type ReminderFacts,
  reminderAt,
  reminderState,
} from '../../src/tasks/reminders/reminder.ts'

const none: Due = { due_date: null, due_time: null, reminder_offset_mins: null, reminder_time: null }

describe('the instant of a reminder', () => {
  test.each<[string, Partial<Due>, string | null]>([
    ['is null without a due date', {}, null],
    ['is null without a reminder', { due_date: '2026-03-31', due_time: '14:30' }, null],
    [
      'is the due instant for an offset of 0',
      { due_date: '2026-03-31', due_time: '14:30', reminder_offset_mins: 0 },
      '2026-03-31 14:30:00',
    ],
    ['is before the due instant', { due_date: '2026-03-31', due_time: '14:30:15', reminder_offset_mins: 45 }, '2026-03-31 13:45:15'],
    ['can be on the day before', { due_date: '2026-03-01', due_time: '00:10', reminder_offset_mins: 20 }, '2026-02-28 23:50:00'],
    ['can be a year before', { due_date: '2025-03-01', due_time: '00:00', reminder_offset_mins: 525_600 }, '2024-03-01 00:00:00'],
    ['is a time of day on the due date', { due_date: '2026-03-31', reminder_time: '08:00' }, '2026-03-31 08:00:00'],
    // 2026-03-29 02:30 does not exist in Berlin, but these are UTC.
    ['ignores clock changes', { due_date: '2026-03-29', reminder_time: '02:30' }, '2026-03-29 02:30:00'],
  ])('%s', (_, due, at) => {
    expect(reminderAt({ ...none, ...due })).toBe(at)
  })
})

describe('due date, time and reminder', () => {
  test.each<[Partial<Due>, string[]]>([
    [{}, []],
    [{ due_date: '2026-03-31' }, []],
    [{ due_date: '2026-03-31', due_time: '14:30' }, []],
    [{ due_date: '2026-03-31', reminder_time: '08:00' }, []],
    [{ due_date: '2026-03-31', due_time: '14:30', reminder_offset_mins: 5 }, []],
    [{ due_time: '14:30' }, ['due_time: needs due_date']],
    [{ reminder_time: '08:00' }, ['reminder_time: needs due_date']],
    [{ due_date: '2026-03-31', reminder_offset_mins: 5 }, ['reminder_offset_mins: needs due_time']],
    [{ due_date: '2026-03-31', due_time: '14:30', reminder_time: '08:00' }, ['reminder_time: is for tasks without due_time']],
    [
      { due_date: '2026-03-31', due_time: '14:30', reminder_offset_mins: 5, reminder_time: '08:00' },
      ['reminder_time: cannot be combined with reminder_offset_mins', 'reminder_time: is for tasks without due_time'],
    ],
    [
      { due_date: '0001-01-01', due_time: '00:04', reminder_offset_mins: 5 },
      ['reminder_offset_mins: lies before the first day of the calendar'],
    ],
  ])('%j: %j', (due, expected) => {
    expect(dueIssues({ ...none, ...due }).map(({ path, message }) => `${path}: ${message}`)).toEqual(expected)
  })
})

describe('a change', () => {
  const timed: Due = { due_date: '2026-03-31', due_time: '14:30:00', reminder_offset_mins: 30, reminder_time: null }
  const dateOnly: Due = { due_date: '2026-03-31', due_time: null, reminder_offset_mins: null, reminder_time: '08:00:00' }

  test.each<[string, Due, Partial<Due>, Due]>([
    ['of no property keeps all', timed, {}, timed],
    ['of the date keeps time and reminder', timed, { due_date: '2026-04-01' }, { ...timed, due_date: '2026-04-01' }],
    ['that clears the date clears all', timed, { due_date: null }, none],
    ['that clears the time drops the offset', timed, { due_time: null }, { ...none, due_date: '2026-03-31' }],
    [
      'that sets a time drops the reminder of a date-only task',
      dateOnly,
      { due_time: '09:00' },
      { ...timed, due_time: '09:00:00', reminder_offset_mins: null },
    ],
    ['can replace one reminder by the other', timed, { due_time: null, reminder_time: '08:00:00' }, dateOnly],
    ['that clears the reminder keeps the rest', timed, { reminder_offset_mins: null }, { ...timed, reminder_offset_mins: null }],
  ])('%s', (_, current, change, expected) => {
    const next = changeDue(current, change)
    expect(next).toEqual(expected)
    expect(dueIssues(next)).toEqual([])
  })

  test.each<[string, Due, Partial<Due>]>([
    ['a time without a date', none, { due_time: '09:00' }],
    ['a time while it clears the date', timed, { due_date: null, due_time: '09:00' }],
    ['an offset without a time', dateOnly, { reminder_offset_mins: 5 }],
    ['a time of day beside a due time', timed, { reminder_time: '08:00' }],
  ])('that names %s is refused', (_, current, change) => {
    expect(dueIssues(changeDue(current, change))).not.toEqual([])
  })

  const anyDue = fc.record({
    due_date: fc.option(fc.constantFrom('2026-03-31', '2026-04-01')),
    due_time: fc.option(fc.constantFrom('09:00:00', '14:30:00')),
    reminder_offset_mins: fc.option(fc.nat(525_600)),
    reminder_time: fc.option(fc.constantFrom('08:00:00')),
  })
  const possible = anyDue.filter((due) => dueIssues(due).length === 0)

  test('that only clears is always possible', () => {
    const clearing = fc.record(
      {
        due_date: fc.constant(null),
        due_time: fc.constant(null),
        reminder_offset_mins: fc.constant(null),
        reminder_time: fc.constant(null),
      },
      { requiredKeys: [] },
    )
    fc.assert(fc.property(possible, clearing, (current, change) => dueIssues(changeDue(current, change)).length === 0))
  })

  test('keeps its properties, which the rules then check', () => {
    const change = fc
      .tuple(anyDue, fc.subarray(['due_date', 'due_time', 'reminder_offset_mins', 'reminder_time'] as const))
      .map(([due, keys]) => Object.fromEntries(keys.map((key) => [key, due[key]])) as Partial<Due>)
    fc.assert(
      fc.property(possible, change, (current, named) => {
        expect(changeDue(current, named)).toMatchObject(named)
      }),
    )
  })
})

describe('a reminder', () => {
  const now = new Date('2026-03-30T09:30:00.900Z')

  test.each([
    ['2026-03-30 09:29:59', true],
    ['2026-03-30 09:30:00', false],
    ['0001-01-01 00:00:00', true],
    ['9999-12-31 23:59:59', false],
    [null, false],
  ])('at %s is past: %s', (at, past) => {
    expect(isPast(at, now)).toBe(past)
  })

  test.each([
    ['2026-03-30 09:30:00', null],
    ['2026-03-30 09:28:01', null],
    ['2026-03-30 09:28:00', '2 min'],
    ['2026-03-30 08:30:01', '59 min'],
    ['2026-03-30 08:30:00', '1 h'],
    ['2026-03-30 05:31:00', '3 h'],
    ['2026-03-29 09:30:01', '23 h'],
    ['2026-03-29 09:30:00', '1 day'],
    ['2026-03-20 09:00:00', '10 days'],
  ])('of %s is late by %s', (at, late) => {
    expect(lateBy(at, now)).toBe(late)
  })

  const due: ReminderFacts = {
    reminder_at: '2026-03-30 10:00:00',
    reminder_sent_at: null,
    reminder_missed: false,
    status: 'open',
    can_see: true,
  }
  test.each<[Partial<ReminderFacts>, string]>([
    [{}, 'scheduled'],
    [{ reminder_at: null }, 'none'],
    [{ reminder_sent_at: '2026-03-30 09:00:10', reminder_at: '2026-03-30 09:00:00' }, 'sent'],
    [{ reminder_sent_at: '2026-03-30 09:00:10', status: 'done' }, 'sent'],
    [{ reminder_missed: true, status: 'done' }, 'missed'],
    [{ status: 'done' }, 'none'],
    [{ can_see: false }, 'none'],
    [{ status: 'done', reminder_at: '2026-03-30 09:00:00' }, 'missed'],
    [{ can_see: false, reminder_at: '2026-03-30 09:00:00' }, 'missed'],
    // The reminder is about to be sent: the sweep runs every minute.
    [{ reminder_at: '2026-03-30 09:29:30' }, 'scheduled'],
  ])('of %j is %s', (facts, state) => {
    expect(reminderState({ ...due, ...facts }, now)).toBe(state)
  })
})
