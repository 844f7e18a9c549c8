import { callers } from '../platform/access/authorize.ts'
import { BATCH_BODY_LIMIT } from '../platform/http/bodies/body-limits.ts'
import { listOf, RecordPath, TablePath } from '../platform/http/procedures/schemas.ts'
import { answering, recordProcedure, rest, router, tableProcedure } from '../platform/http/procedures/trpc.ts'
import { updateBatch } from './bulk/update-batch.ts'
import { listDeleted } from './deleted/list.ts'
import { restore } from './deleted/restore.ts'
import { DeletedQuery, DeletedRecord } from './deleted/schema.ts'
import { docs } from './docs.ts'
import { aggregate } from './groups/aggregate.ts'
import { board } from './groups/board.ts'
import { countGroups } from './groups/counts.ts'
import { AggregatedGroup, BoardColumn, RecordGroup, RecordsAggregate, RecordsBoard, RecordsGroups } from './groups/schema.ts'
import { readHistory } from './history/read.ts'
import { HistoryEntry, HistoryQuery } from './history/schema.ts'
import { deletedProcedure, restorableProcedure, shownRecordProcedure } from './procedure.ts'
import { neighbours } from './query/neighbours.ts'
import { count, explain, query } from './query/run.ts'
import {
  ChangedOk,
  ChangedRecord,
  Counted,
  changedListOf,
  DataRecord,
  DeletedRecords,
  Explanation,
  Neighbours,
  NewRecord,
  QueryAnswer,
  RecordBatch,
  RecordIds,
  RecordNeighbours,
  RecordQuery,
  RecordsQuery,
  RecordUpdate,
  RecordUpdates,
} from './schema.ts'
import * as records from './service.ts'
import { ChangePath, Undone } from './undo/schema.ts'
import { undo } from './undo/service.ts'
import { ChangedWhere, RecordsDeleteWhere, RecordsUpdateWhere } from './where/schema.ts'
import { deleteWhere, updateWhere } from './where/service.ts'

const CHANGES_WHERE = { changesRecords: true, mayIgnore: true, takesConditions: true, isRepeatable: true } as const

