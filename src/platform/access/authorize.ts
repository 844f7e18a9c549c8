/**
 * Whether the caller may do what they ask for. One statement reads the principal of the credentials together with the resource and the
 * membership; the checks follow in the order of contract.md §2. Every procedure and every plain route goes through `admit`.
 */

import { type Actor, type CallerKind, systemActor } from '../actor.ts'
import type { Database } from '../database/database.ts'
import { isOutdated } from '../database/outdated-definition.ts'
import { shortRead } from '../database/statements/statement.ts'
import { AppError, badInput, forbidden, notFound } from '../errors.ts'
import { MAX_ID } from '../row-ids.ts'
import {
  type AccessQuestion,
  accessStatement,
  type PrincipalSelect,
  type ResourceIds,
  rememberedStatement,
  type Selectable,
} from './access-statement.ts'
import { type Authentication, knownCredentials, type PrincipalRow, requireSessionUser, verified } from './authenticate.ts'
import { isUnread } from './record-elsewhere.ts'
import { callerFrom, type FoundCaller, type RememberedAccess, rememberedContainer, touch } from './remembered-access.ts'

export type Role = 'viewer' | 'member' | 'admin'
/** The right that a procedure needs: `read` requires the role viewer, `write` requires member, `admin` requires admin. */
export type Right = 'read' | 'write' | 'admin'

/** The kinds of callers that a procedure admits. */
export const callers = {
  any: ['session', 'account', 'personal'],
  /** Browser login only. */
  session: ['session'],
  /** Users, in a session or with a personal key: for data of a user, such as notifications. */
  users: ['session', 'personal'],
  /** Not personal keys: for changes to spaces, members, tables and fields. */
  managers: ['session', 'account'],
  /** Keys only: for questions of a key about itself. */
  keys: ['account', 'personal'],
  /** Anyone, also without credentials. */
  anyone: [],
} as const satisfies Record<string, readonly CallerKind[]>
export type Callers = (typeof callers)[keyof typeof callers]

/** A kind of row that is found by ids in a path or a body, and the checks on it. */
export interface Resource<Row extends object = object> extends Selectable {
  /** The ids in the order of the checks, the noun of the 404, and the column that is null if the row does not exist. */
  readonly ids: readonly { name: string; thing: string; found: string }[]
  /** The checks after existence: whitelist, read right, role, row rule. */
  check(row: Row, actor: Actor, right: Right): void
  /** The row with its record, which the statement could not read (record-elsewhere.ts). */
  readUnread?(row: Row, db: Database): Promise<object>
  /** The resource to use instead if the statement fails because a user table is gone, or one of its columns is gone or has another type. */
  readonly fallback?: Resource<Row>
}

export interface Access {
  callers: Callers
  resource: Resource | null
  right: Right
  /** Only for short selects: it runs before the caller is admitted. */
  principalRow?: PrincipalSelect
  /** Whether the procedure writes, which a read-only key may not; by default a query reads and a mutation writes. */
  effect?: 'read' | 'write'
  /** Where the ids of the resource are sent. Ids in the path are checked before the body is read. */
  idsIn?: 'path' | 'body'
  /** Only the account's owner, and account keys that see every space. */
  isOwnerOnly?: boolean
  /** For an operation without credentials that delays repeated attempts itself: the budget of the address is shown, but refuses nothing. */
  hasOwnThrottle?: boolean
  /** For a query about rights or what was done with them: its reads never go to a replica. */
  readsPrimary?: boolean
  /** For a query that may take long: it waits for a replica that is a little behind rather than load the primary. */
  prefersReplica?: boolean
  /** The 500 `Not Authorized` that api.md fixes for records/query, instead of 403 and 404. */
  isSilent?: boolean
}

export interface Admission {
  actor: Actor
  row: object
}

export interface AccessRequest extends Authentication {
  /** What was found before; undefined if nothing is remembered. */
  remembered: RememberedAccess | undefined
  /** Whether the request writes but says that it comes from another site. */
  isCrossSite: boolean
  /** Called for an operation without credentials, such as a sign-in: counts the request by its address. @returns 429 over the limit */
  onAnonymous(): AppError | undefined
}

const NOBODY: Admission = { actor: { ...systemActor, kind: 'system' }, row: {} }

/**
 * Checks access in the order of contract.md §2.
 * @param ids those of the path or the body, as they were sent
 * @returns the actor, and the row of the resource
 * @throws AppError 401, 403, 404; 400 for an id that is not a whole number
 */
export async function admit(asking: AccessRequest, access: Access, isWrite: boolean, ids: Record<string, unknown>): Promise<Admission> {
  if (access.callers.length === 0) return admitAnyone(asking, access, isWrite)
  const { resource, principalRow } = access
  const { db, now } = asking
  const credentials = knownCredentials(asking)
  const question = { credentials, resource, principalRow, ids: resource ? boundIds(resource, ids) : {}, now }
  const found = await find(asking, question)
  const { actor } = found.caller
  requireSessionUser(actor, asking)
  const counting = asking.onAuthenticated(actor, { lastSeenAt: touch(found.caller, now) })
  if (counting) await counting
  checkCaller(actor, access, isWrite, asking.isCrossSite)
  const row = resource?.readUnread && isUnread(found.row) ? await resource.readUnread(found.row, db) : found.row
  if (resource) checkResource(resource, row, ids, actor, access)
  else if (access.isOwnerOnly) checkOwner(actor)
  // A transaction sees its own changes before the version changes, at its commit.
  if (found.isLookedUp && !db.inTransaction())
    asking.remembered?.remember(credentials, found.caller, { container: resource?.container, ids: question.ids, row })
  return { actor, row }
}

