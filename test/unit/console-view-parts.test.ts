/** The parts of a view and of what is tried beside it, and what of them a view keeps once they are saved. */
import { describe, expect, test } from 'vitest'
import { conditionOf } from '../../console/src/views/condition-words.ts'
import { inPlaceOf, isSavable, overwritten, partsOfTried, savedChanges, type Tried } from '../../console/src/views/parts.ts'

type View = Parameters<typeof savedChanges>[0]
const view = (facts: Partial<View>) => ({ id: 1, name: 'Leads', filters: [], order_by: null, order_dir: null, ...facts }) as View

const lead = { column: 'stage', compare: '=', value: 'Lead' }
const big = { column: 'amount', compare: '>', value: 5 }
const mine = { column: 'owner', compare: '=', value: '@me' }
const AND = { connector: 'AND' as const }
const OR = { connector: 'OR' as const }

test.each<[string, Tried, unknown[]]>([
  ['a list of conditions', { filters: [lead, { ...big, ...AND }] }, [lead, big]],
  ['alternatives in a list', { filters: [lead, big, { ...mine, ...OR }] }, [{ any: [{ all: [lead, big] }, mine] }]],
  ['a group', { filter: { all: [lead, { any: [big, mine] }] } }, [lead, { any: [big, mine] }]],
  ['one condition', { filter: lead }, [lead]],
  ['alternatives', { filter: { any: [lead, big] } }, [{ any: [lead, big] }]],
  [
    'the short form',
    { where: { stage: 'Lead', amount: ['>', 5], city: ['is_empty'] } },
    [lead, big, { column: 'city', compare: 'is_empty' }],
  ],
  ['other spellings', { filters: [{ field: 'amount', compare: 'GT', value: 5 }] }, [big]],
  ['what is no condition', { filters: 'x', filter: null, where: [1] }, []],
])('the parts of %s', (_, tried, parts) => {
  expect(partsOfTried(tried)).toEqual(parts)
})

describe('what is saved', () => {
  test.each<[string, Partial<View>, Tried, unknown]>([
    [
      'conditions come after those of the view',
      { filters: [{ ...lead, ...AND }] as never },
      { filter: { all: [big] } },
      { filters: [lead, big] },
    ],
    ['nothing is kept twice', { filters: [{ ...lead, ...AND }] as never }, { filters: [lead] }, { filters: [lead] }],
    [
      'alternatives of the view stay together',
      {
        filters: [
          { ...lead, ...AND },
          { ...big, ...OR },
        ] as never,
      },
      { filter: { all: [mine] } },
      { filter: { all: [{ any: [lead, big] }, mine] } },
    ],
    [
      'nested groups stay as they are',
      { filter: { not: lead } as never },
      { filter: { all: [big] } },
      { filter: { all: [{ not: lead }, big] } },
    ],
    ['one group is the whole', {}, { filter: { all: [{ any: [lead, big] }] } }, { filter: { any: [lead, big] } }],
    ['an order alone', {}, { order: [{ field: 'amount', dir: 'D' }] }, { order: [{ field: 'amount', dir: 'D' }] }],
    ['words are no part of a view', {}, { search: 'x' }, {}],
    [
      'what replaces all',
      { filters: [{ ...lead, ...AND }] as never, order_by: 'amount' },
      { replaces: true },
      { filters: [], order: null },
    ],
  ])('%s', (_, facts, tried, changes) => {
    expect(savedChanges(view(facts), tried)).toEqual(changes)
    expect(isSavable(view(facts), tried)).toBe(Object.keys(changes as object).length > 0)
  })
})

test('what is tried in place of a view begins with all that the view has', () => {
  const saved = view({ filters: [{ ...lead, ...AND }] as never, order_by: 'amount', order_dir: 'D' })
  expect(inPlaceOf(saved, { filter: big, search: 'x' })).toEqual({
    ...{ replaces: true, filter: { all: [lead, big] }, search: 'x' },
    order: [{ field: 'amount', dir: 'D' }],
  })
})

test('only a change of the same things is one that would be overwritten', () => {
  const before = view({ filters: [{ ...lead, ...AND }] as never })
  expect(overwritten(before, { ...before, config: { columns: ['amount'] }, name: 'Other' } as View, ['filters'])).toBe(false)
  expect(overwritten(before, { ...before, filters: [] }, ['filter'])).toBe(true)
  expect(overwritten(before, { ...before, name: 'Other' }, ['name'])).toBe(true)
  expect(overwritten(before, { ...before, order_by: 'amount', order_dir: 'A' }, ['order'])).toBe(true)
  expect(overwritten(before, { ...before, order: [{ field: 'amount', dir: 'A' }] }, ['is_table_default'])).toBe(false)
})

test('what is no condition is none', () => {
  for (const value of [null, 1, 'x', [], {}, { column: 1, compare: '=' }, { all: [] }]) expect(conditionOf(value)).toBeNull()
})
