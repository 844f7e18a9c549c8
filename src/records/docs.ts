import { operationDocs } from '../platform/http/procedures/operation-docs.ts'
import type { ChangedRecord, DataRecord } from './schema.ts'

const record: DataRecord = {
  id: 12,
  title: 'Acme',
  data: { company: 'Acme', stage: 'Lead', amount: 1250.5, owner: { id: 7, email: 'ann@example.com', name: 'Ann' }, tags: [], files: [] },
  created_at: '2026-03-31 09:30:00',
  updated_at: '2026-03-31 09:30:00',
  version: 1,
}
const changed: ChangedRecord = { ...record, change_id: 5012 }
const badges = { open_tasks: 2, overdue_tasks: 1, comments: 5, unread: 0 }
const row = {
  id: 12,
  company: 'Acme',
  stage: 'Won',
  amount: 1250.5,
  owner: { id: 8, email: 'max@example.com', name: 'Max Born' },
  due: '2026-03-31',
}
const change = {
  change_id: 4711,
  version: 2,
  at: '2026-03-31 09:30:00',
  user_id: 7,
  user_name: 'Ann',
  api_key_id: null,
  kind: 'update' as const,
  records: 1,
  changes: [{ field: 'stage', name: 'Stage', from: 'Lead', to: 'Won' }],
}
const newRecord = { data: { company: 'Acme', stage: 'Lead', amount: '1250.50', owner: '@me' } }

