/**
 * RPC: the router as tRPC serves it, mounted by ourselves: the library's plugin takes any encoding, fails on forms and on methods
 * of its own, and refuses content types without a request id.
 */
import type { AnyRouter } from '@trpc/server'
import { fastifyRequestHandler } from '@trpc/server/adapters/fastify'
import { TRPC_ERROR_CODES_BY_KEY } from '@trpc/server/rpc'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { AppError, answerOf } from './errors.ts'
import { jsonText } from './json-body.ts'
import type { CallContext, RequestContext } from './trpc.ts'

export const RPC_PREFIX = '/trpc/'
/** Bytes of the body of a call, or of a batch of calls. */
export const RPC_BODY_LIMIT = 4 * 1_048_576

/** Mounts /trpc. @param contextOf makes the context of a request; the answer's headers go through it */
export function mountRpc(app: FastifyInstance, router: AnyRouter, contextOf: (request: FastifyRequest) => RequestContext): void {
  app.register(async (scope) => {
    scope.removeAllContentTypeParsers()
    scope.addContentTypeParser('*', { parseAs: 'buffer' }, (request, body, done) => {
      try {
        done(null, jsonText(request.headers, body as Buffer))
      } catch (error) {
        done(error as Error)
      }
    })
    // What reaches no procedure is told in the form of a call's error, too.
    scope.setErrorHandler((error, request, reply) => {
      const { status, headers, body, isFault } = answerOf(error, request.id)
      if (isFault) request.log.error({ err: error }, 'fault')
      const data = { ...body, httpStatus: status }
      return reply
        .code(status)
        .headers(headers)
        .send({ error: { message: body.message, code: TRPC_ERROR_CODES_BY_KEY[body.code], data } })
    })
    scope.route<{ Params: { path: string }; Querystring: Record<string, unknown> }>({
      method: ['GET', 'POST'],
      url: `${RPC_PREFIX}:path`,
      bodyLimit: RPC_BODY_LIMIT,
      handler: async (req, res) => {
        // The library would read it before there is a context, and has no use for it over HTTP here.
        if ('connectionParams' in req.query) throw new AppError('BAD_REQUEST', 'connectionParams: is not a known key')
        if (req.method === 'POST') {
          req.body ??= '{}'
          // It was judged above, and the library knows fewer spellings of it.
          req.raw.headers['content-type'] = 'application/json'
        }
        await fastifyRequestHandler({
          req,
          res,
          path: req.params.path,
          router,
          createContext: (): CallContext => ({ request: contextOf(req) }),
          allowMethodOverride: true,
          onError: ({ error, path, ctx }) => {
            const answer = answerOf(error, ctx?.request.requestId ?? '')
            for (const [name, value] of Object.entries(answer.headers)) ctx?.request.setHeader(name, value)
            if (answer.isFault) ctx?.request.log.error({ err: error.cause ?? error, path }, 'fault')
          },
        })
      },
    })
  })
}
