/** The HTTP application: plugins, RPC, REST and plain routes. `main.ts` and the tests let it listen. */
import { randomBytes } from 'node:crypto'
import type { Socket } from 'node:net'
import fastifyCookie from '@fastify/cookie'
import fastifyCors from '@fastify/cors'
import Fastify, { type FastifyBaseLogger, type FastifyInstance, type FastifyReply, type FastifyRequest, LogController } from 'fastify'
import { noteSessionUse, SESSION_COOKIE, sessionSeconds } from './auth/sessions.ts'
import { mountConsole } from './console/routes.ts'
import { mountDocs } from './docs/routes.ts'
import { isPixelPath, sendPixel } from './email/routes.ts'
import { noteKeyUse } from './keys/service.ts'
import { authenticate } from './platform/access/authenticate.ts'
import type { Deps } from './platform/context.ts'
import { AppError } from './platform/errors.ts'
import { answerHeaders } from './platform/http/answers/answer-headers.ts'
import { respondToClientError } from './platform/http/answers/client-error.ts'
import { errorAnswer } from './platform/http/answers/error-answer.ts'
import { limitShutdownTime } from './platform/http/graceful-shutdown.ts'
import { mountHealth } from './platform/http/health.ts'
import { refuseWrongHosts } from './platform/http/host-header.ts'
import { protectFromOverload } from './platform/http/load/overload.ts'
import { limitPipelining } from './platform/http/load/pipelining.ts'
import { CLIENT_LIMITS, type ClientLimits, limitClients, serverTimes } from './platform/http/load/slow-clients.ts'
import { measureRequests, mountMetrics, requireMetricsToken } from './platform/http/metrics.ts'
import { type RefuseMethod, watchMethods } from './platform/http/other-methods.ts'
import { type Application, type Cookies, HttpRequest } from './platform/http/procedures/http-request.ts'
import { answerPositions, POSITION_HEADER } from './platform/http/procedures/read-your-writes.ts'
import { accessRequestOf, countByAddress, type RequestContext } from './platform/http/procedures/request-context.ts'
import { mountRest, restProcedures } from './platform/http/procedures/rest.ts'
import { callsIn, mountRpc, RPC_BODY_LIMIT } from './platform/http/procedures/rpc.ts'
import { logOnDemand } from './platform/http/request-log.ts'
import { mountSecurityTxt } from './platform/http/security-txt.ts'
import { traceRequests } from './platform/http/traces.ts'
import { perProcess } from './platform/processes/per-process.ts'
import { appRouter, mountRoutes } from './router.ts'

declare module 'fastify' {
  interface FastifyRequest {
    context: RequestContext
  }
  interface FastifyContextConfig {
    /** True if a caller without valid credentials gets 401 rather than the error of a malformed body. */
    needsCredentials?: boolean
    /** True if the answer lasts as long as the caller listens: its duration is not measured. */
    isStream?: boolean
    /** True if the body is a file, which goes to storage while it arrives. */
    isUpload?: boolean
  }
}

/** @param times limits for slow clients that differ; tests shorten them */
export async function buildApp(deps: Deps, times: Partial<ClientLimits> = {}): Promise<FastifyInstance> {
  const limits = { ...CLIENT_LIMITS, maxConnections: perProcess(deps.settings.maxConnections), ...times }
  const app = createApp(deps, limits)
  limitPipelining(app)
  traceRequests(app)
  limitShutdownTime(app)
  limitClients(app, limits)
  const cookies = await openCookies(app)
  addRequestContext(app, { deps, cookies, sessionCookie: SESSION_COOKIE, touch: useOf(deps) })
  refuseWrongHosts(app)
  if (deps.replicas) answerPositions(app, deps.replicas)
  logAnswers(app)
  measureRequests(app, deps.metrics)
  app.setErrorHandler((error, request, reply) => answerError(error, request, reply))
  if (deps.settings.corsOrigins.length) await allowOrigins(app, deps.settings.corsOrigins)
  const refuseMethod = watchMethods(app, deps.settings.corsOrigins.length ? ['OPTIONS'] : [])
  mountConsole(app, { publicUrl: deps.publicUrl })
  answerUnknownPaths(app, refuseMethod)
  protectFromOverload(app, { metrics: deps.metrics, remembered: deps.rememberedAccess, callsIn })
  mountRpc(app, appRouter, (request) => request.context)
  mountRest(app, appRouter, (request) => request.context)
  await app.register(async (scope) => mountRoutes(scope, deps))
  mountHealth(app, deps)
  mountMetrics(app, deps, requireMetricsToken(deps))
  mountSecurityTxt(app, deps)
  mountDocs(app, { publicUrl: deps.publicUrl, procedures: restProcedures(appRouter) })
  return app
}

