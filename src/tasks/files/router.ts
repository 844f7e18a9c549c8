/** Uploads for tasks that exist, and for tasks that are still to be created. */

import { File, StagedFile, Upload } from '../../files/schema.ts'
import * as files from '../../files/service.ts'
import { UPLOAD } from '../../files/upload.ts'
import { callers } from '../../platform/access/authorize.ts'
import { RecordPath } from '../../platform/http/procedures/schemas.ts'
import { accountProcedure, recordProcedure, rest } from '../../platform/http/procedures/trpc.ts'
import { uploadDocs } from '../docs.ts'
import { taskProcedure } from '../procedure.ts'
import { TaskPath } from '../schema.ts'

export const uploads = {
  upload: taskProcedure('edit', callers.session)
    .meta(rest('POST', '/api/task/{task_id}/upload', uploadDocs.upload, { isRepeatable: true, upload: UPLOAD }))
    .input(Upload.extend(TaskPath.shape))
    .output(File)
    .mutation(({ ctx, input }) => files.uploadToTask(ctx.context, ctx.task, input, ctx.received)),

  stage: accountProcedure(callers.session)
    .meta(rest('POST', '/api/tasks/upload', uploadDocs.stage, { isRepeatable: true, upload: UPLOAD }))
    .input(Upload)
    .output(StagedFile)
    .mutation(({ ctx, input }) => files.stageForTask(ctx.context, input, ctx.received)),

  stageOnRecord: recordProcedure('read', callers.session)
    .meta(
      rest('POST', '/api/tasks/onRecord/{table_id}/{record_id}/upload', uploadDocs.stageOnRecord, {
        isRepeatable: true,
        upload: UPLOAD,
      }),
    )
    .input(Upload.extend(RecordPath.shape))
    .output(StagedFile)
    .mutation(({ ctx, input }) => files.stageForTask(ctx.context, input, ctx.received)),
}
