import { TRPCError } from '@trpc/server'
import { getHTTPStatusCodeFromError } from '@trpc/server/http'
import type { TRPC_ERROR_CODE_KEY } from '@trpc/server/rpc'
import { ZodError } from 'zod'
import type { Answer } from '../answer.ts'
import { isDatabaseAway, lostNode, sqlState } from '../database/database-errors.ts'
import './validation-messages.ts'

/** One invalid input: its path in the request, and the problem. */
export interface Issue {
  path: (string | number)[]
  message: string
}

/** One invalid cell of a file: the line where its row begins, from 1, and the header of its column; null stands for the whole row. */
export interface CellIssue {
  row: number
  column: string | null
  message: string
}

interface Details {
  issues?: Issue[]
  /** Sent as `issues`, too. */
  cellIssues?: CellIssue[]
  /** The current row, for a stale If-Match. */
  current?: unknown
  /** The version of `current`, for the ETag. */
  version?: number | undefined
  retryAfterSeconds?: number
  /** The HTTP status, if tRPC has no code for it. */
  status?: number
  cause?: unknown
}

/** An error whose message the caller may read. Any other error is answered with 500 and a fixed message. */
export class AppError extends TRPCError {
  readonly issues: Issue[] | undefined
  readonly cellIssues: CellIssue[] | undefined
  readonly current: unknown
  readonly version: number | undefined
  readonly retryAfterSeconds: number | undefined
  readonly status: number | undefined

  constructor(
    code: TRPC_ERROR_CODE_KEY,
    message: string,
    { issues, cellIssues, current, version, retryAfterSeconds, status, cause }: Details = {},
  ) {
    super({ code, message, cause })
    this.issues = issues
    this.cellIssues = cellIssues
    this.current = current
    this.version = version
    this.retryAfterSeconds = retryAfterSeconds
    this.status = status
  }
}

/** 404 `<Thing> not found`. */
export const notFound = (thing: string) => new AppError('NOT_FOUND', `${thing} not found`)

/** 403 `Not authorized`, unless the specification fixes another message. */
export const forbidden = (message = 'Not authorized') => new AppError('FORBIDDEN', message)

/** 409. */
export const conflict = (message: string, details: Details = {}) => new AppError('CONFLICT', message, details)

/** 409 for a stale If-Match, with the current row in `current` and its version as the ETag. */
export const stale = (message: string, { value, version }: Answer<unknown>) => conflict(message, { current: value, version })

/** 401, always with `WWW-Authenticate: Bearer`. */
export const unauthorized = (message: string) => new AppError('UNAUTHORIZED', message)

/** 503 with Retry-After. */
export const unavailable = (message: string, retryAfterSeconds = 1, cause?: unknown) =>
  new AppError('SERVICE_UNAVAILABLE', message, { retryAfterSeconds, cause })

/** 503 when no connection or permit became free in time. */
export const tooBusy = ({ retryAfterSeconds = 2, cause }: { retryAfterSeconds?: number; cause?: unknown } = {}) =>
  unavailable('Too busy; retry', retryAfterSeconds, cause)

/** 507 with Retry-After. tRPC has no code of its own for it. */
export const diskFull = (cause: unknown) =>
  new AppError('SERVICE_UNAVAILABLE', 'The disk is full', { status: 507, retryAfterSeconds: 60, cause })

/** True if a file could not be written because its disk, or the share of it that the service may use, is full. */
export const isDiskFull = (thrown: unknown): boolean =>
  thrown instanceof Error && 'syscall' in thrown && 'code' in thrown && (thrown.code === 'ENOSPC' || thrown.code === 'EDQUOT')

/** 400 for one input: `due_time: needs due_date`. */
export function badInput(path: string | (string | number)[], reason: string): AppError {
  return badInputs([{ path: typeof path === 'string' ? [path] : path, message: reason }])
}

/** As many as a list of a request has entries at most. Issues take many times the bytes of the inputs, which can be a million unknown keys. */
export const MOST_ISSUES = 1_000

/** 400 for several inputs. The message describes the first, `issues` lists the first thousand. */
export function badInputs(all: Issue[]): AppError {
  const issues = all.slice(0, MOST_ISSUES)
  const [first] = issues
  const where = first?.path.length ? `${pathText(first.path)}: ` : ''
  return new AppError('BAD_REQUEST', `${where}${first?.message ?? 'Invalid input'}`, { issues })
}

