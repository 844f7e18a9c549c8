import { describe, expect, test } from 'vitest'
import { CALC_FIELDS, type FieldDef, KEY_FIELD, type TableDef } from '../../src/fields/definition.ts'
import type { FieldType } from '../../src/fields/registry.ts'
import { planIndexes, type TableStatistics } from '../../src/indexes/plan.ts'
import { type QueryShape, shapeOf } from '../../src/indexes/shape.ts'
import { resolveOrder } from '../../src/views/filters/order.ts'
import { parseConditions } from '../../src/views/filters/parse.ts'
import { resolveTree } from '../../src/views/filters/resolve-conditions.ts'
import type { ViewRow } from '../../src/views/saved.ts'

const field = (id: string, type: FieldType, more: Partial<FieldDef> = {}): FieldDef => ({
  ...KEY_FIELD,
  id,
  name: id,
  type,
  decimals: null,
  key: false,
  ...more,
})
const options = (...ids: number[]) => ids.map((id) => ({ id, title: `Option ${id}` }))

const table: TableDef = {
  id: 101,
  space_id: 1,
  account_id: 1,
  name: 'Deals',
  version: 1,
  hasHistory: true,
  isConverting: false,
  fields: [
    KEY_FIELD,
    field('amount', 'number'),
    field('city', 'text'),
    field('email', 'email'),
    field('site', 'url'),
    field('notes', 'long_text'),
    field('stage', 'select', { options: options(1, 2, 3) }),
    field('mixed', 'select', { options: options(2, 1) }),
    field('tags', 'multi_select', { options: options(1) }),
    field('due', 'date'),
    field('starts', 'datetime'),
    field('done', 'checkbox'),
    field('owner', 'user'),
    field('company', 'lookup', { lookup_table_id: 102, lookup: { title_field: 'name' } }),
    ...CALC_FIELDS,
  ],
}

const NOTHING_KNOWN: TableStatistics = { groups: new Map(), made: new Set() }

/** Returns `'due D, city'` in the form of the API. */
const orderOf = (text: string) =>
  text.split(', ').map((key) => {
    const [field, dir = 'A'] = key.split(' ')
    return { field: field as string, dir: dir as 'A' | 'D' }
  })

const eq = (column: string, value: unknown) => ({ column, compare: '=', value })
const stage = eq('stage', 'Option 1')

/** `-due` is in the direction opposite to the first key. */
const further = (...keys: string[]) => keys.map((key) => ({ field: key.replace('-', ''), isReversed: key.startsWith('-') }))

