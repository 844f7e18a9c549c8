/** The errors of operations in the OpenAPI document. */
import { z } from 'zod'
import { BODY_LIMIT } from '../bodies/body-limits.ts'
import { fileTooLarge } from '../bodies/upload-bytes.ts'
import type { RestProcedure } from '../procedures/rest.ts'
import { Id, RefusedCell, Version } from '../procedures/schemas.ts'
import { COMMON, headerRefs, RATE } from './headers.ts'

export interface Parameter {
  name: string
  in: string
  required?: boolean
  description?: string
  schema: object
  explode?: boolean
  example?: unknown
}

/** An operation of the document, as far as the service completes what the generator has made of it. */
export type Operation = {
  operationId: string
  summary?: string
  description?: string
  security?: object[]
  parameters?: Parameter[]
  requestBody?: { required?: boolean; content: Record<string, { schema: object; example?: unknown }> }
  responses: Record<string, { description: string; headers?: object; content?: Record<string, { schema: object; example?: unknown }> }>
}

const MESSAGES: Record<number, [code: string, message: string, description: string]> = {
  400: ['BAD_REQUEST', 'title: is required', 'The request is malformed, or its input invalid; `issues` lists each problem with its path.'],
  401: [
    'UNAUTHORIZED',
    'Sign in, or send an API key as a bearer token',
    'Credentials are missing, or the key is wrong, revoked or expired.',
  ],
  403: ['FORBIDDEN', 'Not authorized', 'The caller lacks the right to do this.'],
  404: ['NOT_FOUND', 'Record not found', 'An id in the path or body does not exist.'],
  409: ['CONFLICT', 'This name is taken', 'The request conflicts with the current state.'],
  413: ['PAYLOAD_TOO_LARGE', 'The body is too large', 'The body is too large.'],
  415: [
    'UNSUPPORTED_MEDIA_TYPE',
    'The body must be application/json in UTF-8; text/plain was sent',
    'The content type is not supported; the message says what was sent.',
  ],
  429: ['TOO_MANY_REQUESTS', 'Too many requests', 'The rate limit is exceeded; retry after Retry-After seconds.'],
  500: ['INTERNAL_SERVER_ERROR', 'Something went wrong on our side', 'An internal error; the log has the request_id.'],
  507: ['SERVICE_UNAVAILABLE', 'The disk is full', 'The disk of the service is full; retry after Retry-After seconds.'],
  503: [
    'SERVICE_UNAVAILABLE',
    'Query took too long',
    'The service is busy, a query timed out, or the database is unavailable; retry after Retry-After seconds.',
  ],
}

export const ErrorAnswer = z
  .object({
    message: z.string().meta({ description: 'A message for people.' }),
    code: z.string().meta({ description: 'The tRPC code of the error, such as BAD_REQUEST.' }),
    issues: z
      .array(
        z.union([
          z
            .strictObject({
              path: z
                .array(z.union([z.string(), z.number()]))
                .meta({ description: 'The keys and positions that lead to the input, from the top of the body.' }),
              message: z.string().meta({ description: 'What is wrong with it, as the end of a sentence that begins with its name.' }),
            })
            .meta({ id: 'InvalidInput', description: 'An input that a request may not have.' }),
          RefusedCell,
        ]),
      )
      .optional()
      .meta({ description: 'Each invalid input with its path; for an import, each invalid cell with its row and column.' }),
    current: z.unknown().optional().meta({ description: 'The current row, if If-Match named an older version.' }),
    stale: z
      .array(
        z
          .strictObject({
            id: Id.meta({ description: 'The row, as the request named it.' }),
            version: Version,
            current: z.unknown().meta({ description: 'The current row.' }),
          })
          .meta({ id: 'StaleRow', description: 'A row of a batch that has another version than the request named.' }),
      )
      .optional()
      .meta({ description: 'The first hundred rows of a batch that have another version than the request named.' }),
    matched: z.int().optional().meta({ description: 'How many records meet the conditions now, if another number was expected.' }),
    request_id: z.string().meta({ description: 'The same id as in the header X-Request-Id and in the log.' }),
  })
  .meta({ id: 'Error', description: 'The body of every error response.' })

