import type { PlainOperation } from '../platform/http/openapi.ts'

const csv = (example: string) => ({ 'text/csv': { schema: { type: 'string' }, example } })
const tableId = {
  name: 'table_id',
  in: 'path',
  required: true,
  description: 'The id of the table.',
  schema: { type: 'integer' },
}
const ErrorBody = { $ref: '#/components/schemas/Error' }
const refusedCells = {
  message: 'row 17, Amount: must be a number',
  code: 'BAD_REQUEST',
  issues: [{ row: 17, column: 'Amount', message: 'must be a number' }],
  request_id: 'req-7f3a',
}

export const csvOperations: PlainOperation[] = [
  {
    method: 'get',
    path: '/api/table/{table_id}/export.csv',
    operationId: 'csv.export',
    tag: 'Records',
    summary: 'Export records as CSV',
    description:
      'Exports all records by id with all fields; with `view_id`, the records of the view in its order, and the columns of a grid. ' +
      'UTF-8, RFC 4180. Cells that begin with = + - @, a tab or a line break are prefixed with an apostrophe, except for numbers. ' +
      'An import accepts the file unchanged. The file is complete before the answer begins, and has the fields that the table has then.',
    isPublic: false,
    parameters: [
      tableId,
      {
        name: 'view_id',
        in: 'query',
        required: false,
        description: 'A view of the table; 0 stands for no view.',
        schema: { type: 'integer' },
        example: 3,
      },
    ],
    responses: {
      200: {
        description: 'The file, with the names of the fields in its first row.',
        content: csv('ID,Company,Amount\r\n12,Acme,1250.5\r\n'),
      },
    },
    errors: [400, 401, 403, 404, 429, 507],
  },
  {
    method: 'post',
    path: '/api/table/{table_id}/import',
    operationId: 'csv.import',
    tag: 'Records',
    summary: 'Import records from CSV',
    description:
      'Imports all rows or none. The first row names the fields by id or by name; the id and the calculated fields of an export are ignored ' +
      'and listed in X-Ignored. An empty cell means no value. Dates and times have the form that JSON has; a checkbox takes true, yes, 1, on, ' +
      'x or checked and their opposites; a select takes titles; a user field takes addresses or ids; a lookup takes ids, `title (id)` or ' +
      'titles that exactly one record has; lists are written `a, b, "c, d"`. In `issues`, `row` is the line of the file where the row ' +
      'begins; the header is row 1. An Idempotency-Key is ignored and listed in X-Ignored: sending a file again creates its records again.',
    isPublic: false,
    parameters: [tableId],
    requestBody: { required: true, content: csv('Company,Stage,Amount\r\nAcme,Lead,1250.5\r\n') },
    responses: {
      200: {
        description: 'The number of records created.',
        content: {
          'application/json': {
            schema: { type: 'object', required: ['created'], properties: { created: { type: 'integer' } } },
            example: { created: 1 },
          },
        },
        headers: { 'X-Ignored': { description: 'Columns that were ignored.', schema: { type: 'string' } } },
      },
      400: {
        description: 'The file has invalid cells; `issues` lists the first hundred.',
        content: { 'application/json': { schema: ErrorBody, example: refusedCells } },
      },
      409: {
        description: 'Another import into the table is running, or its fields changed during the import.',
        content: {
          'application/json': {
            schema: ErrorBody,
            example: { message: 'Another import into this table is running', code: 'CONFLICT', request_id: 'req-7f3a' },
          },
        },
      },
      413: {
        description: 'The file is larger than the setting IMPORT_MAX_MB.',
        content: {
          'application/json': {
            schema: ErrorBody,
            example: { message: 'The file is larger than 1024 MB', code: 'PAYLOAD_TOO_LARGE', request_id: 'req-7f3a' },
          },
        },
      },
      415: {
        description: 'The body must be text/csv in UTF-8, not compressed; the message says what was sent.',
        content: {
          'application/json': {
            schema: ErrorBody,
            example: {
              message: 'The body must be text/csv in UTF-8, not compressed; application/json was sent',
              code: 'UNSUPPORTED_MEDIA_TYPE',
              request_id: 'req-7f3a',
            },
          },
        },
      },
    },
    errors: [401, 403, 404, 429],
  },
]
