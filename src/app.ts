/** The HTTP application: plugins, RPC, REST and plain routes. `main.ts` and the tests let it listen. */
import { randomBytes } from 'node:crypto'
import type { Socket } from 'node:net'
import fastifyCookie from '@fastify/cookie'
import fastifyCors from '@fastify/cors'
import Fastify, { type FastifyBaseLogger, type FastifyInstance, type FastifyReply, type FastifyRequest, LogController } from 'fastify'
import { noteSessionUse, SESSION_COOKIE, sessionSeconds } from './auth/sessions.ts'
import { isPixelPath, sendPixel } from './email/routes.ts'
import { noteKeyUse } from './keys/service.ts'
import { authenticate, type Credentials } from './platform/access/authenticate.ts'
import { keyOf } from './platform/access/bearer-key.ts'
import type { Deps } from './platform/context.ts'
import { answerHeaders } from './platform/http/answer-headers.ts'
import { respondToClientError } from './platform/http/client-error.ts'
import { isCrossSite } from './platform/http/cross-site.ts'
import { mountDocs } from './platform/http/docs-page.ts'
import { AppError, errorAnswer } from './platform/http/errors.ts'
import { limitShutdownTime } from './platform/http/graceful-shutdown.ts'
import { hangUpSignal } from './platform/http/hang-up.ts'
import { mountHealth } from './platform/http/health.ts'
import { measureRequests, mountMetrics, requireMetricsToken } from './platform/http/metrics.ts'
import { type RefuseMethod, watchMethods } from './platform/http/other-methods.ts'
import { type OverloadProtection, openOverloadProtection } from './platform/http/overload.ts'
import { answerPositions, POSITION_HEADER } from './platform/http/read-your-writes.ts'
import { accessRequestOf, countByAddress, type RequestContext } from './platform/http/request-context.ts'
import { mountRest } from './platform/http/rest.ts'
import { mountRpc, RPC_BODY_LIMIT, RPC_PREFIX } from './platform/http/rpc.ts'
import { CLIENT_LIMITS, type ClientLimits, limitClients, serverTimes } from './platform/http/slow-clients.ts'
import { traceRequests } from './platform/http/traces.ts'
import { ownPart } from './platform/processes/own-part.ts'
import { tokenHash } from './platform/secrets.ts'
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
  const limits = { ...CLIENT_LIMITS, maxConnections: ownPart(deps.settings.maxConnections), ...times }
  const app = createApp(deps, limits)
  traceRequests(app)
  limitShutdownTime(app)
  limitClients(app, limits)
  const cookies = await openCookies(app)
  const overload = openOverloadProtection(deps.metrics)
  addRequestContext(app, { deps, cookies, overload })
  if (deps.replicas) answerPositions(app, deps.replicas)
  logAnswers(app)
  measureRequests(app, deps.metrics)
  app.setErrorHandler((error, request, reply) => answerError(error, request, reply))
  if (deps.settings.corsOrigins.length) await allowOrigins(app, deps.settings.corsOrigins)
  answerUnknownPaths(app, watchMethods(app, deps.settings.corsOrigins.length ? ['OPTIONS'] : []))
  overload.addHooks(app)
  mountRpc(app, appRouter, (request) => request.context)
  mountRest(app, appRouter, (request) => request.context)
  await app.register(async (scope) => mountRoutes(scope, deps))
  mountHealth(app, deps)
  mountMetrics(app, deps, requireMetricsToken(deps))
  mountDocs(app)
  return app
}

/** The application of METRICS_PORT: health and metrics for those who can reach the port. */
export function buildOperatorApp(deps: Deps): FastifyInstance {
  const app = Fastify({ logger: false, forceCloseConnections: true })
  mountHealth(app, deps)
  mountMetrics(app, deps)
  return app
}

