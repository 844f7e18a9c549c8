import type { Actor } from '../platform/access/authenticate.ts'
import type { Deps } from '../platform/context.ts'
import { type Database, sql } from '../platform/database/database.ts'
import { newToken, tokenHash } from '../platform/secrets.ts'
import { formatInstant } from '../platform/time.ts'
import type { Settings } from '../settings.ts'

export const SESSION_COOKIE = 'gridpost_session'
/** A session ends this long after its last use; so does its cookie. */
export const sessionSeconds = ({ keepSessionsDays }: Pick<Settings, 'keepSessionsDays'>) => keepSessionsDays * 86_400
/** A session's last use is written at most once in this time. */
const NOTE_AFTER_MS = 60_000

const after = (now: Date, seconds: number) => formatInstant(new Date(now.getTime() + seconds * 1000))

/** Starts a session. Only the hash of the cookie's value is stored. @returns the cookie's value */
export async function startSession(
  { db, settings }: { db: Database; settings: Pick<Settings, 'keepSessionsDays'> },
  userId: number,
  now: Date,
): Promise<string> {
  const token = newToken()
  const at = formatInstant(now)
  await db.execute(sql`
    insert into sessions (user_id, token_hash, created_at, last_seen_at, expires_at)
    values (${userId}, ${tokenHash(token)}, ${at}::timestamp, ${at}::timestamp, ${after(now, sessionSeconds(settings))}::timestamp)`)
  return token
}

/** Ends one session. @returns false if it had ended already */
export async function endSession(db: Database, sessionId: number): Promise<boolean> {
  return (await db.execute(sql`delete from sessions where id = ${sessionId}`)) > 0
}

/** Ends all sessions of a user except `keptId`. */
export async function endOtherSessions(db: Database, userId: number, keptId: number | null): Promise<void> {
  await db.execute(sql`delete from sessions where user_id = ${userId} and id is distinct from ${keptId}::int`)
}

/**
 * Extends the session, at most once a minute. The caller does not wait for the write: if it is lost, the session only ends earlier.
 * @returns true if the session was extended, so that the cookie has to be, too
 */
export function noteSessionUse({ db, log, settings }: Deps, actor: Actor, lastSeenAt: string | null, now: Date): boolean {
  if (lastSeenAt && lastSeenAt > formatInstant(new Date(now.getTime() - NOTE_AFTER_MS))) return false
  const at = formatInstant(now)
  db.execute(sql`
    update sessions set last_seen_at = ${at}::timestamp, expires_at = ${after(now, sessionSeconds(settings))}::timestamp
    where id = ${actor.sessionId}::int and last_seen_at < ${at}::timestamp`).catch((error: unknown) =>
    log.warn({ err: error }, 'last use of the session not recorded'),
  )
  return true
}
