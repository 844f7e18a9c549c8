import type { File } from '../files/schema.ts'
import { operationDocs } from '../platform/http/procedures/operation-docs.ts'
import type { RecordComment } from './schema.ts'

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

export const commentDocs = operationDocs('Comments', {
  list: {
    summary: 'List the comments of a record',
    description:
      'Newest first, mails included. Only callers who can write see the addresses of blind copies. With `cursor` in place of `offset`, ' +
      'each comment that exists throughout comes exactly once, whatever is written or deleted meanwhile.',
    example: { input: { types: ['comment'], limit: 20 }, output: { rows: [comment], total: 1 } },
  },

  create: {
    summary: 'Comment on a record',
    description:
      'Mentioned users follow the record and are notified; the other followers of the record or its table are notified of the comment. ' +
      '`attachments` takes the answers of uploads. A comment may consist of files alone.',
    example: { input: { content: comment.content, attachments: [file] }, output: comment },
  },

  update: {
    summary: 'Update a comment',
    description: 'Requires its author, within 15 minutes. Mails cannot be changed. Only users who were not mentioned before are notified.',
    example: {
      input: { content: 'Please look at the offer.' },
      output: { ...comment, content: 'Please look at the offer.', updated_at: '2026-03-31 09:35:00' },
    },
    errors: { 403: 'Comment can no longer be edited' },
  },

  delete: {
    summary: 'Delete a comment',
    description: 'Requires its author or an admin of the space. Deletes its files, too.',
    example: { output: { ok: true } },
  },

  upload: {
    summary: 'Upload a file for a comment',
    description: 'Pass the answer in `attachments`. A file that no comment uses is deleted after a day. A file has at most 50 MB.',
    example: { input: { name: file.name, type: file.type, data: 'aGVsbG8=' }, output: file },
  },
})

const subscribed = { ok: true, subscribed: true }
const unsubscribed = { ok: true, subscribed: false }

export const subscriptionDocs = operationDocs('Subscriptions', {
  subscribeTable: {
    summary: 'Follow a table',
    description: 'The acting user is notified of every comment on its records. An account key acts for the owner.',
    example: { output: subscribed },
    errors: { 409: 'Already subscribed' },
  },

  unsubscribeTable: {
    summary: 'Stop following a table',
    description: 'Records that the user follows individually stay followed.',
    example: { output: unsubscribed },
    errors: { 409: 'Not subscribed' },
  },

  subscribe: {
    summary: 'Follow a record',
    description: 'The acting user is notified of its comments. An account key acts for the owner.',
    example: { output: subscribed },
    errors: { 409: 'Already subscribed' },
  },

  unsubscribe: {
    summary: 'Stop following a record',
    description: 'A user who follows the whole table is still notified.',
    example: { output: unsubscribed },
    errors: { 409: 'Not subscribed' },
  },

  status: {
    summary: 'Get the status of a subscription',
    description: 'Returns whether the acting user follows the table, and the record if `record_id` is sent.',
    example: { input: { record_id: 12 }, output: { table: false, record: true } },
  },
})
