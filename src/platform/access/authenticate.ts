/** Authentication: credentials become an actor. Keys and sessions select the same columns, those of the principal `p`. */

import { BlockList, isIPv6 } from 'node:net'
import type { Actor, CallerKind } from '../actor.ts'
import { type Database, empty, type Sql, sql } from '../database/database.ts'
import { shortRead } from '../database/statements/statement.ts'
import { type AppError, unauthorized } from '../errors.ts'
import { formatInstant } from '../time/time.ts'
import { plainAddress } from './network.ts'

/** The credentials of a request. If it has a cookie and a key, the key counts. */
export type Credentials = { kind: 'none' } | { kind: 'invalid' } | KnownCredentials
/** Credentials that may name a principal. */
export interface KnownCredentials {
  kind: 'key' | 'session'
  tokenHash: Buffer
  /** From `nameOf`. A connection keeps those of its key, so it is found once for many requests. */
  name?: string
}

/** The name under which callers are remembered; undefined without credentials. */
export function nameOf(credentials: KnownCredentials): string
export function nameOf(credentials: Credentials): string | undefined
export function nameOf(credentials: Credentials): string | undefined {
  if (!('tokenHash' in credentials)) return undefined
  credentials.name ??= `${credentials.kind} ${credentials.tokenHash.toString('latin1')}`
  return credentials.name
}

/** The credentials as a request presents them. */
interface Claim {
  credentials: Credentials
  ip: string
  now: Date
  /** The id of the user whose session the sender takes it for, as it was sent; undefined if they do not say. */
  sessionUser: string | undefined
}

export interface Authentication extends Claim {
  db: Database
  /** Called once the principal is known: for rate limits, and to note the last use. */
  onAuthenticated(actor: Actor, found: { lastSeenAt: string | null }): Promise<void> | void
  /** Called when the credentials are refused: counts the request by its address. @returns the error to throw, 401 or 429 */
  onRefused(refusal: AppError): AppError
}

/**
 * Checks only the credentials, so that a request that failed before its resource was known still gets 401 first.
 * @throws AppError 401
 */
export async function authenticate(asking: Authentication): Promise<Actor> {
  const { kind, tokenHash } = knownCredentials(asking)
  const [row] = await asking.db.read<PrincipalRow>(shortRead('who', principalBy(kind, sql`${tokenHash}`)))
  const principal = verified(row, asking)
  const actor = actorOf(principal)
  requireSessionUser(actor, asking)
  await asking.onAuthenticated(actor, { lastSeenAt: principal.p_last_seen_at })
  return actor
}

/** The credentials, if they could name a principal. @throws AppError 401 */
export function knownCredentials({ credentials, onRefused }: Pick<Authentication, 'credentials' | 'onRefused'>): KnownCredentials {
  if (credentials.kind === 'none') throw onRefused(unauthorized('Sign in, or send an API key as a bearer token'))
  if (credentials.kind === 'invalid') throw onRefused(unauthorized(WRONG_KEY))
  return credentials
}

/** Selects the principal that has the token with the hash, or no row. */
export const principalBy = (kind: KnownCredentials['kind'], hash: Sql): Sql => (kind === 'key' ? selectKey(hash) : selectSession(hash))

/** The row, if the claim holds. @throws AppError 401 when there is no such principal, or its credentials do not count now or from here */
export function verified<Row extends PrincipalRow>(row: Row | undefined, { credentials, ip, now, onRefused }: Authentication): Row {
  if (!row) throw onRefused(unauthorized(credentials.kind === 'key' ? WRONG_KEY : ENDED))
  const refusal = refusalOf(row, ip, now)
  if (refusal) throw onRefused(unauthorized(refusal))
  return row
}

/** The header that says whose session a request expects. */
export const SESSION_USER_HEADER = 'x-session-user'

/**
 * Refuses the session of another user than the one that the request names: pages of one browser share a cookie, so what one person has
 * written could be sent as another who has signed in since. A key is sent by the one who has it, so it is not looked at.
 * @throws AppError 401
 */
export function requireSessionUser({ kind, userId }: Actor, { sessionUser, onRefused }: Authentication): void {
  if (kind !== 'session' || sessionUser === undefined || sessionUser === String(userId)) return
  const issues = [{ path: ['X-Session-User'], message: 'is not the user of the session' }]
  throw onRefused(unauthorized('The session is of another user', { issues }))
}

/** The row of the user or key that credentials belong to. */
export interface PrincipalRow {
  p_kind: CallerKind
  p_key_id: number | null
  p_key_name: string | null
  p_session_id: number | null
  p_read_only: boolean
  p_space_ids: number[] | null
  /** Null if the key may be used from anywhere. */
  p_ip_allowlist: string[] | null
  p_expires_at: string | null
  p_last_seen_at: string | null
  p_user_id: number
  p_account_id: number
  p_email: string
  p_name: string
  p_timezone: string
  p_is_owner: boolean
}

