/** What a request is to procedures and plain routes: its sender, its budget, and the context of the services that it calls. */
import type { Readable } from 'node:stream'
import type { FastifyBaseLogger, FastifyContextConfig } from 'fastify'
import { authenticate, type Credentials } from '../../access/authenticate.ts'
import type { AccessRequest, Admission } from '../../access/authorize.ts'
import type { Actor } from '../../actor.ts'
import { type Context, contextOf, type Deps } from '../../context.ts'
import type { WalPosition } from '../../database/replicas/wal-position.ts'
import { AppError } from '../../errors.ts'
import type { ReceivedBytes } from '../../stored-files/received-bytes.ts'
import type { Placeholders, WrittenJson } from '../answers/written-json.ts'
import { STRANGER_BODY_LIMIT } from '../load/large-bodies.ts'
import type { Budget } from '../load/rate-limits.ts'

/** One HTTP request: a REST call, or a batch of RPC calls. */
export interface RequestContext {
  deps: Deps
  requestId: string
  /** The options of the route, with its pattern. Fastify's `routeOptions` are made anew each time. */
  route: FastifyContextConfig & { url?: string }
  log: FastifyBaseLogger
  ip: string
  userAgent: string
  credentials: Credentials
  isCrossSite: boolean
  /** The header X-Session-User, as it was sent. */
  sessionUser: string | undefined
  /** Whether the sender is taken for a program on this machine, before whom `/dev/mail` is open (local-callers.ts). */
  isLocal: boolean
  now: Date
  /** The key of each call of a batch, in the order of the calls. Reading it throws AppError 400 if there are more or fewer. */
  idempotencyKeys: (string | undefined)[]
  ifMatch: string | undefined
  /** The header X-Position, as it was sent. */
  position?: string | undefined
  setHeader(name: string, value: string): void
  /** Aborts when the caller hangs up before the answer is complete. */
  signal: () => AbortSignal
  /** Waits before the request is answered. Others may have its slot meanwhile (load/overload.ts). */
  pause(ms: number): Promise<void>
  /** Notes that a key or session was used; app.ts knows the feature that stores it. */
  onUse(actor: Actor, lastSeenAt: string | null): void
  /** The value of a cookie that the request has. */
  cookie(name: string): string | undefined
  setCookie(name: string, value: string, options: CookieOptions): void
  /** The result of the access check, if it ran before the body was read (REST). */
  admission?: Admission | undefined
  /** The ids of the path (REST). */
  pathIds?: Record<string, number | string> | undefined
  /** The file of an upload over REST. */
  received?: ReceivedBytes | undefined
  /** Over REST: sends the bytes in base64 as `data` of the answer, while they are read. The answer has an empty `data` and their `size`. */
  sendData?: ((bytes: Readable) => void) | undefined
  /** Set for RPC: what tRPC puts into its envelope for written JSON. */
  embed?: (answer: WrittenJson<unknown>, type: string) => unknown
  /** The written answers for which placeholders stand in the envelope (RPC). */
  placeholders?: Placeholders
  /** What a replica must have replayed for the reads of this request (read-your-writes.ts). */
  needed?: Promise<WalPosition | undefined> | undefined
  /** Whether one of its procedures may have written; undefined if it has reached none. */
  mayHaveWritten?: boolean
  /** Whether the credentials are valid and the request was counted. */
  isCallerKnown?: boolean
}

/** By default the browser sends a cookie to every path, and also when a link of another site leads here. */
export interface CookieOptions {
  maxAgeSeconds: number
  path?: string
  sameSite?: 'lax' | 'strict'
}

/** The parts of a request that `admit` needs. */
export function accessRequestOf(ctx: RequestContext): AccessRequest {
  const { deps, credentials, ip, now, isCrossSite, sessionUser } = ctx
  return {
    db: deps.db,
    credentials,
    ip,
    now,
    isCrossSite,
    sessionUser,
    remembered: deps.rememberedAccess,
    onAuthenticated: (actor, { lastSeenAt }) => {
      ctx.isCallerKnown = true
      ctx.onUse(actor, lastSeenAt)
      const taken = deps.limits.take(actor, now)
      return taken instanceof Promise ? taken.then((budget) => requireBudget(ctx, budget)) : requireBudget(ctx, taken)
    },
    onAnonymous: () => countByAddress(ctx),
    onRefused: (refusal) => {
      deps.rememberedAccess?.forget(credentials)
      return countByAddress(ctx) ?? refusal
    },
  }
}

/** What `admit` needs to check again, some time later, a request that was counted already. */
export const accessRequestAgain = (ctx: RequestContext): AccessRequest => ({
  ...accessRequestOf(ctx),
  now: ctx.deps.clock(),
  onAuthenticated: () => {},
})

/**
 * Authenticates the caller before a body is read that is too large for strangers. The request is counted later, when access is checked.
 * @returns undefined if the body is smaller, at once: most are
 * @throws AppError 401
 */
export function callerOfBody(ctx: RequestContext, bytes: number): Promise<Actor> | undefined {
  if (bytes <= STRANGER_BODY_LIMIT) return undefined
  return authenticate({ ...accessRequestOf(ctx), onAuthenticated: async () => {} })
}

/** Counts the request of an unknown caller by its address. @returns 429 if the address has no requests left */
export const countByAddress = (ctx: RequestContext): AppError | undefined => showBudget(ctx, ctx.deps.limits.takeByAddress(ctx.ip, ctx.now))

/** @throws AppError 429 */
function requireBudget(ctx: RequestContext, budget: Budget | null): void {
  const exceeded = showBudget(ctx, budget)
  if (exceeded) throw exceeded
}

/** Sets the headers of a budget; without one there is no limit. @returns 429 if it is exceeded */
function showBudget(ctx: RequestContext, budget: Budget | null): AppError | undefined {
  if (!budget) return undefined
  ctx.setHeader('x-ratelimit-limit', String(budget.limit))
  ctx.setHeader('x-ratelimit-remaining', String(budget.remaining))
  ctx.setHeader('x-ratelimit-reset', String(budget.resetSeconds))
  ctx.setHeader('x-ratelimit-scope', budget.scope)
  if (!budget.isExceeded) return undefined
  return new AppError('TOO_MANY_REQUESTS', 'Too many requests', { retryAfterSeconds: budget.resetSeconds })
}

/**
 * The context of a service that a request calls, once its caller is known: for procedures, and for plain routes.
 * @param confirmAccess checks the access again
 */
export const serviceContext = (request: RequestContext, actor: Actor, confirmAccess?: Context['confirmAccess']): Context => {
  const { deps, now, ip, log } = request
  return contextOf(deps, { actor, now, ip, log, signal: request.signal() }, confirmAccess)
}
