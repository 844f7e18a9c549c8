/**
 * REST: each procedure with a path is a native Fastify route (docs/decisions/0002 explains why not the library's adapter).
 * Access is checked before the body is read. Values of paths and query strings are converted to the types of the schema, bodies are not.
 */
import type { Readable } from 'node:stream'
import fastifyMultipart from '@fastify/multipart'
import { type AnyProcedure, type AnyRouter, callTRPCProcedure } from '@trpc/server'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { z } from 'zod'
import { type Access, type Admission, admit } from '../../access/authorize.ts'
import { accountName } from '../../concurrency/current-account.ts'
import type { FairQueue } from '../../concurrency/fair-queue.ts'
import { AppError, badInput } from '../../errors.ts'
import { memo } from '../../memo.ts'
import { base64Json } from '../answers/base64-json.ts'
import { type List, WrittenJson } from '../answers/written-json.ts'
import { BODY_LIMIT } from '../bodies/body-limits.ts'
import { jsonValue } from '../bodies/json-body.ts'
import { leastFileBytes, receiveUpload } from '../bodies/uploads.ts'
import { admitBody, bodyBytes, LARGE_BYTES, openLargeBodies, openUploadQueue } from '../load/large-bodies.ts'
import { noteCall } from './read-your-writes.ts'
import { accessRequestAgain, accessRequestOf, callerOfBody, type RequestContext, serviceContext } from './request-context.ts'
import type { CallContext, Meta } from './trpc.ts'

export interface RestProcedure {
  name: string
  type: 'query' | 'mutation'
  meta: Meta & Required<Pick<Meta, 'openapi' | 'access'>>
  input: z.ZodObject | undefined
  /** Calls the procedure in the same way as RPC. */
  run(ctx: CallContext, input: unknown): Promise<unknown>
}

/** Every procedure of the router that has a REST path. */
export function restProcedures(router: AnyRouter): RestProcedure[] {
  return Object.entries(router._def.procedures as Record<string, AnyProcedure>).flatMap(([name, procedure]) => {
    const { meta, type, inputs } = procedure._def as unknown as {
      meta?: Meta
      type: 'query' | 'mutation' | 'subscription'
      inputs: z.ZodObject[]
    }
    if (!meta?.openapi || !meta.access || type === 'subscription') return []
    const run: RestProcedure['run'] = (ctx, given) =>
      callTRPCProcedure({ router, path: name, type, ctx, getRawInput: async () => given, signal: undefined, batchIndex: 0 })
    return [{ name, type, meta: meta as RestProcedure['meta'], input: inputs[0], run }]
  })
}

/** Mounts the routes. @param contextOf returns the context of a request, through which the response headers are set */
export function mountRest(app: FastifyInstance, router: AnyRouter, contextOf: (request: FastifyRequest) => RequestContext): void {
  const procedures = restProcedures(router)
  const isUpload = ({ meta }: RestProcedure) => meta.upload !== undefined
  mountUploads(app, procedures.filter(isUpload), contextOf)
  const largeBodies = openLargeBodies()
  app.register(async (scope) => {
    scope.removeAllContentTypeParsers()
    scope.addContentTypeParser('*', { parseAs: 'buffer' }, (request, body, done) => {
      try {
        done(null, jsonValue(request.headers, body as Buffer))
      } catch (error) {
        done(error as Error)
      }
    })
    for (const procedure of procedures) if (!isUpload(procedure)) mount(scope, procedure, contextOf, largeBodies)
  })
}

function mount(
  app: FastifyInstance,
  procedure: RestProcedure,
  contextOf: (request: FastifyRequest) => RequestContext,
  largeBodies: FairQueue,
): void {
  const { type, meta, input } = procedure
  const { openapi, access, bodyLimit = BODY_LIMIT } = meta
  const pathIds = pathIdsOf(procedure)
  const texts = textsOfPath(procedure)
  app.route({
    method: openapi.method as 'GET' | 'POST',
    url: urlOf(procedure),
    bodyLimit,
    config: { needsCredentials: access.callers.length > 0 },
    onRequest: async (request, reply) => {
      const ctx = contextOf(request)
      const ids = idsOfPath(request.params as Record<string, string>, texts)
      ctx.pathIds = ids
      noteCall(ctx, type)
      const bytes = bodyBytes(request)
      if (access.idsIn !== 'body') ctx.admission = await admit(accessRequestOf(ctx), access, type === 'mutation', ids)
      // If the ids are in the body, access is checked after it was read; only a request without credentials is refused before.
      else if (ctx.credentials.kind === 'none' || ctx.credentials.kind === 'invalid')
        await admit(accessRequestOf(ctx), access, type === 'mutation', {})
      const actor = ctx.admission?.actor ?? (await callerOfBody(ctx, bytes))
      if (actor && bodyLimit > LARGE_BYTES && bytes > LARGE_BYTES) await admitBody(largeBodies, accountName(actor.accountId), reply)
    },
    handler: (request, reply) => {
      const given = openapi.method === 'GET' ? fromQuery(request.query as Query, input, pathIds) : bodyOf(request.body)
      const ctx = contextOf(request)
      return meta.sendsData ? callForData(procedure, ctx, { request, reply, given }) : call(procedure, ctx, { request, reply, given })
    },
  })
}

