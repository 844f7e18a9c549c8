/** The routes that import and export CSV as streams. */
import { Readable } from 'node:stream'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { z } from 'zod'
import { type Access, admit, callers, type Role } from '../platform/access/authorize.ts'
import {
  requireNoLess,
  roleOf,
  type SpaceRow,
  spaceOf,
  spaceResource,
  type TableRow,
  tableOf,
  tableResource,
} from '../platform/access/resources.ts'
import type { Deps } from '../platform/context.ts'
import { badShape } from '../platform/errors.ts'
import { disposition } from '../platform/http/answers/content-disposition.ts'
import { unsupported } from '../platform/http/bodies/json-body.ts'
import { refuseInvalidText } from '../platform/http/bodies/text-encoding.ts'
import { noteCall, readingWhere } from '../platform/http/procedures/read-your-writes.ts'
import { accessRequestAgain, accessRequestOf, serviceContext } from '../platform/http/procedures/request-context.ts'
import { idsOfPath } from '../platform/http/procedures/rest.ts'
import { changeHeader, headersOf } from '../platform/http/procedures/trpc.ts'
import type { ReceivedBytes } from '../platform/stored-files/received-bytes.ts'
import { exportRecords } from './export.ts'
import { writeExport } from './export-file.ts'
import { importRecords } from './import.ts'
import { inSlot, isWorkbook, removeUnlessTaken, storeSheet, withReceived } from './imports/receive.ts'
import { guessTable, importLater, importTable } from './imports/start-import.ts'
import { decidingCharset, isEncoding } from './reading/encodings.ts'
import { tooLarge } from './reading/reader.ts'
import { ExportQuery, ImportQuery, NewTableQuery } from './schema.ts'
import type { SheetColumns } from './workbooks/sheet-csv.ts'
import { MAX_PACKED_MB } from './workbooks/workbook.ts'

const MB = 1_048_576
const EXPORT: Access = { callers: callers.any, resource: tableResource, right: 'read', prefersReplica: true }
const IMPORT: Access = { callers: callers.any, resource: tableResource, right: 'write' }

const NEW_TABLE: Access = { callers: callers.managers, resource: spaceResource, right: 'admin' }

export function mountCsv(app: FastifyInstance, { settings }: Deps): void {
  const maxBytes = settings.importMaxMb * MB
  app.register(async (scope) => {
    scope.removeAllContentTypeParsers()
    // The handler reads the body itself, as a stream.
    scope.addContentTypeParser('*', (_request, _payload, done) => done(null))
    scope.get('/api/table/:table_id/export.csv', {
      onRequest: (request) => requireAccess(request, EXPORT, false),
      handler: sendExport,
    })
    scope.post('/api/table/:table_id/import', {
      config: { needsCredentials: true },
      onRequest: (request) => requireAccess(request, IMPORT, true),
      handler: (request, reply) => receiveImport(request, reply, maxBytes),
    })
    scope.post('/api/space/:space_id/tables/import', {
      config: { needsCredentials: true },
      onRequest: (request) => requireAccess(request, NEW_TABLE, true),
      handler: (request, reply) => receiveTable(request, reply, maxBytes),
    })
  })
}

/** Checks the request before its body is read, as procedures with ids in the path do. */
async function requireAccess(request: FastifyRequest, access: Access, isWrite: boolean): Promise<void> {
  const ids = idsOfPath(request.params as Record<string, string>)
  noteCall(request.context, isWrite ? 'mutation' : 'query')
  request.context.admission = await admit(accessRequestOf(request.context), access, isWrite, ids)
}

const grantedRow = ({ context }: FastifyRequest): object => context.admission?.row ?? {}

function grantedTo({ context }: FastifyRequest) {
  const { actor, row } = context.admission as { actor: Parameters<typeof tableOf>[1]; row: object }
  return { context: serviceContext(context, actor), table: tableOf(row as TableRow, actor) }
}

/**
 * Checks again once the body has come, because a large one can take an hour, or once an export is written.
 * @returns the present role. @throws AppError as the first check
 */
async function grantedAgain(request: FastifyRequest, access: Access, isWrite = true): Promise<{ role: Role }> {
  const ids = idsOfPath(request.params as Record<string, string>)
  const { actor, row } = await admit(accessRequestAgain(request.context), access, isWrite, ids)
  return { role: roleOf(actor, (row as SpaceRow).member_role) ?? 'viewer' }
}

async function sendExport(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
  const query = ExportQuery.safeParse(request.query)
  if (!query.success) throw badShape(query.error)
  const { context, table } = grantedTo(request)
  if (request.method === 'HEAD') {
    const { fileName } = await exportRecords(context, table, query.data)
    return reply.headers(exportHeaders(fileName)).send(Readable.from([]))
  }
  const { fileName, bytes, content } = await readingWhere(
    request.context,
    { type: 'query', access: EXPORT, row: grantedRow(request) },
    () => writeExport(context, table, query.data, () => grantedAgain(request, EXPORT, false)),
  )
  return reply.headers({ ...exportHeaders(fileName), 'content-length': bytes }).send(content)
}

