/**
 * Who is asking, and may they? One statement answers credentials, membership and existence; the checks then follow in
 * the order of contract.md §2. Every procedure and every plain route goes through `admit`.
 */
import { BlockList, isIPv6 } from 'node:net'
import { type Database, empty, type Sql, sql } from '../database/database.ts'
import { AppError, badInput, forbidden, notFound, sqlState, unauthorized } from '../http/errors.ts'
import { MAX_ID } from '../http/schemas.ts'
import { formatInstant } from '../time.ts'

export type Role = 'viewer' | 'member' | 'admin'
/** What a procedure asks for: read needs a viewer, write a member, admin an admin. */
export type Right = 'read' | 'write' | 'admin'
export type CallerKind = 'session' | 'account' | 'personal'

/** Who may call a procedure at all. */
export const callers = {
  any: ['session', 'account', 'personal'],
  /** Browser login only. */
  session: ['session'],
  /** People: what belongs to a user, such as notifications. */
  users: ['session', 'personal'],
  /** Closed to personal keys: what changes spaces, members, tables and fields. */
  managers: ['session', 'account'],
  /** What a key asks about itself. */
  keys: ['account', 'personal'],
  /** Any key or session, or none at all. */
  anyone: [],
} as const satisfies Record<string, readonly CallerKind[]>
export type Callers = (typeof callers)[keyof typeof callers]

/** On whose behalf something happens. `system` stands for jobs and scripts; no request can be that. */
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
  /** The whitelist of an account key; null is every space. */
  spaceIds: number[] | null
  keyId: number | null
  keyName: string | null
  sessionId: number | null
}

/** Jobs and scripts. */
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

/** What came with the request. When cookie and key are both sent, the key counts. */
export type Credentials = { kind: 'none' } | { kind: 'invalid' } | { kind: 'key' | 'session'; tokenHash: Buffer }

type Ids = Record<string, number>

/** Something that ids in a path or a body name: how to find it, and who may have it. */
export interface Resource<Row extends object = object> {
  /** The ids in the order in which they are looked for, the noun of the 404, and the column that is null when it is missing. */
  readonly ids: readonly { name: string; thing: string; found: string }[]
  /** One row, or none; may use `p`, the row of the principal (p.p_account_id, p.p_user_id). */
  select(ids: Ids, db?: Database): Sql
  /** The checks after existence: whitelist, read right, role, row rule. */
  check(row: Row, actor: Actor, right: Right): void
  /** When a statement fails because a user table or a column of it is missing, the resource that tells what is there. */
  readonly without?: Resource<Row>
}

/** What is read in the same statement as who asks, so that it costs no trip of its own: it selects one row, of the principal `p`. */
export type Alongside<Row extends object = object> = ((now: Date) => Sql) & { readonly row?: Row }

/** The principal `p` of a resource's or an alongside's select, where a rule asks for an actor. */
export const PRINCIPAL = { accountId: sql`p.p_account_id`, userId: sql`p.p_user_id`, isOwner: sql`p.p_is_owner` }

export interface Access {
  callers: Callers
  resource: Resource | null
  right: Right
  /** Only for reads by key that are sure to be short: it runs before the caller is admitted, on the connection for short reads. */
  alongside?: Alongside
  /** What a read-only key may call; by default a query reads and a mutation writes. */
  effect?: 'read' | 'write'
  /** Where the resource's ids stand. Those of a path are checked before the body is read. */
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
 * Checks in the order of contract.md §2, and answers who asks and the row of what they ask for.
 * @throws AppError 401, 403, 404; 400 for an id that is no whole number
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

/** Only the credentials: for a request that failed before its resource could be known, so that 401 comes first. */
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

/** Ids as the statement can take them: one that names nothing for sure is bound as -1, which no row has. */
function boundIds(resource: Resource, ids: Record<string, unknown>): Ids {
  return Object.fromEntries(
    resource.ids.map(({ name }) => {
      const value = ids[name]
      return [name, typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= MAX_ID ? value : -1]
    }),
  )
}

/** Who credentials stand for. */
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

/** Why credentials that are known do not count; undefined when they do. */
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
    // Prepared: planning it anew for each request would cost 0.8 ms, six times what it takes to run.
    return await db.lookUp<PrincipalRow>(sql`select p.*${resource ? sql`, t.*` : empty} from (${principal}) p ${lateral}`, 'who')
  } catch (error) {
    if (resource?.without && IS_MISSING.has(sqlState(error) ?? '')) return withResource(db, principal, resource.without, ids)
    throw error
  }
}

/** No such table, no such column, a plan that no longer fits. */
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

/** What a key is told that sends attachments for a task or a comment on one (api.md, Errors). */
export const NO_ATTACHMENTS = 'Attachments cannot be set via the public API'
/** What a key is told whose whitelist leaves a space out. */
export const OTHER_SPACE = 'API key not authorized for this workspace'
