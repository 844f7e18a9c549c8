/**
 * The procedure builders. A procedure declares the right that it needs (on a space, a table or a record) and who may call it. Its
 * service gets resources that were checked, and a context.
 */
import { initTRPC } from '@trpc/server'
import type { FastifyBaseLogger } from 'fastify'
import type { OpenApiMeta } from 'trpc-to-openapi'
import { type Actor, authenticate, type Credentials } from '../access/authenticate.ts'
import {
  type Access,
  type AccessRequest,
  type Admission,
  type Alongside,
  admit,
  type Callers,
  NO_ATTACHMENTS,
  type Resource,
  type Right,
} from '../access/authorize.ts'
import { recordResource, spaceOf, spaceResource, tableOf, tableResource } from '../access/resources.ts'
import type { Answer, IfMatch } from '../answer.ts'
import { type Context, contextOf, type Deps } from '../context.ts'
import { isOutdated } from '../database/outdated-definition.ts'
import { AppError, type ErrorBody, errorAnswer, forbidden, unavailable } from './errors.ts'
import { once } from './idempotency.ts'
import type { OperationDocs } from './operation-docs.ts'
import type { Budget } from './rate-limits.ts'
import { MAX_ID } from './schemas.ts'
import { refuseInvalidText } from './text-encoding.ts'

/** One HTTP request: a REST call, or a batch of RPC calls. */
export interface RequestContext {
  deps: Deps
  requestId: string
  log: FastifyBaseLogger
  ip: string
  userAgent: string
  credentials: Credentials
  isCrossSite: boolean
  now: Date
  /** The key of each call of a batch, in the order of the calls. */
  idempotencyKeys: (string | undefined)[]
  ifMatch: string | undefined
  setHeader(name: string, value: string): void
  /** Aborts when the caller hangs up before the answer is complete. */
  signal: () => AbortSignal
  /** Notes that a key or session was used; app.ts knows the feature that stores it. */
  onUse(actor: Actor, lastSeenAt: string | null): void
  /** The value of a cookie that the request has. */
  cookie(name: string): string | undefined
  setCookie(name: string, value: string, options: { maxAgeSeconds: number }): void
  /** The result of the access check, if it ran before the body was read (REST). */
  admission?: Admission | undefined
  /** Whether the credentials are valid and the request was counted. */
  isCallerKnown?: boolean
}

/** The context of tRPC, which copies it for each middleware: one property costs less than fifteen. */
export interface CallContext {
  request: RequestContext
}

export interface Meta extends Record<string, unknown> {
  access?: Access
  /** The REST route, set by `rest`. */
  openapi?: NonNullable<OpenApiMeta['openapi']>
  status?: number
  isList?: boolean
  /** An example of the input and output for the document. */
  example?: { input?: unknown; output: unknown }
  /** A key of the body that only a browser session may set. */
  sessionOnlyKey?: 'attachments'
  /** Whether null for `sessionOnlyKey` clears a value. Elsewhere null counts as absent, so that keys may send it. */
  isClearedByNull?: boolean
  /** The maximum size of a JSON body in bytes; 1 MB by default. */
  bodyLimit?: number
  /** Whether the procedure honours an Idempotency-Key. */
  isRepeatable?: boolean
  /** Whether the response has the row's version as its ETag, and whether the procedure honours If-Match. */
  etag?: 'answered' | 'answered and heeded'
  /** Whether X-Ignored names the inputs that a rule made the service ignore. */
  mayIgnore?: boolean
}

const t = initTRPC
  .meta<Meta>()
  .context<CallContext>()
  .create({
    // A client of a subscription reconnects if it has received nothing for longer than two pings.
    sse: { ping: { enabled: true, intervalMs: 15_000 }, client: { reconnectAfterInactivityMs: 40_000 } },
    errorFormatter: ({ error, shape, ctx }) => {
      const { status, body } = errorAnswer(error, ctx?.request.requestId ?? '')
      const data: ErrorBody & { httpStatus: number } = { ...body, httpStatus: status }
      return { ...shape, message: body.message, data }
    },
  })

export const { router, mergeRouters } = t

/** How an operation behaves on REST, beyond what its schemas say. */
type Behaviour = Pick<
  Meta,
  'status' | 'isList' | 'bodyLimit' | 'isRepeatable' | 'etag' | 'mayIgnore' | 'sessionOnlyKey' | 'isClearedByNull'
>

/** The REST route of a procedure. @param docs its texts, from docs.ts of the feature */
export function rest(method: 'GET' | 'POST', path: `/${string}`, docs: OperationDocs, behaviour: Behaviour = {}): Meta {
  const { summary, description, tag, example, errors } = docs
  return { openapi: { method, path, summary, description, tags: [tag], errorResponses: errors ?? {} }, example, ...behaviour }
}

