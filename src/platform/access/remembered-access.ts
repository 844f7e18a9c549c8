/**
 * What access checks have found for callers, so that the next check need not find it again. It holds as long as the account's access has
 * the same version, which each check reads: triggers change it in the transaction of any change of keys, sessions, users, members, spaces
 * and tables (docs/decisions/0034-access-versions.md).
 */
import type { Actor } from '../actor.ts'
import { BoundedMap } from '../collections/bounded-map.ts'
import { formatInstant } from '../time/time.ts'
import type { Container, ResourceIds } from './access-statement.ts'
import {
  actorOf,
  type Credentials,
  isNoted,
  type KnownCredentials,
  nameOf,
  type PrincipalRow,
  refusalOf,
  type Validity,
} from './authenticate.ts'

const MOST_CALLERS = 10_000
/** Of spaces and of tables, for each caller. */
const MOST_CONTAINERS = 8
/** The longest time for which a change is missed if an operator turns off the triggers. */
const REMEMBERED_MS = 30_000

/** A caller as the database had it. */
export interface FoundCaller {
  readonly actor: Actor
  readonly validity: Validity
  /** Of the account's access, from the statement that found the caller. Null for an account without one, which is not remembered. */
  readonly version: string | null
  readonly foundAt: number
  /** Of the last use that was noted. */
  lastSeenAt: string | null
  /** The rows of spaces and of tables, with the caller's role, by id. */
  readonly containers: Record<Container['kind'], BoundedMap<number, object>>
}

export function callerFrom(row: PrincipalRow, version: string | null, now: Date): FoundCaller {
  const { p_kind, p_expires_at, p_ip_allowlist, p_last_seen_at } = row
  return {
    actor: Object.freeze(actorOf(row)),
    validity: { p_kind, p_expires_at, p_ip_allowlist },
    version,
    foundAt: now.getTime(),
    lastSeenAt: p_last_seen_at,
    containers: { space: new BoundedMap(MOST_CONTAINERS), table: new BoundedMap(MOST_CONTAINERS) },
  }
}

/** The callers who were admitted last. It says who a caller is, and never what they may do now. */
export class RememberedAccess {
  readonly #callers = new BoundedMap<string, FoundCaller>(MOST_CALLERS)

  /**
   * The caller, if it was found a short while ago. One whose credentials have ended since then, or that sends from another address than
   * they allow, is looked up again: they may have been extended.
   */
  recall(credentials: KnownCredentials, { ip, now }: { ip: string; now: Date }): FoundCaller | undefined {
    const caller = this.#callers.get(nameOf(credentials))
    if (!caller) return undefined
    const age = now.getTime() - caller.foundAt
    return age >= 0 && age < REMEMBERED_MS && !refusalOf(caller.validity, ip, now) ? caller : undefined
  }

  /** The account of which the credentials were when they were last admitted. */
  accountOf(credentials: Credentials): number | undefined {
    const name = nameOf(credentials)
    return name === undefined ? undefined : this.#callers.get(name)?.actor.accountId
  }

  /**
   * Remembers a caller that passed all checks, and the space or table that was asked for.
   * @param row of the resource with the ids, which was read with the version of the caller
   */
  remember(
    credentials: KnownCredentials,
    caller: FoundCaller,
    { container, ids, row }: { container: Container | undefined; ids: ResourceIds; row: object },
  ): void {
    if (caller.version === null) return
    this.#callers.set(nameOf(credentials), caller)
    if (container) caller.containers[container.kind].set(ids[container.id] ?? -1, picked(row, container.columns))
  }

  /** Forgets credentials that were refused, so that what is sent with them does not count for their account. */
  forget(credentials: Credentials): void {
    this.#callers.delete(nameOf(credentials) ?? '')
  }
}

declare module '../context.ts' {
  interface Deps {
    /** Who callers are, from their last requests; undefined if every request looks them up. */
    rememberedAccess: RememberedAccess | undefined
  }
}

export const rememberedContainer = ({ containers }: FoundCaller, { kind, id }: Container, ids: ResourceIds): object | undefined =>
  containers[kind].get(ids[id] ?? -1)

const picked = (row: object, columns: readonly string[]): object =>
  Object.freeze(Object.fromEntries(columns.map((column) => [column, (row as Record<string, unknown>)[column]])))

/** Marks the credentials as used now. @returns the previous mark; if that is long ago, the use is to be written to the database */
export function touch(caller: FoundCaller, now: Date): string | null {
  const { lastSeenAt } = caller
  if (!isNoted(lastSeenAt, now)) caller.lastSeenAt = formatInstant(now)
  return lastSeenAt
}
