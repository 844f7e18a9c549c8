import { File, Upload } from '../files/schema.ts'
import * as files from '../files/service.ts'
import { UPLOAD } from '../files/upload.ts'
import { callers } from '../platform/access/authorize.ts'
import { listOf, Ok, RecordPath, TablePath } from '../platform/http/procedures/schemas.ts'
import { recordProcedure, rest, router, tableProcedure } from '../platform/http/procedures/trpc.ts'
import { commentDocs, subscriptionDocs } from './docs.ts'
import { commentProcedure } from './procedure.ts'
import { followableRecord, followableTable, onRecord } from './record-subject.ts'
import {
  CommentContent,
  CommentPath,
  CommentQuery,
  Force,
  NewComment,
  RecordComment,
  StatusChoice,
  Subscribed,
  SubscriptionStatus,
} from './schema.ts'
import * as comments from './service.ts'
import * as subscriptions from './subscriptions.ts'

const record = '/api/table/{table_id}/record/{record_id}' as const

export const commentsRouter = router({
  list: recordProcedure('read', callers.any)
    .meta(rest('GET', `${record}/comments/get`, commentDocs.list, { isList: true }))
    .input(CommentQuery.extend(RecordPath.shape))
    .output(listOf(RecordComment))
    .query(({ ctx, input }) => comments.listOnRecord(ctx.context, onRecord(ctx.table, ctx.record), input)),

  create: recordProcedure('write', callers.any)
    .meta(rest('POST', `${record}/comments/create`, commentDocs.create, { isRepeatable: true }))
    .input(NewComment.extend(RecordPath.shape))
    .output(RecordComment)
    .mutation(({ ctx, input }) => comments.create(ctx.context, onRecord(ctx.table, ctx.record), input)),

  update: commentProcedure('edit')
    .meta(rest('POST', `${record}/comment/{comment_id}/update`, commentDocs.update))
    .input(CommentContent.extend(CommentPath.shape))
    .output(RecordComment)
    .mutation(({ ctx, input }) => comments.update(ctx.context, ctx.subject, ctx.comment, input)),

  delete: commentProcedure('delete')
    .meta(rest('POST', `${record}/comment/{comment_id}/delete`, commentDocs.delete))
    .input(CommentPath)
    .output(Ok)
    .mutation(async ({ ctx }) => {
      await comments.remove(ctx.context, ctx.subject, ctx.comment)
      return { ok: true }
    }),

  upload: recordProcedure('write', callers.any)
    .meta(rest('POST', `${record}/comments/upload`, commentDocs.upload, { isRepeatable: true, upload: UPLOAD }))
    .input(Upload.extend(RecordPath.shape))
    .output(File)
    .mutation(({ ctx, input }) => files.upload(ctx.context, ctx.table, ctx.record, input, ctx.received)),
})

export const subscriptionsRouter = router({
  subscribeTable: tableProcedure('read', callers.any)
    .meta(rest('POST', '/api/subscriptions/{table_id}/subscribe', subscriptionDocs.subscribeTable))
    .input(Force.extend(TablePath.shape))
    .output(Subscribed)
    .mutation(({ ctx, input }) => subscriptions.subscribe(ctx.context, followableTable(ctx.table), input.force ?? false)),

  unsubscribeTable: tableProcedure('read', callers.any)
    .meta(rest('POST', '/api/subscriptions/{table_id}/unsubscribe', subscriptionDocs.unsubscribeTable))
    .input(Force.extend(TablePath.shape))
    .output(Subscribed)
    .mutation(({ ctx, input }) => subscriptions.unsubscribe(ctx.context, followableTable(ctx.table), input.force ?? false)),

  subscribe: recordProcedure('read', callers.any)
    .meta(rest('POST', '/api/subscriptions/{table_id}/{record_id}/subscribe', subscriptionDocs.subscribe))
    .input(Force.extend(RecordPath.shape))
    .output(Subscribed)
    .mutation(({ ctx, input }) => subscriptions.subscribe(ctx.context, followableRecord(ctx.table, ctx.record.id), input.force ?? false)),

  unsubscribe: recordProcedure('read', callers.any)
    .meta(rest('POST', '/api/subscriptions/{table_id}/{record_id}/unsubscribe', subscriptionDocs.unsubscribe))
    .input(Force.extend(RecordPath.shape))
    .output(Subscribed)
    .mutation(({ ctx, input }) => subscriptions.unsubscribe(ctx.context, followableRecord(ctx.table, ctx.record.id), input.force ?? false)),

  status: tableProcedure('read', callers.any)
    .meta(rest('POST', '/api/subscriptions/{table_id}/status', subscriptionDocs.status))
    .input(StatusChoice.extend(TablePath.shape))
    .output(SubscriptionStatus)
    .query(({ ctx, input }) => subscriptions.status(ctx.context, ctx.table, input.record_id ?? null)),
})
