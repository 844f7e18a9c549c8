import { describe, expect, test } from 'vitest'
import { planIndexes, type Shape, shapeOf } from '../../src/indexes/plan.ts'
import { CALC_FIELDS, type FieldDef, type FieldType, KEY_FIELD, type TableDef } from '../../src/tables/fields.ts'
import { parseConditions } from '../../src/views/filter.ts'
import { fieldsOf, resolveTree } from '../../src/views/resolve.ts'
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

const eq = (column: string, value: unknown) => ({ column, compare: '=', value })
const stage = eq('stage', 'Option 1')

describe('what of a query an index can follow', () => {
  const cases: [string, object, string | null, Shape | null][] = [
    ['nothing', {}, null, null],
    ['the order', {}, 'due', { equal: [], sort: 'due' }],
    ['the order by id is the primary key', {}, 'id', null],
    ['equality', { filters: [stage] }, null, { equal: ['stage'], sort: null }],
    ['equality and order', { filters: [stage] }, 'due', { equal: ['stage'], sort: 'due' }],
    ['equality and the order by id', { filters: [stage] }, 'id', { equal: ['stage'], sort: null }],
    [
      'the two most selective of three',
      { filters: [stage, eq('amount', 1), eq('owner', '@me')] },
      null,
      { equal: ['amount', 'owner'], sort: null },
    ],
    ['the same field twice', { filters: [stage, stage] }, null, { equal: ['stage'], sort: null }],
    ['no alternative', { filters: [stage, { ...eq('amount', 1), connector: 'OR' }] }, 'due', { equal: [], sort: 'due' }],
    [
      'what stands in groups of AND',
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
      'neither days of a datetime, nor checkboxes, nor lists, nor ids',
      { filters: [eq('starts', 'today'), eq('done', true), eq('tags', 'Option 1'), eq('id', 3)] },
      null,
      null,
    ],
    ['neither urls nor long texts', { filters: [eq('site', 'x'), eq('notes', 'x')] }, null, null],
    [
      'beginnings, without an order',
      { filters: [{ column: 'city', compare: 'starts_with', value: 'Ber' }] },
      null,
      { equal: [], sort: 'city' },
    ],
    ['beginnings of a url are for its trigrams', { filters: [{ column: 'site', compare: 'starts_with', value: 'http' }] }, null, null],
  ]
  test.each(cases)('%s', (_, request, sort, shape) => {
    const where = resolveTree(parseConditions(request), table)
    expect(shapeOf(where, sort === null ? null : (fieldsOf(table).get(sort) ?? null))).toEqual(shape)
  })
})

describe('the index of a shape', () => {
  // The title has an index anyway, so here it is another field.
  const untitled = { ...table, fields: [field('title', 'text'), ...table.fields] }
  const on = (shape: Shape) => planIndexes(untitled, [], [shape]).find(({ reason }) => reason === 'queries outside of views')?.on
  const cases: [Shape, string | undefined][] = [
    [{ equal: ['stage'], sort: 'due' }, '("stage", "due" nulls first, id)'],
    [{ equal: ['email'], sort: null }, '("email", id)'],
    [{ equal: [], sort: 'city' }, '(lower("city") nulls first, id)'],
    [{ equal: ['stage'], sort: 'city' }, '("stage", lower("city") nulls first, id)'],
    // Two texts might not fit into a row of an index.
    [{ equal: ['email'], sort: 'city' }, '("email", id)'],
    [{ equal: ['city', 'email'], sort: null }, '("city", id)'],
    [{ equal: ['stage'], sort: 'stage' }, '("stage", id)'],
    [{ equal: [], sort: 'stage' }, '("stage" nulls first, id)'],
    [{ equal: [], sort: 'done' }, '(coalesce("done", false) nulls first, id)'],
    [{ equal: [], sort: 'created_at' }, '("created_at" nulls first, id)'],
    // No function of the record alone, or too long.
    [{ equal: [], sort: 'mixed' }, undefined],
    [{ equal: [], sort: 'owner' }, undefined],
    [{ equal: [], sort: 'company' }, undefined],
    [{ equal: [], sort: 'site' }, undefined],
    [{ equal: [], sort: 'notes' }, undefined],
    [{ equal: ['stage'], sort: 'owner' }, '("stage", id)'],
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
  test('takes calendars first, then the default view, then by age; who wants the same shares it', () => {
    const views = [
      view(9, { order_by: 'amount', is_table_default: true }),
      view(2, { order_by: 'due' }),
      view(3, { order_by: 'due', order_dir: 'D' }),
      view(4, { type: 'calendar', config: { startField: 'starts', mode: 'month', weekStart: 'monday' } }),
      view(5, { type: 'kanban', config: { categoryField: 'stage' }, order_by: 'due' }),
      ...[6, 7].map((id) => view(id, { order_by: 'due' })),
    ]
    const plan = planIndexes(table, views, [{ equal: [], sort: 'done' }])
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
    expect(planIndexes(table, [...views].reverse(), [{ equal: [], sort: 'done' }])).toEqual(plan)
  })

  test('follows a group by what all its records meet, and an order by its first key', () => {
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
    const wanted = planIndexes(table, views, []).filter(({ reason }) => reason.startsWith('view'))
    expect(wanted.map(({ fields, reason }) => `${fields}: ${reason}`)).toEqual(['stage,due,id: view "View 1"', 'stage,id: view "View 3"'])
  })

  test('names indexes by what they are, within the 63 bytes of a name', () => {
    const long = 'f'.repeat(48)
    const wide = { ...table, fields: [field(long, 'text'), field(`${long.slice(1)}a`, 'number')] }
    const names = planIndexes(wide, [view(1, { order_by: `${long.slice(1)}a` })], []).map(({ name }) => name)
    expect(new Set(names).size).toBe(3)
    for (const name of names) expect(name.length).toBeLessThanOrEqual(63)
    const reordered = table.fields.map((each) => (each.id === 'city' ? { ...each, type: 'number' as const } : each))
    const sorted = [view(1, { order_by: 'city' })]
    expect(planIndexes({ ...table, fields: reordered }, sorted, [])[0]?.name).not.toBe(planIndexes(table, sorted, [])[0]?.name)
  })
})