/** @throws AppError 403, 429 */
function admitAnyone({ onAnonymous, isCrossSite }: AccessRequest, { hasOwnThrottle }: Access, isWrite: boolean): Admission {
  const exceeded = onAnonymous()
  // Strangers behind the address of a user could otherwise keep the user from signing in.
  if (exceeded && !hasOwnThrottle) throw exceeded
  if (isWrite && isCrossSite) throw forbidden(CROSS_SITE)
  return NOBODY
}

function checkCaller(actor: Actor, { callers: allowed, effect }: Access, isWrite: boolean, isCrossSite: boolean): void {
  if (!(allowed as readonly string[]).includes(actor.kind)) throw forbidden(refusalFor(actor, allowed))
  if (actor.kind === 'session' && isWrite && isCrossSite) throw forbidden(CROSS_SITE)
  const writes = (effect ?? (isWrite ? 'write' : 'read')) === 'write'
  if (actor.readOnly && writes) throw forbidden('API key is read-only')
}

function checkResource(resource: Resource, row: object, ids: Record<string, unknown>, actor: Actor, access: Access): void {
  for (const { name } of resource.ids) requireWholeNumber(name, ids[name])
  try {
    for (const { thing, found } of resource.ids) if ((row as Record<string, unknown>)[found] == null) throw notFound(thing)
    resource.check(row, actor, access.right)
    if (access.isOwnerOnly) checkOwner(actor)
  } catch (refusal) {
    if (access.isSilent && refusal instanceof AppError) throw new AppError('INTERNAL_SERVER_ERROR', 'Not Authorized')
    throw refusal
  }
}

const CROSS_SITE = 'Requests from another site are refused'

function refusalFor(actor: Actor, allowed: Callers): string {
  if (actor.kind === 'session') return 'Not authorized'
  if (actor.kind === 'personal' && (allowed as readonly string[]).includes('account')) return 'Endpoint not available to personal API keys'
  return 'API endpoint not available to API keys'
}

function requireWholeNumber(name: string, value: unknown): void {
  if (!Number.isInteger(value)) throw badInput(name, value === undefined ? 'is required' : 'must be a whole number')
}

/** The ids as values of the statement. An id that no row can have is bound as -1. */
function boundIds(resource: Resource, ids: Record<string, unknown>): ResourceIds {
  const bound: ResourceIds = {}
  for (const { name } of resource.ids) {
    const value = ids[name]
    bound[name] = typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= MAX_ID ? value : -1
  }
  return bound
}

interface Found {
  caller: FoundCaller
  /** With the columns of the resource and of `principalRow`. */
  row: object
  /** Whether all of it was read now, so that it can be remembered. */
  isLookedUp: boolean
}

/** Finds the principal, and the row of the resource. @throws AppError 401 */
async function find(asking: AccessRequest, question: AccessQuestion & { resource: Resource | null }): Promise<Found> {
  const { db, now } = asking
  const { resource, credentials } = question
  try {
    const known = db.inTransaction() ? undefined : asking.remembered?.recall(credentials, asking)
    const again = known && (await findAgain(db, question, known))
    if (again) return again
    // The statement is prepared: planning takes 0.8 ms, six times as long as running it.
    const [found] = await db.read<PrincipalRow & Versioned>(shortRead('who', accessStatement(question, db)))
    const row = verified(found, asking)
    const caller = known?.version === row.access_version ? known : callerFrom(row, row.access_version, now)
    return { caller, row, isLookedUp: true }
  } catch (error) {
    const fallback = resource?.fallback
    if (fallback && isOutdated(error)) return find(asking, { ...question, resource: fallback })
    throw error
  }
}

interface Versioned {
  /** Null for an account that has none. */
  access_version: string | null
}

/** @returns undefined if the access of the account has changed, or the caller is new to the container of the resource */
async function findAgain(db: Database, question: AccessQuestion, caller: FoundCaller): Promise<Found | undefined> {
  const { resource, ids } = question
  const container = resource?.container && rememberedContainer(caller, resource.container, ids)
  if (resource?.container && !container) return undefined
  const [row] = await db.read<Versioned>(shortRead('who', rememberedStatement(question, db, caller.actor)))
  if (row?.access_version !== caller.version) return undefined
  return { caller, row: container ? Object.assign(row, container) : row, isLookedUp: false }
}

function checkOwner(actor: Actor): void {
  if (actor.spaceIds) throw forbidden(OTHER_SPACE)
  if (!actor.isOwner) throw forbidden()
}

/** The message for a key that sends attachments for a task or a comment on a task (api.md, Errors). */
export const NO_ATTACHMENTS = 'Attachments cannot be set via the public API'
/** The message for an account key that asks for a standalone task, whoever's it is, or for a list of them (api.md, Errors). */
export const NOT_ON_RECORD = 'Task is not on a record'
/** The message for a key whose whitelist does not contain the space. */
export const OTHER_SPACE = 'API key not authorized for this workspace'
