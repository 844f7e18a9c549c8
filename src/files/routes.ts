/** GET /api/file/{path}: the bytes of a file, for callers who may read its record or task. */
import { Readable } from 'node:stream'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { authenticate } from '../platform/access/authenticate.ts'
import type { Deps } from '../platform/context.ts'
import { disposition } from '../platform/http/content-disposition.ts'
import { accessRequestOf } from '../platform/http/request-context.ts'
import { byteRange } from './byte-range.ts'
import { servedAs } from './media-types.ts'
import { open, requireReadable } from './reading.ts'

export function mountFiles(app: FastifyInstance, { db, storage }: Deps): void {
  app.get<{ Params: { path: string } }>(
    '/api/file/:path',
    async (request: FastifyRequest<{ Params: { path: string } }>, reply: FastifyReply) => {
      const actor = await authenticate(accessRequestOf(request.context))
      const file = await requireReadable(db, actor, request.params.path)
      const etag = `"${file.path}"`
      const { kind, type } = servedAs(file)
      reply.headers({
        'accept-ranges': 'bytes',
        etag,
        // Only the caller's own cache may keep the file, and it must revalidate each time, because the right to read may end.
        'cache-control': 'private, no-cache',
        'content-disposition': disposition(kind, file.name),
        'content-security-policy': "default-src 'none'; style-src 'unsafe-inline'; sandbox",
        'cross-origin-resource-policy': 'same-origin',
        'x-content-type-options': 'nosniff',
      })
      if (request.headers['if-none-match']?.includes(etag)) return reply.code(304).send()

      const ifRange = request.headers['if-range']
      const range = byteRange(ifRange === undefined || ifRange === etag ? request.headers.range : undefined, file.size)
      if (range === 'unsatisfiable') {
        reply.header('content-range', `bytes */${file.size}`).code(416)
        return reply.send({ message: 'The range lies outside the file', code: 'BAD_REQUEST', request_id: request.id })
      }
      const { start, end } = range ?? { start: 0, end: file.size - 1 }
      reply.type(type).header('content-length', end - start + 1)
      if (range) reply.code(206).header('content-range', `bytes ${start}-${end}/${file.size}`)
      // With an empty text instead of an empty stream, HEAD would announce a length of 0.
      if (request.method === 'HEAD' || file.size === 0) return reply.send(Readable.from([]))
      return reply.send(await open(storage, file, range))
    },
  )
}
