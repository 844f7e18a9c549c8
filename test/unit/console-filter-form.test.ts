/** What the form of conditions makes of trees, and trees of what was filled in; words for relative dates. */
import { describe, expect, test } from 'vitest'
import type { Field } from '../../console/src/cells/kind.ts'
import { draftOf, newGroup, newRow, type RowDraft, rootOf, treeOf } from '../../console/src/views/filtering/filter-draft.ts'
import { filterText, readFilterValue } from '../../console/src/views/filtering/filter-values.ts'
import { readToken, tokenWords } from '../../console/src/views/token-words.ts'

const field = (id: string, type: Field['type'], more: Partial<Field> = {}) => ({ id, name: id, type, ...more }) as Field
const FIELDS = [
  ...[field('name', 'text'), field('amount', 'number'), field('due', 'date'), field('at', 'datetime'), field('time', 'time')],
  ...[field('done', 'checkbox'), field('stage', 'select', { options: ['A', 'B'] }), field('tags', 'multi_select', { options: ['A', 'B'] })],
  ...[field('owner', 'user'), field('team', 'multi_user'), field('company', 'lookup', { table: 7 }), field('docs', 'file')],
  { ...field('company.city', 'text'), linked: 'one' as const },
]
const fieldOf = (name: string) => FIELDS.find(({ id }) => id === name)
const place = { zone: 'Europe/Berlin', locale: 'en-US', now: new Date('2026-11-29T12:00:00Z') }
const leaf = (column: string, compare: string, value?: unknown, more: object = {}) => ({
  ...{ column, compare },
  ...(value !== undefined && { value }),
  ...more,
})

describe('a tree that is opened in the form and not changed stays what it is', () => {
  test.each([
    leaf('name', 'contains', 'x'),
    leaf('name', '=', ['a', 'b, c']),
    leaf('name', '!=', ['a', 'b']),
    leaf('amount', '>=', 12.5),
    leaf('amount', '=', [1, 2]),
    leaf('due', '<', '-7d'),
    leaf('due', '=', '2026-12-24'),
    leaf('due', '>=', 'start_of_last_quarter+3d'),
    leaf('at', '>', '2026-12-24'),
    leaf('at', '<=', '2026-12-24 13:30:00'),
    leaf('at', '<', '-3h'),
    leaf('time', '<', '09:30:00'),
    leaf('done', '=', true),
    leaf('stage', '=', 'A'),
    leaf('stage', '!=', ['A', 'B']),
    leaf('stage', 'starts_with', 'A'),
    leaf('tags', '=', ['A', 'B'], { all: true }),
    leaf('owner', '=', ['@me', 7]),
    leaf('owner', 'contains', 'ann'),
    leaf('team', '=', 7),
    leaf('company', '=', [3, 4]),
    leaf('company', 'is_empty'),
    leaf('company.city', '=', 'Bern'),
    leaf('docs', 'contains', '.pdf'),
    // What the form has no row for.
    leaf('gone', '=', 'x'),
    leaf('amount', 'contains', '1'),
    leaf('name', '=', { odd: 1 }),
    { any: [leaf('stage', '=', 'A'), { all: [leaf('amount', '>', 1), { not: leaf('name', '=', 'x') }] }] },
    { not: { any: [leaf('stage', '=', 'A'), leaf('name', '=', 'x')] } },
    { not: { all: [leaf('stage', '=', 'A'), leaf('name', '=', 'x')] } },
    { all: [] },
    { not: 'x' },
  ])('%j', (tree) => {
    const problems = new Map<number, string>()
    expect(treeOf(draftOf(tree, fieldOf, place), fieldOf, place, problems)).toEqual(tree)
    expect(treeOf(rootOf(tree, fieldOf, place), fieldOf, place, problems)).toEqual(tree)
    expect(problems.size).toBe(0)
  })

  test.each([
    [leaf('tags', 'contains', 'A'), leaf('tags', '=', 'A')],
    [leaf('done', '!=', true), leaf('done', '=', false)],
    [leaf('tags', '=', ['A'], { all: true }), leaf('tags', '=', 'A')],
  ])('%j becomes %j, which means the same', (tree, same) => {
    expect(treeOf(draftOf(tree, fieldOf, place), fieldOf, place, new Map())).toEqual(same)
  })
})

test.each<[Partial<RowDraft>]>([
  [{ column: 'amount', compare: '=', text: 'many' }],
  [{ column: 'due', compare: '=', text: '31.2.' }],
  [{ column: 'name', compare: '=', text: '  ' }],
  [{ column: 'stage', compare: '=', chosen: [] }],
  [{ column: 'done', compare: '=', text: '' }],
  [{ column: 'amount', compare: 'any_of', text: '1\nx' }],
  [{ column: 'name', compare: 'any_of', text: '\n \n' }],
  [{ column: 'name', compare: 'any_of', text: Array.from({ length: 201 }, (_, index) => index).join('\n') }],
  [{ column: 'gone', compare: '=', text: 'x' }],
])('what is wrong with %j is said at its row', (facts) => {
  const row = { ...newRow(FIELDS[0]), ...facts }
  const problems = new Map<number, string>()
  treeOf(newGroup([newRow(FIELDS[11]), row]), fieldOf, place, problems)
  expect(problems.get(row.key)).toMatch(/\S/)
})

test.each([
  ['name', ' a b ', 'a b'],
  ['due', 'today', 'today'],
  ['due', '7 days ago', '-7d'],
  ['due', '24.12.2026', '2026-12-24'],
  ['at', '2026-12-24', '2026-12-24'],
  ['at', '2026-12-24 14:30', '2026-12-24 13:30:00'],
  ['at', 'in 3 hours', '+3h'],
  ['time', '9:30', '09:30:00'],
  ['amount', '1,250.5', 1250.5],
])('for %s the text %j means %j', (column, text, value) => {
  expect(readFilterValue(text, fieldOf(column) as Field, place)).toMatchObject({ value })
  expect(readFilterValue(filterText(value, fieldOf(column) as Field, place) ?? '', fieldOf(column) as Field, place)).toMatchObject({
    value,
  })
})

describe('relative dates are said and read in words', () => {
  const units = ['day', 'week', 'month', 'quarter', 'year']
  const edges = ['start', 'end'].flatMap((edge) =>
    ['', 'last_', 'next_'].flatMap((which) => units.map((unit) => `${edge}_of_${which}${unit}`)),
  )
  const offsets = ['h', 'd', 'w', 'm', 'y'].flatMap((unit) => [`+1${unit}`, `-7${unit}`, `+30${unit}`])
  test.each(['now', 'today', 'yesterday', 'tomorrow', ...edges, ...offsets, 'start_of_month+7d', 'end_of_last_week-1d'])('%s', (token) => {
    const words = tokenWords(token)
    expect(words).toMatch(/^[\w ]+$/)
    expect(readToken(words ?? '')).toBe(token)
    expect(readToken(token.toUpperCase())).toBe(token)
  })

  test.each([
    ['a week ago', '-1w'],
    ['in 2 weeks', '+2w'],
    ['In  14 Days', '+14d'],
    ['beginning of next month', 'start_of_next_month'],
    ['end of tomorrow', 'end_of_next_day'],
    ['the start of the previous year', 'start_of_last_year'],
    ['7 apples ago', null],
    ['constructor', null],
    ['', null],
    ['24.12.', null],
  ])('%j is %j', (text, token) => {
    expect(readToken(text)).toBe(token)
  })
})