/**
 * Mounts the procedures that take a file: a POST with JSON or a form, and a PUT with the bytes. Access is checked before the body is
 * received, and again afterwards, because a large body can take an hour.
 */
function mountUploads(
  app: FastifyInstance,
  procedures: readonly RestProcedure[],
  contextOf: (request: FastifyRequest) => RequestContext,
): void {
  const uploads = openUploadQueue()
  app.register(async (scope) => {
    scope.removeAllContentTypeParsers()
    await scope.register(fastifyMultipart)
    // The handler reads the body itself, as a stream.
    scope.addContentTypeParser('*', (_request, _payload, done) => done(null))
    for (const procedure of procedures) {
      const { meta, input } = procedure
      const access = meta.access as Access
      const idsIn = (request: FastifyRequest) => idsOfPath(request.params as Record<string, string>)
      scope.route({
        method: ['POST', 'PUT'],
        url: urlOf(procedure),
        config: { needsCredentials: true, isUpload: true },
        onRequest: async (request) => {
          const ctx = contextOf(request)
          ctx.admission = await admit(accessRequestOf(ctx), access, true, idsIn(request))
          // Fastify refuses an empty type, which means the same as an absent one.
          if (request.raw.headers['content-type'] === '') delete request.raw.headers['content-type']
        },
        handler: async (request, reply) => {
          const ctx = contextOf(request)
          const { actor } = ctx.admission as Admission
          const { storage } = ctx.deps
          // A repeated upload may only want its first answer.
          if (ctx.idempotencyKeys[0] === undefined) await meta.upload?.requireRoom(serviceContext(ctx, actor), leastFileBytes(request))
          const { input: given, received } = await receiveUpload(request, {
            storage,
            maxBytes: meta.upload?.maxBytes ?? 0,
            query: fromQuery(request.query as Query, input, [...pathIdsOf(procedure), 'data']),
            admitLarge: () => admitBody(uploads, accountName(actor.accountId), reply),
          })
          ctx.received = received
          try {
            // With a key the row is inserted in a transaction, which names the bytes where they are.
            if (ctx.idempotencyKeys[0] !== undefined) await received?.keep(storage)
            ctx.admission = await admit(accessRequestAgain(ctx), access, true, idsIn(request))
            return await call(procedure, ctx, { request, reply, given })
          } finally {
            if (received && !received.isTaken) await storage.remove(received.key)
          }
        },
      })
    }
  })
}

type Query = Record<string, string | string[]>

export const pathIdsOf = memo(({ meta }: RestProcedure) => [...meta.openapi.path.matchAll(/\{(\w+)\}/g)].map(([, id]) => id as string))

/** Those parts of the path that are texts by the schema, even one of digits: a name, not an id. */
const textsOfPath = memo((procedure: RestProcedure) =>
  pathIdsOf(procedure).filter((id) => definitionOf(procedure.input?.shape[id] as z.ZodType).type === 'string'),
)

const urlOf = ({ meta }: RestProcedure) => meta.openapi.path.replaceAll(/\{(\w+)\}/g, ':$1')

/** The caller of a body that took longer is checked again: the right may have ended since, and a small one may take half a minute. */
const SLOW_BODY_MS = 1_000

interface Call {
  request: FastifyRequest
  reply: FastifyReply
  /** The keys of the body or of the query string. */
  given: Record<string, unknown>
}

/** Calls a procedure that may send the bytes of a file, of which a large one is never in memory as a whole. @returns the body */
async function callForData(procedure: RestProcedure, ctx: RequestContext, given: Call): Promise<unknown> {
  let bytes: Readable | undefined
  ctx.sendData = (opened) => {
    bytes = opened
  }
  try {
    const answer = await call(procedure, ctx, given)
    if (!bytes) return answer
    const { data: _, ...described } = answer as { data: string; size: number }
    const { length, content } = base64Json(described, bytes)
    given.reply.type('application/json; charset=utf-8').header('content-length', length)
    return content
  } catch (error) {
    bytes?.destroy()
    throw error
  }
}

