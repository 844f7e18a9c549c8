/**
 * What access checks have found for callers, so that the next check need not find it again. It holds as long as the account's access has the
 * same version, which each check reads: triggers change it in the transaction of any change of keys, sessions, users, members, spaces and
 * tables (docs/decisions/0034-access-versions.md).
 */
import { BoundedMap } from '../collections/bounded-map.ts'
import type { Database } from '../database/database.ts'
import { memo } from '../memo.ts'
import { formatInstant } from '../time/time.ts'
import type { Lasting, ResourceIds } from './access-statement.ts'
import { type Actor, actorOf, isNoted, type KnownCredentials, nameOf, type PrincipalRow, refusalOf, type Validity } from './authenticate.ts'

const MOST_CALLERS = 4_000
/** Of spaces and of tables, for each caller. */
const MOST_PARTS = 8
/** The longest time for which a change is missed if an operator turns off the triggers. */
const REMEMBERED_MS = 30_000

/** A caller as the database had it. */
export interface FoundCaller {
  readonly actor: Actor
  readonly validity: Validity
  /** Of the account's access, from the statement that found the caller. Null for an account without one, whose callers are not remembered. */
  readonly version: string | null
  readonly foundAt: number
  /** Of the last use that was noted. */
  lastSeenAt: string | null
  /** The lasting parts of resources, by their list of columns and their id. */
  readonly parts: Map<readonly string[], BoundedMap<number, object>>
}

const rememberedBy = memo((_: Database) => new BoundedMap<string, FoundCaller>(MOST_CALLERS))

/**
 * The caller, if it was found a short while ago. One whose credentials have ended since then, or that sends from another address than they
 * allow, is looked up again: they may have been extended.
 */
export function recall(db: Database, credentials: KnownCredentials, { ip, now }: { ip: string; now: Date }): FoundCaller | undefined {
  // A transaction sees its own changes before the version changes, at its commit.
  if (db.inTransaction()) return undefined
  const caller = rememberedBy(db).get(nameOf(credentials))
  if (!caller) return undefined
  const age = now.getTime() - caller.foundAt
  return age >= 0 && age < REMEMBERED_MS && !refusalOf(caller.validity, ip, now) ? caller : undefined
}

export const rememberedPart = (caller: FoundCaller, { columns, id }: Lasting, ids: ResourceIds): object | undefined =>
  caller.parts.get(columns)?.get(ids[id] ?? -1)

export function callerFrom(row: PrincipalRow, version: string | null, now: Date): FoundCaller {
  const { p_kind, p_expires_at, p_ip_allowlist, p_last_seen_at } = row
  return {
    actor: Object.freeze(actorOf(row)),
    validity: { p_kind, p_expires_at, p_ip_allowlist },
    version,
    foundAt: now.getTime(),
    lastSeenAt: p_last_seen_at,
    parts: new Map(),
  }
}

/** Remembers a caller that passed all checks. @param row of the resource with the ids, which was read with the version of the caller */
export function remember(
  db: Database,
  credentials: KnownCredentials,
  caller: FoundCaller,
  { lasting, ids, row }: { lasting: Lasting | undefined; ids: ResourceIds; row: object },
): void {
  if (db.inTransaction() || caller.version === null) return
  const callers = rememberedBy(db)
  const name = nameOf(credentials)
  if (callers.get(name) !== caller) callers.set(name, caller)
  if (!lasting) return
  const parts = caller.parts.get(lasting.columns) ?? new BoundedMap<number, object>(MOST_PARTS)
  caller.parts.set(lasting.columns, parts)
  parts.set(ids[lasting.id] ?? -1, picked(row, lasting.columns))
}

const picked = (row: object, columns: readonly string[]): object =>
  Object.freeze(Object.fromEntries(columns.map((column) => [column, (row as Record<string, unknown>)[column]])))

/** Takes a use of the credentials as noted, although it is written to the database later. @returns the last one that was noted before; if that was long ago, this one is to be noted */
export function noteUse(caller: FoundCaller, now: Date): string | null {
  const { lastSeenAt } = caller
  if (!isNoted(lastSeenAt, now)) caller.lastSeenAt = formatInstant(now)
  return lastSeenAt
}

/** Forgets the caller, unless another request has found it again. */
export function forget(db: Database, credentials: KnownCredentials, caller: FoundCaller): void {
  const name = nameOf(credentials)
  if (rememberedBy(db).get(name) === caller) rememberedBy(db).delete(name)
}
