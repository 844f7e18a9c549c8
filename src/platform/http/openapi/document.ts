/** Builds the OpenAPI 3.1 document from the procedures and from the docs of the plain routes. */
import type { AnyRouter } from '@trpc/server'
import { generateOpenApiDocument, type OpenApiRouter } from 'trpc-to-openapi'
import type { z } from 'zod'
import { API_VERSION } from '../answers/answer-headers.ts'
import { TAGS } from '../procedures/operation-docs.ts'
import { type RestProcedure, restProcedures } from '../procedures/rest.ts'
import { ErrorAnswer, errorRef, errorResponses, errorsOf, type Operation } from './errors.ts'
import { COMMON, HEADERS, headerRefs, RATE } from './headers.ts'
import { addForm, bytesOperation } from './uploads.ts'

/** A plain route for bytes, streams or pages, described in docs.ts of its feature. */
export interface PlainOperation {
  method: 'get' | 'post'
  path: `/${string}`
  operationId: string
  tag: string
  summary: string
  description: string
  /** True if the route needs no credentials. */
  isPublic: boolean
  /** The security schemes of a route whose credentials are neither a key nor a session. */
  security?: object[]
  parameters?: object[]
  requestBody?: object
  responses: Record<number, { description: string; content?: object; headers?: object }>
  /** Those of the common error statuses that the route can answer, besides 500 and 503. */
  errors?: number[]
}

interface Document {
  info: object
  servers?: object[]
  tags?: object[]
  paths: Record<string, Record<string, Operation>>
  components: Record<string, object>
}

/** Returns the document as a value for JSON. @param plain the operations of the plain routes */
export function openApiDocument(router: AnyRouter, plain: readonly PlainOperation[]): object {
  const document = generateOpenApiDocument(router as unknown as OpenApiRouter, {
    title: 'Gridpost',
    description:
      'Tasks on records, saved views and email from a record, for teams that keep their work in tables.\n\n' +
      'Authenticate with an API key as a bearer token, or with the cookie of a browser session. Instants are UTC, `YYYY-MM-DD HH:MM:SS`. ' +
      'A POST without a body may have any content type. Unknown keys of a body are refused, those of a query string are ignored. ' +
      'Null for an optional key means the same as leaving it out, unless an update clears a value by it. ' +
      'Answers in JSON carry `Cache-Control: private, no-store`.',
    version: API_VERSION,
    openApiVersion: '3.1.0',
    baseUrl: '/',
    securitySchemes: {
      key: { type: 'http', scheme: 'bearer', description: 'An account key (gp_acct_…) or a personal key (gp_user_…).' },
      metrics: { type: 'http', scheme: 'bearer', description: 'The METRICS_TOKEN of the settings.' },
      session: { type: 'apiKey', in: 'cookie', name: 'gridpost_session', description: 'Set by POST /api/auth/login.' },
    },
    defs: { Error: ErrorAnswer },
  }) as unknown as Document

  document.tags = Object.entries(TAGS).map(([name, description]) => ({ name, description }))
  document.components.headers = HEADERS
  document.components.responses = errorResponses()

  for (const procedure of restProcedures(router)) {
    const { path, method } = procedure.meta.openapi
    const operation = document.paths[path]?.[method.toLowerCase()]
    if (!operation) continue
    complete(operation, procedure)
    if (!procedure.meta.upload) continue
    Object.assign(document.paths[path] as object, { put: bytesOperation(operation, procedure) })
    addForm(operation)
  }
  for (const operation of plain) {
    document.paths[operation.path] = { ...document.paths[operation.path], [operation.method]: plainOperation(operation) }
  }
  document.paths = Object.fromEntries(Object.entries(document.paths).sort(([a], [b]) => (a < b ? -1 : 1)))
  document.info = { ...document.info, contact: { name: 'The operator of this service' }, license: { name: 'UNLICENSED' } }
  document.servers = [{ url: '/', description: 'This service, in production or on trial.', 'x-internal': false }]
  const { schemas = {} } = document.components
  // The generator adds errors of its own; every operation refers to ours.
  for (const name of Object.keys(schemas)) if (name.startsWith('error.')) delete (schemas as Record<string, object>)[name]
  completeIntegers(document)
  return document
}

const INT32 = 2 ** 31

/** Gives each integer in a schema its range, if it has none, and the format that follows from the range. */
function completeIntegers(value: unknown): void {
  if (value === null || typeof value !== 'object') return
  for (const inner of Object.values(value)) completeIntegers(inner)
  const schema = value as { type?: unknown; format?: string; minimum?: number; maximum?: number }
  if (![schema.type].flat().includes('integer')) return
  schema.minimum ??= Number.MIN_SAFE_INTEGER
  schema.maximum ??= Number.MAX_SAFE_INTEGER
  schema.format ??= schema.minimum >= -INT32 && schema.maximum < INT32 ? 'int32' : 'int64'
}

