/** The pixel and the webhook for inbound mail, which need no credentials; mails as pages; and for admins the raw bytes of a message. */
import { Readable } from 'node:stream'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { type Access, admit, callers } from '../platform/access/authorize.ts'
import { type Deps, systemContext } from '../platform/context.ts'
import { AppError, badInput, unavailable } from '../platform/errors.ts'
import { disposition } from '../platform/http/answers/content-disposition.ts'
import { accessRequestOf, serviceContext } from '../platform/http/procedures/request-context.ts'
import { idsOfPath } from '../platform/http/procedures/rest.ts'
import { MAX_MAIL_BYTES, receiveBody } from './inbound/webhook.ts'
import {
  type MailRow,
  type MessageRow,
  mailResource,
  messageResource,
  type RawMessage,
  rawMessage,
  rawOfComment,
} from './inbox/messages.ts'
import { mailPage, pageHeaders } from './page/mail-page.ts'
import { type OpenRecorder, startOpenRecorder } from './tracking/open-recorder.ts'
import { PIXEL } from './tracking/opens.ts'

const PIXEL_PATH = '/email/pixel/'

const RAW = { callers: callers.any, right: 'admin', effect: 'write' } as const
const RAW_MESSAGE: Access = { ...RAW, resource: messageResource }
const RAW_MAIL: Access = { ...RAW, resource: mailResource }
const SHOWN_MAIL: Access = { callers: callers.any, resource: mailResource, right: 'read', effect: 'read' }

export function mountEmail(app: FastifyInstance, deps: Deps): void {
  app.get('/api/email/inbound/:id/raw', async (request, reply) => {
    const { actor, row } = await admitted(request, RAW_MESSAGE)
    return sendRaw(request, reply, await rawMessage(serviceContext(request.context, actor), row as MessageRow))
  })
  app.get('/api/email/:comment_id/raw', async (request, reply) => {
    const { actor, row } = await admitted(request, RAW_MAIL)
    return sendRaw(request, reply, await rawOfComment(serviceContext(request.context, actor), row as MailRow))
  })
  app.get('/api/email/:comment_id/html', async (request, reply) => {
    const { actor, row } = await admitted(request, SHOWN_MAIL)
    const withRemote = wantsRemote(request.query as { images?: unknown })
    const page = await mailPage(serviceContext(request.context, actor), row as MailRow, withRemote)
    return reply.headers(pageHeaders(withRemote)).send(page)
  })
  const opens = startOpenRecorder(deps)
  app.addHook('onClose', () => opens.close())
  app.register(async (scope) => {
    scope.get(`${PIXEL_PATH}*`, async (request, reply) => pixel(opens, request, reply))
    scope.removeAllContentTypeParsers()
    // The handler reads the body itself, as a stream.
    scope.addContentTypeParser('*', (_request, _payload, done) => done(null))
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

/**
 * Always answers with the image, and before the token is looked up, so that callers cannot find out which tokens are valid (api.md, Email
 * rule 4).
 */
async function pixel(opens: OpenRecorder, { params, headers, method }: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
  const [, token = ''] = /^([\w-]+)\.png$/.exec((params as { '*': string })['*']) ?? []
  const purpose = [headers.purpose, headers['sec-purpose'], headers['x-moz'], headers['x-purpose']].flat().join(' ')
  opens.add({ token, isHead: method === 'HEAD', userAgent: headers['user-agent'] ?? '', purpose })
  return sendPixel(reply)
}

/** Also true for a path that cannot be decoded, which gets the image as well. */
export const isPixelPath = (url: string) => url.startsWith(PIXEL_PATH)

export function sendPixel(reply: FastifyReply): FastifyReply {
  return reply.code(200).header('cache-control', 'no-store').header('x-content-type-options', 'nosniff').type('image/png').send(PIXEL)
}

/** @throws AppError 400 */
function wantsRemote({ images }: { images?: unknown }): boolean {
  if (images !== undefined && images !== 'remote') throw badInput('images', 'must be remote')
  return images === 'remote'
}

const admitted = ({ context, params }: FastifyRequest, access: Access) =>
  admit(accessRequestOf(context), access, false, idsOfPath(params as Record<string, string>))

/** Sends a message that a stranger wrote, so a browser must save it and never show it. */
function sendRaw({ method }: FastifyRequest, reply: FastifyReply, { message_id, bytes, content }: RawMessage): FastifyReply {
  reply.headers({
    'content-type': 'message/rfc822',
    'content-length': bytes,
    'content-disposition': disposition('attachment', `message-${message_id}.eml`),
    'content-security-policy': "default-src 'none'; sandbox",
    'cache-control': 'private, no-store',
    'x-content-type-options': 'nosniff',
  })
  return reply.send(method === 'HEAD' ? Readable.from([]) : content)
}

/** @throws AppError 503 when the message cannot be stored, so that the sender retries */
async function receiveMail(deps: Deps, request: FastifyRequest): Promise<void> {
  const { raw, headers } = request
  const context = { ...systemContext(deps), log: request.log, ip: request.ip }
  try {
    // The stream is not destroyed on return, because the answer is sent over the same connection.
    await receiveBody(context, raw.iterator({ destroyOnReturn: false }), Number(headers['content-length'] ?? 0))
  } catch (error) {
    if (error instanceof AppError || raw.errored) throw error
    request.log.error({ err: error }, 'inbound mail not stored')
    throw unavailable('The message could not be stored, please send it again', 30, error)
  } finally {
    // Many clients read the answer only after sending everything, so the rest of a refused message is read and discarded.
    raw.resume()
  }
}
