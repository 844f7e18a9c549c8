/** What a process is made of, and what a service gets to act with. */
import type { FastifyBaseLogger } from 'fastify'
import type { Settings } from '../settings.ts'
import { type Actor, systemActor } from './access/authorize.ts'
import type { Caller, Database, Tx } from './database/database.ts'
import type { Limits } from './http/rate-limits.ts'
import type { Jobs } from './jobs/queue.ts'
import type { Mailer } from './mailer.ts'
import type { Storage } from './storage.ts'

/** One of each a process. A feature that keeps something of its own for the process declares it here, as events/feed.ts does. */
export interface Deps {
  db: Database
  settings: Settings
  jobs: Jobs
  storage: Storage
  mailer: Mailer
  limits: Limits
  log: FastifyBaseLogger
  /** The time; tests set it. */
  clock: () => Date
  /** Where callers reach the service, without a trailing slash. */
  publicUrl: () => string
}

/** What a service acts with. It need not ask whether it may: the procedure has. */
export interface Context extends Caller {
  db: Database
  actor: Actor
  now: Date
  settings: Settings
  jobs: Jobs
  storage: Storage
  mailer: Mailer
  log: FastifyBaseLogger
  publicUrl: () => string
  /** The way to write: all or nothing, together with the answer kept for an Idempotency-Key. */
  transaction<T>(fn: (tx: Tx) => Promise<T>): Promise<T>
  /** Names inputs that a rule makes the server ignore, in the header X-Ignored. */
  ignored(...names: string[]): void
  /** The versions one of which the caller believes to change (If-Match); undefined when it does not say. */
  expectedVersions: readonly number[] | undefined
  /** Tells the caller the version of the row that it gets (ETag). */
  tagged(version: number): void
}

/** Whether the row is none of those that the caller believes to change. */
export const isStale = ({ expectedVersions }: Context, { version }: { version: number }): boolean =>
  expectedVersions !== undefined && !expectedVersions.includes(version)

/** For jobs and scripts, which act on behalf of nobody. */
export function systemContext(deps: Deps): Context {
  return {
    ...contextParts(deps),
    actor: systemActor,
    now: deps.clock(),
    log: deps.log,
    ignored: () => {},
    expectedVersions: undefined,
    tagged: () => {},
    onHangUp: () => () => {},
  }
}

/** Somebody in whose name a script acts. */
export type ActingUser = Pick<Actor, 'accountId' | 'userId' | 'email' | 'name' | 'timeZone' | 'isOwner'>

/** For scripts and the first start, which act in the name of a user, as if signed in. */
export function userContext(deps: Deps, user: ActingUser): Context {
  return { ...systemContext(deps), actor: { ...systemActor, ...user, kind: 'session' } }
}

export const contextParts = ({ db, settings, jobs, storage, mailer, publicUrl }: Deps) => ({
  db,
  settings,
  jobs,
  storage,
  mailer,
  publicUrl,
  transaction: db.transaction,
})