const MB = 1_048_576
/** The maximum size of a JSON body in bytes, unless a procedure sets another (contract.md §1). */
export const BODY_LIMIT = MB
/** The maximum size of a JSON body with a batch, in bytes. */
export const BATCH_BODY_LIMIT = 10 * MB

/** The parts of a request that `admit` needs. */
export function accessRequestOf(ctx: RequestContext): AccessRequest {
  const { deps, credentials, ip, now, isCrossSite } = ctx
  return {
    db: deps.db,
    credentials,
    ip,
    now,
    isCrossSite,
    onAuthenticated: async (actor, { lastSeenAt }) => {
      ctx.isCallerKnown = true
      ctx.onUse(actor, lastSeenAt)
      const exceeded = showBudget(ctx, await deps.limits.take(actor, now))
      if (exceeded) throw exceeded
    },
    onAnonymous: () => countByAddress(ctx),
    onRefused: (refusal) => countByAddress(ctx) ?? refusal,
  }
}

/** Counts the request of an unknown caller by its address. @returns 429 if the address has no requests left */
export const countByAddress = (ctx: RequestContext): AppError | undefined => showBudget(ctx, ctx.deps.limits.takeByAddress(ctx.ip, ctx.now))

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

/** The context of a service that a request calls, once its caller is known: for procedures, and for plain routes. */
export const serviceContext = ({ deps, now, ip, log, signal }: RequestContext, actor: Actor): Context =>
  contextOf(deps, { actor, now, ip, log, signal: signal() })

/** The headers for the properties of an answer besides its value. */
export function headersOf({ version, ignored }: Answer<unknown>): Headers {
  return {
    ...(version !== undefined && { etag: `"${version}"` }),
    ...(ignored?.length && { 'x-ignored': [...new Set(ignored)].join(', ') }),
  }
}

type Headers = Record<string, string>

/**
 * Wraps a resolver whose service returns an `Answer`: the caller gets its value as the body and the rest as headers, over REST and RPC
 * alike. `withAccess` sends the headers, and keeps them with the answer for an Idempotency-Key.
 */
export const answering =
  <Options extends { ctx: { headers: Headers } }, T>(resolve: (options: Options) => Promise<Answer<T>>) =>
  async (options: Options): Promise<T> => {
    const answer = await resolve(options)
    Object.assign(options.ctx.headers, headersOf(answer))
    return answer.value
  }

/** `"3"` and `W/"3"` are version 3, `"3", "4"` one of two; `*` is any; anything else can never match. */
function versionsOf(ifMatch: string | undefined): IfMatch {
  if (ifMatch === undefined || ifMatch.trim() === '*') return undefined
  const versions = ifMatch.split(',').flatMap((tag) => Number(/^\s*(?:W\/)?"(\d{1,10})"\s*$/.exec(tag)?.[1] ?? []))
  return versions.filter((version) => version <= MAX_ID)
}

/** One middleware for everything that each call needs, because each further one costs a copy of the context. @param refs names the row */
const withAccess = <Row extends object, Refs extends object>(access: Access, refs: (row: Row, actor: Actor) => Refs) =>
  t.procedure.meta({ access }).use(async ({ ctx: { request }, type, path, meta, getRawInput, batchIndex, next }) => {
    const raw = await rawInput(request, access, getRawInput)
    const ids = raw && typeof raw === 'object' && !Array.isArray(raw) ? (raw as Record<string, unknown>) : {}
    const admission = request.admission ?? (await admit(accessRequestOf(request), access, type === 'mutation', ids))
    const { actor } = admission
    if (meta && actor.keyId !== null && hasSessionOnlyKey(meta, ids)) throw forbidden(NO_ATTACHMENTS)
    refuseInvalidText(raw)

    const key = meta?.isRepeatable ? request.idempotencyKeys[batchIndex] : undefined
    const headers: Headers = {}
    const ifMatch = meta?.etag === 'answered and heeded' ? versionsOf(request.ifMatch) : undefined
    const proceed = ({ actor, row }: Admission) =>
      next({ ctx: { context: serviceContext(request, actor), headers, ifMatch, row: row as Row, ...refs(row as Row, actor) } })
    const admitAgain = () => admit({ ...accessRequestOf(request), onAuthenticated: async () => {} }, access, type === 'mutation', ids)
    const result =
      key === undefined
        ? await proceed(admission)
        : await withCurrentTable(admission, admitAgain, (current) =>
            repeatable(request, current.actor, { path, key, raw, headers }, () => proceed(current)),
          )
    for (const name in headers) request.setHeader(name, headers[name] as string)
    return result
  })

