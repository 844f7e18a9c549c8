/**
 * Authentication and authorisation. One statement reads credentials, membership and existence; then the checks follow in the order of
 * contract.md §2. Every procedure and every plain route calls `admit`.
 */
import { BlockList, isIPv6 } from 'node:net'
import { type Database, empty, type Sql, sql } from '../database/database.ts'
import { AppError, badInput, forbidden, notFound, sqlState, unauthorized } from '../http/errors.ts'
import { MAX_ID } from '../http/schemas.ts'
import { formatInstant } from '../time.ts'

export type Role = 'viewer' | 'member' | 'admin'
/** The right that a procedure needs: `read` requires the role viewer, `write` requires member, `admin` requires admin. */
export type Right = 'read' | 'write' | 'admin'
export type CallerKind = 'session' | 'account' | 'personal'

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

/** The user or key that acts. Jobs and scripts act as `system`, which no request can become. */
export interface Actor {
  kind: CallerKind | 'system'
  accountId: number
  /** The acting user: for an account key, the account's owner. */
  userId: number
  email: string
  name: string
  timeZone: string
  isOwner: boolean
  readOnly: boolean
  /** The whitelist of an account key; null admits every space. */
  spaceIds: number[] | null
  keyId: number | null
  keyName: string | null
  sessionId: number | null
}

/** The actor of jobs and scripts. */
export const systemActor: Actor = {
  kind: 'system',
  accountId: 0,
  userId: 0,
  email: '',
  name: 'Gridpost',
  timeZone: 'UTC',
  isOwner: false,
  readOnly: false,
  spaceIds: null,
  keyId: null,
  keyName: null,
  sessionId: null,
}

/** The credentials of a request. If it has a cookie and a key, the key counts. */
export type Credentials = { kind: 'none' } | { kind: 'invalid' } | { kind: 'key' | 'session'; tokenHash: Buffer }

type Ids = Record<string, number>

/** A kind of row that is found by ids in a path or a body, and the checks on it. */
export interface Resource<Row extends object = object> {
  /** The ids in the order of the checks, the noun of the 404, and the column that is null if the row does not exist. */
  readonly ids: readonly { name: string; thing: string; found: string }[]
  /** Selects at most one row. The SQL may use `p`, the row of the principal (p.p_account_id, p.p_user_id). */
  select(ids: Ids, db?: Database): Sql
  /** The checks after existence: whitelist, read right, role, row rule. */
  check(row: Row, actor: Actor, right: Right): void
  /** The resource to use instead if the statement fails because a user table or one of its columns is missing. */
  readonly without?: Resource<Row>
}

/** A select of one row for the principal `p`, which runs in the statement of the access check and so costs no round trip. */
export type Alongside<Row extends object = object> = ((now: Date) => Sql) & { readonly row?: Row }

/** The principal `p` of a select, for rules that take an actor. */
export const PRINCIPAL = { accountId: sql`p.p_account_id`, userId: sql`p.p_user_id`, isOwner: sql`p.p_is_owner` }

export interface Access {
  callers: Callers
  resource: Resource | null
  right: Right
  /** Only for short reads by key: it runs before the caller is admitted, on the connection for pipelined reads. */
  alongside?: Alongside
  /** Whether the procedure writes, which a read-only key may not; by default a query reads and a mutation writes. */
  effect?: 'read' | 'write'
  /** Where the ids of the resource are sent. Ids in the path are checked before the body is read. */
  idsIn?: 'path' | 'body'
  /** Only the account's owner, and account keys that see every space. */
  isOwnerOnly?: boolean
  /** The 500 `Not Authorized` that api.md fixes for records/query, instead of 403 and 404. */
  isSilent?: boolean
}

export interface Admission {
  actor: Actor
  row: object
}

