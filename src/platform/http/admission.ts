/** How a request is admitted: by a check, or by one that something is read together with (access/read-ahead.ts). */
import { authenticate } from '../access/authenticate.ts'
import { type Access, type Admission, admit } from '../access/authorize.ts'
import { admitExpected, type BegunRead, beginRead, isExpected, resultFor } from '../access/read-ahead.ts'
import { accessRequestOf, type RequestContext, serviceContext } from './request-context.ts'

/** Checks access by the ids of the path or the body. */
const startAdmission = (request: RequestContext, access: Access, isWrite: boolean, ids: Record<string, unknown>): Promise<Admission> =>
  (access.ahead || access.resource?.checkOnly ? admitExpected : admit)(accessRequestOf(request), access, isWrite, ids)

/** Begins what is read together with the access check. With replicas a read waits until it is known which of them may answer. */
export const startRead = (request: RequestContext, access: Access, input: unknown): BegunRead | undefined =>
  access.ahead && !request.deps.replicas
    ? beginRead(callerOf(request), access, input, (caller) => serviceContext(request, caller))
    : undefined

const callerOf = ({ deps: { db }, credentials }: RequestContext) => ({ db, credentials })

/** A body of this size has usually arrived with the headers, so that it is read before the access check has left the process. */
const ARRIVED_BYTES = 4_096

interface Arrived {
  isWrite: boolean
  /** Those of the path. */
  ids: Record<string, unknown>
  /** The input of a GET that may read ahead. */
  query: Record<string, unknown> | undefined
  /** The size of the body. */
  bytes: number
}

/**
 * Checks access before the body is read (REST). If a small body of an expected caller may say what to read ahead, the check is only begun:
 * the handler waits for it, or `requireAdmitted` if the body fails.
 */
export async function admitByPath(request: RequestContext, access: Access, { isWrite, ids, query, bytes }: Arrived): Promise<void> {
  const isWaiting = access.ahead && !query && bytes <= ARRIVED_BYTES && !request.deps.replicas && isExpected(callerOf(request))
  const admitting = startAdmission(request, access, isWrite, ids)
  if (isWaiting) {
    request.admitting = admitting
    admitting.catch(() => {})
    return
  }
  if (query) request.begun = startRead(request, access, query)
  request.admission = await admitting
}

export interface Admitted {
  admission: Admission
  /** What was read for this caller together with the check, if anything was. */
  ahead: Promise<unknown> | undefined
}

/** How the request was admitted before its procedure was called (REST). */
export function admittedBefore({ admission, begun }: RequestContext): Admitted | undefined {
  return admission && { admission, ahead: begun && resultFor(begun, admission.actor) }
}

/** Admits a call of a procedure whose request has not been admitted yet. @param input as it was sent, with the ids */
export async function admitCall(
  request: RequestContext,
  access: Access,
  isWrite: boolean,
  input: Record<string, unknown>,
): Promise<Admitted> {
  const admitting = startAdmission(request, access, isWrite, input)
  const begun = startRead(request, access, input)
  const admission = await admitting
  return { admission, ahead: begun && resultFor(begun, admission.actor) }
}

/** Waits for the check of a request whose body has failed: a refusal comes first (contract.md §2). @throws AppError 401, 403, 404 */
export async function requireAdmitted(request: RequestContext): Promise<void> {
  await (request.admitting ?? (request.isCallerKnown || authenticate(accessRequestOf(request))))
}
