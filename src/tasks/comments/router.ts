/** The comments of a task: `tasks.comments` on RPC. */

import { commentProcedureOf } from '../../comments/procedure.ts'
import { CommentContent } from '../../comments/schema.ts'
import * as comments from '../../comments/service.ts'
import { File, Upload } from '../../files/schema.ts'
import * as files from '../../files/service.ts'
import { UPLOAD } from '../../files/upload.ts'
import { callers } from '../../platform/access/authorize.ts'
import { listOf, Ok } from '../../platform/http/procedures/schemas.ts'
import { rest, router } from '../../platform/http/procedures/trpc.ts'
import { taskCommentDocs } from '../docs.ts'
import { taskProcedure } from '../procedure.ts'
import { TaskPath } from '../schema.ts'
import { NewTaskComment, TaskComment, TaskCommentPath, TaskCommentQuery } from './schema.ts'
import { commentedTask, onTask } from './task-subject.ts'

const task = '/api/task/{task_id}'
const commentProcedure = commentProcedureOf(commentedTask)

export const taskCommentsRouter = router({
  list: taskProcedure('read')
    .meta(rest('GET', `${task}/comments/get`, taskCommentDocs.list, { isList: true }))
    .input(TaskCommentQuery.extend(TaskPath.shape))
    .output(listOf(TaskComment))
    .query(({ ctx, input }) => comments.list(ctx.context, onTask(ctx.task, ctx.context.actor), input)),

  create: taskProcedure('read')
    .meta(rest('POST', `${task}/comments/create`, taskCommentDocs.create, { isRepeatable: true, sessionOnlyKey: 'attachments' }))
    .input(NewTaskComment.extend(TaskPath.shape))
    .output(TaskComment)
    .mutation(({ ctx, input }) => comments.create(ctx.context, onTask(ctx.task, ctx.context.actor), input)),

  upload: taskProcedure('read', callers.session)
    .meta(rest('POST', `${task}/comments/upload`, taskCommentDocs.upload, { isRepeatable: true, upload: UPLOAD }))
    .input(Upload.extend(TaskPath.shape))
    .output(File)
    .mutation(({ ctx, input }) => files.uploadToTask(ctx.context, ctx.task, input, ctx.received)),

  update: commentProcedure('edit')
    .meta(rest('POST', `${task}/comment/{comment_id}/update`, taskCommentDocs.update, { sessionOnlyKey: 'attachments' }))
    .input(CommentContent.extend(TaskCommentPath.shape))
    .output(TaskComment)
    .mutation(({ ctx, input }) => comments.update(ctx.context, ctx.subject, ctx.comment, input)),

  delete: commentProcedure('delete')
    .meta(rest('POST', `${task}/comment/{comment_id}/delete`, taskCommentDocs.delete))
    .input(TaskCommentPath)
    .output(Ok)
    .mutation(async ({ ctx }) => {
      await comments.remove(ctx.context, ctx.subject, ctx.comment)
      return { ok: true }
    }),
})
