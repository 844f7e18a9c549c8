/** What exists on the comments of a task: `tasks.comments` on RPC. */

import { File, UPLOAD_BODY_LIMIT, Upload } from '../../files/schema.ts'
import * as files from '../../files/service.ts'
import { callers } from '../../platform/access/authorize.ts'
import { listOf, Ok } from '../../platform/http/schemas.ts'
import { rest, router } from '../../platform/http/trpc.ts'
import * as examples from '../examples.ts'
import { taskCommentProcedure, taskProcedure } from '../procedure.ts'
import { CommentContent, CommentPath, CommentQuery, NewComment, TaskComment, TaskPath } from '../schema.ts'
import * as comments from './service.ts'

const task = '/api/task/{task_id}'

export const taskCommentsRouter = router({
  list: taskProcedure('read')
    .meta(
      rest('GET', `${task}/comments/get`, 'List the comments of a task', {
        description: 'Newest first.',
        tags: ['Tasks'],
        example: { output: { rows: [examples.comment], total: 1 } },
        isList: true,
      }),
    )
    .input(CommentQuery.extend(TaskPath.shape))
    .output(listOf(TaskComment))
    .query(({ ctx, input }) => comments.list(ctx.context, ctx.task, input)),

  create: taskProcedure('read')
    .meta(
      rest('POST', `${task}/comments/create`, 'Comment on a task', {
        description:
          'By whoever can read it. Who is mentioned is subscribed and told; the other subscribers are told of the comment. A browser session ' +
          'may attach what uploads for a comment on the task answered; it stays as long as the comment.',
        tags: ['Tasks'],
        example: { input: { content: examples.comment.content }, output: examples.comment },
        isRepeatable: true,
        sessionOnlyKey: 'attachments',
      }),
    )
    .input(NewComment.extend(TaskPath.shape))
    .output(TaskComment)
    .mutation(({ ctx, input }) => comments.create(ctx.context, ctx.task, input)),

  upload: taskProcedure('read', callers.session)
    .meta(
      rest('POST', `${task}/comments/upload`, 'Upload a file for a comment on a task', {
        description: 'Pass the answer on in `attachments`. A file that no comment takes up is removed after a day. At most 50 MB.',
        tags: ['Tasks'],
        example: { input: examples.upload, output: examples.file },
        isRepeatable: true,
        bodyLimit: UPLOAD_BODY_LIMIT,
      }),
    )
    .input(Upload.extend(TaskPath.shape))
    .output(File)
    .mutation(({ ctx, input }) => files.uploadToTask(ctx.context, ctx.task, input)),

  update: taskCommentProcedure('edit')
    .meta(
      rest('POST', `${task}/comment/{comment_id}/update`, 'Rewrite a comment', {
        description: 'By its author, within 15 minutes; what a key wrote, by that key. Only who is newly mentioned is told.',
        tags: ['Tasks'],
        example: {
          input: { content: examples.comment.content },
          output: { ...examples.comment, updated_at: '2026-03-30 10:05:00' },
        },
        errors: { 403: 'Comment can no longer be edited' },
        sessionOnlyKey: 'attachments',
      }),
    )
    .input(CommentContent.extend(CommentPath.shape))
    .output(TaskComment)
    .mutation(({ ctx, input }) => comments.update(ctx.context, ctx.comment, input)),

  delete: taskCommentProcedure('delete')
    .meta(
      rest('POST', `${task}/comment/{comment_id}/delete`, 'Delete a comment', {
        description: "By its author, the task's creator, and on a record by an admin of the space.",
        tags: ['Tasks'],
        example: { output: { ok: true } },
      }),
    )
    .input(CommentPath)
    .output(Ok)
    .mutation(async ({ ctx }) => {
      await comments.remove(ctx.context, ctx.comment)
      return { ok: true }
    }),
})