export const recordsRouter = router({
  get: shownRecordProcedure(callers.any)
    .meta(rest('GET', '/api/table/{table_id}/record/{record_id}/get', docs.get, { etag: 'answered' }))
    .input(RecordQuery.extend(RecordPath.shape))
    .output(DataRecord)
    .query(answering(({ ctx, input }) => records.get(ctx.context, ctx.table, ctx.record, input, ctx.shown))),

  create: tableProcedure('write', callers.any)
    .meta(rest('POST', '/api/table/{table_id}/records/create', docs.create, { etag: 'answered', isRepeatable: true, changesRecords: true }))
    .input(NewRecord.extend(TablePath.shape))
    .output(ChangedRecord)
    .mutation(answering(({ ctx, input }) => records.create(ctx.context, ctx.table, input))),

  update: recordProcedure('write', callers.any)
    .meta(
      rest('POST', '/api/table/{table_id}/record/{record_id}/update', docs.update, { etag: 'answered and heeded', changesRecords: true }),
    )
    .input(RecordUpdate.extend(RecordPath.shape))
    .output(ChangedRecord)
    .mutation(answering(({ ctx, input }) => records.update(ctx.context, ctx.table, ctx.record, input, ctx.ifMatch))),

  delete: recordProcedure('write', callers.any)
    .meta(rest('POST', '/api/table/{table_id}/record/{record_id}/delete', docs.delete, { changesRecords: true }))
    .input(RecordPath)
    .output(ChangedOk)
    .mutation(({ ctx }) => records.remove(ctx.context, ctx.table, ctx.record)),

  deleteBatch: tableProcedure('write', callers.any)
    .meta(rest('POST', '/api/table/{table_id}/records/delete_batch', docs.deleteBatch, { changesRecords: true }))
    .input(RecordIds.extend(TablePath.shape))
    .output(DeletedRecords)
    .mutation(({ ctx, input }) => records.removeAll(ctx.context, ctx.table, input.record_ids)),

  deleted: deletedProcedure
    .meta(rest('GET', '/api/table/{table_id}/records/deleted', docs.deleted, { isList: true }))
    .input(DeletedQuery)
    .output(listOf(DeletedRecord))
    .query(({ ctx, input }) => listDeleted(ctx.context, ctx.table, input)),

  restore: restorableProcedure
    .meta(
      rest('POST', '/api/table/{table_id}/record/{record_id}/restore', docs.restore, {
        ...{ etag: 'answered', mayIgnore: true, changesRecords: true },
      }),
    )
    .input(RecordPath)
    .output(ChangedRecord)
    .mutation(answering(({ ctx, input }) => restore(ctx.context, ctx.table, input.record_id))),

  createBatch: tableProcedure('write', callers.any)
    .meta(
      rest('POST', '/api/table/{table_id}/records/create_batch', docs.createBatch, {
        isList: true,
        isRepeatable: true,
        changesRecords: true,
        bodyLimit: BATCH_BODY_LIMIT,
      }),
    )
    .input(RecordBatch.extend(TablePath.shape))
    .output(changedListOf(DataRecord))
    .mutation(({ ctx, input }) => records.createBatch(ctx.context, ctx.table, input)),

  updateBatch: tableProcedure('write', callers.any)
    .meta(
      rest('POST', '/api/table/{table_id}/records/update_batch', docs.updateBatch, {
        isList: true,
        isRepeatable: true,
        changesRecords: true,
        bodyLimit: BATCH_BODY_LIMIT,
      }),
    )
    .input(RecordUpdates.extend(TablePath.shape))
    .output(changedListOf(DataRecord))
    .mutation(({ ctx, input }) => updateBatch(ctx.context, ctx.table, input)),
  updateWhere: tableProcedure('write', callers.any)
    .meta(rest('POST', '/api/table/{table_id}/records/update_where', docs.updateWhere, CHANGES_WHERE))
    .input(RecordsUpdateWhere)
    .output(ChangedWhere)
    .mutation(answering(({ ctx, input }) => updateWhere(ctx.context, ctx.table, input))),

  deleteWhere: tableProcedure('write', callers.any)
    .meta(rest('POST', '/api/table/{table_id}/records/delete_where', docs.deleteWhere, CHANGES_WHERE))
    .input(RecordsDeleteWhere)
    .output(ChangedWhere)
    .mutation(answering(({ ctx, input }) => deleteWhere(ctx.context, ctx.table, input))),

  undo: tableProcedure('write', callers.any)
    .meta(rest('POST', '/api/table/{table_id}/change/{change_id}/undo', docs.undo, { isRepeatable: true, changesRecords: true }))
    .input(ChangePath)
    .output(Undone)
    .mutation(({ ctx, input }) => undo(ctx.context, ctx.table, input.change_id)),

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
    .query(answering(({ ctx, input }) => countGroups(ctx.context, ctx.table, input))),

  history: recordProcedure('read', callers.any)
    .meta(rest('GET', '/api/table/{table_id}/record/{record_id}/history', docs.history, { isList: true }))
    .input(HistoryQuery)
    .output(listOf(HistoryEntry))
    .query(({ ctx, input }) => readHistory(ctx.context, ctx.table, ctx.record, input)),

  neighbours: recordProcedure('read', callers.any)
    .meta(rest('POST', '/api/table/{table_id}/record/{record_id}/neighbours', docs.neighbours, { mayIgnore: true, takesConditions: true }))
    .input(RecordNeighbours)
    .output(Neighbours)
    .query(answering(({ ctx, input }) => neighbours(ctx.context, ctx.table, ctx.record, input))),

  aggregate: tableProcedure('read', callers.any, { prefersReplica: true })
    .meta(rest('POST', '/api/table/{table_id}/records/aggregate', docs.aggregate, { mayIgnore: true, takesConditions: true, isList: true }))
    .input(RecordsAggregate)
    .output(listOf(AggregatedGroup))
    .query(answering(({ ctx, input }) => aggregate(ctx.context, ctx.table, input))),

  board: tableProcedure('read', callers.any, { prefersReplica: true })
    .meta(rest('POST', '/api/table/{table_id}/records/board', docs.board, { mayIgnore: true, takesConditions: true, isList: true }))
    .input(RecordsBoard)
    .output(listOf(BoardColumn))
    .query(answering(({ ctx, input }) => board(ctx.context, ctx.table, input))),
})
