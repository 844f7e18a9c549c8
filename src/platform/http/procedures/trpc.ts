/**
 * The procedure builders. A procedure declares the right that it needs (on a space, a table or a record) and who may call it. Its
 * service gets resources that were checked, and a context.
 */
import { initTRPC } from '@trpc/server'
import type { OpenApiMeta } from 'trpc-to-openapi'
import type { PrincipalSelect } from '../../access/access-statement.ts'
import { authenticate } from '../../access/authenticate.ts'
import { type Access, type Admission, admit, type Callers, NO_ATTACHMENTS, type Resource, type Right } from '../../access/authorize.ts'
import { recordResource, spaceOf, spaceResource, tableOf, tableResource } from '../../access/resources.ts'
import type { Actor } from '../../actor.ts'
import type { Answer, IfMatch } from '../../answer.ts'
import type { Context } from '../../context.ts'
import { forbidden } from '../../errors.ts'
import { MAX_ID } from '../../row-ids.ts'
import { type ErrorBody, errorAnswer } from '../answers/error-answer.ts'
import { WrittenJson } from '../answers/written-json.ts'
import { refuseInvalidText } from '../bodies/text-encoding.ts'
import { comparableUpload } from '../bodies/upload-bytes.ts'
import type { OperationDocs } from './operation-docs.ts'
import { noteCall, readingWhere } from './read-your-writes.ts'
import { type Headers, repeatable, withCurrentTable } from './repeated-calls.ts'
import { accessRequestAgain, accessRequestOf, type RequestContext, serviceContext } from './request-context.ts'

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
  /** A key of the body that an API key may not send, whatever its value: not even null, which counts as absent elsewhere. */
  sessionOnlyKey?: 'attachments'
  /** The maximum size of a JSON body in bytes; 1 MB by default. */
  bodyLimit?: number
  /** Set for a procedure that takes a file. Over REST it is received to storage first, and is in `ctx.received` in place of `data`. */
  upload?: {
    maxBytes: number
    /** Refuses an upload of at least so many bytes before they are received. @throws AppError 413 */
    requireRoom(context: Context, bytes: number): Promise<void>
  }
  /** Set for a procedure that answers a file with its bytes in `data`. Over REST it may pass them to `ctx.sendData` in place of a text. */
  sendsData?: boolean
  /** Whether the procedure honours an Idempotency-Key. */
  isRepeatable?: boolean
  /** Whether the response has the row's version as its ETag, and whether the procedure honours If-Match. */
  etag?: 'answered' | 'answered and heeded'
  /** Whether the procedure changes records: X-Change-Id is the `change_id` of its answer, unless that is null. */
  changesRecords?: boolean
  /** Whether X-Ignored names the inputs that a rule made the service ignore. */
  mayIgnore?: boolean
  /** Whether X-Unknown-Options names the titles in conditions that no option has. */
  takesConditions?: boolean
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
  | ('status' | 'isList' | 'bodyLimit' | 'upload' | 'sendsData' | 'isRepeatable' | 'etag')
  | ('changesRecords' | 'mayIgnore' | 'takesConditions' | 'sessionOnlyKey')
>

/** The REST route of a procedure. @param docs its texts, from docs.ts of the feature */
export function rest(method: 'GET' | 'POST', path: `/${string}`, docs: OperationDocs, behaviour: Behaviour = {}): Meta {
  const { summary, description, tag, example, errors } = docs
  return { openapi: { method, path, summary, description, tags: [tag], errorResponses: errors ?? {} }, example, ...behaviour }
}

/** The headers for the properties of an answer besides its value. */
export function headersOf({ version, ignored, unknownOptions }: Answer<unknown>): Headers {
  return {
    ...(version !== undefined && { etag: `"${version}"` }),
    ...(ignored?.length && { 'x-ignored': [...new Set(ignored)].join(', ') }),
    ...(unknownOptions?.length && { 'x-unknown-options': headerList(unknownOptions) }),
  }
}

/** A header of a few short values, because clients limit the size of all headers. */
const [MOST_VALUES, LONGEST_VALUE] = [10, 100]

