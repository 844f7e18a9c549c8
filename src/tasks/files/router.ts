/** Uploads for tasks that are there, and for those that are still to be made. */

import { File, StagedFile, UPLOAD_BODY_LIMIT, Upload } from '../../files/schema.ts'
import * as files from '../../files/service.ts'
import { callers } from '../../platform/access/authorize.ts'
import { accountProcedure, recordProcedure, rest } from '../../platform/http/trpc.ts'
import * as examples from '../examples.ts'
import { taskProcedure } from '../procedure.ts'
import { RecordPath, TaskPath } from '../schema.ts'

const staging =
  'Pass the answer on in `attachments` of the create, from the same session within a day; the task then has the file under its final path.'

export const uploads = {
  upload: taskProcedure('edit', callers.session)
    .meta(
      rest('POST', '/api/task/{task_id}/upload', 'Upload a file for a task', {
        description: 'Pass the answer on in `attachments` of the update. A file that the task does not take up is removed after a day.',
        tags: ['Tasks'],
        example: { input: examples.upload, output: examples.file },
        isRepeatable: true,
        bodyLimit: UPLOAD_BODY_LIMIT,
      }),
    )
    .input(Upload.extend(TaskPath.shape))
    .output(File)
    .mutation(({ ctx, input }) => files.uploadToTask(ctx.context, ctx.task, input)),

  stage: accountProcedure(callers.session)
    .meta(
      rest('POST', '/api/tasks/upload', 'Upload a file for a new standalone task', {
        description: staging,
        tags: ['Tasks'],
        example: { input: examples.upload, output: examples.staged },
        isRepeatable: true,
        bodyLimit: UPLOAD_BODY_LIMIT,
      }),
    )
    .input(Upload)
    .output(StagedFile)
    .mutation(({ ctx, input }) => files.stageForTask(ctx.context, input)),

  stageOnRecord: recordProcedure('read', callers.session)
    .meta(
      rest('POST', '/api/tasks/onRecord/{table_id}/{record_id}/upload', 'Upload a file for a new task on a record', {
        description: staging,
        tags: ['Tasks'],
        example: { input: examples.upload, output: examples.staged },
        isRepeatable: true,
        bodyLimit: UPLOAD_BODY_LIMIT,
      }),
    )
    .input(Upload.extend(RecordPath.shape))
    .output(StagedFile)
    .mutation(({ ctx, input }) => files.stageForTask(ctx.context, input)),
}
