/**
 * Admits a caller from memory, for a write that checks in its own transaction whether the access is still what it was
 * (docs/decisions/0035-presumed-access.md).
 */

import { Presumption, type RowCondition } from '../database/presumption.ts'
import { AppError } from '../http/errors.ts'
import type { ResourceIds } from './access-statement.ts'
import { isNoted, type KnownCredentials } from './authenticate.ts'
import { type Access, type AccessRequest, type Admission, boundIds, checkCaller, checkResource, type Resource } from './authorize.ts'
import { type FoundCaller, recall, recallRow, rememberedPart } from './remembered-access.ts'

/** An admission that is valid for one write, if its presumption holds. */
export interface PresumedAdmission extends Admission {
  access: Access
  presumption: Presumption
  /** The last use of the credentials that was noted. */
  lastSeenAt: string | null
  /** Call it if nothing came of it: the next requests of the caller to the procedure are then checked first. */
  pause(): void
}

/** How long a caller is checked first after a request of which nothing came, because its body was invalid or it needed another statement. */
const PAUSED_MS = 1_000

/**
 * Admits the caller as the last full check found them, without asking the database. The request is not counted.
 * @param ids those of the path or the body, as they were sent
 * @returns undefined if the access has to be checked first, and also if it would be refused, because it may have been granted meanwhile
 */
export function presume(asking: AccessRequest, access: Access, ids: Record<string, unknown>): PresumedAdmission | undefined {
  const { db, credentials, now, isCrossSite } = asking
  const { resource } = access
  // Statements on nodes run on connections that no presumption is checked on, and what is read alongside is not remembered.
  if (!access.mayBePresumed || !resource || access.alongside || !('tokenHash' in credentials) || db.hasNodes) return undefined
  const caller = recall(db, credentials, asking)
  // A use that is to be noted goes through the usual check, which notes it.
  if (!caller?.version || !isNoted(caller.lastSeenAt, now) || isPaused(caller, access, now)) return undefined
  const presumed = recalledRow(asking, credentials, caller, { resource, ids: boundIds(resource, ids) })
  if (!presumed) return undefined
  const { actor, version } = caller
  const { row, condition } = presumed
  try {
    checkCaller(actor, access, true, isCrossSite)
    checkResource(resource, row, ids, actor, access)
  } catch (refusal) {
    if (refusal instanceof AppError) return undefined
    throw refusal
  }
  const pause = () => caller.pausedAt.set(access, now.getTime())
  return { actor, row, access, lastSeenAt: caller.lastSeenAt, presumption: new Presumption(actor.accountId, version, condition), pause }
}

/** The row of the resource as it was, and what has to be compared for it to be the same. */
function recalledRow(
  { db }: AccessRequest,
  credentials: KnownCredentials,
  caller: FoundCaller,
  { resource: { lasting, comparable }, ids }: { resource: Resource; ids: ResourceIds },
): { row: object; condition?: RowCondition | undefined } | undefined {
  if (comparable) {
    const row = recallRow(db, credentials, caller, { comparable, ids })
    return row && { row, condition: comparable.conditionOf(row) }
  }
  const part = lasting && rememberedPart(caller, lasting, ids)
  return part && { row: { ...part, ...lasting.presumed?.(ids) } }
}

function isPaused({ pausedAt }: FoundCaller, access: Access, now: Date): boolean {
  const age = now.getTime() - (pausedAt.get(access) ?? Number.NEGATIVE_INFINITY)
  return age >= 0 && age < PAUSED_MS
}