/** Calls the procedure. @returns the body of the answer. @throws AppError 400 for an id in the body that is in the path */
async function call(procedure: RestProcedure, ctx: RequestContext, { request, reply, given }: Call): Promise<unknown> {
  const { type, meta } = procedure
  for (const id of pathIdsOf(procedure))
    if (Object.hasOwn(given, id))
      throw new AppError('BAD_REQUEST', `${id}: is given in the path, not in the body`, {
        issues: [{ path: [id], message: 'is given in the path, not in the body' }],
      })
  const whole = { ...given, ...(ctx.pathIds ?? idsOfPath(request.params as Record<string, string>, textsOfPath(procedure))) }
  // An upload, which has no ids here, is checked again in any case.
  if (ctx.admission && ctx.pathIds && ctx.deps.clock().getTime() - ctx.now.getTime() > SLOW_BODY_MS) {
    ctx.admission = await admit(accessRequestAgain(ctx), meta.access, type === 'mutation', ctx.pathIds)
  }
  const isBare = meta.isList === true && !takesEnvelope(request.query as Query)
  const answer = await procedure.run({ request: ctx }, whole)
  reply.code(meta.status ?? 200)
  if (meta.isList) setListHeaders(reply, answer as List<unknown>)
  if (answer instanceof WrittenJson) {
    reply.type('application/json; charset=utf-8')
    return isBare ? answer.text : answer.whole
  }
  return (isBare && (answer as List<unknown>).rows) || answer
}

/**
 * Whether a list is to be answered as over RPC, with its total and cursor around the rows (contract.md §9, Formats).
 * @throws AppError 400 for a value that is neither true nor false
 */
function takesEnvelope({ envelope = 'false' }: Query): boolean {
  if (envelope !== 'true' && envelope !== 'false') throw badInput('envelope', 'must be true or false')
  return envelope === 'true'
}

function setListHeaders(reply: FastifyReply, { total, next_cursor }: Omit<List<unknown>, 'rows'>): void {
  if (total !== undefined) reply.header('x-total-count', String(total))
  if (next_cursor !== undefined) reply.header('x-next-cursor', next_cursor)
}

/**
 * The ids of the path as numbers. A value that is not a whole number stays text, which the access check refuses.
 * @param texts what stays text in any case
 */
export function idsOfPath(params: Record<string, string>, texts: readonly string[] = []): Record<string, number | string> {
  const ids: Record<string, number | string> = {}
  for (const name of Object.keys(params)) {
    const text = params[name] as string
    ids[name] = !texts.includes(name) && /^-?\d+$/.test(text) ? clamped(Number(text)) : text
  }
  return ids
}

/** A whole number beyond the safe integers becomes the largest one: no row has that id either. */
const clamped = (value: number) => (Number.isSafeInteger(value) ? value : Number.MAX_SAFE_INTEGER)

function bodyOf(body: unknown): Record<string, unknown> {
  if (body === undefined) return {}
  if (body === null || typeof body !== 'object' || Array.isArray(body)) throw new AppError('BAD_REQUEST', 'The body must be a JSON object')
  return body as Record<string, unknown>
}

/**
 * The known keys of the query string, converted to the types of the schema; others are ignored (contract.md §1). A value that does not
 * convert stays text, which the schema refuses.
 */
export function fromQuery(query: Query, input: z.ZodObject | undefined, pathIds: readonly string[] = []): Record<string, unknown> {
  // An optional input has no shape.
  const shape = input?.shape ?? {}
  const keys = Object.entries(query)
  if (!keys.length) return {}
  const known = keys.filter(([key]) => Object.hasOwn(shape, key) && !pathIds.includes(key))
  return Object.fromEntries(
    known.map(([key, value]) => {
      const { type, element } = definitionOf(shape[key] as z.ZodType)
      if (type === 'array') return [key, namesIn([value].flat()).map((name) => converted(name, element && definitionOf(element).type))]
      return [key, typeof value === 'string' ? converted(value, type) : value]
    }),
  )
}

function converted(text: string, kind: string | undefined): unknown {
  if (kind === 'number' && /^-?\d+(\.\d+)?$/.test(text)) return clampedNumber(text)
  if (kind === 'boolean' && (text === 'true' || text === 'false')) return text === 'true'
  return text
}

/** The names of a list: separated by commas, or one for each time that the key is given. */
const namesIn = (values: readonly string[]): string[] => values.flatMap((value) => value.split(',').filter(Boolean))

const clampedNumber = (text: string) => (/^-?\d+$/.test(text) ? Math.max(-Number.MAX_SAFE_INTEGER, clamped(Number(text))) : Number(text))

interface Definition {
  type: string
  /** The schema of the elements of a list. */
  element?: z.ZodType
  innerType?: z.ZodType
  in?: z.ZodType
}

/** The definition inside `optional`, `default`, transforms and similar wrappers. */
function definitionOf(schema: z.ZodType): Definition {
  const { def } = schema as unknown as { def: Definition }
  if (def.innerType) return definitionOf(def.innerType)
  return def.type === 'pipe' && def.in ? definitionOf(def.in) : def
}
