import { callers } from '../platform/access/authorize.ts'
import { listOf, Ok } from '../platform/http/schemas.ts'
import { BATCH_BODY_LIMIT, recordProcedure, rest, router, tableProcedure } from '../platform/http/trpc.ts'
import { shownRecordProcedure } from './procedure.ts'
import { count, groups, query } from './query/run.ts'
import {
  Counted,
  DataRecord,
  Deleted,
  NewRecord,
  QueryAnswer,
  RecordBatch,
  RecordGroup,
  RecordIds,
  RecordPath,
  RecordsCount,
  RecordsGroups,
  RecordsQuery,
  RecordUpdate,
  TablePath,
} from './schema.ts'
import * as records from './service.ts'

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
const given = { data: { company: 'Acme', stage: 'Lead', amount: '1250.50', owner: '@me' } }

export const recordsRouter = router({
  get: shownRecordProcedure(callers.any)
    .meta(
      rest('GET', '/api/table/{table_id}/record/{record_id}/get', 'Get a record', {
        description: 'With every field but key and calc fields in `data`. Answers an ETag.',
        tags: ['Records'],
        etag: 'answered',
        example: { output: record },
      }),
    )
    .input(RecordPath)
    .output(DataRecord)
    .query(({ ctx }) => records.get(ctx.context, ctx.table, ctx.record, ctx.shown)),

  create: tableProcedure('write', callers.any)
    .meta(
      rest('POST', '/api/table/{table_id}/records/create', 'Make a record', {
        description: 'Fields that are not given stay empty. Every cell that is refused is in `issues`.',
        tags: ['Records'],
        etag: 'answered',
        example: { input: given, output: record },
        isRepeatable: true,
      }),
    )
    .input(NewRecord.extend(TablePath.shape))
    .output(DataRecord)
    .mutation(({ ctx, input }) => records.create(ctx.context, ctx.table, input)),

  update: recordProcedure('write', callers.any)
    .meta(
      rest('POST', '/api/table/{table_id}/record/{record_id}/update', 'Change a record', {
        description:
          'Fields that are not given stay as they are, null empties one. With If-Match only the version that is named is changed.',
        tags: ['Records'],
        etag: 'answered and heeded',
        example: {
          input: { data: { stage: 'Won', amount: null } },
          output: { ...record, data: { ...record.data, stage: 'Won', amount: null } },
        },
        errors: { 409: 'The record has changed since' },
      }),
    )
    .input(RecordUpdate.extend(RecordPath.shape))
    .output(DataRecord)
    .mutation(({ ctx, input }) => records.update(ctx.context, ctx.table, ctx.record, input)),

  delete: recordProcedure('write', callers.any)
    .meta(
      rest('POST', '/api/table/{table_id}/record/{record_id}/delete', 'Delete a record', {
        description: 'With its tasks, comments and files.',
        tags: ['Records'],
        example: { output: { ok: true } },
      }),
    )
    .input(RecordPath)
    .output(Ok)
    .mutation(async ({ ctx }) => {
      await records.remove(ctx.context, ctx.table, ctx.record)
      return { ok: true }
    }),

  deleteBatch: tableProcedure('write', callers.any)
    .meta(
      rest('POST', '/api/table/{table_id}/records/delete_batch', 'Delete up to 1,000 records', {
        description: 'With their tasks, comments and files. Ids that name no record of the table are passed over.',
        tags: ['Records'],
        example: { input: { record_ids: [12, 13] }, output: { deleted: 2 } },
      }),
    )
    .input(RecordIds.extend(TablePath.shape))
    .output(Deleted)
    .mutation(async ({ ctx, input }) => ({ deleted: await records.removeAll(ctx.context, ctx.table, input.record_ids) })),

  createBatch: tableProcedure('write', callers.any)
    .meta(
      rest('POST', '/api/table/{table_id}/records/create_batch', 'Make up to 1,000 records', {
        description: 'All or none, answered in their order.',
        tags: ['Records'],
        example: { input: { records: [given] }, output: { rows: [record] } },
        isList: true,
        isRepeatable: true,
        bodyLimit: BATCH_BODY_LIMIT,
      }),
    )
    .input(RecordBatch.extend(TablePath.shape))
    .output(listOf(DataRecord))
    .mutation(({ ctx, input }) => records.createBatch(ctx.context, ctx.table, input)),

  query: tableProcedure('read', callers.any, { isSilent: true })
    .meta(
      rest('POST', '/api/table/{table_id}/records/query', 'Query records', {
        description:
          'A page of records, through a saved view or with filters of the request. Rows are flat: `id`, and a value for each field. ' +
          'With view_id, the filters and order of the request are ignored unless append_filters is true. ' +
          'Without an order, by id. An empty value is the smallest; ties go by id. With `explain: true` the answer is an object that says ' +
          'how the query was understood: each token, the conditions with their brackets, the order, the indexes, and for `record_id` ' +
          'the first condition that keeps that record out.',
        tags: ['Records'],
        mayIgnore: true,
        example: {
          input: { view_id: 3, search: 'acme', limit: 50 },
          output: { rows: [row] },
        },
        isList: true,
        errors: { 500: 'View not found' },
      }),
    )
    .input(RecordsQuery)
    .output(QueryAnswer)
    .query(({ ctx, input }) => query(ctx.context, ctx.table, input)),

  count: tableProcedure('read', callers.any)
    .meta(
      rest('POST', '/api/table/{table_id}/records/count', 'Count records', {
        description: 'How many records match, and how many the table has.',
        tags: ['Records'],
        mayIgnore: true,
        example: {
          input: { filters: [{ column: 'stage', compare: '=', value: 'Won' }] },
          output: { count: 7, total: 25, total_approx: false, restricted: true },
        },
      }),
    )
    .input(RecordsCount)
    .output(Counted)
    .query(({ ctx, input }) => count(ctx.context, ctx.table, input)),

  groups: tableProcedure('read', callers.any)
    .meta(
      rest('POST', '/api/table/{table_id}/records/groups', 'Count records by a field', {
        description:
          'How many of the records that match have each value of a field, in the order of the field, empty first: the columns of a ' +
          'kanban, or the days, weeks or months of a calendar. Every option of a select and both values of a checkbox are listed, with ' +
          'or without records; other values only when records have them.',
        tags: ['Records'],
        mayIgnore: true,
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
        isList: true,
      }),
    )
    .input(RecordsGroups)
    .output(listOf(RecordGroup))
    .query(({ ctx, input }) => groups(ctx.context, ctx.table, input)),
})