const exportHeaders = (fileName: string) => ({
  'content-type': 'text/csv; charset=utf-8; header=present',
  'content-disposition': disposition('attachment', fileName),
  'cache-control': 'private, no-store',
  'x-content-type-options': 'nosniff',
})

async function receiveImport(request: FastifyRequest, reply: FastifyReply, maxBytes: number): Promise<object> {
  if (!isCsv(request)) throw unsupported(`${CSV}, not compressed`, request.headers)
  const { async: isAsync, ...said } = parsedQuery(ImportQuery, request)
  const reading = { ...said, charset: charsetOf(request) }
  const { context, table } = grantedTo(request)
  return receiving(request, maxBytes, async (bytes) => {
    if (isAsync) {
      reply.headers(headersOf({ value: {}, ignored: unusedKey(request) }))
      return withReceived(context, table.account_id, { source: bytes, maxBytes }, async (file) => {
        await grantedAgain(request, IMPORT)
        return importLater(context, table, file, reading)
      })
    }
    const beforeCommit = async () => requireNoLess((await grantedAgain(request, IMPORT)).role, table.role)
    const importing = () => importRecords(context, table, bytes, { maxBytes, reading, beforeCommit })
    const { value, ignored = [] } = await inSlot(context.db, table.account_id, importing)
    reply.headers({ ...headersOf({ value, ignored: [...ignored, ...unusedKey(request)] }), ...changeHeader(value) })
    return value
  })
}

/** Creates a table from the file, or with `dry_run` answers with the table that would be created. */
async function receiveTable(request: FastifyRequest, reply: FastifyReply, maxCsvBytes: number): Promise<object> {
  const isXlsx = WORKBOOK.test(request.headers['content-type'] ?? '') && !isCompressed(request)
  if (!isXlsx && !isCsv(request)) throw unsupported(`${CSV}, or an XLSX workbook, not compressed`, request.headers)
  const { title, sheet, dry_run, fields: corrections = [], samples, ...said } = parsedQuery(NewTableQuery, request)
  const { actor, row } = request.context.admission as { actor: Parameters<typeof spaceOf>[1]; row: object }
  const [context, space] = [serviceContext(request.context, actor), spaceOf(row as SpaceRow, actor)]
  const maxBytes = isXlsx ? MAX_PACKED_MB * MB : maxCsvBytes
  reply.headers(headersOf({ value: {}, ignored: unusedKey(request) }))
  const answer = async (csv: ReceivedBytes, sheetColumns?: SheetColumns) => {
    await grantedAgain(request, NEW_TABLE)
    // The CSV of a sheet is our own.
    const reading = sheetColumns ? { ...said, encoding: 'utf-8', separator: ',' } : { ...said, charset: charsetOf(request) }
    return (dry_run ? guessTable : importTable)(context, space, { csv, sheetColumns, title, reading, corrections, samples })
  }
  return receiving(request, maxBytes, (source) =>
    withReceived(context, space.account_id, { source, maxBytes }, async (file) => {
      if (!isWorkbook(file)) return answer(file)
      const { csv, columns } = await storeSheet(context, file, sheet)
      return removeUnlessTaken(context, csv, () => answer(csv, columns))
    }),
  )
}

/** Runs `work` with the bytes of the body, after looking at the size that the request states. @throws AppError 413 */
async function receiving(
  { raw, headers }: FastifyRequest,
  maxBytes: number,
  work: (bytes: AsyncIterable<Uint8Array>) => Promise<object>,
): Promise<object> {
  try {
    if (Number(headers['content-length'] ?? 0) > maxBytes) throw tooLarge(maxBytes)
    // The stream is not destroyed on return, because the answer is sent over the same connection.
    return await work(raw.iterator({ destroyOnReturn: false }))
  } finally {
    // Many clients read the answer only after sending everything, so the rest of a refused file is read and discarded.
    raw.resume()
  }
}

function parsedQuery<Shape extends z.ZodType>(shape: Shape, { query }: FastifyRequest): z.infer<Shape> {
  const parsed = shape.safeParse(query)
  if (!parsed.success) throw badShape(parsed.error)
  refuseInvalidText(parsed.data)
  return parsed.data
}

const unusedKey = ({ headers }: FastifyRequest) => (headers['idempotency-key'] === undefined ? [] : ['Idempotency-Key'])

const WORKBOOK = /^application\/vnd\.openxmlformats-officedocument\.spreadsheetml\.sheet\s*(;|$)/i
const isCompressed = ({ headers }: FastifyRequest) => (headers['content-encoding'] ?? 'identity') !== 'identity'

/** The files that are accepted, for messages. */
const CSV = 'text/csv in an encoding that is known'

const labelOf = ({ headers }: FastifyRequest) => /charset="?([^\s;"]+)/i.exec(headers['content-type'] ?? '')?.[1] ?? 'utf-8'
const charsetOf = (request: FastifyRequest) => decidingCharset(labelOf(request))

const isCsv = (request: FastifyRequest) =>
  /^text\/csv\s*(;|$)/i.test(request.headers['content-type'] ?? '') && !isCompressed(request) && isEncoding(labelOf(request))
