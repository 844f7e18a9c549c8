import { File, UPLOAD_BODY_LIMIT, Upload } from '../files/schema.ts'
import * as files from '../files/service.ts'
import { callers } from '../platform/access/authorize.ts'
import { listOf, Ok } from '../platform/http/schemas.ts'
import { recordProcedure, rest, router, tableProcedure } from '../platform/http/trpc.ts'
import { commentProcedure } from './procedure.ts'
import {
  CommentContent,
  CommentPath,
  CommentQuery,
  Force,
  NewComment,
  RecordComment,
  RecordPath,
  StatusChoice,
  Subscribed,
  SubscriptionStatus,
  TablePath,
} from './schema.ts'
import * as comments from './service.ts'
import * as subscriptions from './subscriptions.ts'

const file: File = { name: 'offer.txt', path: '1-101-Yk3vQ0aX7mPz-offer.txt', size: 5, type: 'text/plain', host: 'local' }
const comment: RecordComment = {
  id: 31,
  table_id: 101,
  record_id: 12,
  type: 'comment',
  user_id: 7,
  user_name: 'Ann',
  api_key_id: null,
  content: 'Please look at the offer, @{8:Max}.',
  attachments: [file],
  metadata: null,
  created_at: '2026-03-31 09:30:00',
  updated_at: null,
}
const record = '/api/table/{table_id}/record/{record_id}' as const

export const commentsRouter = router({
  list: recordProcedure('read', callers.any)
    .meta(
      rest('GET', `${record}/comments/get`, 'List the comments of a record', {
        description: 'Newest first, mails among them. Blind copies are shown to those who can write only.',
        tags: ['Comments'],
        example: { output: { rows: [comment], total: 1 } },
        isList: true,
      }),
    )
    .input(CommentQuery.extend(RecordPath.shape))
    .output(listOf(RecordComment))
    .query(({ ctx, input }) => comments.list(ctx.context, ctx.table, ctx.record, input)),

  create: recordProcedure('write', callers.any)
    .meta(
      rest('POST', `${record}/comments/create`, 'Comment on a record', {
        description:
          'Who is mentioned follows the record and is told; the others who follow the record or its table are told of the comment. ' +
          'Attachments are entries got from an upload.',
        tags: ['Comments'],
        example: { input: { content: comment.content, attachments: [file] }, output: comment },
        isRepeatable: true,
      }),
    )
    .input(NewComment.extend(RecordPath.shape))
    .output(RecordComment)
    .mutation(({ ctx, input }) => comments.create(ctx.context, ctx.table, ctx.record, input)),

  update: commentProcedure('edit')
    .meta(
      rest('POST', `${record}/comment/{comment_id}/update`, 'Rewrite a comment', {
        description: 'By its author, for 15 minutes. Mails cannot be changed. Only who was not mentioned before is told.',
        tags: ['Comments'],
        example: {
          input: { content: 'Please look at the offer.' },
          output: { ...comment, content: 'Please look at the offer.', updated_at: '2026-03-31 09:35:00' },
        },
        errors: { 403: 'Comment can no longer be edited' },
      }),
    )
    .input(CommentContent.extend(CommentPath.shape))
    .output(RecordComment)
    .mutation(({ ctx, input }) => comments.update(ctx.context, ctx.table, ctx.comment, input)),

  delete: commentProcedure('delete')
    .meta(
      rest('POST', `${record}/comment/{comment_id}/delete`, 'Delete a comment', {
        description: 'By its author or an admin of the space. Its files go with it.',
        tags: ['Comments'],
        example: { output: { ok: true } },
      }),
    )
    .input(CommentPath)
    .output(Ok)
    .mutation(async ({ ctx }) => {
      await comments.remove(ctx.context, ctx.comment)
      return { ok: true }
    }),

  upload: recordProcedure('write', callers.any)
    .meta(
      rest('POST', `${record}/comments/upload`, 'Upload a file for a comment', {
        description: 'Pass the answer on in `attachments`. A file that no comment takes up is removed after a day. At most 50 MB.',
        tags: ['Comments'],
        example: { input: { name: file.name, type: file.type, data: 'aGVsbG8=' }, output: file },
        isRepeatable: true,
        bodyLimit: UPLOAD_BODY_LIMIT,
      }),
    )
    .input(Upload.extend(RecordPath.shape))
    .output(File)
    .mutation(({ ctx, input }) => files.upload(ctx.context, ctx.table, ctx.record, input)),
})

const subscribed = { ok: true as const, subscribed: true }
const unsubscribed = { ok: true as const, subscribed: false }

export const subscriptionsRouter = router({
  subscribeTable: tableProcedure('read', callers.any)
    .meta(
      rest('POST', '/api/subscriptions/{table_id}/subscribe', 'Follow a table', {
        description: 'The acting user hears of every comment on its records. An account key acts for the owner.',
        tags: ['Subscriptions'],
        example: { output: subscribed },
        errors: { 409: 'Already subscribed' },
      }),
    )
    .input(Force.extend(TablePath.shape))
    .output(Subscribed)
    .mutation(({ ctx, input }) => subscriptions.subscribe(ctx.context, ctx.table, null, input.force ?? false)),

  unsubscribeTable: tableProcedure('read', callers.any)
    .meta(
      rest('POST', '/api/subscriptions/{table_id}/unsubscribe', 'Stop following a table', {
        description: 'Records that are followed by themselves still are.',
        tags: ['Subscriptions'],
        example: { output: unsubscribed },
        errors: { 409: 'Not subscribed' },
      }),
    )
    .input(Force.extend(TablePath.shape))
    .output(Subscribed)
    .mutation(({ ctx, input }) => subscriptions.unsubscribe(ctx.context, ctx.table, null, input.force ?? false)),

  subscribe: recordProcedure('read', callers.any)
    .meta(
      rest('POST', '/api/subscriptions/{table_id}/{record_id}/subscribe', 'Follow a record', {
        description: 'The acting user hears of the comments on it. An account key acts for the owner.',
        tags: ['Subscriptions'],
        example: { output: subscribed },
        errors: { 409: 'Already subscribed' },
      }),
    )
    .input(Force.extend(RecordPath.shape))
    .output(Subscribed)
    .mutation(({ ctx, input }) => subscriptions.subscribe(ctx.context, ctx.table, ctx.record, input.force ?? false)),

  unsubscribe: recordProcedure('read', callers.any)
    .meta(
      rest('POST', '/api/subscriptions/{table_id}/{record_id}/unsubscribe', 'Stop following a record', {
        description: 'Who follows the whole table still hears of it.',
        tags: ['Subscriptions'],
        example: { output: unsubscribed },
        errors: { 409: 'Not subscribed' },
      }),
    )
    .input(Force.extend(RecordPath.shape))
    .output(Subscribed)
    .mutation(({ ctx, input }) => subscriptions.unsubscribe(ctx.context, ctx.table, ctx.record, input.force ?? false)),

  status: tableProcedure('read', callers.any)
    .meta(
      rest('POST', '/api/subscriptions/{table_id}/status', 'Tell what is followed', {
        description: 'Whether the acting user follows the table, and the record if one is named.',
        tags: ['Subscriptions'],
        example: { input: { record_id: 12 }, output: { table: false, record: true } },
      }),
    )
    .input(StatusChoice.extend(TablePath.shape))
    .output(SubscriptionStatus)
    .query(({ ctx, input }) => subscriptions.status(ctx.context, ctx.table, input.record_id ?? null)),
})
