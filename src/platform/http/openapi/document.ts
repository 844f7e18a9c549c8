/** Builds the OpenAPI 3.1 document from the procedures and from the docs of the plain routes. */
import { readFileSync } from 'node:fs'
import type { AnyRouter } from '@trpc/server'
import { generateOpenApiDocument, type OpenApiRouter } from 'trpc-to-openapi'
import type { z } from 'zod'
import { TAGS } from '../procedures/operation-docs.ts'
import { type RestProcedure, restProcedures } from '../procedures/rest.ts'
import { ErrorAnswer, errorRef, errorResponses, errorsOf, type Operation, type Parameter, shareErrors } from './errors.ts'
import { COMMON, HEADERS, headerRefs, RATE } from './headers.ts'
import { bodyTraits, moveNamedSchemas } from './named-schemas.ts'
import { ENVELOPE, IDEMPOTENCY_KEY, IF_MATCH, POSITION, shareParameters } from './parameters.ts'
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
  /** A schema of Zod is documented like those of the procedures: under its name, if it has one. */
  responses: Record<number, { description: string; content?: Record<string, { schema?: object; example?: unknown }>; headers?: object }>
  /** Those of the common error statuses that the route can answer, besides 400, 500 and 503. */
  errors?: number[]
}

interface Document {
  info: object
  servers?: object[]
  tags?: object[]
  paths: Record<string, Record<string, Operation>>
  components: {
    schemas: Record<string, object>
    responses: Operation['responses']
    parameters: Record<string, object>
    [kind: string]: object
  }
}

/** An SPDX expression for a licence that SPDX does not list: LICENSE says that none is granted. */
const LICENSE = { name: 'UNLICENSED', identifier: 'LicenseRef-UNLICENSED' }

/** The version of the release that has the document. `X-API-Version` is the generation of the API: it changes when callers break. */
function release(): string {
  const { version } = JSON.parse(readFileSync(new URL('../../../../package.json', import.meta.url), 'utf8')) as { version: string }
  return version
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
    version: release(),
    openApiVersion: '3.1.0',
    baseUrl: '/',
    securitySchemes: {
      key: { type: 'http', scheme: 'bearer', description: 'An account key (gp_acct_…) or a personal key (gp_user_…).' },
      metrics: { type: 'http', scheme: 'bearer', description: 'The METRICS_TOKEN of the settings.' },
      session: {
        type: 'apiKey',
        in: 'cookie',
        name: 'gridpost_session',
        description:
          'Set by POST /api/auth/login. A page whose browser may have the session of somebody else by now names the user in ' +
          '`X-Session-User`: a session of another one is 401.',
      },
    },
    defs: { Error: ErrorAnswer },
    paths: pathsOf(plain) as NonNullable<Parameters<typeof generateOpenApiDocument>[1]['paths']>,
  }) as unknown as Document

  document.tags = Object.entries(TAGS).map(([name, description]) => ({ name, description }))
  document.components.headers = HEADERS
  document.components.parameters = {}
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
  document.paths = Object.fromEntries(Object.entries(document.paths).sort(([a], [b]) => (a < b ? -1 : 1)))
  document.info = { ...document.info, contact: { name: 'The operator of this service' }, license: LICENSE }
  document.servers = [{ url: '/', description: 'This service, in production or on trial.', 'x-internal': false }]
  const { schemas } = document.components
  // The generator adds errors of its own; every operation refers to ours.
  for (const name of Object.keys(schemas)) if (name.startsWith('error.')) delete schemas[name]
  completeIntegers(document)
  moveNamedSchemas(document)
  shareErrors(document.paths, document.components.responses)
  shareParameters(document.paths, document.components.parameters)
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
  for (const content of Object.values(operation.requestBody?.content ?? {})) {
    content.schema = { ...content.schema, ...bodyTraits(procedure) }
    content.example = meta.example?.input ?? {}
  }
  for (const parameter of operation.parameters ?? []) completeParameter(parameter, procedure)
  operation.responses = {
    [String(meta.status ?? 200)]: successOf(operation, procedure),
    ...errorsOf(procedure),
  }
  const { callers, readsPrimary } = meta.access
  const mayReadReplica = type === 'query' && callers.length > 0 && !readsPrimary
  const own = [
    ...(meta.isList ? [ENVELOPE] : []),
    ...(mayReadReplica ? [POSITION] : []),
    ...(meta.isRepeatable ? [IDEMPOTENCY_KEY] : []),
    ...(meta.etag === 'answered and heeded' ? [IF_MATCH] : []),
  ]
  if (own.length) operation.parameters = [...(operation.parameters ?? []), ...own]
}

