/** The bytes of files: GET /api/file/{path} for callers who may read the record or task. */
import { Readable } from 'node:stream'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { authenticate } from '../platform/access/authenticate.ts'
import type { Deps } from '../platform/context.ts'
import { disposition } from '../platform/http/answers/content-disposition.ts'
import { accessRequestOf } from '../platform/http/procedures/request-context.ts'
import type { Storage } from '../platform/storage/storage.ts'
import { type ByteRange, byteRange } from './downloads/byte-range.ts'
import { cacheHeaders, namesTag } from './downloads/cache-headers.ts'
import { servedAs } from './media-types.ts'
import type { ReadableFile } from './queries.ts'
import { linkTo, open, requireReadable } from './reading.ts'
import { sendThumbnail } from './thumbnails/answer.ts'
import { openThumbnails } from './thumbnails/thumbnails.ts'

export function mountFiles(app: FastifyInstance, deps: Deps): void {
  const { db, settings, storage } = deps
  const thumbnails = openThumbnails(deps)
  app.addHook('onClose', async () => thumbnails.close())
  app.get<{ Params: { path: string }; Querystring: { w?: unknown; dropped?: unknown } }>(
    '/api/file/:path',
    async (request: FastifyRequest<{ Params: { path: string }; Querystring: { w?: unknown; dropped?: unknown } }>, reply: FastifyReply) => {
      const actor = await authenticate(accessRequestOf(request.context))
      const { w, dropped } = request.query
      const file = await requireReadable(db, actor, request.params.path, dropped === 'true')
      if (w !== undefined) return sendThumbnail(thumbnails, file, w, actor, request, reply)
      const etag = `"${file.path}"`
      const kept = cacheHeaders(reply, etag)
      if (namesTag(request.headers['if-none-match'], etag)) return reply.headers(kept).code(304).send()

      const range = wantedRange(request, etag, file.size)
      if (range === 'unsatisfiable') {
        reply.header('content-range', `bytes */${file.size}`).code(416)
        return reply.send({ message: 'The range lies outside the file', code: 'BAD_REQUEST', request_id: request.id })
      }
      const link = settings.storageLinks === 'signed' && request.method === 'GET' ? await linkTo(storage, file) : null
      if (link !== null) return reply.header('cache-control', 'private, no-store').redirect(link)

      const { start, end } = range ?? { start: 0, end: file.size - 1 }
      const bytes = await bytesOf(storage, file, { start, end }, request, reply)
      const { kind, type } = servedAs(file)
      // These headers are set only when the bytes are there. A cache must not keep an error, and a browser must not save one as the file.
      reply.headers({
        ...kept,
        'accept-ranges': 'bytes',
        'content-length': end - start + 1,
        'content-disposition': disposition(kind, file.name),
        'content-security-policy': "default-src 'none'; style-src 'unsafe-inline'; sandbox",
        'cross-origin-resource-policy': 'same-origin',
        'x-content-type-options': 'nosniff',
      })
      if (range) reply.code(206).header('content-range', `bytes ${start}-${end}/${file.size}`)
      return reply.type(type).send(bytes)
    },
  )
}

/** The bytes of an answer. The body of HEAD is an empty stream, because Fastify would announce a length of 0 for an empty text. */
async function bytesOf(storage: Storage, file: ReadableFile, range: ByteRange, request: FastifyRequest, reply: FastifyReply) {
  if (request.method === 'HEAD' || file.size === 0) return Readable.from([])
  const announced = range.end - range.start + 1
  const bytes = await open(storage, file, range)
  return bytes.prependOnceListener('end', () => {
    const { bytesRead = announced } = bytes
    if (bytesRead === announced) return
    // Otherwise the caller would wait for the rest for ever.
    request.log.error({ announced, stored: bytesRead }, 'file storage has too few bytes')
    reply.raw.destroy()
  })
}

/** The range that a GET asks for. Ranges of HEAD are ignored (RFC 9110, 14.2), and so is one of another version of the file (If-Range). */
function wantedRange({ method, headers }: FastifyRequest, etag: string, size: number): ReturnType<typeof byteRange> {
  const ifRange = headers['if-range']
  const isWanted = method === 'GET' && (ifRange === undefined || ifRange === etag)
  return isWanted ? byteRange(headers.range, size) : undefined
}
