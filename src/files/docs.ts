import type { PlainOperation } from '../platform/http/openapi/document.ts'
import { operationDocs } from '../platform/http/procedures/operation-docs.ts'
import type { File } from './schema.ts'
import { WIDTHS } from './thumbnails/thumbnail-keys.ts'

const file: File = { name: 'offer.txt', path: '1-101-Yk3vQ0aX7mPz-offer.txt', size: 5, type: 'text/plain', host: 'local' }

export const docs = operationDocs('Files', {
  create: {
    summary: 'Add a file to a field',
    description: 'Appends the file to the field and returns all files of the field. A file can have at most 50 MB.',
    example: {
      input: { field_id: 'documents', name: file.name, type: file.type, data: 'aGVsbG8=' },
      output: { rows: [file], change_id: 5012 },
    },
  },

  get: {
    summary: 'Get a file of a field as base64',
    description:
      'For clients that take files as JSON. `GET /api/file/{path}` has the same bytes in three quarters of the size, with ranges and ' +
      'caching. Over RPC, files of over 4 MB are refused with 413.',
    example: {
      input: { field_id: 'documents', path: file.path },
      output: { name: file.name, type: file.type, size: file.size, data: 'aGVsbG8=' },
    },
    errors: { 404: 'File not found' },
  },

  delete: {
    summary: 'Remove a file from a field',
    description:
      'Returns the files that are left in the field. The file is not served any more; an admin of the space can restore it until it is ' +
      'deleted for good, 30 days later by default.',
    example: { input: { field_id: 'documents', path: file.path }, output: { rows: [], change_id: 5012 } },
  },

  dropped: {
    summary: 'List dropped files',
    description:
      'The files of the space that nothing uses any more, because they were removed from a field or a task, or their field, comment, ' +
      'record or task was deleted; the latest first. Requires an admin of the space, who can download them with `?dropped=true`. Files ' +
      'of standalone tasks are not listed.',
    example: {
      output: {
        rows: [
          {
            path: file.path,
            name: file.name,
            size: file.size,
            type: file.type,
            table_id: 101,
            record_id: 12,
            task_id: null,
            field_id: 'documents',
            dropped_at: '2026-03-31 09:30:00',
            dropped_until: '2026-04-30 09:30:00',
          },
        ],
        total: 1,
      },
    },
  },

  usage: {
    summary: 'Get what the account stores',
    description:
      'Counts the files, records, tasks and mails of the whole account, for every caller who belongs to it. Uploads beyond `limit` are ' +
      'refused with 413; received mail is stored all the same.',
    example: { output: { files: 240, bytes: 81_204_331, limit: 1_073_741_824, records: 12_408, tasks: 310, mails: 95 } },
  },

  restore: {
    summary: 'Restore a dropped file',
    description:
      'Appends the file to the cell or the task that it was removed from, and returns it. Requires an admin of the space. A field that ' +
      'was created again with the same id counts as the place of its files.',
    example: { input: { path: file.path }, output: { ...file, change_id: 5012 } },
    errors: { 404: 'File not found', 409: 'Its place is gone' },
  },
})

/** An image has the media type that its bytes show; any other file that of its upload, or application/octet-stream. */
const bytes = { content: { '*/*': { schema: { type: 'string', format: 'binary' } } } }

export const fileOperations: PlainOperation[] = [
  {
    method: 'get',
    path: '/api/file/{path}',
    operationId: 'files.read',
    tag: 'Files',
    summary: 'Download a file',
    description:
      'Streams the bytes to any caller who may read the record or task of the file. A single `Range` is supported. The bytes decide ' +
      'what a browser does: PNG, JPEG, GIF, WebP, AVIF, BMP and ICO images are shown under the media type of their bytes. Everything ' +
      'else, HTML and SVG included, is sent as an attachment with the media type that the upload named (`application/octet-stream` if ' +
      'it named none). A browser never runs a script that is in a file.\n\nWith `w` the answer is a thumbnail of a JPEG, PNG, WebP, ' +
      'GIF or AVIF image as WebP: of the first frame, upright, without metadata such as the location, and never enlarged. It is made ' +
      'by the first request and kept. `Range` is ignored.',
    isPublic: false,
    parameters: [
      {
        name: 'path',
        in: 'path',
        required: true,
        description: 'The `path` of an attachment.',
        schema: { type: 'string' },
        example: '1-101-Yk3vQ0-offer.pdf',
      },
      {
        name: 'w',
        in: 'query',
        required: false,
        description:
          'The width of a thumbnail in pixels. A narrower image keeps its width, and one that is more than four times as high as wide is ' +
          'scaled to four times this height.',
        schema: { type: 'integer', enum: [...WIDTHS] },
        example: 320,
      },
      {
        name: 'dropped',
        in: 'query',
        required: false,
        description: 'With `true` an admin of the space can download a dropped file as well, to look at it before restoring it.',
        schema: { type: 'boolean' },
        example: true,
      },
      {
        name: 'Range',
        in: 'header',
        required: false,
        description: 'One range of bytes.',
        schema: { type: 'string' },
        example: 'bytes=0-1023',
      },
    ],
    responses: {
      200: { description: 'The whole file, or its thumbnail.', ...bytes },
      206: { description: 'The requested range.', ...bytes },
      302: {
        description: 'With STORAGE_LINKS=signed: `Location` is a link to the bytes in the bucket, which works for five minutes.',
      },
      304: { description: 'The caller already has the file: `If-None-Match` names its ETag, or is `*`.' },
      415: {
        description:
          'The file has no thumbnail: `No thumbnail of image/svg+xml`. It is SVG, HEIC or no image, cannot be decoded, or has over 50 ' +
          'megapixels or 65,535 pixels on a side.',
        content: { 'application/json': { schema: { $ref: '#/components/schemas/Error' } } },
      },
      416: {
        description: 'The range lies outside the file.',
        content: { 'application/json': { schema: { $ref: '#/components/schemas/Error' } } },
      },
    },
    errors: [400, 401, 403, 404, 429],
  },
]