/** The common errors, to which the operations refer. */
export const errorResponses = () =>
  Object.fromEntries(Object.keys(MESSAGES).map((status) => [`Error${status}`, errorAnswer(Number(status))]))

/** The errors that a procedure can answer with, by status. */
export function errorsOf({ meta, type }: RestProcedure): Operation['responses'] {
  const statuses = new Set([400, 429, 500, 503])
  if (meta.access.callers.length) for (const status of [401, 403]) statuses.add(status)
  if (meta.access.resource?.ids.length) statuses.add(404)
  // A body is read and refused also where none is needed.
  if (meta.openapi.method === 'POST') for (const status of [413, 415]) statuses.add(status)
  // A change that a page of another site asks for is refused, also without credentials.
  if (type === 'mutation') statuses.add(403)
  if (meta.isRepeatable) statuses.add(409)
  if (meta.upload) statuses.add(507)
  const own: Record<string, string> = {
    ...(meta.upload && { 413: fileTooLarge('data', meta.upload.maxBytes).message }),
    ...(meta.openapi.errorResponses as Record<string, string> | undefined),
  }
  for (const status of Object.keys(own)) statuses.add(Number(status))
  const shared = meta.bodyLimit === undefined
  const answer = (status: number) =>
    own[status] || (status === 413 && !shared) ? errorAnswer(status, own[status], meta.bodyLimit) : errorRef(status)
  return Object.fromEntries([...statuses].sort((a, b) => a - b).map((status) => [String(status), answer(status)]))
}

/** A reference to a common error. */
export const errorRef = (status: number) => ({ $ref: `#/components/responses/Error${status}` }) as unknown as Operation['responses'][string]

function errorAnswer(status: number, own?: string, bodyLimit = BODY_LIMIT) {
  const [code, message, description] = MESSAGES[status] ?? ['BAD_REQUEST', 'Invalid input', 'Refused.']
  const extra = status === 401 ? ['WWW-Authenticate'] : [429, 503, 507].includes(status) ? ['Retry-After'] : []
  return {
    description: own ?? (status === 413 ? `The body is larger than ${bodyLimit} bytes.` : description),
    headers: headerRefs([...COMMON, ...RATE, ...extra]),
    content: {
      'application/json': {
        schema: { $ref: '#/components/schemas/Error' },
        example: {
          message: own ?? message,
          code,
          ...(status === 400 && !own && { issues: [{ path: ['title'], message: 'is required' }] }),
          request_id: 'req-7f3a',
        },
      },
    },
  }
}

/** Moves errors that several operations write out to the components, under a name that is made of the text. */
export function shareErrors(paths: Record<string, Record<string, Operation>>, shared: Operation['responses']): void {
  const errors = Object.values(paths)
    .flatMap((methods) => Object.values(methods))
    .flatMap(({ responses }) => Object.entries(responses).map(([status, answer]) => ({ responses, status, answer })))
    .filter(({ status, answer }) => status >= '4' && !('$ref' in answer))
  const alike = Map.groupBy(errors, ({ status, answer }) => JSON.stringify([status, answer]))
  for (const all of alike.values()) {
    const [{ status, answer } = { status: '', answer: undefined }] = all
    const name = `Error${status}${inPascalCase(answer?.description ?? '')}`
    if (all.length < 2 || !answer || name in shared) continue
    shared[name] = answer
    for (const { responses } of all) responses[status] = { $ref: `#/components/responses/${name}` } as unknown as typeof answer
  }
}

/** The first words of the text as a name. */
const inPascalCase = (text: string) =>
  [...text.matchAll(/[a-z0-9]+/gi)]
    .slice(0, 6)
    .map(([word]) => word.charAt(0).toUpperCase() + word.slice(1))
    .join('')