/** The application of METRICS_PORT: health and metrics for those who can reach the port. */
export function buildOperatorApp(deps: Deps): FastifyInstance {
  const app = Fastify({ logger: false, forceCloseConnections: true })
  refuseWrongHosts(app)
  mountHealth(app, deps)
  mountMetrics(app, deps)
  return app
}

function createApp({ settings, log }: Deps, limits: ClientLimits): FastifyInstance {
  const newRequestId = requestIds()
  const headers = answerHeaders(settings)
  const app = Fastify({
    loggerInstance: log as FastifyBaseLogger,
    // `logAnswers` writes one line for each request in place of Fastify's two.
    logController: new LogController({ disableRequestLogging: true, requestIdLogLabel: 'request_id' }),
    genReqId: newRequestId,
    trustProxy: settings.trustProxy,
    bodyLimit: RPC_BODY_LIMIT,
    // A batch of RPC calls names all its procedures in one path segment.
    routerOptions: { maxParamLength: 5_000 },
    forceCloseConnections: 'idle',
    // Routes have no JSON schemas, so the compilers for them, which take a tenth of a second to load, are not loaded.
    schemaController: { compilersFactory: { buildValidator: refuseSchema, buildSerializer: refuseSchema } },
    // The time of a body depends on its size (slow-clients.ts).
    requestTimeout: 0,
    // A missing Host is answered in the form of every error (host-header.ts).
    http: { ...serverTimes(limits), requireHostHeader: false },
    // A path that cannot be decoded reaches no route and no hook.
    frameworkErrors: (error, request, reply) => {
      if (isPixelPath(request.url)) return void sendPixel(reply)
      reply.headers({ ...headers, 'x-request-id': request.id })
      answerError(error, request, reply)
    },
    clientErrorHandler: (error, socket) => {
      const requestId = newRequestId()
      // The error itself is not logged, because it contains the bytes of the request, keys included.
      log.info({ reason: error.code, request_id: requestId }, 'unreadable')
      respondToClientError(error, socket as Socket, { ...headers, 'x-request-id': requestId })
    },
  })
  logOnDemand(app.log)
  return app
}

const refuseSchema = (): never => {
  throw new Error('A route has a JSON schema: inputs and outputs are checked by zod')
}

// Hooks that run for every request use callbacks: creating a promise would cost more than their work.

function addRequestContext(app: FastifyInstance, application: Application): void {
  const headers = answerHeaders(application.deps.settings)
  app.decorateRequest('context')
  app.addHook('onRequest', (request, reply, done) => {
    request.context = new HttpRequest(application, request, reply)
    reply.headers(headers)
    reply.header('x-request-id', request.id)
    done()
  })
}

/** Returns the function that records the last use of a key or session. */
function useOf(deps: Deps): Application['touch'] {
  return (request, actor, lastSeenAt) => {
    const { context } = request
    if (actor.kind !== 'session') return noteKeyUse(deps, actor, lastSeenAt, context.now)
    const token = noteSessionUse(deps, actor, { lastSeenAt, sender: context }, context.now) && context.cookie(SESSION_COOKIE)
    if (token) context.setCookie(SESSION_COOKIE, token, { maxAgeSeconds: sessionSeconds(deps.settings) })
  }
}

