/** The answer of GET /api/file/{path}?w=…, to a caller who may read the file. */
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Actor } from '../../platform/actor.ts'
import { badInput } from '../../platform/errors.ts'
import { disposition } from '../../platform/http/answers/content-disposition.ts'
import { cacheHeaders, namesTag } from '../downloads/cache-headers.ts'
import type { ReadableFile } from '../queries.ts'
import { type ThumbnailWidth, WIDTHS } from './thumbnail-keys.ts'
import type { Thumbnails } from './thumbnails.ts'

/**
 * Sends the thumbnail whole: it is small, so a `Range` is ignored.
 * @param w the parameter as it was sent
 * @throws AppError 400 for a width that is not offered; what `read` of Thumbnails throws
 */
export async function sendThumbnail(
  thumbnails: Thumbnails,
  file: ReadableFile,
  w: unknown,
  { accountId }: Actor,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const width = widthOf(w)
  const etag = `"${file.path}-w${width}"`
  const kept = cacheHeaders(reply, etag)
  const webp = await thumbnails.read(file, width, { accountId, signal: request.context.signal() })
  // This check comes after the thumbnail was found, because `*` matches only an existing one.
  if (namesTag(request.headers['if-none-match'], etag)) return reply.headers(kept).code(304).send()
  return reply
    .headers({
      ...kept,
      'content-disposition': disposition('inline', `${file.name}.webp`),
      'content-security-policy': "default-src 'none'; sandbox",
      'cross-origin-resource-policy': 'same-origin',
      'x-content-type-options': 'nosniff',
    })
    .type('image/webp')
    .send(webp)
}

/** Only the plain spelling is accepted: 0160 and 160.0 would be further cache keys of the same thumbnail. */
function widthOf(w: unknown): ThumbnailWidth {
  const width = WIDTHS.find((offered) => String(offered) === w)
  if (width === undefined) throw badInput('w', `must be ${WIDTHS.slice(0, -1).join(', ')} or ${WIDTHS.at(-1)}`)
  return width
}
