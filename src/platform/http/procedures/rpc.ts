/**
 * RPC: the router, served by tRPC's request handler. The library's Fastify plugin is not used: it accepts any encoding, fails on forms
 * and on other methods, and its 415 has no request id.
 */
import type { AnyRouter } from '@trpc/server'
import { fastifyRequestHandler } from '@trpc/server/adapters/fastify'
import { TRPC_ERROR_CODES_BY_KEY } from '@trpc/server/rpc'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { AppError } from '../../errors.ts'
import { errorAnswer } from '../answers/error-answer.ts'
import { Placeholders } from '../answers/written-json.ts'
import { jsonText } from '../bodies/json-body.ts'
import { bodyBytes } from '../load/large-bodies.ts'
import { callerOfBody, countByAddress, type RequestContext } from './request-context.ts'
import type { CallContext } from './trpc.ts'

const RPC_PREFIX = '/trpc/'
/** Bytes of the body of a call, or of a batch of calls. */
export const RPC_BODY_LIMIT = 4 * 1_048_576
/** A batch has calls on many tables. */
const MOST_KEYS = 20_000
/** Of the answers to a batch of calls together. They are in memory until the last of them is there. */
const ANSWERS_LIMIT_MB = 64

/** How many calls a request makes: those of a batch, and one on any other path. */
export function callsIn(url: string): number {
  const path = pathOf(url)
  return path.startsWith(RPC_PREFIX) ? path.split(',').length : 1
}

/** Whether a request is one to RPC, as the router sees it: any letter of its path may be encoded. */
export const isRpc = (url: string): boolean => pathOf(url).startsWith(RPC_PREFIX)

function pathOf(url: string): string {
  const [path = ''] = url.split('?', 1)
  if (!path.includes('%')) return path
  try {
    return decodeURIComponent(path)
  } catch {
    // The router refuses it.
    return path
  }
}

/** Mounts /trpc. @param contextOf returns the context of a request, through which the response headers are set */
export function mountRpc(app: FastifyInstance, router: AnyRouter, contextOf: (request: FastifyRequest) => RequestContext): void {
  app.register(async (scope) => {
    scope.removeAllContentTypeParsers()
    scope.addContentTypeParser('*', { parseAs: 'buffer' }, (request, body, done) => {
      try {
        done(null, jsonText(request.headers, body as Buffer, MOST_KEYS))
      } catch (error) {
        done(error as Error)
      }
    })
    // An error before the procedure is reached has the same form as the error of a call.
    scope.setErrorHandler((error, request, reply) => {
      const { status, headers, body, isFault } = errorAnswer(error, request.id)
      if (isFault) request.log.error({ err: error }, 'fault')
      const data = { ...body, httpStatus: status }
      return reply
        .code(status)
        .headers(headers)
        .send({ error: { message: body.message, code: TRPC_ERROR_CODES_BY_KEY[body.code], data } })
    })
    scope.addHook('onSend', (request, reply, payload, done) => {
      const placeholders = payload instanceof Response && contextOf(request).placeholders
      if (!placeholders) return done(null, payload)
      reply.code(payload.status)
      for (const [name, value] of payload.headers) reply.header(name, value)
      payload
        .text()
        .then((envelope) => placeholders.filledIn(envelope))
        .then((filled) => done(null, filled), done)
    })
    scope.route<{ Params: { path: string }; Querystring: Record<string, unknown> }>({
      method: ['GET', 'POST'],
      // The library answers HEAD without a call, in a form whose length Fastify cannot tell.
      exposeHeadRoute: false,
      url: `${RPC_PREFIX}:path`,
      bodyLimit: RPC_BODY_LIMIT,
      onRequest: (request, _, done) => {
        const caller = callerOfBody(contextOf(request), bodyBytes(request))
        if (!caller) return done()
        caller.then(() => done(), done)
      },
      handler: async (req, res) => {
        // The library would read it before the context exists; over HTTP it has no meaning here.
        if ('connectionParams' in req.query) throw new AppError('BAD_REQUEST', 'connectionParams: is not a known key')
        countUnknown(req.params.path, router, contextOf(req))
        if (req.method === 'POST') {
          req.body ??= '{}'
          // jsonText has checked the type; the library accepts fewer spellings of it.
          req.raw.headers['content-type'] = 'application/json'
        }
        await fastifyRequestHandler({
          req,
          res,
          // The library decodes it, which the router has done once already.
          path: encodeURIComponent(req.params.path),
          router,
          createContext: ({ info }): CallContext => ({ request: embedding(contextOf(req), info.accept === 'application/jsonl') }),
          allowMethodOverride: true,
          // tRPC knows the status of its own codes only. A batch has one for all of its calls.
          responseMeta: ({ errors, info }) => {
            const [error] = errors
            return error && !info?.isBatchCall ? { status: errorAnswer(error, '').status } : {}
          },
          onError: ({ error, path, ctx }) => {
            const answer = errorAnswer(error, ctx?.request.requestId ?? '')
            for (const [name, value] of Object.entries(answer.headers)) ctx?.request.setHeader(name, value)
            if (answer.isFault) ctx?.request.log.error({ err: error.cause ?? error, path }, 'fault')
          },
        })
      },
    })
  })
}

/**
 * Counts calls of procedures that do not exist by the address of their caller, like paths that do not exist: no procedure authenticates it.
 * @throws AppError 429
 */
function countUnknown(path: string, router: AnyRouter, request: RequestContext): void {
  for (const name of path.split(',')) {
    const exceeded = Object.hasOwn(router._def.procedures, name) ? undefined : countByAddress(request)
    if (exceeded) throw exceeded
  }
}

/**
 * Has written JSON embedded in the answer: as a placeholder, which `onSend` replaces in the finished envelope. Of a streamed batch the
 * envelope is sent in pieces, so there the text is parsed.
 */
function embedding(request: RequestContext, isStreamed: boolean): RequestContext {
  let bytes = 0
  request.embed = (answer, type) => {
    // A change has been made by now, so its answer cannot be refused.
    if (type === 'query' && bytes + answer.bytes > ANSWERS_LIMIT_MB * 1_048_576) throw tooManyBytes()
    bytes += answer.bytes
    if (isStreamed) return answer.toJSON()
    request.placeholders ??= new Placeholders()
    return request.placeholders.for(answer)
  }
  return request
}

const tooManyBytes = () =>
  new AppError('BAD_REQUEST', `The answers to the batch have more than ${ANSWERS_LIMIT_MB} MB; send fewer calls at once`)