/** Adds to an operation what the generator does not know: callers, examples, headers and errors. */
function complete(operation: Operation, procedure: RestProcedure): void {
  const { meta, name, type } = procedure
  operation.operationId = name
  operation.security = securityOf(meta.access.callers)
  for (const content of Object.values(operation.requestBody?.content ?? {})) content.example = meta.example?.input ?? {}
  for (const parameter of operation.parameters ?? []) completeParameter(parameter, procedure)
  operation.responses = {
    [String(meta.status ?? 200)]: successOf(operation, procedure),
    ...errorsOf(procedure),
  }
  const { callers, readsPrimary } = meta.access
  const mayReadReplica = type === 'query' && callers.length > 0 && !readsPrimary
  const own = [
    ...(mayReadReplica ? [POSITION] : []),
    ...(meta.isRepeatable ? [IDEMPOTENCY_KEY] : []),
    ...(meta.etag === 'answered and heeded' ? [IF_MATCH] : []),
  ]
  if (own.length) operation.parameters = [...(operation.parameters ?? []), ...own]
}

function completeParameter(parameter: NonNullable<Operation['parameters']>[number], { input }: RestProcedure): void {
  // The generator reads an optional input without its outer layer, which has the description and the example.
  const { description = describeId(parameter.name), example } = (input?.shape[parameter.name] as z.ZodType | undefined)?.meta() ?? {}
  parameter.schema = { ...withoutNull(parameter.schema), ...(example !== undefined && { example }) }
  if (description !== undefined) parameter.description ??= description
}

function successOf({ responses }: Operation, { meta, name, type }: RestProcedure) {
  const body = responses['200']?.content?.['application/json']
  if (!body) throw new Error(`${name} has no output`)
  if (meta.isList) body.schema = bareList(name, body.schema)
  body.example = meta.isList ? (meta.example?.output as { rows?: unknown })?.rows : meta.example?.output
  const headers = [
    ...COMMON,
    ...RATE,
    ...(meta.isList ? ['X-Total-Count', 'X-Next-Cursor'] : []),
    ...(meta.etag ? ['ETag'] : []),
    ...(meta.mayIgnore ? ['X-Ignored'] : []),
    ...(meta.takesConditions ? ['X-Unknown-Options'] : []),
    ...(type === 'mutation' && meta.access.callers.length ? ['X-Position'] : []),
  ]
  return { description: 'Success.', headers: headerRefs(headers), content: { 'application/json': body } }
}

const IDEMPOTENCY_KEY = {
  name: 'Idempotency-Key',
  in: 'header',
  required: false,
  description:
    'A repeated request with the same key and body gets the first answer again for 24 hours, with `Idempotent-Replayed: true` and ' +
    'without an ETag, because the row may have changed since.',
  schema: { type: 'string', maxLength: 255 },
}

const POSITION = {
  name: 'X-Position',
  in: 'header',
  required: false,
  description:
    'The last `X-Position` that was answered to this key or session, or several, comma-separated; browsers send it as a cookie. A ' +
    'replica then answers only if it has what was written until then. Without it, or with one that does not count, the answer shows ' +
    'everything that was committed before the request.',
  schema: { type: 'string' },
}

const IF_MATCH = {
  name: 'If-Match',
  in: 'header',
  required: false,
  description:
    'The ETag of the row that was read, or several, comma-separated. If the row has another version by now, the answer is 409 with the ' +
    'current row in `current`.',
  schema: { type: 'string' },
  example: '"3"',
}

/** The schema of `rows`, because REST returns the bare list. Of a union the description of the operation names the other members. */
function bareList(name: string, schema: { properties?: { rows?: object }; anyOf?: { properties?: { rows?: object } }[] }): object {
  if (schema.properties?.rows) return schema.properties.rows
  const page = schema.anyOf?.find(({ properties }) => properties?.rows)
  if (!page?.properties?.rows) throw new Error(`${name} is a list without rows`)
  return page.properties.rows
}

/** The schema of a value in a path or query string, which cannot be null. */
function withoutNull(schema: { type?: unknown; anyOf?: { type?: unknown }[] }): object {
  const { type, anyOf, ...rest } = schema
  const kinds = anyOf?.filter((option) => option.type !== 'null')
  const types = Array.isArray(type) ? type.filter((name) => name !== 'null') : type
  return {
    ...(types !== undefined && { type: Array.isArray(types) && types.length === 1 ? types[0] : types }),
    ...(kinds?.length === 1 ? kinds[0] : kinds && { anyOf: kinds }),
    ...rest,
  }
}

const securityOf = (callers: readonly string[]): object[] => [
  ...(callers.includes('account') || callers.includes('personal') ? [{ key: [] }] : []),
  ...(callers.includes('session') ? [{ session: [] }] : []),
]

/** Describes the id of a row; undefined for any other name. */
const describeId = (name: string) => (/(^|_)id$/.test(name) ? `The id of the ${name === 'id' ? 'row' : name.slice(0, -3)}.` : undefined)

function plainOperation({
  operationId,
  tag,
  summary,
  description,
  isPublic,
  security,
  parameters,
  requestBody,
  responses,
  errors = [],
}: PlainOperation): Operation {
  return {
    operationId,
    tags: [tag],
    summary,
    description,
    security: security ?? (isPublic ? [] : [{ key: [] }, { session: [] }]),
    ...(parameters && { parameters: parameters as Operation['parameters'] }),
    ...(requestBody && { requestBody: requestBody as Operation['requestBody'] }),
    responses: {
      ...Object.fromEntries(
        Object.entries(responses).map(([status, answer]) => [status, { ...answer, headers: { ...headerRefs(COMMON), ...answer.headers } }]),
      ),
      ...Object.fromEntries(
        [500, 503, ...errors].filter((status) => !(status in responses)).map((status) => [String(status), errorRef(status)]),
      ),
    },
  } as Operation
}
