import { changeUser } from '../accounts/service.ts'
import { auditFailedSignIn, endFailedSignIns } from '../audit/failed-sign-ins.ts'
import { audit, differing } from '../audit/log.ts'
import type { Context } from '../platform/context.ts'
import { type Database, sql, toTheSecond } from '../platform/database/database.ts'
import { AppError, badInput, unauthorized } from '../platform/http/errors.ts'
import { hashPassword, newToken, tokenHash, verifyPassword } from '../platform/secrets.ts'
import { formatInstant } from '../platform/time.ts'
import type { AcceptInvite, Login, Me, PasswordChange, Profile } from './schema.ts'
import { endOtherSessions, endSession, startSession } from './sessions.ts'

const FREE_FAILURES = 5
const LONGEST_WAIT_SECONDS = 300
const INVITE_DAYS = 14

/** A user, and the token of a new session. */
export interface SignedIn {
  user: Me
  token: string
}

/**
 * Signs in. A wrong address and a wrong password get the same answer after the same time.
 * @throws AppError 401; 429 with Retry-After after repeated failures for one address
 */
export function login(context: Context, credentials: Login): Promise<SignedIn> {
  return inTurn(credentials.email, () => tryToSignIn(context, credentials))
}

/** The latest pending sign-in for each address. */
const pendingSignIns = new Map<string, Promise<unknown>>()

/** Sign-ins for one address run one after the other, so that simultaneous guesses are delayed, too, while correct passwords are not. */
async function inTurn<T>(email: string, fn: () => Promise<T>): Promise<T> {
  const mine = (pendingSignIns.get(email) ?? Promise.resolve()).then(fn, fn)
  pendingSignIns.set(email, mine)
  try {
    return await mine
  } finally {
    if (pendingSignIns.get(email) === mine) pendingSignIns.delete(email)
  }
}

async function tryToSignIn(context: Context, { email, password }: Login): Promise<SignedIn> {
  const { db, now, transaction } = context
  await requireNoDelay(db, email, now)
  const user = await db.prisma.user.findFirst({ where: { email, status: 'active' } })
  if (!(await verifyPassword(password, user?.passwordHash ?? null)) || !user) {
    await noteFailure(db, email, now)
    if (user) await auditFailedSignIn(context, user)
    throw unauthorized('Wrong email or password')
  }
  return transaction(async () => {
    await db.execute(sql`delete from login_failures where email = ${email}`)
    const detail = await endFailedSignIns(db, user.id)
    await audit(provedToBe(user, context), 'sign_in.succeeded', { id: user.id, accountId: user.accountId, detail })
    return { user: meOf(user), token: await startSession(context, user.id, now) }
  })
}

/** The context of a request without credentials whose sender has just proved to be the user. */
const provedToBe = ({ id }: StoredUser, context: Context): Context => ({
  ...context,
  requester: { userId: id, keyId: null, ip: context.ip },
})

/** Ends the session of the caller. */
export async function logout(context: Context): Promise<void> {
  const id = context.actor.sessionId ?? 0
  await context.transaction(async () => {
    if (await endSession(context.db, id)) await audit(context, 'session.ended', { id })
  })
}

async function requireNoDelay(db: Database, email: string, now: Date): Promise<void> {
  const failed = await db.prisma.loginFailure.findUnique({ where: { email } })
  if (!failed || failed.failures < FREE_FAILURES) return
  const waitSeconds = Math.min(2 ** (failed.failures - FREE_FAILURES), LONGEST_WAIT_SECONDS)
  const left = Math.ceil((failed.lastFailedAt.getTime() - now.getTime()) / 1000 + waitSeconds)
  if (left > 0) throw new AppError('TOO_MANY_REQUESTS', 'Too many failed sign-ins, please wait', { retryAfterSeconds: left })
}

/** Failures count for unknown addresses, too, so that the delay does not reveal which addresses exist. They expire after an hour. */
async function noteFailure(db: Database, email: string, now: Date): Promise<void> {
  const at = formatInstant(now)
  await db.execute(sql`
    insert into login_failures (email, failures, last_failed_at) values (${email}, 1, ${at}::timestamp)
    on conflict (email) do update set last_failed_at = excluded.last_failed_at, failures =
      case when login_failures.last_failed_at < excluded.last_failed_at - interval '1 hour' then 1 else login_failures.failures + 1 end`)
}