function createApp({ settings, log }: Deps, limits: ClientLimits): FastifyInstance {
  const newRequestId = requestIds()
  const headers = answerHeaders(settings)
  return Fastify({
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
    http: serverTimes(limits),
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
}

const refuseSchema = (): never => {
  throw new Error('A route has a JSON schema: inputs and outputs are checked by zod')
}

// Hooks that run for every request use callbacks: creating a promise would cost more than their work.

/** The parts that the context of a request is made of. */
interface Parts {
  deps: Deps
  cookies: Cookies
  overload: OverloadProtection
}

function addRequestContext(app: FastifyInstance, parts: Parts): void {
  const headers = answerHeaders(parts.deps.settings)
  app.decorateRequest('context')
  app.addHook('onRequest', (request, reply, done) => {
    request.context = contextOf(parts, request, reply)
    reply.headers(headers)
    reply.header('x-request-id', request.id)
    done()
  })
}

function logAnswers(app: FastifyInstance): void {
  app.addHook('onResponse', (request, reply, done) => {
    const { method, routeOptions } = request
    request.log.info({ method, route: routeOptions.url ?? 'none', status: reply.statusCode, ms: Math.round(reply.elapsedTime) }, 'answered')
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

/** Answers 404, or 405 if the path has other methods, before the body of the request is read. */
function answerUnknownPaths(app: FastifyInstance, refuseMethod: RefuseMethod): void {
  app.addHook('onRequest', (request, reply, done) => {
    if (!request.is404) return done()
    if (refuseMethod(request, reply)) return
    const refusal = countByAddress(request.context) ?? new AppError('NOT_FOUND', 'No such path')
    const { status, headers, body } = errorAnswer(refusal, request.id)
    reply.code(status).headers(headers).send(body)
  })
}

type Cookies = Pick<FastifyInstance, 'parseCookie' | 'serializeCookie'>

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
      await (ctx.admitting ?? (ctx.isCallerKnown || authenticate(accessRequestOf(ctx))))
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
  // While an abandoned iterator of the body listens for bytes, the stream would not flow. Without such a listener the call would stop a
  // stream that flows.
  if (raw.listenerCount('readable')) raw.removeAllListeners('readable')
  raw.resume()
}

function contextOf({ deps, cookies, overload }: Parts, request: FastifyRequest, reply: FastifyReply): RequestContext {
  const { headers } = request
  const credentials = credentialsOf(request, cookies)
  const now = deps.clock()
  const key = headers['idempotency-key']
  let hangUp: AbortSignal | undefined
  const sender = { ip: request.ip, userAgent: headers['user-agent'] ?? '' }
  const setCookie: RequestContext['setCookie'] = (name, value, { maxAgeSeconds }) =>
    void reply.header(
      'set-cookie',
      cookies.serializeCookie(name, value, {
        path: '/',
        httpOnly: true,
        sameSite: 'lax',
        secure: deps.publicUrl().startsWith('https:'),
        maxAge: maxAgeSeconds,
      }),
    )
  return {
    deps,
    requestId: request.id,
    log: request.log,
    ...sender,
    credentials,
    isCrossSite: isCrossSite(deps, request),
    now,
    idempotencyKeys: typeof key === 'string' ? idempotencyKeys(request.url, key) : [],
    ifMatch: headers['if-match'],
    position: headers[POSITION_HEADER] as string | undefined,
    setHeader: (name, value) => void reply.header(name, value),
    // The calls of a batch share it.
    signal: () => {
      hangUp ??= hangUpSignal(reply)
      return hangUp
    },
    cookie: (name) => (headers.cookie ? cookies.parseCookie(headers.cookie)[name] : undefined),
    setCookie,
    onUse: (actor, lastSeenAt) => {
      overload.learn(request, credentials, actor.accountId)
      if (actor.kind !== 'session') return noteKeyUse(deps, actor, lastSeenAt, now)
      const token = noteSessionUse(deps, actor, { lastSeenAt, sender }, now) && sessionToken(request, cookies)
      if (token) setCookie(SESSION_COOKIE, token, { maxAgeSeconds: sessionSeconds(deps.settings) })
    },
  }
}

/** One key for each call of an RPC batch, where an empty part means no key. An entirely empty header is an invalid key. */
function idempotencyKeys(url: string, header: string): (string | undefined)[] {
  const isBatch = url.startsWith(RPC_PREFIX) && /[?&]batch=1(&|$)/.test(url)
  if (!isBatch || header === '') return [header]
  return header.split(',').map((part) => part.trim() || undefined)
}

/** If both a cookie and a key are sent, the key is used (contract.md §2). */
function credentialsOf(request: FastifyRequest, cookies: Cookies): Credentials {
  const { headers } = request
  if (headers.authorization !== undefined) return keyOf(request.raw.socket, headers.authorization)
  const token = sessionToken(request, cookies)
  return token ? { kind: 'session', tokenHash: tokenHash(token) } : { kind: 'none' }
}

const sessionToken = ({ headers }: FastifyRequest, cookies: Cookies) =>
  headers.cookie && cookies.parseCookie(headers.cookie)[SESSION_COOKIE]