export const docs = operationDocs('Records', {
  get: {
    summary: 'Get a record',
    description:
      '`data` has every field except for the key and calculated fields. The ETag is its `version`. With `include=badges` it has the ' +
      'numbers of its open and overdue tasks, its comments, and what the caller has not read about it.',
    example: { input: { include: ['badges'] }, output: { ...record, badges } },
  },

  history: {
    summary: 'List the changes of a record',
    description:
      'Newest first: who changed which fields, when, with which key, from which value to which. Options and linked records have the ' +
      'titles of the time, users the names of today. Changes are kept for 180 days unless the operator sets another time, and as long as ' +
      'the record exists. X-Total-Count is sent with the first page, unless the record has more than 10,000 changes.',
    example: { output: { rows: [change], total: 1 } },
  },

  create: {
    summary: 'Create a record',
    description: 'Fields that are absent stay empty. `issues` lists every cell that is invalid.',
    example: { input: newRecord, output: changed },
  },

  update: {
    summary: 'Update a record',
    description:
      'Fields that are absent stay unchanged; null empties a field. With If-Match the record changes only if it still has that version.',
    example: {
      input: { data: { stage: 'Won', amount: null } },
      output: { ...changed, data: { ...record.data, stage: 'Won', amount: null }, version: 2 },
    },
    errors: { 409: 'The record has changed since' },
  },

  delete: {
    summary: 'Delete a record',
    description: 'It is gone with its tasks, comments, mails and files, and can be restored for 30 days.',
    example: { output: { ok: true, change_id: 5013 } },
  },

  deleteBatch: {
    summary: 'Delete up to 1,000 records',
    description: 'Deletes their tasks, comments and files, too. Ids that are not records of the table are ignored.',
    example: { input: { record_ids: [12, 13] }, output: { deleted: 2, change_id: 5013 } },
  },

  deleted: {
    summary: 'List deleted records',
    description: 'The records that can be restored, the latest deletion first. Only members may list them.',
    example: {
      input: { search: 'acme' },
      output: {
        rows: [
          {
            ...{ id: 12, title: 'Acme', deleted_at: '2026-04-02 08:00:00', user_id: 7, user_name: 'Ada Lovelace', change_id: 5013 },
            kept_until: '2026-05-02 08:00:00',
          },
        ],
        total: 1,
      },
    },
  },

  restore: {
    summary: 'Restore a deleted record',
    description:
      'With its tasks, comments, mails and files. `X-Ignored` names the fields that cannot have their cell any more, because they were ' +
      'deleted or converted, or because an option was removed.',
    example: { output: { ...changed, version: 3 } },
    errors: { 409: 'The record is not deleted' },
  },

  createBatch: {
    summary: 'Create up to 1,000 records',
    description: 'Creates all of them or none, and returns them in the order of the request.',
    example: { input: { records: [newRecord] }, output: { rows: [record], change_id: 5012 } },
  },

  updateBatch: {
    summary: 'Update up to 1,000 records',
    description:
      'Updates all of them or none, each in its own fields, and returns them in the order of the request. Records whose values are ' +
      'already so keep their version. A record with a `version` must still have it: otherwise `stale` shows the first hundred that do not.',
    example: {
      input: { records: [{ id: 12, data: { stage: 'Won' }, version: 1 }] },
      output: { rows: [{ ...record, data: { ...record.data, stage: 'Won' }, version: 2 }], change_id: 5012 },
    },
    errors: { 409: 'Records have changed since' },
  },

  updateWhere: {
    summary: 'Update the records that match',
    description:
      'Writes the same values into all records that meet the conditions, which are those of `records/count`. First send `dry_run: true`, ' +
      'then the number that it has answered as `expect`: if another number of records matches by then, nothing changes, and the answer ' +
      'is 409 with `matched`. Up to 1,000 records change, all of them or none. More, up to 100,000, are changed by a job, which looks at ' +
      'each of them again. Records that have the values already stay as they are. Without any condition the request is refused; ' +
      '`filter: {all: []}` stands for every record.',
    example: {
      input: { filters: [{ column: 'stage', compare: '=', value: 'Lead' }], data: { stage: 'Lost' }, expect: 7 },
      output: { matched: 7, changed: 7, change_id: 812 },
    },
    errors: { 409: '8 records match now, not 7' },
  },

  deleteWhere: {
    summary: 'Delete the records that match',
    description:
      'Deletes all records that meet the conditions, with their tasks, comments and files. `dry_run`, `expect`, the limits and ' +
      'the job are those of `records/update_where`.',
    example: {
      input: { filters: [{ column: 'stage', compare: '=', value: 'Lost' }], dry_run: true },
      output: { matched: 7 },
    },
    errors: { 409: '8 records match now, not 7' },
  },

  undo: {
    summary: 'Undo a change of records',
    description:
      'Sets back each field that still has the value that the change gave it, and deletes the records that it has created, unless they ' +
      'were changed since. What is left as it is comes in `skips`, with the reason. The undo is a change itself: its own undo makes the ' +
      "change again. Everybody who may write can undo their own changes, admins also those of others; with an account key, one's own are " +
      'those of all keys. An undo of a deletion restores the records. Imports cannot be undone. A change that is undone already is left: ' +
      '`undone` is 0. More than 1,000 records are taken back by a job.',
    example: {
      output: {
        ...{ undone: 2, skipped: 1, change_id: 5013 },
        skips: [{ record_id: 12, field: 'stage', reason: 'changed since' }],
      },
    },
    errors: { 409: 'The change is still being made; wait for its job, or cancel it' },
  },

  query: {
    summary: 'Query records',
    description:
      'Returns a page of records, through a saved view or with the filters of the request. Rows are flat: `id`, and one value per field. ' +
      'With `view_id`, the filters and the order of the request are ignored unless `append_filters` is true. Without an order, records ' +
      'are sorted by id. Empty values sort lowest; equal values are sorted by id. With `explain: true` the answer is that of ' +
      '`records/explain` instead. With `include` rows have the version of their record and what there is about it.',
    example: {
      input: { view_id: 3, include: ['version'] },
      output: { rows: [{ ...row, _version: 4 }] },
    },
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

  neighbours: {
    summary: 'Find the neighbours of a record',
    description:
      'Returns the records before and after it in the order of a query or a view, as its pages have them, also for a record that the ' +
      'query does not select. `position` (from 0) and `total` are counted, so only when asked for.',
    example: { input: { view_id: 3, position: true }, output: { matches: true, previous: 7, next: 15, position: 4, total: 25 } },
  },

  aggregate: {
    summary: 'Sum up records',
    description:
      'Computes up to ten measures of the matching records, for each value of up to two fields, or of all records together. A record ' +
      'with several values counts in the group of each. Groups have records, and come in the order of their fields, the empty value ' +
      'first, unless `order` names a measure. X-Total-Count is their number; those beyond `limit` cannot be paged.',
    example: {
      input: {
        view_id: 3,
        by: [{ field: 'stage' }],
        measures: [{ fn: 'count' }, { fn: 'sum', field: 'amount' }],
        order: { measure: 1, dir: 'D' },
      },
      output: {
        rows: [
          { group: ['Won'], values: [7, 18250.5] },
          { group: [null], values: [2, null] },
        ],
        total: 2,
      },
    },
  },

  board: {
    summary: 'Read a board',
    description:
      'Returns the matching records in columns: one for each option of a select, for both values of a checkbox, or for the 100 users or ' +
      'records of a lookup that most records have. Columns come in the order of the field, the empty value first and only where records ' +
      'have it. Each has its number of records and its first rows, as `records/query` returns them, and a `next_cursor` if more follow: ' +
      'sent as `cursor` with the same query, it answers that column alone.',
    example: {
      input: { view_id: 3, by: 'stage', per_group: 1, fields: ['company'] },
      output: {
        rows: [
          { value: 'Lead', count: 11, rows: [{ id: 12, company: 'Acme' }], next_cursor: '1.q4NxusXrET-2qlzpcF432lsiYm9hcmQ' },
          { value: 'Won', count: 0, rows: [] },
        ],
      },
    },
  },
})
