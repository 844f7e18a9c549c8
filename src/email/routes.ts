/** Bytes in and out: the pixel of a mail, and the webhook that takes replies. Both are open to everyone. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { type Deps, systemContext } from '../platform/context.ts'
import { AppError, unavailable } from '../platform/http/errors.ts'
import { take } from './inbound/receive.ts'
import { noteHit, PIXEL } from './outbound/opens.ts'

const MAX_MAIL_BYTES = 25 * 1_048_576
const PIXEL_PATH = '/email/pixel/'

export function mountEmail(app: FastifyInstance, deps: Deps): void {
  app.register(async (scope) => {
    scope.get(`${PIXEL_PATH}*`, async (request, reply) => pixel(deps, request, reply))
    scope.removeAllContentTypeParsers()
    scope.addContentTypeParser('*', { parseAs: 'buffer', bodyLimit: MAX_MAIL_BYTES }, (_, body, done) => done(null, body))
    scope.post('/webhooks/email_receive', {
      bodyLimit: MAX_MAIL_BYTES,
      // Fastify answers 415 to a content type that it cannot read; here none is read.
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

/** The image is the answer to everything, so that a token's validity cannot be told (api.md, Email rule 4). */
async function pixel(deps: Deps, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
  const { headers, method } = request
  const [, token = ''] = /^([\w-]+)\.png$/.exec((request.params as { '*': string })['*']) ?? []
  const purpose = [headers.purpose, headers['sec-purpose'], headers['x-moz'], headers['x-purpose']].flat().join(' ')
  try {
    await noteHit(deps, { token, isHead: method === 'HEAD', userAgent: headers['user-agent'] ?? '', purpose })
  } catch (error) {
    request.log.error({ err: error }, 'hit of a pixel lost')
  }
  return sendPixel(reply)
}

/** A path that cannot even be decoded gets the image, too. */
export const isPixelPath = (url: string) => url.startsWith(PIXEL_PATH)

export function sendPixel(reply: FastifyReply): FastifyReply {
  return reply.code(200).header('cache-control', 'no-store').header('x-content-type-options', 'nosniff').type('image/png').send(PIXEL)
}

/** @throws AppError 503 when the message cannot be stored, so that the sender tries again */
async function receiveMail(deps: Deps, request: FastifyRequest): Promise<void> {
  const raw = Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0)
  try {
    await take({ ...systemContext(deps), log: request.log }, raw)
  } catch (error) {
    if (error instanceof AppError) throw error
    request.log.error({ err: error }, 'inbound mail not stored')
    throw unavailable('The message could not be stored, please send it again', 30, error)
  }
}
