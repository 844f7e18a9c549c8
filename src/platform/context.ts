/** The parts that a process shares, and the context of a service. */
import type { FastifyBaseLogger } from 'fastify'
import type { Settings } from '../settings.ts'
import { type Actor, systemActor } from './actor.ts'

/**
 * The parts of a process that every service may use. Whoever makes a part adds it here by declaration merging, so that this file knows
 * none of them: `db` is in database/database.ts, `jobs` in jobs/queue.ts, `cascades` in tables/cascade.ts. deps.ts opens them all.
 */
export interface Shared {
  settings: Settings
  /** The URL at which callers reach the service, without a trailing slash. */
  publicUrl: () => string
}

/** All shared parts of a process. What only routes and procedures use is added here, such as `feed` by events/feed.ts. */
export interface Deps extends Shared {
  log: FastifyBaseLogger
  /** The current time; tests set it. */
  clock: () => Date
}

/**
 * The context of a service call. It has nothing of HTTP: a service takes If-Match as an argument and returns versions and ignored inputs
 * (answer.ts), so requests, jobs and scripts call the same functions. A service does not check access, because the procedure has.
 */
export interface Context extends Shared {
  actor: Actor
  /** The time of the request or job. It does not change while the call runs. */
  now: Date
  /** The address that the request came from; null for jobs and scripts. */
  ip: string | null
  /** Who the audit log names, if not the actor: the requester of a job, or a user who has just proved to be one. */
  requester?: Requester
  log: FastifyBaseLogger
  /** Aborts with an AppError as its reason when the caller has hung up. Statements that may take long are then cancelled. */
  signal: AbortSignal
  /**
   * Checks again that the caller may still do what they asked for, before work is repeated that has waited for a change of its table.
   * @throws AppError 401, 403, 404
   */
  confirmAccess(): Promise<void>
  /** Runs `fn` in a transaction. The answer for an Idempotency-Key is stored in the same one. */
  transaction<T>(fn: () => Promise<T>): Promise<T>
}

/** The user, the key and the address of a request. */
export interface Requester {
  userId: number | null
  keyId: number | null
  ip: string | null
}

/** The parts of a context that belong to one call. */
export type Call = Pick<Context, 'actor' | 'now' | 'ip' | 'log' | 'signal'>

/** The context of one call. It copies all of `deps`, because features extend `Shared` with parts of their own. */
export const contextOf = (deps: Deps, call: Call, confirmAccess: Context['confirmAccess'] = async () => {}): Context => ({
  ...deps,
  transaction: deps.db.transaction,
  confirmAccess,
  ...call,
})

/** The context of a job or script that acts for no user. */
export const systemContext = (deps: Deps): Context =>
  contextOf(deps, { actor: systemActor, now: deps.clock(), ip: null, log: deps.log, signal: NEVER_ABORTED })

const NEVER_ABORTED = new AbortController().signal

/** The user for whom a script acts. */
export type ActingUser = Pick<Actor, 'accountId' | 'userId' | 'email' | 'name' | 'timeZone' | 'isOwner'>

/** The same call for a user as if they had signed in. */
export const actingAs = (context: Context, user: ActingUser): Context => ({
  ...context,
  actor: { ...systemActor, ...user, kind: 'session' },
})

/** The context of a script, or of the first start, that acts for a user as if they had signed in. */
export const userContext = (deps: Deps, user: ActingUser): Context => actingAs(systemContext(deps), user)
