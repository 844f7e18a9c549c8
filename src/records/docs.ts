import { operationDocs } from '../platform/http/procedures/operation-docs.ts'
import type { DataRecord } from './schema.ts'

const record: DataRecord = {
  id: 12,
  title: 'Acme',
  data: { company: 'Acme', stage: 'Lead', amount: 1250.5, owner: { id: 7, email: 'ann@example.com', name: 'Ann' }, tags: [], files: [] },
  created_at: '2026-03-31 09:30:00',
  updated_at: '2026-03-31 09:30:00',
}
const row = {
  id: 12,
  company: 'Acme',
  stage: 'Won',
  amount: 1250.5,
  owner: { id: 8, email: 'max@example.com', name: 'Max Born' },
  due: '2026-03-31',
}
const newRecord = { data: { company: 'Acme', stage: 'Lead', amount: '1250.50', owner: '@me' } }

export const docs = operationDocs('Records', {
  get: {
    summary: 'Get a record',
    description: '`data` has every field except for the key and calculated fields. The ETag is the version of the record.',
    example: { output: record },
  },

  create: {
    summary: 'Create a record',
    description: 'Fields that are absent stay empty. `issues` lists every cell that is invalid.',
    example: { input: newRecord, output: record },
  },

  update: {
    summary: 'Update a record',
    description:
      'Fields that are absent stay unchanged; null empties a field. With If-Match the record changes only if it still has that version.',
    example: {
      input: { data: { stage: 'Won', amount: null } },
      output: { ...record, data: { ...record.data, stage: 'Won', amount: null } },
    },
    errors: { 409: 'The record has changed since' },
  },

  delete: {
    summary: 'Delete a record',
    description: 'Deletes its tasks, comments and files, too.',
    example: { output: { ok: true } },
  },

  deleteBatch: {
    summary: 'Delete up to 1,000 records',
    description: 'Deletes their tasks, comments and files, too. Ids that are not records of the table are ignored.',
    example: { input: { record_ids: [12, 13] }, output: { deleted: 2 } },
  },

  createBatch: {
    summary: 'Create up to 1,000 records',
    description: 'Creates all of them or none, and returns them in the order of the request.',
    example: { input: { records: [newRecord] }, output: { rows: [record] } },
  },

  query: {
    summary: 'Query records',
    description:
      'Returns a page of records, through a saved view or with the filters of the request. Rows are flat: `id`, and one value per field. ' +
      'With `view_id`, the filters and the order of the request are ignored unless `append_filters` is true. Without an order, records ' +
      'are sorted by id. Empty values sort lowest; equal values are sorted by id. With `explain: true` the answer is that of ' +
      '`records/explain` instead.',
    example: { input: { view_id: 3, search: 'acme', limit: 50 }, output: { rows: [row] } },
    errors: { 500: 'View not found' },
  },

  explain: {
    summary: 'Explain a query of records',
    description:
      'Takes the body of `records/query`, and returns how it was understood instead of the records: each token, the conditions with ' +
      'their brackets, the order, the indexes, and for `record_id` the first condition that excludes that record.',
    example: {
      input: { view_id: 3, record_id: 12 },
      output: {
        timezone: 'Europe/Berlin',
        me: { id: 7, email: 'ann@example.com', name: 'Ann' },
        tokens: [{ token: 'today', from: '2026-03-28 23:00:00', to: '2026-03-29 22:00:00' }],
        predicate: 'stage = "Won" OR due <= today (2026-03-29)',
        order: [
          { field: 'due', dir: 'D' },
          { field: 'id', dir: 'D' },
        ],
        indexes: ['idx_layout_due'],
        record: { id: 12, matches: false, failed: { column: 'stage', compare: '=', value: 'Won', actual: 'Lead' } },
      },
    },
    errors: { 500: 'View not found' },
  },

  count: {
    summary: 'Count records',
    description:
      'Returns how many records match and how many the table has. Takes the body of a query; its order, page and fields make no ' +
      'difference.',
    example: {
      input: { filters: [{ column: 'stage', compare: '=', value: 'Won' }] },
      output: { count: 7, total: 25, total_approx: false, restricted: true },
    },
  },

  groups: {
    summary: 'Count records by a field',
    description:
      'Returns how many of the matching records have each value of a field, in the order of the field, the empty value first: the ' +
      'columns of a kanban board, or the days, weeks or months of a calendar. Every option of a select and both values of a checkbox are ' +
      'listed, with or without records; other values only if records have them.',
    example: {
      input: { view_id: 3, by: 'stage' },
      output: {
        rows: [
          { value: null, count: 2 },
          { value: 'Lead', count: 11 },
          { value: 'Won', count: 7 },
          { value: 'Lost', count: 0 },
        ],
      },
    },
  },
})