describe('the parts of a query that an index can serve', () => {
  const cases: [string, object, string | null, QueryShape | null][] = [
    ['nothing', {}, null, null],
    ['the order', {}, 'due', { equal: [], sort: 'due' }],
    ['no order by id, which the primary key serves', {}, 'id', null],
    ['equality', { filters: [stage] }, null, { equal: ['stage'], sort: null }],
    ['equality and order', { filters: [stage] }, 'due', { equal: ['stage'], sort: 'due' }],
    ['equality and the order by id', { filters: [stage] }, 'id', { equal: ['stage'], sort: null }],
    [
      'the two most selective of three',
      { filters: [stage, eq('amount', 1), eq('owner', '@me')] },
      null,
      { equal: ['amount', 'owner'], sort: null },
    ],
    ['a list without an order', { filters: [eq('stage', ['Option 1', 'Option 2'])] }, null, { equal: ['stage'], sort: null }],
    ['no list beside an order', { filters: [eq('stage', ['Option 1'])] }, 'due', { equal: [], sort: 'due' }],
    ['no not', { filter: { not: stage } }, null, null],
    ['the same field twice', { filters: [stage, stage] }, null, { equal: ['stage'], sort: null }],
    ['no alternative', { filters: [stage, { ...eq('amount', 1), connector: 'OR' }] }, 'due', { equal: [], sort: 'due' }],
    [
      'conditions in groups of AND',
      { filter: { all: [{ all: [stage] }, { any: [eq('amount', 1)] }] } },
      null,
      { equal: ['amount', 'stage'], sort: null },
    ],
    [
      'no other compare',
      {
        filters: [
          { column: 'stage', compare: '!=', value: 'Option 1' },
          { column: 'due', compare: '<', value: 'today' },
        ],
      },
      null,
      null,
    ],
    [
      'no days of a datetime, checkboxes, lists or ids',
      { filters: [eq('starts', 'today'), eq('done', true), eq('tags', 'Option 1'), eq('id', 3)] },
      null,
      null,
    ],
    ['no urls and long texts', { filters: [eq('site', 'x'), eq('notes', 'x')] }, null, null],
    [
      'prefixes, without an order',
      { filters: [{ column: 'city', compare: 'starts_with', value: 'Ber' }] },
      null,
      { equal: [], sort: 'city' },
    ],
    ['one of two texts', { filters: [eq('city', 'x'), eq('email', 'x'), stage] }, null, { equal: ['city', 'stage'], sort: null }],
    ['all keys of an order', {}, 'stage, due, city', { equal: [], sort: 'stage', further: further('due', 'city') }],
    [
      'their directions relative to that of the first',
      {},
      'stage D, due, city D',
      { equal: [], sort: 'stage', further: further('-due', 'city') },
    ],
    ['the exact reverse', {}, 'stage, due D, city', { equal: [], sort: 'stage', further: further('-due', 'city') }],
    [
      'ties by id in the usual direction, requested or not',
      {},
      'stage, due D, id D',
      { equal: [], sort: 'stage', further: further('-due') },
    ],
    ['ties by id in the other direction', {}, 'due D, id', { equal: [], sort: 'due', further: further('-id') }],
    ['no keys after the id', { filters: [stage] }, 'id D, due', { equal: ['stage'], sort: null }],
    ['no prefixes of a url, which trigrams serve', { filters: [{ column: 'site', compare: 'starts_with', value: 'http' }] }, null, null],
  ]
  test.each(cases)('%s', (_, request, sort, shape) => {
    const where = resolveTree(parseConditions(request), table)
    expect(shapeOf(where, resolveOrder({ order: sort && orderOf(sort) }, table))).toEqual(shape)
  })
})

describe('the index of a shape', () => {
  // The title always has an index, so the tests use another field.
  const untitled = { ...table, fields: [field('title', 'text'), ...table.fields] }
  const on = (shape: QueryShape) =>
    planIndexes(untitled, [], [shape], NOTHING_KNOWN).find(({ reason }) => reason === 'queries outside of views')?.on
  const cases: [QueryShape, string | undefined][] = [
    [{ equal: ['stage'], sort: 'due' }, '("stage", "due" nulls first, id)'],
    [{ equal: ['email'], sort: null }, '("email", id)'],
    [{ equal: [], sort: 'city' }, '(lower("city") nulls first, id)'],
    [{ equal: ['stage'], sort: 'city' }, '("stage", lower("city") nulls first, id)'],
    // Two texts might not fit into an index row.
    [{ equal: ['email'], sort: 'city' }, '("email", id)'],
    [{ equal: ['stage'], sort: 'stage' }, '("stage", id)'],
    [{ equal: [], sort: 'stage' }, '("stage" nulls first, id)'],
    [{ equal: [], sort: 'done' }, '(coalesce("done", false) nulls first, id)'],
    [{ equal: [], sort: 'created_at' }, '("created_at" nulls first, id)'],
    // These are not functions of the record alone, or are too long.
    [{ equal: [], sort: 'mixed' }, undefined],
    [{ equal: [], sort: 'owner' }, undefined],
    [{ equal: [], sort: 'company' }, undefined],
    [{ equal: [], sort: 'site' }, undefined],
    [{ equal: [], sort: 'notes' }, undefined],
    [{ equal: ['stage'], sort: 'owner' }, '("stage", id)'],
    // An earlier version may have noted a shape like this.
    [{ equal: ['city', 'email'], sort: null }, '("city", id)'],
    [{ equal: [], sort: 'stage', further: further('amount') }, '("stage" nulls first, "amount" nulls first, id)'],
    [{ equal: [], sort: 'stage', further: further('-amount') }, '("stage" nulls first, "amount" desc nulls last, id desc)'],
    [
      { equal: ['due'], sort: 'done', further: further('-city', 'amount') },
      '("due", coalesce("done", false) nulls first, lower("city") desc nulls last, "amount" nulls first, id)',
    ],
    [{ equal: [], sort: 'due', further: further('-id') }, '("due" nulls first, id desc)'],
    // Conditions do not affect the order, except for the direction of ties if their field is its last key.
    [{ equal: ['stage'], sort: 'stage', further: further('-amount') }, '("stage", "amount" nulls first, id)'],
    [{ equal: ['stage'], sort: 'amount', further: further('-stage', 'due') }, '("stage", "amount" nulls first, "due" nulls first, id)'],
    [{ equal: ['stage'], sort: 'amount', further: further('-stage') }, '("stage", "amount" nulls first, id desc)'],
    // A field that cannot be indexed ends the index; Postgres sorts each group by the remaining keys.
    [{ equal: [], sort: 'due', further: further('-owner', 'amount') }, '("due" nulls first, id)'],
    [{ equal: [], sort: 'due', further: further('-amount', 'mixed') }, '("due" nulls first, "amount" desc nulls last, id desc)'],
    [{ equal: [], sort: 'owner', further: further('due') }, undefined],
    [{ equal: ['stage'], sort: 'owner', further: further('due') }, '("stage", id)'],
    [{ equal: [], sort: 'due', further: further('gone') }, '("due" nulls first, id)'],
    // An index has one text at most, in any position.
    [{ equal: [], sort: 'city', further: further('email') }, '(lower("city") nulls first, id)'],
    [{ equal: [], sort: 'city', further: further('due', 'email') }, '(lower("city") nulls first, "due" nulls first, id)'],
    [{ equal: ['email'], sort: 'due', further: further('city') }, '("email", "due" nulls first, id)'],
    [{ equal: ['email'], sort: 'due', further: further('email', 'amount') }, '("email", "due" nulls first, id)'],
  ]
  test.each(cases)('%j is %s', (shape, expected) => {
    expect(on(shape)).toBe(expected)
  })
})

