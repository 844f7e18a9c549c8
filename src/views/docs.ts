import { operationDocs } from '../platform/http/procedures/operation-docs.ts'
import type { View } from './schema.ts'

const view: View = {
  id: 3,
  account_id: 1,
  table_id: 101,
  name: 'Won deals',
  type: 'grid',
  config: { columns: ['company', 'amount'] },
  filters: [{ column: 'stage', compare: '=', value: 'Won', connector: 'AND' }],
  order_by: 'amount',
  order_dir: 'D',
  created_by: 7,
  created_at: '2026-03-31 09:30:00',
  updated_at: '2026-03-31 09:30:00',
  is_default: false,
  is_table_default: false,
  version: 1,
}
const newView = {
  name: view.name,
  type: view.type,
  config: view.config,
  filters: view.filters,
  order_by: 'amount',
  order_dir: 'D' as const,
}
const changes = {
  name: 'Won or large',
  filter: {
    any: [
      { column: 'stage', compare: '=' as const, value: 'Won' },
      { column: 'amount', compare: '>' as const, value: 1000 },
    ],
  },
  order: [
    { field: 'stage', dir: 'A' as const },
    { field: 'amount', dir: 'D' as const },
  ],
}
const NAME_TAKEN = { 409: "The table already has a view named 'Won deals'" }

export const tableListDocs = operationDocs('Tables', {
  list: {
    summary: 'List the tables of a space',
    description: 'Sorted by name, ignoring case. `include` adds what an application needs of all tables at its start.',
    example: { input: { include: ['counts'] }, output: { rows: [{ id: 101, name: 'Deals', space_id: 1, record_count: 250 }] } },
  },
})

export const docs = operationDocs('Views', {
  list: {
    summary: 'List the views of a table',
    description: 'The Default view (id 0) comes first, then the saved views sorted by name, ignoring case.',
    example: { output: { rows: [view] } },
  },

  get: {
    summary: 'Get a view',
    description: 'The id 0 is the Default view, which every table has.',
    example: { output: view },
  },

  create: {
    summary: 'Create a view',
    description:
      'Requires an admin of the space. Filters, sort and layout are checked against the fields of the table. `filter` may be sent ' +
      'instead of `filters`, and `order` instead of `order_by` and `order_dir`; the view then has these keys, too.',
    example: { input: newView, output: view },
    errors: NAME_TAKEN,
  },

  check: {
    summary: 'Check a view without saving it',
    description:
      'Takes the same input as create and returns what create would store, leave out and index. Invalid input gets the same errors.',
    example: { input: newView, output: { ...newView, filters: view.filters, is_table_default: false, dropped: [], index: null } },
    errors: NAME_TAKEN,
  },

  update: {
    summary: 'Update a view',
    description:
      'Fields that are absent stay unchanged; null clears a field. The type cannot be changed. `filters` replaces a saved `filter` and ' +
      '`order_by` a saved `order`, and the reverse.',
    example: { input: changes, output: { ...view, ...changes, filters: [], order_by: 'stage', order_dir: 'A' } },
    errors: NAME_TAKEN,
  },

  delete: {
    summary: 'Delete a view',
    description: 'Drops the index of its calendar, too, unless another view uses it.',
    example: { output: { ok: true } },
  },
})
