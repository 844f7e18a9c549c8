import { callers } from '../platform/access/authorize.ts'
import { listOf } from '../platform/http/schemas.ts'
import { recordProcedure, rest, router } from '../platform/http/trpc.ts'
import { FieldUpload, File, FileRemoval, RecordPath, UPLOAD_BODY_LIMIT } from './schema.ts'
import * as files from './service.ts'

const file: File = { name: 'offer.txt', path: '1-101-Yk3vQ0aX7mPz-offer.txt', size: 5, type: 'text/plain', host: 'local' }

export const filesRouter = router({
  create: recordProcedure('write', callers.any)
    .meta(
      rest('POST', '/api/table/{table_id}/record/{record_id}/files/create', 'Store a file in a field', {
        description: 'Adds it to the end of the list; the answer is the whole list. At most 50 MB.',
        tags: ['Files'],
        example: { input: { field_id: 'documents', name: file.name, type: file.type, data: 'aGVsbG8=' }, output: { rows: [file] } },
        isList: true,
        isRepeatable: true,
        bodyLimit: UPLOAD_BODY_LIMIT,
      }),
    )
    .input(FieldUpload.extend(RecordPath.shape))
    .output(listOf(File))
    .mutation(async ({ ctx, input }) => ({ rows: await files.addToField(ctx.context, ctx.table, ctx.record, input) })),

  delete: recordProcedure('write', callers.any)
    .meta(
      rest('POST', '/api/table/{table_id}/record/{record_id}/files/delete', 'Take a file out of a field', {
        description: 'The answer is the whole list that is left. The bytes are removed a day later.',
        tags: ['Files'],
        example: { input: { field_id: 'documents', path: file.path }, output: { rows: [] } },
        isList: true,
      }),
    )
    .input(FileRemoval.extend(RecordPath.shape))
    .output(listOf(File))
    .mutation(async ({ ctx, input }) => ({ rows: await files.removeFromField(ctx.context, ctx.table, ctx.record, input) })),
})
