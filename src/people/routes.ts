/** GET /api/user/{user_id}/export.zip: what is kept about one person, as a stream. */
import { Readable } from 'node:stream'
import type { FastifyInstance } from 'fastify'
import { type Access, admit, callers } from '../platform/access/authorize.ts'
import { disposition } from '../platform/http/answers/content-disposition.ts'
import { accessRequestOf, serviceContext } from '../platform/http/procedures/request-context.ts'
import { idsOfPath } from '../platform/http/procedures/rest.ts'
import { exportedResource, exportName, exportPerson } from './export.ts'

const EXPORT: Access = { callers: callers.session, resource: exportedResource, right: 'read' }

export function mountPeople(app: FastifyInstance): void {
  app.get('/api/user/:user_id/export.zip', async (request, reply) => {
    const { actor, row } = await admit(accessRequestOf(request.context), EXPORT, false, idsOfPath(request.params as Record<string, string>))
    const exported = row as Parameters<typeof exportPerson>[1]
    const archive = request.method === 'HEAD' ? Readable.from([]) : await exportPerson(serviceContext(request.context, actor), exported)
    reply.headers({
      'content-type': 'application/zip',
      'content-disposition': disposition('attachment', exportName(exported)),
      'cache-control': 'private, no-store',
      'x-content-type-options': 'nosniff',
    })
    // An error on the way destroys the connection, so that a client can tell that the file is incomplete.
    return reply.send(archive)
  })
}