export interface Asking {
  db: Database
  credentials: Credentials
  ip: string
  now: Date
  /** Whether the request changes something but says that it comes from another site. */
  isCrossSite: boolean
  /** Called once the principal is known: rate limits, last use. */
  onAuthenticated(actor: Actor, found: { lastSeenAt: string | null }): Promise<void>
}

const NOBODY: Admission = { actor: { ...systemActor, kind: 'system' }, row: {} }

/**
 * Checks access in the order of contract.md §2.
 * @returns the actor, and the row of the resource
 * @throws AppError 401, 403, 404; 400 for an id that is not a whole number
 */
export async function admit(asking: Asking, access: Access, isWrite: boolean, ids: Record<string, unknown>): Promise<Admission> {
  if (access.callers.length === 0) {
    if (isWrite && asking.isCrossSite) throw forbidden(CROSS_SITE)
    return NOBODY
  }
  const { resource } = access
  const numbers = resource ? boundIds(resource, ids) : {}
  const { actor, row, found } = await look(asking, resource, numbers, access.alongside)
  await asking.onAuthenticated(actor, found)

  if (!(access.callers as readonly string[]).includes(actor.kind)) throw forbidden(refusalFor(actor, access.callers))
  const writes = (access.effect ?? (isWrite ? 'write' : 'read')) === 'write'
  if (actor.kind === 'session' && isWrite && asking.isCrossSite) throw forbidden(CROSS_SITE)
  if (actor.readOnly && writes) throw forbidden('API key is read-only')
  if (!resource) {
    if (access.isOwnerOnly) checkOwner(actor)
    return { actor, row }
  }

  for (const { name } of resource.ids) requireWholeNumber(name, ids[name])
  try {
    for (const { thing, found } of resource.ids) if ((row as Record<string, unknown>)[found] == null) throw notFound(thing)
    resource.check(row, actor, access.right)
    if (access.isOwnerOnly) checkOwner(actor)
  } catch (refusal) {
    if (access.isSilent && refusal instanceof AppError) throw new AppError('INTERNAL_SERVER_ERROR', 'Not Authorized')
    throw refusal
  }
  return { actor, row }
}

