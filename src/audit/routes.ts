/** GET /api/audit/export.jsonl: the audit log as a stream of lines. */
import { Readable } from 'node:stream'
import type { FastifyInstance } from 'fastify'
import { type Access, admit, callers } from '../platform/access/authorize.ts'
import { badShape } from '../platform/errors.ts'
import { disposition } from '../platform/http/answers/content-disposition.ts'
import { accessRequestOf, serviceContext } from '../platform/http/procedures/request-context.ts'
import { fromQuery } from '../platform/http/procedures/rest.ts'
import { AuditFilters } from './schema.ts'
import { exportEntries } from './service.ts'

const EXPORT: Access = { callers: callers.managers, resource: null, right: 'read', isOwnerOnly: true }

export function mountAudit(app: FastifyInstance): void {
  app.get('/api/audit/export.jsonl', async (request, reply) => {
    const { actor } = await admit(accessRequestOf(request.context), EXPORT, false, {})
    const filters = AuditFilters.safeParse(fromQuery(request.query as Record<string, string | string[]>, AuditFilters))
    if (!filters.success) throw badShape(filters.error)
    reply.type('application/x-ndjson; charset=utf-8')
    reply.header('content-disposition', disposition('attachment', 'audit.jsonl'))
    if (request.method === 'HEAD') return reply.send(Readable.from([]))
    const text = await exportEntries(serviceContext(request.context, actor), filters.data)
    // An error on the way destroys the connection, so that a client can tell that the file is incomplete.
    return reply.send(Readable.from(text, { objectMode: false, highWaterMark: 256 * 1024 }))
  })
}
