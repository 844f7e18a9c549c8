/** Recognises what has gone wrong in the database by the errors of `pg`, of Prisma and of its adapter, and makes the errors for callers. */
import { AppError, tooBusy, unavailable } from '../errors.ts'

/** The node whose connection the coordinator of a Citus cluster (14.0) has lost. Some of these errors have no SQLSTATE of their own. */
export function lostNode({ message, where }: Error & { where?: unknown }): string | undefined {
  const named = LOST_NODES.map((pattern) => pattern.exec(message)?.[1]).find(Boolean)
  if (named || !message.startsWith('server closed the connection')) return named
  return /while executing command on (\S+)/.exec(String(where))?.[1]
}

const LOST_NODES = [
  /connection to the remote node (?:\S+@)?(\S+) failed/,
  /could not establish any connections to the node (\S+) after/,
  /failure on connection marked as essential: (\S+)/,
  /failed to prepare transaction '.*' on host (\S+)/,
]

/** True if a connection to the database or its pool was lost or could not be opened, and for lacking resources of the server. */
export function isDatabaseAway(thrown: unknown): boolean {
  if (!(thrown instanceof Error)) return false
  const code = sqlState(thrown)
  // Also the classes of lost connections and of lacking resources, such as a full disk or no free connection.
  if (code && (AWAY.has(code) || code.startsWith('08') || code.startsWith('53'))) return true
  // The socket of a server that does not run. A missing file has the same code, and nothing to do with the database.
  if (code === 'ENOENT' && thrown.message.includes('connect ENOENT')) return true
  return UNREACHABLE.has((thrown.cause as AdapterCause | undefined)?.kind) || LOST.some((text) => thrown.message.startsWith(text))
}

/**
 * The messages of pg (8.23.1) and pg-pool for a connection that is lost or cannot be opened in time, and for a pool that a process which
 * stops has ended; these errors have no code.
 */
const LOST = [
  'Connection terminated',
  'Client has encountered a connection error',
  'Client was closed',
  'timeout expired',
  'Cannot use a pool after calling end on the pool',
]

const AWAY = new Set([
  '25P03',
  '25P04',
  '57P01',
  '57P02',
  '57P03',
  '57P05',
  '58030',
  'EAI_AGAIN',
  'ECONNREFUSED',
  'ECONNRESET',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOTFOUND',
  'EPIPE',
  'ETIMEDOUT',
  'P1001',
  'P1008',
  'P1017',
  'P2024',
  'P2028',
])

/** Prisma's adapter (7.10.0) replaces the code of a socket's error by a kind. */
const UNREACHABLE = new Set<unknown>(['ConnectionClosed', 'DatabaseNotReachable', 'SocketTimeout'])

interface AdapterCause {
  kind?: unknown
  originalCode?: unknown
}

interface ErrorMeta {
  code?: unknown
  driverAdapterError?: { cause?: AdapterCause }
}

/** The SQLSTATE of an error of `pg`, even if Prisma has wrapped it; undefined for other errors. */
export function sqlState(thrown: unknown): string | undefined {
  if (!(thrown instanceof Error)) return undefined
  const { code, meta, cause } = thrown as { code?: unknown; meta?: ErrorMeta; cause?: unknown }
  // Prisma's own codes hide the SQLSTATE: P2039 covers lock timeouts, deadlocks and more.
  // A transaction that cannot begin or commit fails with the adapter's own error, which is not wrapped.
  const original = meta?.driverAdapterError?.cause?.originalCode ?? (cause as AdapterCause | undefined)?.originalCode
  if (typeof original === 'string') return original
  if (typeof code === 'string' && !/^P2010$/.test(code)) return code
  if (typeof meta?.code === 'string') return meta.code
  return cause instanceof Error && cause !== thrown ? sqlState(cause) : undefined
}

/** True for a violated unique index, reported by Prisma or `pg`. */
export function isUniqueViolation(thrown: unknown): boolean {
  const state = sqlState(thrown)
  return state === '23505' || state === 'P2002'
}

/** True if the database could not run the statement, but may run it later. */
export const isOutage = (thrown: unknown): boolean => (databaseRefusal(thrown)?.code ?? 'BAD_REQUEST') !== 'BAD_REQUEST'

/** 503 for a busy or absent database, so that the caller retries (contract.md §1); 400 for a number out of range; else undefined. */
export function databaseRefusal(thrown: unknown): AppError | undefined {
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
