/** The tracking pixel and the webhook for inbound mail. Both need no credentials. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { type Deps, systemContext } from '../platform/context.ts'
import { AppError, unavailable } from '../platform/http/errors.ts'
import { storeInbound } from './inbound/store.ts'
import { PIXEL, recordOpen } from './outbound/opens.ts'

const MAX_MAIL_BYTES = 25 * 1_048_576
const PIXEL_PATH = '/email/pixel/'

export function mountEmail(app: FastifyInstance, deps: Deps): void {
  app.register(async (scope) => {
    scope.get(`${PIXEL_PATH}*`, async (request, reply) => pixel(deps, request, reply))
    scope.removeAllContentTypeParsers()
    scope.addContentTypeParser('*', { parseAs: 'buffer', bodyLimit: MAX_MAIL_BYTES }, (_, body, done) => done(null, body))
    scope.post('/webhooks/email_receive', {
      bodyLimit: MAX_MAIL_BYTES,
      // Fastify answers 415 to a content type without a parser, so every request gets the one type that has it.
      onRequest: async ({ raw }) => {
        raw.headers['content-type'] = 'text/raw'
      },
      handler: async (request, reply) => {
        await receiveMail(deps, request)
        return reply.code(200).send()
      },
    })
  })
}

/** Always answers with the image, so that callers cannot find out which tokens are valid (api.md, Email rule 4). */
async function pixel(deps: Deps, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
  const { headers, method } = request
  const [, token = ''] = /^([\w-]+)\.png$/.exec((request.params as { '*': string })['*']) ?? []
  const purpose = [headers.purpose, headers['sec-purpose'], headers['x-moz'], headers['x-purpose']].flat().join(' ')
  try {
    await recordOpen(deps, { token, isHead: method === 'HEAD', userAgent: headers['user-agent'] ?? '', purpose })
  } catch (error) {
    request.log.error({ err: error }, 'email open not recorded')
  }
  return sendPixel(reply)
}

/** Also true for a path that cannot be decoded, which gets the image as well. */
export const isPixelPath = (url: string) => url.startsWith(PIXEL_PATH)

export function sendPixel(reply: FastifyReply): FastifyReply {
  return reply.code(200).header('cache-control', 'no-store').header('x-content-type-options', 'nosniff').type('image/png').send(PIXEL)
}

/** @throws AppError 503 when the message cannot be stored, so that the sender retries */
async function receiveMail(deps: Deps, request: FastifyRequest): Promise<void> {
  const raw = Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0)
  try {
    await storeInbound({ ...systemContext(deps), log: request.log }, raw)
  } catch (error) {
    if (error instanceof AppError) throw error
    request.log.error({ err: error }, 'inbound mail not stored')
    throw unavailable('The message could not be stored, please send it again', 30, error)
  }
}