/** The signed-in user. @throws AppError 401 if the user has just been deleted */
export async function me({ db, actor }: Context): Promise<Me> {
  const user = await db.prisma.user.findUnique({ where: { id: actor.userId } })
  if (!user) throw unauthorized('The session has ended, please sign in again')
  return meOf(user)
}

/** Changes the profile of the signed-in user. */
export async function updateProfile(context: Context, { mail_preference, ...profile }: Profile): Promise<Me> {
  const { db, actor, now, transaction } = context
  return transaction(async () => {
    const before = await me(context)
    const after = meOf(await changeUser(db, actor.userId, { ...profile, mailPreference: mail_preference }, now))
    const changed = differing(before, after)
    if (changed.length) await audit(context, 'user.updated', { id: actor.userId, detail: { changed } })
    return after
  })
}

/**
 * Changes the password and ends every other session of the user.
 * @throws AppError 400 if the current password is wrong
 */
export async function changePassword(context: Context, { current_password, new_password }: PasswordChange): Promise<void> {
  const { db, actor, now, transaction } = context
  const user = await db.prisma.user.findUniqueOrThrow({ where: { id: actor.userId } })
  if (!(await verifyPassword(current_password, user.passwordHash))) {
    await auditFailedSignIn(context, user)
    throw badInput('current_password', 'is wrong')
  }
  const passwordHash = await hashPassword(new_password)
  await transaction(async () => {
    await changeUser(db, user.id, { passwordHash }, now)
    await endOtherSessions(db, user.id, actor.sessionId)
    await audit(context, 'password.changed', { id: user.id })
  })
}

/** Creates an invitation and invalidates the user's earlier ones. @returns the token for the link */
export async function createInvite(db: Database, userId: number, now: Date): Promise<string> {
  const token = newToken()
  const createdAt = toTheSecond(now)
  await db.prisma.invite.deleteMany({ where: { userId } })
  await db.prisma.invite.create({
    data: { userId, tokenHash: tokenHash(token), createdAt, expiresAt: new Date(createdAt.getTime() + INVITE_DAYS * 86_400_000) },
  })
  return token
}

/**
 * Turns an invited person into a user and signs them in.
 * @throws AppError 400 for a token that is wrong, used or expired
 */
export async function acceptInvite(context: Context, { token, name, password, timezone }: AcceptInvite): Promise<SignedIn> {
  const { db, now, transaction } = context
  const passwordHash = await hashPassword(password)
  return transaction(async () => {
    // Deleting the row uses up the invitation: of two simultaneous requests, only one gets the row.
    const [invite] = await db.query<{ user_id: number }>(sql`
      delete from invites where token_hash = ${tokenHash(token)} and expires_at > ${formatInstant(now)}::timestamp returning user_id`)
    if (!invite) throw badInput('token', 'is not valid any more')
    const user = await changeUser(db, invite.user_id, { name, timezone: timezone ?? undefined, passwordHash, status: 'active' }, now)
    await audit(provedToBe(user, context), 'invitation.accepted', { id: user.id, accountId: user.accountId })
    return { user: meOf(user), token: await startSession(context, user.id, now) }
  })
}

/** Deletes expired sessions, invitations and failed sign-ins. */
export async function deleteExpired({ db, now }: Context): Promise<void> {
  const at = formatInstant(now)
  await db.execute(sql`delete from sessions where expires_at < ${at}::timestamp`)
  await db.execute(sql`delete from invites where expires_at < ${at}::timestamp`)
  await db.execute(sql`delete from login_failures where last_failed_at < ${at}::timestamp - interval '1 day'`)
}

interface StoredUser {
  id: number
  name: string
  email: string
  timezone: string
  accountId: number
  mailPreference: string
}

const meOf = (user: StoredUser): Me => ({
  id: user.id,
  name: user.name,
  email: user.email,
  timezone: user.timezone,
  account_id: user.accountId,
  // A CHECK constraint allows only these three values.
  mail_preference: user.mailPreference as Me['mail_preference'],
})