function completeParameter(parameter: Parameter, { input }: RestProcedure): void {
  // The generator reads an optional input without its outer layer, which has the description and the example.
  const { description = describeId(parameter.name), example } = (input?.shape[parameter.name] as z.ZodType | undefined)?.meta() ?? {}
  parameter.schema = { ...withoutNull(parameter.schema), ...(example !== undefined && { example }) }
  if (description !== undefined) parameter.description ??= description
  if ('items' in parameter.schema) parameter.explode = false
}

function successOf({ responses }: Operation, { meta, name, type }: RestProcedure) {
  const body = responses['200']?.content?.['application/json']
  if (!body) throw new Error(`${name} has no output`)
  if (meta.isList) body.schema = listSchema(name, body.schema)
  body.example = meta.isList ? (meta.example?.output as { rows?: unknown })?.rows : meta.example?.output
  const headers = [
    ...COMMON,
    ...RATE,
    ...(meta.isList ? ['X-Total-Count', 'X-Next-Cursor'] : []),
    ...(meta.etag ? ['ETag'] : []),
    ...(meta.changesRecords ? ['X-Change-Id'] : []),
    ...(meta.mayIgnore ? ['X-Ignored'] : []),
    ...(meta.takesConditions ? ['X-Unknown-Options'] : []),
    ...(type === 'mutation' && meta.access.callers.length ? ['X-Position'] : []),
  ]
  return { description: 'Success.', headers: headerRefs(headers), content: { 'application/json': body } }
}

interface Schema {
  id?: string
  $ref?: string
  properties?: Record<string, object> & { rows?: RowsSchema }
  anyOf?: Schema[]
}
type RowsSchema = object & { items: Schema }

/** Both forms of a list over REST: the bare one, and with `envelope=true` what RPC answers. What is no list has one form. */
function listSchema(name: string, schema: Schema): object {
  const { rows, ...rest } = schema.properties ?? {}
  if (rows) return { oneOf: [rows, envelopeOf(rows, rest)] }
  if (!schema.anyOf?.some(({ properties }) => properties?.rows)) throw new Error(`${name} is a list without rows`)
  return { oneOf: schema.anyOf.flatMap((answer) => (answer.properties?.rows ? (listSchema(name, answer) as ListForms).oneOf : [answer])) }
}
interface ListForms {
  oneOf: object[]
}

/** Is named after its rows; those of several kinds have the name of the first. */
function envelopeOf(rows: RowsSchema, { total, next_cursor, change_id }: Record<string, object>): object {
  const { id, $ref } = rows.items.anyOf?.[0] ?? rows.items
  return {
    id: `${change_id ? 'Changed' : ''}${id ?? $ref?.split('/').at(-1)}List`,
    type: 'object',
    properties: {
      rows: { ...rows, description: 'The rows, as without `envelope`.' },
      total: { ...total, description: 'As in X-Total-Count.' },
      next_cursor: { ...next_cursor, description: 'As in X-Next-Cursor.' },
      ...(change_id && { change_id }),
    },
    required: ['rows'],
    additionalProperties: false,
    description: 'A list that was asked for with `envelope=true`.',
  }
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

function pathsOf(operations: readonly PlainOperation[]): Record<string, object> {
  const paths: Record<string, object> = {}
  for (const operation of operations) paths[operation.path] = { ...paths[operation.path], [operation.method]: plainOperation(operation) }
  return paths
}

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
        [400, 500, 503, ...errors].filter((status) => !(status in responses)).map((status) => [String(status), errorRef(status)]),
      ),
    },
  } as Operation
}
