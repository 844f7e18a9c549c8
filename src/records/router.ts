import { callers } from '../platform/access/authorize.ts'
import { BATCH_BODY_LIMIT } from '../platform/http/bodies/body-limits.ts'
import { listOf, Ok, RecordPath, TablePath } from '../platform/http/procedures/schemas.ts'
import { answering, recordProcedure, rest, router, tableProcedure } from '../platform/http/procedures/trpc.ts'
import { docs } from './docs.ts'
import { shownRecordProcedure } from './procedure.ts'
import { count, explain, groups, query } from './query/run.ts'
import {
  Counted,
  DataRecord,
  Deleted,
  Explanation,
  NewRecord,
  QueryAnswer,
  RecordBatch,
  RecordGroup,
  RecordIds,
  RecordsGroups,
  RecordsQuery,
  RecordUpdate,
} from './schema.ts'
import * as records from './service.ts'

export const recordsRouter = router({
  get: shownRecordProcedure(callers.any)
    .meta(rest('GET', '/api/table/{table_id}/record/{record_id}/get', docs.get, { etag: 'answered' }))
    .input(RecordPath)
    .output(DataRecord)
    .query(answering(({ ctx }) => records.get(ctx.context, ctx.table, ctx.record, ctx.shown))),

  create: tableProcedure('write', callers.any)
    .meta(rest('POST', '/api/table/{table_id}/records/create', docs.create, { etag: 'answered', isRepeatable: true }))
    .input(NewRecord.extend(TablePath.shape))
    .output(DataRecord)
    .mutation(answering(({ ctx, input }) => records.create(ctx.context, ctx.table, input))),

  update: recordProcedure('write', callers.any)
    .meta(rest('POST', '/api/table/{table_id}/record/{record_id}/update', docs.update, { etag: 'answered and heeded' }))
    .input(RecordUpdate.extend(RecordPath.shape))
    .output(DataRecord)
    .mutation(answering(({ ctx, input }) => records.update(ctx.context, ctx.table, ctx.record, input, ctx.ifMatch))),

  delete: recordProcedure('write', callers.any)
    .meta(rest('POST', '/api/table/{table_id}/record/{record_id}/delete', docs.delete))
    .input(RecordPath)
    .output(Ok)
    .mutation(async ({ ctx }) => {
      await records.remove(ctx.context, ctx.table, ctx.record)
      return { ok: true }
    }),

  deleteBatch: tableProcedure('write', callers.any)
    .meta(rest('POST', '/api/table/{table_id}/records/delete_batch', docs.deleteBatch))
    .input(RecordIds.extend(TablePath.shape))
    .output(Deleted)
    .mutation(async ({ ctx, input }) => ({ deleted: await records.removeAll(ctx.context, ctx.table, input.record_ids) })),

  createBatch: tableProcedure('write', callers.any)
    .meta(
      rest('POST', '/api/table/{table_id}/records/create_batch', docs.createBatch, {
        isList: true,
        isRepeatable: true,
        bodyLimit: BATCH_BODY_LIMIT,
      }),
    )
    .input(RecordBatch.extend(TablePath.shape))
    .output(listOf(DataRecord))
    .mutation(({ ctx, input }) => records.createBatch(ctx.context, ctx.table, input)),

  query: tableProcedure('read', callers.any, { isSilent: true })
    .meta(rest('POST', '/api/table/{table_id}/records/query', docs.query, { mayIgnore: true, takesConditions: true, isList: true }))
    .input(RecordsQuery)
    .output(QueryAnswer)
    .query(answering(({ ctx, input }) => query(ctx.context, ctx.table, input))),

  explain: tableProcedure('read', callers.any, { isSilent: true, prefersReplica: true })
    .meta(rest('POST', '/api/table/{table_id}/records/explain', docs.explain, { mayIgnore: true, takesConditions: true }))
    .input(RecordsQuery)
    .output(Explanation)
    .query(answering(({ ctx, input }) => explain(ctx.context, ctx.table, input))),

  count: tableProcedure('read', callers.any, { prefersReplica: true })
    .meta(rest('POST', '/api/table/{table_id}/records/count', docs.count, { mayIgnore: true, takesConditions: true }))
    .input(RecordsQuery)
    .output(Counted)
    .query(answering(({ ctx, input }) => count(ctx.context, ctx.table, input))),

  groups: tableProcedure('read', callers.any, { prefersReplica: true })
    .meta(rest('POST', '/api/table/{table_id}/records/groups', docs.groups, { mayIgnore: true, takesConditions: true, isList: true }))
    .input(RecordsGroups)
    .output(listOf(RecordGroup))
    .query(answering(({ ctx, input }) => groups(ctx.context, ctx.table, input))),
})
