/** Why a view does not show a record, in words. */
import { describe, expect, test } from 'vitest'
import type { Field } from '../../console/src/cells/kind.ts'
import type { Wording } from '../../console/src/views/condition-words.ts'
import { type Failed, whyWords } from '../../console/src/views/explain/why-words.ts'

const field = (id: string, type: Field['type'], more: Partial<Field> = {}) =>
  ({ id, name: id[0]?.toUpperCase() + id.slice(1), type, ...more }) as Field
const FIELDS = [
  field('stage', 'select', { options: ['Lead', 'Won'] }),
  field('amount', 'number'),
  field('due', 'date'),
  field('done', 'checkbox'),
  field('name', 'text'),
  field('owner', 'user'),
  field('team', 'multi_user'),
  field('tags', 'multi_select', { options: ['A', 'B'] }),
  field('company', 'lookup', { table: 7 }),
  { ...field('company.city', 'text', { name: 'Company: City' }), linked: 'one' as const },
  { ...field('name2', 'text'), name: 'שם' },
]
const wording: Wording = {
  fieldOf: (name) => FIELDS.find(({ id }) => id === name),
  place: { zone: 'Europe/Berlin', locale: 'en-US', now: new Date('2026-11-29T12:00:00Z') },
  me: { id: 1, email: 'me@example.com' },
  personName: (one) => (one === 2 ? 'Ann' : undefined),
  recordTitle: (table, id) => (table === 7 && id === 5 ? 'Acme' : undefined),
}

describe('a condition that excludes a record is said as what the record has and what is wanted', () => {
  test.each<[Failed, string]>([
    [{ column: 'stage', compare: '=', value: 'Won', actual: 'Lead' }, 'Stage is "Lead", the view wants "Won"'],
    [{ column: 'stage', compare: '=', value: ['Won', 'Lost'], actual: null }, 'Stage is empty, the view wants "Won" or "Lost"'],
    [{ column: 'stage', compare: '=', value: 'Lead', actual: 'Lead', not: true }, 'Stage is "Lead", the view does not want "Lead"'],
    [{ column: 'stage', compare: '!=', value: 'Lead', actual: 'Lead' }, 'Stage is "Lead", the view wants anything but "Lead"'],
    [{ column: 'stage', compare: 'is_empty', actual: 'Lead' }, 'Stage is "Lead", the view wants it empty'],
    [{ column: 'stage', compare: 'is_not_empty', actual: null }, 'Stage is empty, the view wants a value'],
    [{ column: 'amount', compare: '>', value: 1500, actual: 1234.5 }, 'Amount is 1234.5, the view wants more than 1500'],
    [{ column: 'due', compare: '<', value: '-7d', actual: '2026-11-28' }, 'Due is Nov 28, 2026, the view wants it before 7 days ago'],
    [{ column: 'done', compare: '=', value: true, actual: false }, 'Done is not checked, the view wants it checked'],
    [{ column: 'done', compare: '!=', value: true, actual: true }, 'Done is checked, the view wants it not checked'],
    [{ column: 'done', compare: '=', value: true, actual: true, not: true }, 'Done is checked, the view wants it not checked'],
    [{ column: 'name', compare: 'contains', value: 'x', actual: 'Bolt' }, 'Name is "Bolt", the view wants one that contains "x"'],
    [{ column: 'owner', compare: '=', value: '@me', actual: { id: 2, name: 'Ann', email: null } }, 'Owner is Ann, the view wants me'],
    [{ column: 'owner', compare: '=', value: 2, actual: { id: 1, name: 'Bo', email: null } }, 'Owner is Bo (you), the view wants Ann'],
    [{ column: 'owner', compare: '=', value: 9, actual: null }, 'Owner is empty, the view wants user 9'],
    [{ column: 'tags', compare: '=', value: ['A', 'B'], all: true, actual: ['A'] }, 'Tags has "A", the view wants all of "A", "B"'],
    [{ column: 'team', compare: '=', value: 2, actual: [] }, 'Team is empty, the view wants Ann'],
    [{ column: 'company', compare: '=', value: 5, actual: { id: 6, title: 'Bolt' } }, 'Company is "Bolt", the view wants "Acme"'],
    [{ column: 'company', compare: '=', value: 9, actual: { id: 6, title: null } }, 'Company is record 6, the view wants record 9'],
    [{ column: 'company.city', compare: '=', value: 'Bern', actual: 'Rome' }, 'Company: City is "Rome", the view wants "Bern"'],
    [{ column: 'name2', compare: '=', value: 'a', actual: 'אב' }, '\u2068שם\u2069 is "\u2068אב\u2069", the view wants "a"'],
    [{ column: 'gone', compare: '=', value: 'a', actual: 'b' }, 'gone is "b", the view wants "a"'],
    [{ column: null, compare: 'search', value: 'bolt', actual: null }, 'The record does not have the word "bolt".'],
  ])('%j', (failed, words) => {
    expect(whyWords(failed, wording)).toBe(words)
  })

  test('a long value is shortened, and what is tried is told apart from the view', () => {
    const failed = { column: 'name', compare: '=', value: 'a', actual: 'x'.repeat(5_000) }
    expect(whyWords(failed, wording, 'tried')).toBe(`Name is "${'x'.repeat(100)}…", what you are trying wants "a"`)
  })
})
