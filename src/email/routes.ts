/** Bytes in and out: the pixel of a mail, and the webhook that takes replies. Both are open to everyone. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { type Deps, systemContext } from '../platform/context.ts'
import { AppError, unavailable } from '../platform/http/errors.ts'
import type { PlainOperation } from '../platform/http/openapi.ts'
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

const png = { 'image/png': { schema: { type: 'string', format: 'binary' } } }

export const emailOperations: PlainOperation[] = [
  {
    method: 'get',
    path: '/email/pixel/{token}.png',
    operationId: 'email.pixel',
    tag: 'Email',
    summary: 'The tracking pixel',
    description: 'Always the image, whatever the token. The first GET on a mail that was sent marks it as read.',
    isPublic: true,
    parameters: [{ name: 'token', in: 'path', required: true, schema: { type: 'string' } }],
    responses: { 200: { description: 'A transparent image of 1x1.', content: png } },
  },
  {
    method: 'post',
    path: '/webhooks/email_receive',
    operationId: 'email.receive',
    tag: 'Email',
    summary: 'Take an inbound mail',
    description:
      'Raw RFC 822 bytes of any content type, up to 25 MB. What names a known reply address becomes a comment of its record; all else is dropped.',
    isPublic: true,
    requestBody: { required: true, content: { 'text/raw': { schema: { type: 'string', format: 'binary' } } } },
    responses: { 200: { description: 'Stored, or dropped on purpose. The body is empty.' } },
    errors: [413, 503],
  },
]
