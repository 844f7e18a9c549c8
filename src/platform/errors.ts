/** The errors whose messages callers may read, and how they are made. */
import { TRPCError } from '@trpc/server'
import type { TRPC_ERROR_CODE_KEY } from '@trpc/server/rpc'
import type { ZodError } from 'zod'
import type { Answer } from './answer.ts'
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

/** A row of a batch that has another version than the request named. */
export interface StaleRow {
  id: number
  /** The present version. */
  version: number
  /** The present row. */
  current: unknown
}

interface Details {
  issues?: Issue[]
  /** Sent as `issues`, too. */
  cellIssues?: CellIssue[]
  /** The current row, for a stale If-Match. */
  current?: unknown
  /** The version of `current`, for the ETag. */
  version?: number | undefined
  /** The rows of a batch that have another version than the request named. */
  stale?: StaleRow[]
  /** How many records meet the conditions, if another number was expected. */
  matched?: number
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
  readonly stale: StaleRow[] | undefined
  readonly matched: number | undefined
  readonly retryAfterSeconds: number | undefined
  readonly status: number | undefined

  constructor(
    code: TRPC_ERROR_CODE_KEY,
    message: string,
    { issues, cellIssues, current, version, stale, matched, retryAfterSeconds, status, cause }: Details = {},
  ) {
    super({ code, message, cause })
    this.issues = issues
    this.cellIssues = cellIssues
    this.current = current
    this.version = version
    this.stale = stale
    this.matched = matched
    this.retryAfterSeconds = retryAfterSeconds
    this.status = status
  }
}

/** 404 `<Thing> not found`. */
export const notFound = (thing: string) => new AppError('NOT_FOUND', `${thing} not found`)

/** 404 `records[2].id: <Thing> not found` for inputs that name rows. The message describes the first, `issues` lists all. */
export function notFoundAt(thing: string, paths: Issue['path'][]): AppError {
  const { message } = notFound(thing)
  const issues = paths.map((path) => ({ path, message }))
  return new AppError('NOT_FOUND', badInputs(issues).message, { issues })
}

/** 403 `Not authorized`, unless the specification fixes another message. */
export const forbidden = (message = 'Not authorized') => new AppError('FORBIDDEN', message)

/** 409. */
export const conflict = (message: string, details: Details = {}) => new AppError('CONFLICT', message, details)

/** 409 for a stale If-Match, with the current row in `current` and its version as the ETag. */
export const stale = (message: string, { value, version }: Answer<unknown>) => conflict(message, { current: value, version })

/** 401, always with `WWW-Authenticate: Bearer`. */
export const unauthorized = (message: string, details: Details = {}) => new AppError('UNAUTHORIZED', message, details)

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

/** The most entries of a list in a request. Issues take many times the bytes of the inputs, which can be a million unknown keys. */
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
