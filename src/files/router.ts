import { callers } from '../platform/access/authorize.ts'
import { listOf, RecordPath } from '../platform/http/schemas.ts'
import { recordProcedure, rest, router } from '../platform/http/trpc.ts'
import { docs } from './docs.ts'
import { FieldUpload, File, FileRemoval, UPLOAD_BODY_LIMIT } from './schema.ts'
import * as files from './service.ts'

export const filesRouter = router({
  create: recordProcedure('write', callers.any)
    .meta(
      rest('POST', '/api/table/{table_id}/record/{record_id}/files/create', docs.create, {
        isList: true,
        isRepeatable: true,
        bodyLimit: UPLOAD_BODY_LIMIT,
      }),
    )
    .input(FieldUpload.extend(RecordPath.shape))
    .output(listOf(File))
    .mutation(async ({ ctx, input }) => ({ rows: await files.addToField(ctx.context, ctx.table, ctx.record, input) })),

  delete: recordProcedure('write', callers.any)
    .meta(rest('POST', '/api/table/{table_id}/record/{record_id}/files/delete', docs.delete, { isList: true }))
    .input(FileRemoval.extend(RecordPath.shape))
    .output(listOf(File))
    .mutation(async ({ ctx, input }) => ({ rows: await files.removeFromField(ctx.context, ctx.table, ctx.record, input) })),
})