function hasSessionOnlyKey({ sessionOnlyKey, isClearedByNull }: Meta, input: Record<string, unknown>): boolean {
  if (!sessionOnlyKey || !(sessionOnlyKey in input)) return false
  return input[sessionOnlyKey] !== null || isClearedByNull === true
}

/** With this many attempts, a request succeeds even while a script adds a field every few milliseconds. */
const ATTEMPTS = 10

/**
 * Repeats a request with an Idempotency-Key if the table of the path was changed while its transaction ran: after an error the whole
 * transaction is rolled back, so a service cannot repeat its part of it.
 * @throws AppError 503 if the table is still being changed after ten attempts; the error itself if the table has not been changed
 */
async function withCurrentTable<Result>(
  admission: Admission,
  admitAgain: () => Promise<Admission>,
  attempt: (admission: Admission) => Promise<Result>,
): Promise<Result> {
  let current = admission
  for (let left = ATTEMPTS; ; left--) {
    try {
      return await attempt(current)
    } catch (error) {
      if (!isOutdated(error)) throw error
      if (left === 1) throw unavailable('The table is being changed; retry')
      const next = await admitAgain()
      if (tableVersionOf(next) === tableVersionOf(current)) throw error
      current = next
    }
  }
}

const tableVersionOf = ({ row }: Admission) => (row as { table_version?: number }).table_version

/** @param headers filled by `proceed`, or on a replay with the stored headers */
async function repeatable<Result extends { ok: boolean }>(
  ctx: RequestContext,
  actor: Actor,
  { path, key, raw, headers }: { path: string; key: string; raw: unknown; headers: Headers },
  proceed: () => Promise<Result>,
): Promise<Result> {
  const { db, settings } = ctx.deps
  let fresh: Result | undefined
  const { answer, isReplay } = await once(
    { db, secretKeys: settings.secretKeys, actor, now: ctx.now, operation: path, key, input: raw },
    async () => {
      fresh = await proceed()
      // tRPC returns errors as values. Throwing the error rolls the transaction back.
      if (!fresh.ok) throw (fresh as unknown as { error: unknown }).error
      return { value: (fresh as unknown as { data: unknown }).data, headers }
    },
  )
  if (isReplay) Object.assign(headers, answer.headers, { 'idempotent-replayed': 'true' })
  return fresh ?? ({ ok: true, data: answer.value } as unknown as Result)
}

async function rawInput(ctx: RequestContext, access: Access, getRawInput: () => Promise<unknown>): Promise<unknown> {
  try {
    return await getRawInput()
  } catch (error) {
    // A caller without credentials gets 401 before the error of an invalid body.
    if (!ctx.admission && access.callers.length) await authenticate(accessRequestOf(ctx))
    throw error
  }
}

interface Options<Row extends object = object> {
  effect?: 'read' | 'write'
  idsIn?: 'path' | 'body'
  isSilent?: boolean
  isOwnerOnly?: boolean
  hasOwnThrottle?: boolean
  /** `ctx.row` also has the columns that it selects. */
  alongside?: Alongside<Row>
}

/** A procedure without an id, on data of the caller or its account. */
export const accountProcedure = <Row extends object = object>(allowed: Callers, options: Options<Row> = {}) =>
  withAccess<Row, object>({ callers: allowed, resource: null, right: 'read', ...options }, () => ({}))

/** A procedure on a resource that a feature defines. `ctx.row` is the row that the resource selects. */
export const resourceProcedure = <Row extends object, Refs extends object = object>(
  resource: Resource<Row>,
  right: Right,
  allowed: Callers,
  options: Options = {},
  refs: (row: Row, actor: Actor) => Refs = () => ({}) as Refs,
) => withAccess({ callers: allowed, resource: resource as Resource, right, ...options }, refs)

/** A procedure on the space with the id `space_id`. */
export const spaceProcedure = (right: Right, allowed: Callers, options: Options = {}) =>
  resourceProcedure(spaceResource, right, allowed, options, (row, actor) => ({ space: spaceOf(row, actor) }))

/** A procedure on the table with the id `table_id`. */
export const tableProcedure = (right: Right, allowed: Callers, options: Options = {}) =>
  resourceProcedure(tableResource, right, allowed, options, (row, actor) => ({ table: tableOf(row, actor) }))

/** A procedure on the record with the ids `table_id` and `record_id`. */
export const recordProcedure = (right: Right, allowed: Callers, options: Options = {}) =>
  resourceProcedure(recordResource, right, allowed, options, (row, actor) => ({
    table: tableOf(row, actor),
    record: { id: row.record_id, version: row.record_version },
  }))
