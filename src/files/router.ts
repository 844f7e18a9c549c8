import { callers } from '../platform/access/authorize.ts'
import { listOf, RecordPath, SpacePath } from '../platform/http/procedures/schemas.ts'
import { accountProcedure, recordProcedure, rest, router, spaceProcedure } from '../platform/http/procedures/trpc.ts'
import { changedListOf } from '../records/schema.ts'
import { docs } from './docs.ts'
import * as dropped from './dropped/service.ts'
import { getOfField } from './reading.ts'
import { DroppedFile, DroppedQuery, FieldUpload, File, FileData, FileRef, FileRestore, RestoredFile } from './schema.ts'
import * as files from './service.ts'
import { UPLOAD } from './upload.ts'

export const filesRouter = router({
  create: recordProcedure('write', callers.any)
    .meta(
      rest('POST', '/api/table/{table_id}/record/{record_id}/files/create', docs.create, {
        isList: true,
        isRepeatable: true,
        changesRecords: true,
        upload: UPLOAD,
      }),
    )
    .input(FieldUpload.extend(RecordPath.shape))
    .output(changedListOf(File))
    .mutation(({ ctx, input }) => files.addToField(ctx.context, ctx.table, ctx.record, input, ctx.received)),

  get: recordProcedure('read', callers.any)
    .meta(rest('POST', '/api/table/{table_id}/record/{record_id}/files/get', docs.get, { sendsData: true }))
    .input(FileRef.extend(RecordPath.shape))
    .output(FileData)
    .query(({ ctx, input }) => getOfField(ctx.context, ctx.table, ctx.record, input, ctx.sendData)),

  delete: recordProcedure('write', callers.any)
    .meta(rest('POST', '/api/table/{table_id}/record/{record_id}/files/delete', docs.delete, { isList: true, changesRecords: true }))
    .input(FileRef.extend(RecordPath.shape))
    .output(changedListOf(File))
    .mutation(({ ctx, input }) => files.removeFromField(ctx.context, ctx.table, ctx.record, input)),

  dropped: spaceProcedure('admin', callers.any)
    .meta(rest('GET', '/api/space/{space_id}/files/dropped', docs.dropped, { isList: true }))
    .input(DroppedQuery.extend(SpacePath.shape))
    .output(listOf(DroppedFile))
    .query(({ ctx, input }) => dropped.list(ctx.context, ctx.space, input)),

  restore: accountProcedure(callers.any)
    .meta(rest('POST', '/api/file/restore', docs.restore, { changesRecords: true }))
    .input(FileRestore)
    .output(RestoredFile)
    .mutation(({ ctx, input }) => dropped.restore(ctx.context, input)),
})