function logAnswers(app: FastifyInstance): void {
  app.addHook('onResponse', (request, reply, done) => {
    const { id, method, context } = request
    const answered = {
      request_id: id,
      method,
      route: context.route.url ?? 'none',
      status: reply.statusCode,
      ms: Math.round(reply.elapsedTime),
    }
    // The logger of the request would be created for this line alone.
    app.log.info(answered, 'answered')
    done()
  })
}

async function allowOrigins(app: FastifyInstance, origins: string[]): Promise<void> {
  await app.register(fastifyCors, {
    origin: origins,
    credentials: true,
    methods: ['GET', 'HEAD', 'POST', 'PUT'],
    exposedHeaders: [
      'x-total-count',
      'x-next-cursor',
      'x-request-id',
      'x-ignored',
      'x-unknown-options',
      'x-change-id',
      'content-disposition',
      'etag',
      'idempotent-replayed',
      POSITION_HEADER,
      'retry-after',
      'x-ratelimit-limit',
      'x-ratelimit-remaining',
      'x-ratelimit-reset',
      'x-ratelimit-scope',
    ],
  })
}

const API_PATH = /^\/(api|trpc)\//

/** Answers 404, or 405 if the path has other methods, before the body of the request is read. */
function answerUnknownPaths(app: FastifyInstance, refuseMethod: RefuseMethod): void {
  app.addHook('onRequest', (request, reply, done) => {
    if (!request.is404) return done()
    // Another method on the pixel or the inbound webhook is not counted, because these have no limit (contract.md §1).
    const isOfApi = API_PATH.test(request.url)
    if (!isOfApi && refuseMethod(request, reply)) return
    const exceeded = countByAddress(request.context)
    if (isOfApi && !exceeded && refuseMethod(request, reply)) return
    const { status, headers, body } = errorAnswer(exceeded ?? new AppError('NOT_FOUND', 'No such path'), request.id)
    reply.code(status).headers(headers).send(body)
  })
}

/** Registers the plugin in a scope without routes, because its hooks would run for every answer, and few answers set a cookie. */
async function openCookies(app: FastifyInstance): Promise<Cookies> {
  const { promise, resolve } = Promise.withResolvers<Cookies>()
  await app.register(async (scope) => {
    await scope.register(fastifyCookie)
    resolve({ parseCookie: scope.parseCookie, serializeCookie: scope.serializeCookie })
  })
  return promise
}

/** Creates ids that are unique across processes and restarts. They count, because random bytes would cost more than routing a request. */
function requestIds(): () => string {
  const process = randomBytes(6).toString('hex')
  let count = 0
  return () => `req-${process}-${(++count).toString(36)}`
}

async function answerError(thrown: unknown, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
  if (isPixelPath(request.url)) return sendPixel(reply)
  const ctx = request.context
  let answer = errorAnswer(thrown, request.id)
  // The body failed before the caller was authenticated or admitted. Errors of authentication come first (contract.md §2).
  if ([400, 413, 415].includes(answer.status) && ctx && request.routeOptions.config.needsCredentials) {
    try {
      if (!ctx.isCallerKnown) await authenticate(accessRequestOf(ctx))
    } catch (refusal) {
      answer = errorAnswer(refusal, request.id)
    }
  }
  if (answer.isFault) request.log.error({ err: thrown }, 'fault')
  if (isSending(request)) drainBody(request, reply)
  return reply.code(answer.status).headers(answer.headers).type('application/json; charset=utf-8').send(answer.body)
}

const isSending = ({ raw, headers }: FastifyRequest) =>
  !raw.complete && (headers['content-length'] !== undefined || headers['transfer-encoding'] !== undefined)

/**
 * Reads and discards the rest of the body. If the connection were closed while the client is sending, the client could lose the answer,
 * so the client closes it, even if it has asked the server to (RFC 9112, 9.6).
 */
function drainBody({ raw }: FastifyRequest, reply: FastifyReply): void {
  reply.removeHeader('connection')
  reply.raw.shouldKeepAlive = true
  // An abandoned iterator of the body leaves a `readable` listener behind, which keeps the stream from flowing. Removing listeners where
  // there is none would pause a stream that flows.
  if (raw.listenerCount('readable')) raw.removeAllListeners('readable')
  raw.resume()
}
