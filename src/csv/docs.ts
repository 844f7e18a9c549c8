import { z } from 'zod'
import { StartedJob } from '../conversions/schema.ts'
import type { PlainOperation } from '../platform/http/openapi/document.ts'
import { headerRefs } from '../platform/http/openapi/headers.ts'
import { GuessedTable, Imported, StartedTable } from './schema.ts'

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

const ignored = { 'X-Ignored': { description: 'Columns and headers that were ignored.', schema: { type: 'string' } } }
const said = [
  {
    name: 'encoding',
    in: 'query',
    required: false,
    description: 'The encoding of a CSV file, by a label of the Encoding Standard. It decides over a byte order mark and the charset.',
    schema: { type: 'string' },
    example: 'windows-1251',
  },
  {
    name: 'date_format',
    in: 'query',
    required: false,
    description: 'The form of dates that are not written as in JSON: d, dd, M, MM and yyyy, with H:mm or HH:mm:ss behind them.',
    schema: { type: 'string' },
    example: 'dd.MM.yyyy',
  },
]
const flag = (name: string, description: string) => ({
  name,
  in: 'query',
  required: false,
  description,
  schema: { type: 'boolean', default: false },
})
const refused = (description: string, message: string, code: string) => ({
  description,
  content: { 'application/json': { schema: ErrorBody, example: { message, code, request_id: 'req-7f3a' } } },
})
export const csvOperations: PlainOperation[] = [
  {
    method: 'get',
    path: '/api/table/{table_id}/export.csv',
    operationId: 'csv.export',
    tag: 'Records',
    summary: 'Export records as CSV',
    description:
      'Exports all records by id with all fields; with `view_id`, the records of the view in its order, and the columns of a grid, ' +
      'also those of linked records, such as `company.city`. ' +
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
      {
        name: 'conditions',
        in: 'query',
        required: false,
        description:
          'JSON with `filters`, `filter`, `where`, `search`, `order`, `order_by` and `order_dir` as `records.query` takes them. They ' +
          'narrow what is exported, a view too; the order replaces that of the view.',
        schema: { type: 'string', maxLength: 16_000 },
        example: '{"search":"acme","order":[{"field":"name"}]}',
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
      'Imports all rows or none. Commas, semicolons, tabs or pipes separate the cells, whichever make names of fields of the header. ' +
      'UTF-8, UTF-16 with a byte order mark, windows-1252, or what `encoding` or the charset says. The first row names ' +
      'the fields by id or by name; the id and the calculated fields of an export are ignored and listed in X-Ignored. An empty cell ' +
      'means no value. Dates and times have the form that JSON has; a checkbox takes true, yes, 1, on, x or checked and their ' +
      'opposites; a select takes titles; a user field takes addresses or ids; a lookup takes ids, `title (id)` or titles that exactly ' +
      'one record has; lists are written `a, b, "c, d"`. In `issues`, `row` is the line of the file where the row begins; the header ' +
      'is row 1. An Idempotency-Key is ignored and listed in X-Ignored: sending a file again creates its records again.',
    isPublic: false,
    parameters: [
      tableId,
      flag(
        'async',
        'If true, the answer has the id of a job that imports the file, and GET /api/job/{job_id} reports its progress and result.',
      ),
      ...said,
    ],
    requestBody: { required: true, content: csv('Company,Stage,Amount\r\nAcme,Lead,1250.5\r\n') },
    responses: {
      200: {
        description: 'The number of records created, or with `async` the id of the job.',
        content: {
          'application/json': {
            schema: z.union([Imported, StartedJob]),
            example: { created: 1, change_id: 5012 },
          },
        },
        headers: { ...ignored, ...headerRefs(['X-Change-Id']) },
      },
      400: {
        description: 'The file has invalid cells; `issues` lists the first hundred.',
        content: { 'application/json': { schema: ErrorBody, example: refusedCells } },
      },
      409: {
        description:
          'Another import into the table is running, or its fields changed during the import; with `async`, too many imports wait.',
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
        description: 'The body must be text/csv in an encoding that is known, not compressed; the message says what was sent.',
        content: {
          'application/json': {
            schema: ErrorBody,
            example: {
              message: 'The body must be text/csv in an encoding that is known, not compressed; application/json was sent',
              code: 'UNSUPPORTED_MEDIA_TYPE',
              request_id: 'req-7f3a',
            },
          },
        },
      },
    },
    errors: [401, 403, 404, 429, 503, 507],
  },
  {
    method: 'post',
    path: '/api/space/{space_id}/tables/import',
    operationId: 'csv.importTable',
    tag: 'Tables',
    summary: 'Create a table from a file',
    description:
      'Creates a table from a CSV file or one sheet of an XLSX workbook. The first row names the fields, whose types are guessed from ' +
      'all rows; a job then imports the rows. A file that an import would refuse is 400 and creates no table; if the job is refused, ' +
      'the table is removed again. A workbook may have 20 MB, and 200 MB unpacked. docs/csv.md says what is guessed. An ' +
      'Idempotency-Key is ignored and listed in X-Ignored.',
    isPublic: false,
    parameters: [
      { name: 'space_id', in: 'path', required: true, description: 'The id of the space.', schema: { type: 'integer' } },
      {
        name: 'title',
        in: 'query',
        required: false,
        description: 'The name of the table. By default `Import`, with a number if that is taken.',
        schema: { type: 'string', maxLength: 100 },
        example: 'Contacts 2026',
      },
      {
        name: 'sheet',
        in: 'query',
        required: false,
        description: 'The name of a sheet of the workbook. By default the first that is not hidden.',
        schema: { type: 'string' },
        example: 'Contacts',
      },
      flag('dry_run', 'If true, nothing is created, and the answer describes the table that would be created.'),
      {
        name: 'fields',
        in: 'query',
        required: false,
        description:
          'JSON with corrections of the fields that a dry run answers: a list of `{field, name?, type?, leave_out?}`, by the id of each. ' +
          'Any type but lookup, multi_lookup and file. A select gets the values of its cells as options.',
        schema: { type: 'string', maxLength: 16_000 },
        example: '[{"field":"zip","type":"text"}]',
      },
      {
        name: 'samples',
        in: 'query',
        required: false,
        description: 'How many different cells of each field a dry run shows.',
        schema: { type: 'integer', minimum: 1, maximum: 10 },
        example: 3,
      },
      ...said,
    ],
    requestBody: {
      required: true,
      content: {
        ...csv('Company,Stage,Amount\r\nAcme,Lead,1250.5\r\n'),
        'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet': { schema: { type: 'string', format: 'binary' } },
      },
    },
    responses: {
      200: {
        description: 'The table and the job; with `dry_run` the fields that the table would have.',
        content: {
          'application/json': {
            schema: z.union([StartedTable, GuessedTable]),
            example: { table_id: 14, job_id: 31 },
          },
        },
        headers: ignored,
      },
      400: {
        description: 'The file is neither CSV nor a workbook, has no rows, or has rows that an import would refuse.',
        content: {
          'application/json': {
            schema: ErrorBody,
            example: {
              message: 'row 17: has 4 cells, the header has 3',
              code: 'BAD_REQUEST',
              issues: [{ row: 17, column: null, message: 'has 4 cells, the header has 3' }],
              request_id: 'req-7f3a',
            },
          },
        },
      },
      409: refused('The title is taken, or the account has five unfinished imports.', 'This name is taken', 'CONFLICT'),
      413: refused(
        'The file is larger than the setting IMPORT_MAX_MB, or the workbook larger than 20 MB, or than 200 MB unpacked.',
        'The workbook is larger than 200 MB unpacked',
        'PAYLOAD_TOO_LARGE',
      ),
      415: refused(
        'The body must be CSV or an XLSX workbook; the message says what was sent.',
        'The body must be text/csv in an encoding that is known, or an XLSX workbook, not compressed; application/json was sent',
        'UNSUPPORTED_MEDIA_TYPE',
      ),
    },
    errors: [401, 403, 404, 429, 503, 507],
  },
]