/** 400 for cells of a file. The message describes the first. */
export function badCells(issues: CellIssue[], cause?: unknown): AppError {
  const [first] = issues
  const where = first ? `row ${first.row}${first.column === null ? '' : `, ${first.column}`}: ` : ''
  return new AppError('BAD_REQUEST', `${where}${first?.message ?? 'Invalid file'}`, { cellIssues: issues, cause })
}

/** The path as text: `filters[0].value`. */
function pathText(path: (string | number)[]): string {
  return path.map((part, index) => (typeof part === 'number' ? `[${part}]` : index ? `.${part}` : part)).join('')
}

/** 400 for a value that a schema refuses outside of a procedure's input. */
export function badShape(error: ZodError): AppError {
  const issues: Issue[] = []
  for (const issue of error.issues) {
    if (issues.length >= MOST_ISSUES) break
    issues.push(...issuesOf(issue))
  }
  return badInputs(issues)
}

/** Converts an error of a part of the input to one of the whole input. @param at the path of the part */
export function errorWithin(error: AppError, at: (string | number)[]): AppError {
  if (!error.issues) return new AppError(error.code, `${pathText(at)}: ${error.message}`, { cause: error })
  const issues = error.issues.map(({ path, message }) => ({ path: [...at, ...path], message }))
  return new AppError(error.code, badInputs(issues).message, { issues, cause: error })
}

/** The body of every error response, the same on REST and, as `error.data`, on RPC (contract.md §1). */
export interface ErrorBody {
  message: string
  code: TRPC_ERROR_CODE_KEY
  issues?: (Issue | CellIssue)[]
  current?: unknown
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

const missingResource = (thrown: unknown) => (isDiskFull(thrown) ? diskFull(thrown) : databaseError(thrown))

/** A fault of a schema. tRPC treats anything thrown while it parses as a refusal, and would show the message. */
const isFaultOfSchema = (cause: unknown) => cause instanceof TypeError || cause instanceof RangeError || cause instanceof ReferenceError

/** The message of tRPC's own error; some of them quote the parser. */
function trpcMessage(error: TRPCError): string {
  if (error.code === 'PARSE_ERROR' || error.cause instanceof SyntaxError) return 'The body is not valid JSON'
  return error.message
}

/** Converts an issue of zod: each unknown key becomes an issue with its own path. */
function issuesOf(issue: ZodError['issues'][number]): Issue[] {
  const path = issue.path.map((part) => (typeof part === 'symbol' ? String(part) : part))
  if (issue.code === 'unrecognized_keys')
    return issue.keys.slice(0, MOST_ISSUES).map((key) => ({ path: [...path, key], message: 'is not a known key' }))
  if (issue.code === 'invalid_union') {
    // The caller most likely meant the branch whose issues all lie inside the value.
    const meant = issue.errors.find((branch) => branch.every((inner) => inner.path.length || inner.code === 'unrecognized_keys'))
    if (meant?.length) return meant.flatMap((inner) => issuesOf({ ...inner, path: [...issue.path, ...inner.path] }))
  }
  return [{ path, message: issue.message }]
}

/** True if the database could not run the statement, but may run it later. */
export const isOutage = (thrown: unknown): boolean => (databaseError(thrown)?.code ?? 'BAD_REQUEST') !== 'BAD_REQUEST'

/** 503 for a busy or unavailable database, so that the caller retries (contract.md §1); undefined for other errors. */
function databaseError(thrown: unknown): AppError | undefined {
  if (!(thrown instanceof Error)) return undefined
  const code = sqlState(thrown)
  if (code === '57014') return unavailable('Query took too long', 5, thrown)
  if (code === '55P03' || code === '40P01' || code === '40001')
    return unavailable('The row is being changed by another request; retry', 1, thrown)
  if (code === '22003') return new AppError('BAD_REQUEST', 'A number is out of range', { cause: thrown })
  if (code === '25006') return unavailable('The database is read-only at the moment', 5, thrown)
  if (thrown.message.includes('timeout exceeded when trying to connect')) return tooBusy({ cause: thrown })
  const node = lostNode(thrown)
  if (node) return nodeAway(node, thrown)
  return isDatabaseAway(thrown) ? unavailable('The database is not available', 5, thrown) : undefined
}

/** 503 that names the node. */
export const nodeAway = (node: string, cause?: unknown): AppError =>
  unavailable(`The node ${node}, which has these records, does not answer`, 5, cause)

/** The same for a change that all nodes take part in. */
export const nodeOfAllAway = (node: string, cause?: unknown): AppError =>
  unavailable(`The node ${node} does not answer, and this change needs all nodes`, 5, cause)

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
