/** The answer to a thrown error, the same on REST and RPC. */
import { TRPCError } from '@trpc/server'
import { getHTTPStatusCodeFromError } from '@trpc/server/http'
import type { TRPC_ERROR_CODE_KEY } from '@trpc/server/rpc'
import { ZodError } from 'zod'
import { databaseRefusal } from '../../database/database-errors.ts'
import { AppError, badShape, type CellIssue, diskFull, type Issue, isDiskFull, type StaleRow } from '../../errors.ts'

/** The body of every error response, the same on REST and, as `error.data`, on RPC (contract.md §1). */
export interface ErrorBody {
  message: string
  code: TRPC_ERROR_CODE_KEY
  issues?: (Issue | CellIssue)[]
  current?: unknown
  stale?: StaleRow[]
  matched?: number
  request_id: string
}

interface ErrorAnswer {
  status: number
  headers: Record<string, string>
  body: ErrorBody
  /** True for a fault of the service, which is logged with its stack. */
  isFault: boolean
}

/** The response to a thrown error. The message of an unknown error never leaves the service. */
export function errorAnswer(thrown: unknown, requestId: string): ErrorAnswer {
  const error = known(thrown)
  const headers: Record<string, string> = {}
  const issues = error.cellIssues ?? error.issues
  if (error.code === 'UNAUTHORIZED') headers['www-authenticate'] = 'Bearer'
  if (error.version !== undefined) headers.etag = `"${error.version}"`
  if (error.retryAfterSeconds !== undefined) headers['retry-after'] = String(error.retryAfterSeconds)
  return {
    status: error.status ?? getHTTPStatusCodeFromError(error),
    headers,
    body: {
      message: error.message,
      code: error.code,
      ...(issues && { issues }),
      ...(error.current !== undefined && { current: error.current }),
      ...(error.stale && { stale: error.stale }),
      ...(error.matched !== undefined && { matched: error.matched }),
      request_id: requestId,
    },
    // The operator has to make room.
    isFault: error.status === 507 || (error.message === FAULT && error.code === 'INTERNAL_SERVER_ERROR'),
  }
}

const FAULT = 'Something went wrong on our side'

function known(thrown: unknown): AppError {
  if (thrown instanceof AppError) return thrown
  if (thrown instanceof TRPCError) {
    if (thrown.cause instanceof AppError) return thrown.cause
    if (thrown.cause instanceof ZodError && thrown.code === 'BAD_REQUEST') return badShape(thrown.cause)
    const missing = missingResource(thrown.cause)
    if (missing) return missing
    if (thrown.code !== 'INTERNAL_SERVER_ERROR' && !isFaultOfSchema(thrown.cause))
      return new AppError(thrown.code, trpcMessage(thrown), { cause: thrown })
  }
  return missingResource(thrown) ?? fastifyError(thrown) ?? new AppError('INTERNAL_SERVER_ERROR', FAULT, { cause: thrown })
}

const missingResource = (thrown: unknown) => (isDiskFull(thrown) ? diskFull(thrown) : databaseRefusal(thrown))

/** A fault of a schema. tRPC treats anything thrown while it parses as a refusal, and would show the message. */
const isFaultOfSchema = (cause: unknown) => cause instanceof TypeError || cause instanceof RangeError || cause instanceof ReferenceError

/** The message of tRPC's own error; some of them quote the parser. */
function trpcMessage(error: TRPCError): string {
  if (error.code === 'PARSE_ERROR' || error.cause instanceof SyntaxError) return 'The body is not valid JSON'
  return error.message
}

/** Fastify's own errors: invalid JSON, 413, 415, a path that it cannot decode. */
function fastifyError(thrown: unknown): AppError | undefined {
  if (!(thrown instanceof Error) || !('statusCode' in thrown) || typeof thrown.statusCode !== 'number') return undefined
  if (thrown.statusCode === 413) return new AppError('PAYLOAD_TOO_LARGE', 'The body is too large', { cause: thrown })
  if (thrown.statusCode === 415) return new AppError('UNSUPPORTED_MEDIA_TYPE', 'The Content-Type is not a media type', { cause: thrown })
  if ('code' in thrown && thrown.code === 'FST_ERR_BAD_URL')
    return new AppError('BAD_REQUEST', 'The path cannot be decoded', { cause: thrown })
  if ('code' in thrown && thrown.code === 'FST_ERR_MAX_PARAM_LENGTH')
    return new AppError('BAD_REQUEST', 'A part of the path is too long', { cause: thrown })
  if (thrown.statusCode === 404) return new AppError('NOT_FOUND', 'No such path', { cause: thrown })
  return thrown.statusCode < 500 ? new AppError('BAD_REQUEST', thrown.message, { cause: thrown }) : undefined
}