/** The principal `p` of a select, for rules that take an actor. */
export const PRINCIPAL = { accountId: sql`p.p_account_id`, userId: sql`p.p_user_id`, isOwner: sql`p.p_is_owner` }

/** The last use of a key or a session is written at most once in this time. */
export const NOTE_AFTER_MS = 60_000
/** Whether a use at this moment need not be noted, because one within the last minute was. */
export const isNoted = (lastSeenAt: string | null, now: Date): boolean =>
  lastSeenAt !== null && lastSeenAt > formatInstant(new Date(now.getTime() - NOTE_AFTER_MS))

/** What of credentials can make them invalid without any change. */
export type Validity = Pick<PrincipalRow, 'p_kind' | 'p_expires_at' | 'p_ip_allowlist'>

/** Why stored credentials are not valid now; undefined if they are. */
export function refusalOf(row: Validity, ip: string, now: Date): string | undefined {
  if (row.p_expires_at !== null && row.p_expires_at <= formatInstant(now))
    return row.p_kind === 'session' ? ENDED : 'The API key has expired'
  if (row.p_ip_allowlist && !isAllowed(ip, row.p_ip_allowlist)) return 'The API key may not be used from this address'
  return undefined
}

const WRONG_KEY = 'The API key is not valid'
const ENDED = 'The session has ended, please sign in again'

function isAllowed(ip: string, ranges: string[]): boolean {
  const list = new BlockList()
  for (const range of ranges) {
    const [address = '', bits] = range.split('/')
    const family = isIPv6(address) ? 'ipv6' : 'ipv4'
    list.addSubnet(address, bits === undefined ? (family === 'ipv6' ? 128 : 32) : Number(bits), family)
  }
  const plain = plainAddress(ip)
  return list.check(plain, isIPv6(plain) ? 'ipv6' : 'ipv4')
}

/** Selects the principal of a key. @param more further columns, each with its comma */
export const selectKey = (hash: Sql, more: Sql = empty) => selectKeys(sql`k.token_hash = ${hash}`, more)

/** Selects the principals of the keys `k` for which the condition is true. @param more as `selectKey` */
export const selectKeys = (condition: Sql, more: Sql = empty) => sql`
  select ${more} k.kind as p_kind, k.id as p_key_id, k.name as p_key_name, null::int as p_session_id, k.read_only as p_read_only,
    case when not k.all_spaces then coalesce(k.space_ids, '{}') end as p_space_ids, nullif(k.ip_allowlist, '{}') as p_ip_allowlist,
    k.expires_at as p_expires_at, k.last_used_at as p_last_seen_at, ${userColumns}
  from api_keys k
  join accounts a on a.id = k.account_id
  join users u on u.id = case k.kind when 'account' then a.owner_user_id else k.user_id end and u.status = 'active'
  where ${condition}`

/** Selects the principal of a session. */
export const selectSession = (hash: Sql, more: Sql = empty) => sql`
  select ${more} 'session' as p_kind, null::int as p_key_id, null as p_key_name, s.id as p_session_id, false as p_read_only,
    null::int[] as p_space_ids, null::text[] as p_ip_allowlist,
    s.expires_at as p_expires_at, s.last_seen_at as p_last_seen_at, ${userColumns}
  from sessions s
  join users u on u.id = s.user_id and u.status = 'active'
  join accounts a on a.id = u.account_id
  where s.token_hash = ${hash}`

/** Selects the principals of the users `u` for whom the condition is true, as if they had signed in. */
export const selectUser = (condition: Sql) => sql`
  select 'session' as p_kind, null::int as p_key_id, null as p_key_name, null::int as p_session_id, false as p_read_only,
    null::int[] as p_space_ids, null::text[] as p_ip_allowlist, null::timestamp as p_expires_at, null::timestamp as p_last_seen_at,
    ${userColumns}
  from users u
  join accounts a on a.id = u.account_id
  where ${condition} and u.status = 'active'`

const userColumns = sql`u.id as p_user_id, u.account_id as p_account_id, u.email as p_email, u.name as p_name,
    u.timezone as p_timezone, a.owner_user_id is not distinct from u.id as p_is_owner`

export const actorOf = (row: PrincipalRow): Actor => ({
  kind: row.p_kind,
  accountId: row.p_account_id,
  userId: row.p_user_id,
  email: row.p_email,
  name: row.p_name,
  timeZone: row.p_timezone,
  isOwner: row.p_is_owner,
  readOnly: row.p_read_only,
  spaceIds: row.p_space_ids,
  keyId: row.p_key_id,
  keyName: row.p_key_name,
  sessionId: row.p_session_id,
})
