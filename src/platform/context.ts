/** What a process is made of, and what a service acts with. */
import type { FastifyBaseLogger } from 'fastify'
import type { Settings } from '../settings.ts'
import { type Actor, systemActor } from './access/authorize.ts'
import type { Database, Tx } from './database/database.ts'
import type { Limits } from './http/rate-limits.ts'
import type { Jobs } from './jobs/queue.ts'
import type { Mailer } from './mailer.ts'
import type { Storage } from './storage.ts'

/** What a process has one of, and every service may use. A feature adds its own by declaration merging, as tables/cascade.ts does. */
export interface Shared {
  db: Database
  settings: Settings
  jobs: Jobs
  storage: Storage
  mailer: Mailer
  /** Where callers reach the service, without a trailing slash. */
  publicUrl: () => string
}

/** All that a process has one of. A feature adds what its own routes use by declaration merging, as events/feed.ts does. */
export interface Deps extends Shared {
  limits: Limits
  log: FastifyBaseLogger
  /** The current time; tests set it. */
  clock: () => Date
}

/**
 * What a service acts with. It knows nothing of HTTP: a service takes If-Match as an argument and returns versions and ignored inputs
 * (answer.ts), so that requests, jobs and scripts call the same functions. A service does not check access: the procedure has.
 */
export interface Context extends Shared {
  actor: Actor
  /** The time of the request or job, the same for all that it does. */
  now: Date
  log: FastifyBaseLogger
  /** Aborts, with an AppError as its reason, when nobody waits for the result any more. A statement that may take long is cancelled by it. */
  signal: AbortSignal
  /** Runs `fn` in a transaction, which also stores the answer for an Idempotency-Key: all of it is committed, or none. */
  transaction<T>(fn: (tx: Tx) => Promise<T>): Promise<T>
}

/** What one call adds to what the process shares. */
export type Call = Pick<Context, 'actor' | 'now' | 'log' | 'signal'>

/** The context of one call. Features extend `Shared`, so all of `deps` is copied: naming its parts here would leave theirs out. */
export const contextOf = (deps: Deps, call: Call): Context => ({ ...deps, transaction: deps.db.transaction, ...call })

/** For jobs and scripts, which act on behalf of nobody. */
export const systemContext = (deps: Deps): Context =>
  contextOf(deps, { actor: systemActor, now: deps.clock(), log: deps.log, signal: NEVER_ABORTED })

const NEVER_ABORTED = new AbortController().signal

/** The user in whose name a script acts. */
export type ActingUser = Pick<Actor, 'accountId' | 'userId' | 'email' | 'name' | 'timeZone' | 'isOwner'>

/** For scripts and the first start, which act in the name of a user, as if signed in. */
export function userContext(deps: Deps, user: ActingUser): Context {
  return { ...systemContext(deps), actor: { ...systemActor, ...user, kind: 'session' } }
}
