/** A forgotten password: a link by mail, which works once and for an hour. */
import { z } from 'zod'
import { changeUser } from '../accounts/service.ts'
import { audit } from '../audit/log.ts'
import { networkOf } from '../platform/access/network.ts'
import type { Context } from '../platform/context.ts'
import { type Database, sql } from '../platform/database/database.ts'
import { badInput } from '../platform/errors.ts'
import { linkToForm } from '../platform/http/pages/links.ts'
import { defineQueue } from '../platform/jobs/queue.ts'
import { escapeHtml } from '../platform/mail/html.ts'
import { NoMailer } from '../platform/mail/mailer.ts'
import { hashPassword, newToken, tokenHash } from '../platform/secrets/secrets.ts'
import { formatInstant } from '../platform/time/time.ts'
import { noticePassword } from './password-notice.ts'
import type { Forgot, Reset } from './schema.ts'
import { endOtherSessions, type Visitor } from './sessions.ts'
import { restOfSecond, tooManyFailures } from './throttling/attempts.ts'
import { rememberDevice } from './throttling/known-device.ts'
import { pairOf, rememberPair } from './throttling/known-pair.ts'
import { bucket, count } from './throttling/throttle.ts'

const LIFETIME_MS = 3_600_000

/** The job gets the address, and finds its user: the request does the same for every address. `ip` is for the audit log. */
const Forgotten = z.object({ email: z.string(), ip: z.string() })

export const sendReset = defineQueue({ name: 'auth.reset', schema: Forgotten })

/**
 * Mails a link for a new password if a user has the address. Whether one has shows neither in the answer nor in its time. The first three
 * requests for an address are taken, however many its network has sent, so that nobody there can keep a user from a link. Beyond three
 * nothing is sent for a while; the links that were mailed still work.
 * @throws AppError 429 with Retry-After for further requests from a network that has sent many
 */
export async function forgot({ db, jobs, now }: Context, { email }: Forgot, { ip, pause }: Pick<Visitor, 'ip' | 'pause'>): Promise<void> {
  const startedAt = performance.now()
  const network = networkOf(ip)
  const isPrompt = (await count(db, [bucket('promptMails', network)], now)) === 0
  const waitSeconds = await count(db, [bucket('mailsFromNetwork', network)], now)
  const isTaken = (await count(db, [bucket('mailsToAccount', email)], now)) === 0
  // A network over its limit gets no jobs for addresses that no user has. The time of its answers does not show the difference.
  if (isTaken && (waitSeconds === 0 || (await userOf(db, email)))) await jobs.send(sendReset, { email, ip })
  if (!isPrompt) await pause(restOfSecond(startedAt))
  if (!isTaken && waitSeconds > 0) throw tooManyFailures(waitSeconds, 'Too many requests for a new password, please wait')
}

const userOf = (db: Database, email: string) => db.prisma.user.findFirst({ where: { email, status: 'active' } })

/** Mails the link. Invited people have no password yet, and get none here. */
export async function mailReset(context: Context, { email, ip }: z.infer<typeof Forgotten>): Promise<void> {
  const { db, mailer, log, publicUrl } = context
  const user = await userOf(db, email)
  if (!user) return
  const token = await createReset({ ...context, requester: { userId: null, keyId: null, ip } }, user)
  const link = linkToForm(publicUrl(), '/reset', { token, email: user.email })
  const line = `Somebody, probably you, has asked for a new password for ${user.email} on Gridpost.`
  const rest = 'If you did not ask for it, ignore this mail: your password stays as it is.'
  try {
    await mailer.send({
      to: user.email,
      subject: 'Set a new password for Gridpost',
      text: `${line}\n\nSet it with this link, once and within an hour:\n${link}\n\n${rest}\n`,
      html: `<p>${escapeHtml(line)}</p><p><a href="${escapeHtml(link)}">Set a new password</a> (once, within an hour)</p><p>${rest}</p>`,
      headers: { 'Auto-Submitted': 'auto-generated' },
    })
  } catch (error) {
    if (!(error instanceof NoMailer)) throw error
    // A retry would not help. An operator reads this in the log, and sets SMTP_URL or the password (npm run admin -- set-password).
    log.error({ err: error, user_id: user.id }, 'link for a new password not mailed')
  }
}

/** @returns the token for the link. Earlier links stay valid, because the mails may arrive in any order */
async function createReset(context: Context, { id, accountId }: { id: number; accountId: number }): Promise<string> {
  const { db, now, transaction } = context
  const token = newToken()
  const expiresAt = new Date(now.getTime() + LIFETIME_MS)
  await transaction(async () => {
    await db.write(sql`
      insert into password_resets (user_id, token_hash, created_at, expires_at)
      values (${id}, ${tokenHash(token)}, ${formatInstant(now)}::timestamp, ${formatInstant(expiresAt)}::timestamp)`)
    await audit(context, 'password.reset_requested', { id, accountId })
  })
  return token
}

/**
 * Sets the password of the user who was mailed the token, ends all sessions of the user, and tells the user by mail. Of two simultaneous
 * requests one succeeds.
 * @param visitor with the present value of the cookie of known-device.ts
 * @returns its new value: reading the user's mail proves as much as signing in
 * @throws AppError 400 for a token that is wrong, used or expired; 503 with Retry-After if too many passwords are being hashed
 */
export async function reset(
  context: Context,
  { token, password }: Reset,
  { deviceCookie, ip }: Pick<Visitor, 'deviceCookie' | 'ip'>,
): Promise<string> {
  const { db, now, settings, transaction } = context
  const isValid = sql`token_hash = ${tokenHash(token)} and expires_at > ${formatInstant(now)}::timestamp`
  const [found] = await db.read<{ user_id: number }>(sql`
    select r.user_id from password_resets r join users u on u.id = r.user_id and u.status = 'active' where ${isValid}`)
  // Hashing is expensive, so it is only done for a token that exists.
  if (!found) throw invalidToken()
  const passwordHash = await hashPassword(password)
  return transaction(async () => {
    // The row of the user is locked first: two tokens of one user would otherwise block each other in `endProofs`.
    const { id, email, accountId } = await changeUser(db, found.user_id, { passwordHash }, now)
    if (!(await db.write(sql`delete from password_resets where ${isValid}`)).changed) throw invalidToken()
    await endProofs(db, id, null)
    await audit({ ...context, requester: { userId: id, keyId: null, ip: context.ip } }, 'password.reset', { id, accountId })
    await noticePassword(context, id, 'link')
    await rememberPair(context, pairOf(email, ip))
    return rememberDevice(settings.secretKeys, deviceCookie, email, now)
  })
}

/** 400 for the token of a link that is wrong, used or expired. */
export const invalidToken = () => badInput('token', 'is not valid any more')

/**
 * Ends what the old password, or a link to replace it, has given access to: all sessions except `keptSessionId`, and all links, also
 * those that confirm another address.
 * @returns how many sessions
 */
export async function endProofs(db: Database, userId: number, keptSessionId: number | null): Promise<number> {
  const ended = await endOtherSessions(db, userId, keptSessionId)
  await db.write(sql`delete from password_resets where user_id = ${userId}`)
  await db.write(sql`delete from invites where user_id = ${userId}`)
  await db.write(sql`delete from address_changes where user_id = ${userId} and confirmed_at is null`)
  return ended
}

export async function deleteExpiredResets(db: Database, now: Date): Promise<void> {
  await db.write(sql`delete from password_resets where expires_at < ${formatInstant(now)}::timestamp`)
}
