/** The routes that import and export CSV as streams. */
import { Readable } from 'node:stream'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { z } from 'zod'
import { type Access, admit, callers } from '../platform/access/authorize.ts'
import { type TableRow, tableOf, tableResource } from '../platform/access/resources.ts'
import type { Deps } from '../platform/context.ts'
import { disposition } from '../platform/http/content-disposition.ts'
import { badInput } from '../platform/http/errors.ts'
import { unsupported } from '../platform/http/json-body.ts'
import { accessRequestOf, serviceContext } from '../platform/http/request-context.ts'
import { idsOf } from '../platform/http/rest.ts'
import { headersOf } from '../platform/http/trpc.ts'
import { exportRecords } from './export.ts'
import { writeExport } from './export-file.ts'
import { importRecords } from './import.ts'
import { tooLarge } from './reader.ts'

const MB = 1_048_576
const EXPORT: Access = { callers: callers.any, resource: tableResource, right: 'read' }
const IMPORT: Access = { callers: callers.any, resource: tableResource, right: 'write' }

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
  })
}

/** Checks the request before its body is read, as procedures with ids in the path do. */
async function requireAccess(request: FastifyRequest, access: Access, isWrite: boolean): Promise<void> {
  const ids = idsOf(request.params as Record<string, string>)
  request.context.admission = await admit(accessRequestOf(request.context), access, isWrite, ids)
}

function grantedTo({ context }: FastifyRequest) {
  const { actor, row } = context.admission as { actor: Parameters<typeof tableOf>[1]; row: object }
  return { context: serviceContext(context, actor), table: tableOf(row as TableRow, actor) }
}

/** Unknown keys of a query string are ignored (contract.md §1). */
const ExportQuery = z.object({
  view_id: z
    .string()
    .regex(/^-?\d+$/, 'must be a whole number')
    .transform(Number)
    .optional(),
})

async function sendExport(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
  const query = ExportQuery.safeParse(request.query)
  if (!query.success) throw badInput('view_id', 'must be a whole number')
  const { context, table } = grantedTo(request)
  if (request.method === 'HEAD') {
    const { fileName } = await exportRecords(context, table, query.data.view_id)
    return reply.headers(exportHeaders(fileName)).send(Readable.from([]))
  }
  const { fileName, bytes, content } = await writeExport(context, table, query.data.view_id)
  return reply.headers({ ...exportHeaders(fileName), 'content-length': bytes }).send(content)
}

const exportHeaders = (fileName: string) => ({
  'content-type': 'text/csv; charset=utf-8; header=present',
  'content-disposition': disposition('attachment', fileName),
  'cache-control': 'private, no-store',
  'x-content-type-options': 'nosniff',
})

async function receiveImport(request: FastifyRequest, reply: FastifyReply, maxBytes: number): Promise<object> {
  const { raw, headers } = request
  if (!/^text\/csv\s*(;|$)/i.test(headers['content-type'] ?? '') || isEncoded(headers))
    throw unsupported('text/csv in UTF-8, not compressed', headers)
  const { context, table } = grantedTo(request)
  const unused = headers['idempotency-key'] === undefined ? [] : ['Idempotency-Key']
  try {
    if (Number(headers['content-length'] ?? 0) > maxBytes) throw tooLarge(maxBytes)
    // The stream is not destroyed on return, because the answer is sent over the same connection.
    const { value, ignored = [] } = await importRecords(context, table, raw.iterator({ destroyOnReturn: false }), { maxBytes })
    reply.headers(headersOf({ value, ignored: [...ignored, ...unused] }))
    return value
  } finally {
    // Many clients read the answer only after sending everything, so the rest of a refused file is read and discarded.
    raw.resume()
  }
}

function isEncoded(headers: FastifyRequest['headers']): boolean {
  const charset = /charset="?([\w-]+)/i.exec(headers['content-type'] ?? '')?.[1] ?? 'utf-8'
  return (headers['content-encoding'] ?? 'identity') !== 'identity' || !/^(utf-?8|us-ascii)$/i.test(charset)
}