/** Callers' texts as a header. What a header cannot hold, or what separates values, is written as in addresses: `%2C`. */
function headerList(texts: readonly string[]): string {
  const shortest = [...new Set(texts)].slice(0, MOST_VALUES).map((text) => [...text].slice(0, LONGEST_VALUE).join(''))
  return shortest.map((text) => text.replaceAll(/[^ -~]|[%,]/gu, encodeURIComponent)).join(', ')
}

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
    noteCall(request, type)
    const raw = await (request.admission ? getRawInput() : rawInput(request, access, getRawInput))
    const ids = keysOf(raw)
    const ifMatch = meta?.etag === 'answered and heeded' ? versionsOf(request.ifMatch) : undefined

    const admitAgain = () => admit(accessRequestAgain(request), access, type === 'mutation', ids)
    const confirmAccess = async () => void (await admitAgain())

    const attempt = async (admission: Admission) => {
      const sessionOnlyKey = meta?.sessionOnlyKey
      if (sessionOnlyKey && admission.actor.keyId !== null && Object.hasOwn(ids, sessionOnlyKey)) throw forbidden(NO_ATTACHMENTS)
      refuseInvalidText(raw)
      // Keys that fit no call refuse each call of the batch, also those that take none.
      const keys = request.idempotencyKeys
      const key = meta?.isRepeatable ? keys[batchIndex] : undefined
      const headers: Headers = {}
      const proceed = ({ actor, row }: Admission) =>
        next({
          ctx: {
            context: serviceContext(request, actor, confirmAccess),
            headers,
            ifMatch,
            received: request.received,
            sendData: request.sendData,
            row: row as Row,
            ...refs(row as Row, actor),
          },
        })
      if (key === undefined) {
        const run = () => proceed(admission)
        return { headers, result: await readingWhere(request, { type, access, row: admission.row }, run) }
      }
      const comparable = meta?.upload ? comparableUpload(ids, request.received) : raw
      const result = await withCurrentTable(request.deps.db, admission, admitAgain, (current) =>
        repeatable(request, current.actor, { path, key, raw: comparable, headers }, () => proceed(current)),
      )
      return { headers, result }
    }

    const { headers, result } = await attempt(
      request.admission ?? (await admit(accessRequestOf(request), access, type === 'mutation', ids)),
    )
    for (const name in headers) request.setHeader(name, headers[name] as string)
    if (meta?.changesRecords) nameChange(request, result)
    return embedded(request, type, result)
  })

/** An array has no other place for the id, and a repetition has that of the stored answer. */
function nameChange(request: RequestContext, result: { ok: boolean }): void {
  const { data } = result as { data?: { change_id?: number | null } }
  for (const [name, value] of Object.entries(changeHeader(data))) request.setHeader(name, value)
}

/** The header that names the change of an answer. */
export const changeHeader = (answer: { change_id?: number | null } | undefined): Headers =>
  typeof answer?.change_id === 'number' ? { 'x-change-id': String(answer.change_id) } : {}

/** The result; over RPC with what stands for written JSON in the envelope. */
function embedded<Result extends { ok: boolean }>({ embed }: RequestContext, type: string, result: Result): Result {
  const { data } = result as { data?: unknown }
  return embed && data instanceof WrittenJson ? { ...result, data: embed(data, type) } : result
}

/** The keys of the input with their values; none if it is no object. */
const keysOf = (input: unknown): Record<string, unknown> =>
  input && typeof input === 'object' && !Array.isArray(input) ? (input as Record<string, unknown>) : {}

/** The input of a request that has not been admitted yet. */
async function rawInput(ctx: RequestContext, access: Access, getRawInput: () => Promise<unknown>): Promise<unknown> {
  try {
    return await getRawInput()
  } catch (error) {
    // A caller without credentials gets 401 before the error of an invalid body.
    if (access.callers.length) await authenticate(accessRequestOf(ctx))
    throw error
  }
}

interface Options<Row extends object = object> {
  effect?: 'read' | 'write'
  idsIn?: 'path' | 'body'
  isSilent?: boolean
  isOwnerOnly?: boolean
  hasOwnThrottle?: boolean
  readsPrimary?: boolean
  prefersReplica?: boolean
  /** `ctx.row` also has the columns that it selects. */
  principalRow?: PrincipalSelect<Row>
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
) => withAccess<Row, Refs>({ callers: allowed, resource: resource as Resource, right, ...options }, refs)

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