/** Checks only the credentials, so that a request that failed before its resource was known still gets 401 first. */
export async function authenticate(asking: Asking): Promise<Actor> {
  const { actor, found } = await look(asking, null, {})
  await asking.onAuthenticated(actor, found)
  return actor
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
function boundIds(resource: Resource, ids: Record<string, unknown>): Ids {
  return Object.fromEntries(
    resource.ids.map(({ name }) => {
      const value = ids[name]
      return [name, typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= MAX_ID ? value : -1]
    }),
  )
}

/** The row of the user or key that credentials belong to. */
export interface PrincipalRow {
  p_kind: CallerKind
  p_key_id: number | null
  p_key_name: string | null
  p_session_id: number | null
  p_read_only: boolean
  p_space_ids: number[] | null
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

async function look({ db, credentials, ip, now }: Asking, resource: Resource | null, ids: Ids, alongside?: Alongside) {
  if (credentials.kind === 'none') throw unauthorized('Sign in, or send an API key as a bearer token')
  if (credentials.kind === 'invalid') throw unauthorized(WRONG_KEY)
  const hash = sql`${credentials.tokenHash}`
  const principal = credentials.kind === 'key' ? ofKey(hash) : ofSession(hash)
  const [row] = await withResource(db, alongside ? also(principal, alongside(now)) : principal, resource, ids)
  if (!row) throw unauthorized(credentials.kind === 'key' ? WRONG_KEY : ENDED)
  const refusal = refusalOf(row, ip, now)
  if (refusal) throw unauthorized(refusal)
  return { actor: actorOf(row), row: row as object, found: { lastSeenAt: row.p_last_seen_at } }
}

/** Why stored credentials are not valid now; undefined if they are. */
export function refusalOf(row: PrincipalRow, ip: string, now: Date): string | undefined {
  if (row.p_expires_at !== null && row.p_expires_at <= formatInstant(now))
    return row.p_kind === 'session' ? ENDED : 'The API key has expired'
  if (row.p_ip_allowlist?.length && !isAllowed(ip, row.p_ip_allowlist)) return 'The API key may not be used from this address'
  return undefined
}

const WRONG_KEY = 'The API key is not valid'
const ENDED = 'The session has ended, please sign in again'

const also = (principal: Sql, select: Sql): Sql => sql`select p.*, a.* from (${principal}) p left join lateral (${select}) a on true`

async function withResource(db: Database, principal: Sql, resource: Resource | null, ids: Ids): Promise<PrincipalRow[]> {
  const lateral = resource ? sql`left join lateral (${resource.select(ids, db)}) t on true` : empty
  try {
    // The statement is prepared: planning takes 0.8 ms, six times as long as running it.
    return await db.lookUp<PrincipalRow>(sql`select p.*${resource ? sql`, t.*` : empty} from (${principal}) p ${lateral}`, 'who')
  } catch (error) {
    if (resource?.without && IS_MISSING.has(sqlState(error) ?? '')) return withResource(db, principal, resource.without, ids)
    throw error
  }
}

/** Undefined table, undefined column, or an outdated plan. */
const IS_MISSING = new Set(['42P01', '42703', '0A000'])

/** Selects the principal of a key. @param more further columns, each with its comma */
export const ofKey = (hash: Sql, more: Sql = empty) => sql`
  select ${more} k.kind as p_kind, k.id as p_key_id, k.name as p_key_name, null::int as p_session_id, k.read_only as p_read_only,
    case when k.all_spaces then null else k.space_ids end as p_space_ids, k.ip_allowlist as p_ip_allowlist,
    k.expires_at as p_expires_at, k.last_used_at as p_last_seen_at, ${ofUser}
  from api_keys k
  join accounts a on a.id = k.account_id
  join users u on u.id = case k.kind when 'account' then a.owner_user_id else k.user_id end and u.status = 'active'
  where k.token_hash = ${hash}`

/** Selects the principal of a session. */
export const ofSession = (hash: Sql, more: Sql = empty) => sql`
  select ${more} 'session' as p_kind, null::int as p_key_id, null as p_key_name, s.id as p_session_id, false as p_read_only,
    null::int[] as p_space_ids, null::text[] as p_ip_allowlist,
    s.expires_at as p_expires_at, s.last_seen_at as p_last_seen_at, ${ofUser}
  from sessions s
  join users u on u.id = s.user_id and u.status = 'active'
  join accounts a on a.id = u.account_id
  where s.token_hash = ${hash}`

const ofUser = sql`u.id as p_user_id, u.account_id as p_account_id, u.email as p_email, u.name as p_name,
    u.timezone as p_timezone, a.owner_user_id is not distinct from u.id as p_is_owner`

export function actorOf(row: PrincipalRow): Actor {
  return {
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
  }
}

function isAllowed(ip: string, ranges: string[]): boolean {
  const list = new BlockList()
  for (const range of ranges) {
    const [address = '', bits] = range.split('/')
    const family = isIPv6(address) ? 'ipv6' : 'ipv4'
    list.addSubnet(address, bits === undefined ? (family === 'ipv6' ? 128 : 32) : Number(bits), family)
  }
  const plain = ip.replace(/^::ffff:(?=\d+\.)/, '')
  return list.check(plain, isIPv6(plain) ? 'ipv6' : 'ipv4')
}

function checkOwner(actor: Actor): void {
  if (actor.spaceIds) throw forbidden(OTHER_SPACE)
  if (!actor.isOwner) throw forbidden()
}

/** The message for a key that sends attachments for a task or a comment on a task (api.md, Errors). */
export const NO_ATTACHMENTS = 'Attachments cannot be set via the public API'
/** The message for a key whose whitelist does not contain the space. */
export const OTHER_SPACE = 'API key not authorized for this workspace'