const view = (id: number, more: Partial<ViewRow>): ViewRow => ({
  id,
  account_id: 1,
  table_id: 101,
  name: `View ${id}`,
  type: 'grid',
  config: { columns: [] },
  filters: [],
  filter: null,
  order_by: null,
  order_dir: null,
  order: null,
  is_table_default: false,
  created_by: 1,
  created_at: '',
  updated_at: '',
  version: 1,
  ...more,
})

describe('the plan', () => {
  test('starts with calendars, then has the default view, then views by age; views with the same need share an index', () => {
    const views = [
      view(9, { order_by: 'amount', is_table_default: true }),
      view(2, { order_by: 'due' }),
      view(3, { order_by: 'due', order_dir: 'D' }),
      view(4, { type: 'calendar', config: { startField: 'starts', mode: 'month', weekStart: 'monday' } }),
      view(5, { type: 'kanban', config: { categoryField: 'stage' }, order_by: 'due' }),
      ...[6, 7].map((id) => view(id, { order_by: 'due' })),
    ]
    const plan = planIndexes(table, views, [{ equal: [], sort: 'done' }], NOTHING_KNOWN)
    expect(plan.map(({ fields, reason }) => `${fields}: ${reason}`)).toEqual([
      'starts,id: calendar "View 4"',
      'amount,id: view "View 9"',
      'due,id: view "View 2", view "View 3", view "View 5" and 2 more',
      'stage,id: kanban "View 5"',
      'city,id: sorting by the title',
      'done,id: queries outside of views',
      ...['city', 'email', 'site', 'notes'].map((id) => `${id}: search, contains, starts_with and ends_with`),
    ])
    expect(plan.every(({ isOverBudget }) => !isOverBudget)).toBe(true)
    expect(planIndexes(table, [...views].reverse(), [{ equal: [], sort: 'done' }], NOTHING_KNOWN)).toEqual(plan)
  })

  test('serves a group by the conditions that all its records meet, and an order by all its keys', () => {
    const condition = (column: string, value: unknown) => ({ column, compare: '=' as const, value })
    const [any, won] = [{ any: [condition('city', 'x'), condition('amount', 1)] }, condition('stage', 'Option 1')]
    const views = [
      view(1, {
        filter: { all: [won, any] },
        order_by: 'due',
        order_dir: 'D',
        order: [
          { field: 'due', dir: 'D' },
          { field: 'city', dir: 'A' },
        ],
      }),
      view(2, { filter: any, order_by: 'id', order_dir: 'A', order: [{ field: 'id', dir: 'A' }] }),
      view(3, { filter: { any: [{ all: [won] }] } }),
    ]
    const wanted = planIndexes(table, views, [], NOTHING_KNOWN).filter(({ reason }) => reason.startsWith('view'))
    expect(wanted.map(({ fields, reason }) => `${fields}: ${reason}`)).toEqual([
      'stage,due,city,id: view "View 1"',
      'stage,id: view "View 3"',
    ])
  })

  test('has one index for an order and its exact reverse', () => {
    const sorted = ['stage, amount D', 'stage D, amount', 'stage, amount'].map((order, at) => view(at + 1, { order: orderOf(order) }))
    const wanted = planIndexes(table, sorted, [], NOTHING_KNOWN).filter(({ reason }) => reason.startsWith('view'))
    expect(wanted.map(({ on, reason }) => `${on}: ${reason}`)).toEqual([
      '("stage" nulls first, "amount" desc nulls last, id desc): view "View 1", view "View 2"',
      '("stage" nulls first, "amount" nulls first, id): view "View 3"',
    ])
  })

  describe('omits keys that only sort small groups', () => {
    const planned = (order: string, groups: Record<string, number>, { made = [] as string[], filters = [] as ViewRow['filters'] } = {}) =>
      planIndexes(table, [view(1, { order: orderOf(order), filters })], [], {
        groups: new Map(Object.entries(groups)),
        made: new Set(made),
      })[0]
    const cases: [string, string, Record<string, number>, string][] = [
      ['no statistics', 'stage, due, amount', {}, 'stage,due,amount,id'],
      ['large groups', 'stage, due, amount', { stage: 300_000, due: 1_001, amount: 1_001 }, 'stage,due,amount,id'],
      ['small groups of the first key', 'amount, due, city', { amount: 1_000 }, 'amount,id'],
      ['small groups of the second key', 'stage, amount D, city', { stage: 300_000, amount: 3, city: 900 }, 'stage,amount,id'],
      ['small groups of the last key', 'stage, due', { stage: 300_000, due: 7 }, 'stage,due,id'],
      ['ties in the other direction', 'due, id D', { due: 7 }, 'due,id'],
    ]
    test.each(cases)('%s: %s', (_, order, groups, fields) => {
      expect(`${planned(order, groups)?.fields}`).toBe(fields)
    })

    test('the first key stays, and fields of conditions count, too', () => {
      const filters = [{ column: 'owner', compare: '=' as const, value: '@me', connector: 'AND' as const }]
      expect(`${planned('stage, due', { owner: 40, stage: 300_000, due: 5_000 }, { filters })?.fields}`).toBe('owner,stage,id')
      expect(planned('stage, amount D', { amount: 3 })?.on).toBe('("stage" nulls first, "amount" desc nulls last, id desc)')
      expect(planned('due, id D', { due: 7 })?.name).toBe(planned('due', {})?.name)
    })

    test('a longer existing index stays when estimates change', () => {
      const [longest, middle, shortest] = ['due, stage, amount', 'due, stage', 'due'].map((order) => planned(order, {})?.name as string)
      const few = { due: 999 }
      expect(planned('due, stage, amount', few)?.name).toBe(shortest)
      expect(planned('due, stage, amount', few, { made: [shortest, middle] as string[] })?.name).toBe(middle)
      expect(planned('due, stage, amount', few, { made: [shortest, longest] as string[] })?.name).toBe(longest)
      expect(planned('due, stage, amount', { due: 1_001 }, { made: [shortest, middle] as string[] })?.name).toBe(longest)
      expect(planned('due', few, { made: [longest] as string[] })?.name).toBe(shortest)
    })
  })

  test('names indexes by their columns, within the 63 bytes of a name', () => {
    const long = 'f'.repeat(48)
    const wide = { ...table, fields: [field(long, 'text'), field(`${long.slice(1)}a`, 'number')] }
    const names = planIndexes(wide, [view(1, { order_by: `${long.slice(1)}a` })], [], NOTHING_KNOWN).map(({ name }) => name)
    expect(new Set(names).size).toBe(3)
    for (const name of names) expect(name.length).toBeLessThanOrEqual(63)
    const reordered = table.fields.map((each) => (each.id === 'city' ? { ...each, type: 'number' as const } : each))
    const sorted = [view(1, { order_by: 'city' })]
    const nameIn = (of: TableDef) => planIndexes(of, sorted, [], NOTHING_KNOWN)[0]?.name
    expect(nameIn({ ...table, fields: reordered })).not.toBe(nameIn(table))
  })
})
