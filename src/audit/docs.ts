import type { PlainOperation } from '../platform/http/openapi/document.ts'
import { operationDocs } from '../platform/http/procedures/operation-docs.ts'
import { ACTION_NAMES } from './actions.ts'

const deletedField = {
  id: 4711,
  at: '2026-03-31 09:30:00',
  actor_user_id: 7,
  api_key_id: null,
  ip: '203.0.113.7',
  action: 'field.deleted' as const,
  space_id: 1,
  table_id: 101,
  object: { type: 'field', id: 'stage', name: 'Stage' },
  detail: { type: 'select', force: false },
}

export const docs = operationDocs('Audit', {
  list: {
    summary: 'List the audit log',
    description:
      "Who did what, when, from where and with which key, newest first; never contents. Requires the account's owner, or an account key " +
      'that is not limited to certain spaces. X-Total-Count is sent with the first page, unless more than 10,000 rows match.',
    example: { input: { action: 'field.deleted', since: '2026-03-01 00:00:00' }, output: { rows: [deletedField] } },
  },
})

const filter = (name: string, description: string, schema: object, example: unknown) => ({
  name,
  in: 'query',
  required: false,
  description,
  schema,
  example,
})

export const auditOperations: PlainOperation[] = [
  {
    method: 'get',
    path: '/api/audit/export.jsonl',
    operationId: 'audit.export',
    tag: 'Audit',
    summary: 'Export the audit log',
    description:
      'The rows of the list that match the filters, oldest first, with a JSON object in each line. Streamed. The callers are those of ' +
      'the list. Each export is audited. If it fails on the way, the connection is closed before the end.',
    isPublic: false,
    parameters: [
      filter('actor_user_id', 'Rows of this user.', { type: 'integer' }, 7),
      filter('action', 'Rows with this action.', { type: 'string', enum: ACTION_NAMES }, 'field.deleted'),
      filter('space_id', 'Rows about this space.', { type: 'integer' }, 1),
      filter('since', 'Rows of this second and later.', { type: 'string' }, '2026-03-01 00:00:00'),
      filter('until', 'Rows before this second.', { type: 'string' }, '2026-04-01 00:00:00'),
    ],
    responses: {
      200: {
        description: 'The rows, each as in the list.',
        content: { 'application/x-ndjson': { schema: { type: 'string' }, example: `${JSON.stringify(deletedField)}\n` } },
      },
    },
    errors: [400, 401, 403, 429],
  },
]
