import { audit } from '../audit/log.ts'
import { isNoted } from '../platform/access/authenticate.ts'
import type { Resource } from '../platform/access/authorize.ts'
import { storedAddress } from '../platform/access/network.ts'
import type { Actor } from '../platform/actor.ts'
import type { Context, Deps } from '../platform/context.ts'
import { type Database, type Sql, sql } from '../platform/database/database.ts'
import { unauthorized } from '../platform/errors.ts'
import { newToken, tokenHash } from '../platform/secrets/secrets.ts'
import { formatInstant } from '../platform/time/time.ts'
import type { Settings } from '../settings.ts'
import type { Session } from './schema.ts'

export const SESSION_COOKIE = 'gridpost_session'
/** A session ends this long after its last use; so does its cookie. */
export const sessionSeconds = ({ keepSessionsDays }: Pick<Settings, 'keepSessionsDays'>) => keepSessionsDays * 86_400

const after = (now: Date, seconds: number) => formatInstant(new Date(now.getTime() + seconds * 1000))

/** Who sends a request: its address and its program. */
export interface Sender {
  ip: string
  userAgent: string
}

/** The sender of a request without credentials. */
export interface Visitor extends Sender {
  /** The cookie of known-device.ts, if the browser has one. */
  deviceCookie: string | undefined
  /** The cookie of the session that the browser had before, if it had one. */
  sessionCookie: string | undefined
  /** Waits before the answer. */
  pause: (ms: number) => Promise<void>
}

/** A user has at most this many sessions. A further one ends the session that was unused for longest. */
const MOST_SESSIONS = 200
const MAX_USER_AGENT = 300

/**
 * Starts a session. Only the hash of the cookie's value is stored.
 * @param passwordHash the one that the password was checked against, if it was
 * @param former the value that the cookie had before. Its session ends if it belongs to the same user, because the browser forgets it now
 * @returns the cookie's value
 * @throws AppError 401 if the password has been replaced, or the user disabled, since it was checked, because that has ended all sessions
 */
export async function startSession(
  { db, settings }: { db: Database; settings: Pick<Settings, 'keepSessionsDays'> },
  userId: number,
  now: Date,
  { sender, passwordHash = null, former = '' }: { sender?: Sender; passwordHash?: string | null; former?: string | undefined } = {},
): Promise<string> {
  const token = newToken()
  const at = formatInstant(now)
  const { ip, userAgent } = shown(sender)
  const { changed: started } = await db.write(sql`
    with surplus as (
      delete from sessions where id in (
        select id from sessions where user_id = ${userId} order by last_seen_at desc, id desc offset ${MOST_SESSIONS - 1})
    ),
    replaced as (delete from sessions where user_id = ${userId} and token_hash = ${tokenHash(former)}),
    seen as (${seeing(userId, now)})
    insert into sessions (user_id, token_hash, created_at, last_seen_at, expires_at, ip, user_agent)
    select id, ${tokenHash(token)}, ${at}::timestamp, ${at}::timestamp, ${after(now, sessionSeconds(settings))}::timestamp,
      ${ip}, ${userAgent}
    from users where id = ${userId} and status = 'active' and (${passwordHash}::text is null or password_hash = ${passwordHash})
    -- Waits for a change of the password or the status that has not been committed yet.
    for share`)
  if (!started) throw unauthorized('The password or the user was changed meanwhile, please sign in again')
  return token
}

/** Notes when the user was last seen. The row stays when the session ends. */
const seeing = (userId: number, now: Date): Sql => sql`
  insert into last_seen (user_id, at) select id, ${formatInstant(now)}::timestamp from users where id = ${userId}
  on conflict (user_id) do update set at = greatest(last_seen.at, excluded.at)`

/** As the list of sessions shows them. */
const shown = (sender: Sender | undefined): { ip: string | null; userAgent: string | null } => ({
  ip: storedAddress(sender?.ip),
  userAgent: sender?.userAgent.slice(0, MAX_USER_AGENT) || null,
})

/** A session of the caller. */
export const sessionResource: Resource<{ found_session_id: number }> = {
  ids: [{ name: 'id', thing: 'Session', found: 'found_session_id' }],
  select: ({ id }) => sql`select s.id as found_session_id from sessions s where s.id = ${id} and s.user_id = p.p_user_id`,
  check: () => {},
}

/** Returns the sessions of the caller, the last used one first. */
export async function list({ db, actor, now }: Context): Promise<{ rows: Session[]; total: number }> {
  const rows = await db.read<Session>(sql`
    select id, created_at, last_seen_at, ip, user_agent, id = ${actor.sessionId}::int as current
    from sessions where user_id = ${actor.userId} and expires_at > ${formatInstant(now)}::timestamp
    order by last_seen_at desc, id desc`)
  return { rows, total: rows.length }
}

/** Ends a session of the caller. Ending it twice has no further effect. */
export async function endOwn(context: Context, sessionId: number): Promise<{ isCurrent: boolean }> {
  const { db, actor, transaction } = context
  await transaction(async () => {
    const { changed: ended } = await db.write(sql`delete from sessions where id = ${sessionId}`)
    if (ended) await audit(context, 'session.ended', { id: sessionId })
  })
  return { isCurrent: sessionId === actor.sessionId }
}

/** Ends all sessions of a user except `keptId`. @returns how many */
export async function endOtherSessions(db: Database, userId: number, keptId: number | null): Promise<number> {
  return (await db.write(sql`delete from sessions where user_id = ${userId} and id is distinct from ${keptId}::int`)).changed
}

/**
 * Extends the session, at most once a minute. The caller does not wait for the write: if it is lost, the session only ends earlier.
 * @returns true if the session was extended, so that the cookie has to be, too
 */
export function noteSessionUse(
  { db, log, settings }: Deps,
  actor: Actor,
  { lastSeenAt, sender }: { lastSeenAt: string | null; sender: Sender },
  now: Date,
): boolean {
  if (isNoted(lastSeenAt, now)) return false
  const at = formatInstant(now)
  const { ip, userAgent } = shown(sender)
  db.write(sql`
    with seen as (${seeing(actor.userId, now)})
    update sessions set last_seen_at = ${at}::timestamp, expires_at = ${after(now, sessionSeconds(settings))}::timestamp,
      ip = ${ip}, user_agent = ${userAgent}
    where id = ${actor.sessionId}::int and last_seen_at < ${at}::timestamp`).catch((error: unknown) =>
    log.warn({ err: error }, 'last use of the session not recorded'),
  )
  return true
}
