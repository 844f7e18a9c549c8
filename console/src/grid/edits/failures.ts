/** What an error of the client means for an edit. */
import type { StaleRecord } from './edit.ts'
import type { Failure } from './edits.ts'

/** The body of an error, as the client gives it in `error.data`. */
interface ErrorData {
  httpStatus: number
  message: string
  issues?: { path: (string | number)[]; message: string }[]
  stale?: StaleRecord[]
}

/** The body of an error of the API; undefined if no answer of it has come. */
function errorData(error: unknown): ErrorData | undefined {
  const data: unknown = typeof error === 'object' && error !== null && 'data' in error ? error.data : undefined
  return typeof data === 'object' && data !== null && 'httpStatus' in data ? (data as ErrorData) : undefined
}

/** Answers that say: later. A disk that is full is emptied by somebody. */
const LATER = new Set([408, 429, 502, 503, 504, 507])

/** The client gives errors of the connection without a body, and any other error is a mistake of the page. */
const isLost = (error: unknown): boolean => error instanceof Error && error.name === 'TRPCClientError' && !errorData(error)

export const isForNow = (error: unknown): boolean => isLost(error) || LATER.has(errorData(error)?.httpStatus ?? 0) || isRunning(error)

/** The answer to a first request was lost, and the service still works on it. */
const isRunning = (error: unknown): boolean => {
  const data = errorData(error)
  return data?.httpStatus === 409 && data.message.includes('still running')
}

/** What to tell of an error that is for now: the words of the service; null if it does not answer. */
export const reasonToWait = (error: unknown): string | null => (isRunning(error) ? null : (errorData(error)?.message ?? null))

/** The longest that the console waits, whatever it was told. */
const LONGEST_WAIT_MS = 60_000

/** How long the service asks to wait; null if it does not say. */
export function retryAfterMs(error: unknown): number | null {
  const meta: unknown = typeof error === 'object' && error !== null && 'meta' in error ? error.meta : undefined
  const response: unknown = typeof meta === 'object' && meta !== null && 'response' in meta ? meta.response : undefined
  const seconds = response instanceof Response ? Number(response.headers.get('retry-after') ?? Number.NaN) : Number.NaN
  return seconds >= 0 ? Math.min(seconds * 1_000, LONGEST_WAIT_MS) : null
}

export function failureOf(error: unknown, records: readonly { id: number }[]): Failure {
  if (isForNow(error)) return { kind: 'later', reason: reasonToWait(error), retryAfterMs: retryAfterMs(error) }
  const data = errorData(error)
  if (!data) return { kind: 'refused', message: String(error), cells: [] }
  if (data.httpStatus === 401) return { kind: 'signed-out' }
  if (data.httpStatus === 409 && data.stale?.length) return { kind: 'stale', stale: data.stale }
  const cells = (data.issues ?? []).flatMap(({ path: [list, index, part, field], message }) => {
    const record = list === 'records' && typeof index === 'number' ? records[index] : undefined
    return record ? [{ id: record.id, field: part === 'data' && field !== undefined ? String(field) : null, message }] : []
  })
  return { kind: 'refused', message: data.message, cells }
}
