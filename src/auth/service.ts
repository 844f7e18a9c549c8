import { activate, changeUser, replacePassword } from '../accounts/service.ts'
import { auditFailedSignIn, endFailedSignIns } from '../audit/failed-sign-ins.ts'
import { audit, differing } from '../audit/log.ts'
import { tellSpacesOf } from '../events/table-events.ts'
import type { Context } from '../platform/context.ts'
import { type Database, sql, toTheSecond } from '../platform/database/database.ts'
import { AppError, unauthorized } from '../platform/errors.ts'
import {
  type HashingCaller,
  hashPassword,
  newToken,
  refuseIfHashingIsBusy,
  tokenHash,
  verifyPassword,
} from '../platform/secrets/secrets.ts'
import { formatInstant } from '../platform/time/time.ts'
import { deleteExpiredAddressChanges } from './address-change.ts'
import { requirePassword, wrongPassword } from './current-password.ts'
import { noticePassword } from './password-notice.ts'
import { deleteExpiredResets, endProofs, invalidToken } from './password-reset.ts'
import type { AcceptInvite, Login, Me, PasswordChange, Profile } from './schema.ts'
import { startSession, type Visitor } from './sessions.ts'
import { attempt, restOfSecond } from './throttling/attempts.ts'
import { knownDevice, rememberDevice } from './throttling/known-device.ts'
import { deleteForgottenPairs, isKnownPair, pairOf, rememberPair } from './throttling/known-pair.ts'
import { attemptOfStranger, type PasswordCheck } from './throttling/strangers.ts'
import { bucket, deleteForgottenFailures } from './throttling/throttle.ts'

const INVITE_DAYS = 14

/** A user, the token of a new session, and the new value of the cookie by which their browser is known. */
export interface SignedIn {
  user: Me
  token: string
  device: string
}

/**
 * Signs in, and ends the session of the same user that the browser had before. A wrong address and a wrong password get the same answer
 * after the same work.
 * @throws AppError 401; 429 with Retry-After after repeated failures; 503 with Retry-After if too many passwords are being checked
 */
export async function login(context: Context, { email, password }: Login, visitor: Visitor): Promise<SignedIn> {
  const { db, transaction } = context
  const find = () => db.prisma.user.findFirst({ where: { email, status: 'active' } })
  type User = Awaited<ReturnType<typeof find>>
  const check = async (user: User, caller: HashingCaller) => {
    const isRight = await verifyPassword(password, user?.passwordHash ?? null, caller)
    if (!user) return null
    if (!isRight) return noteWrongPassword(context, user)
    return transaction(async () => {
      const detail = await endFailedSignIns(db, user.id)
      await audit(provedToBe(user, context), 'sign_in.succeeded', { id: user.id, accountId: user.accountId, detail })
      return signIn(context, user, visitor, { checked: user.passwordHash })
    })
  }
  const signedIn = await attemptOf(context, email, visitor, { find, check })
  if (!signedIn) throw unauthorized('Wrong email or password')
  return signedIn
}

/** The caller does not wait for the audit log: only existing users have one, which the time of the answer must not reveal. */
function noteWrongPassword(context: Context, user: StoredUser): null {
  auditFailedSignIn(context, user).catch((error: unknown) =>
    context.log.warn({ err: error, user_id: user.id }, 'failed sign-in not audited'),
  )
  return null
}

/** The context of a request without credentials whose sender has just proved to be the user. */
const provedToBe = ({ id }: Pick<StoredUser, 'id'>, context: Context): Context => ({
  ...context,
  requester: { userId: id, keyId: null, ip: context.ip },
})

/** Runs an attempt to sign in, and counts it for what its sender has not proved. @returns null if it fails */
async function attemptOf<User, T>(
  context: Context,
  email: string,
  { deviceCookie, ip, pause }: Visitor,
  password: PasswordCheck<User, T>,
): Promise<T | null> {
  const { db, now, settings } = context
  const startedAt = performance.now()
  const checkKnown = async () => password.check(await password.find(), 'known')
  const device = knownDevice(settings.secretKeys, deviceCookie, email, now)
  if (device !== null) {
    refuseIfHashingIsBusy('known')
    // Others cannot lock the user out. An account may have any number of known devices, but must not fill the queue for hashing.
    return attempt(db, [bucket('device', device)], now, checkKnown, bucket('account', email))
  }
  const pair = pairOf(email, ip)
  if (await isKnownPair(context, pair)) {
    refuseIfHashingIsBusy('known')
    return attempt(db, [bucket('pair', pair), bucket('account', email)], now, checkKnown)
  }
  refuseIfHashingIsBusy('stranger')
  const outcome = await attemptOfStranger(context, { email, ip }, password)
  if (!(outcome instanceof AppError)) return outcome
  await pause(restOfSecond(startedAt))
  throw outcome
}

/**
 * Signs in a user whose password nobody asks for: the first owner, or one of the demo account, on this machine (contract.md §11).
 * @returns null if the user is not active
 */
export async function signInUnasked(context: Context, userId: number, visitor: Visitor): Promise<SignedIn | null> {
  const { db, transaction } = context
  return transaction(async () => {
    const user = await db.prisma.user.findFirst({ where: { id: userId, status: 'active' } })
    if (!user) return null
    await audit(provedToBe(user, context), 'sign_in.succeeded', { id: user.id, accountId: user.accountId })
    return signIn(context, user, visitor)
  })
}

async function signIn(
  { db, now, settings }: Context,
  user: StoredUser,
  { deviceCookie, sessionCookie: former, ip, userAgent }: Visitor,
  { checked }: { checked?: string | null } = {},
): Promise<SignedIn> {
  const sender = { ip, userAgent }
  const token = await startSession({ db, settings }, user.id, now, { sender, passwordHash: checked ?? null, former })
  await rememberPair({ db, now, settings }, pairOf(user.email, ip))
  const [owned] = await db.read<{ id: number }>(sql`select id from accounts where id = ${user.accountId} and owner_user_id = ${user.id}`)
  return { user: meOf(user, owned !== undefined), token, device: rememberDevice(settings.secretKeys, deviceCookie, user.email, now) }
}

/** The signed-in user. @throws AppError 401 if the user has just been deleted */
export async function me({ db, actor }: Context): Promise<Me> {
  const user = await db.prisma.user.findFirst({ where: { id: actor.userId } })
  if (!user) throw unauthorized('The session has ended, please sign in again')
  return meOf(user, actor.isOwner)
}

/** Changes the profile of the signed-in user. */
export async function updateProfile(context: Context, { mail_preference, ...profile }: Profile): Promise<Me> {
  const { db, actor, now, transaction } = context
  return transaction(async () => {
    const before = await me(context)
    const after = meOf(await changeUser(db, actor.userId, { ...profile, mailPreference: mail_preference }, now), actor.isOwner)
    const changed = differing(before, after)
    if (changed.includes('name')) await tellSpacesOf(context, { id: actor.userId, account_id: actor.accountId })
    if (changed.length) await audit(context, 'user.updated', { id: actor.userId, detail: { changed } })
    return after
  })
}

/**
 * Changes the password, ends every other session of the user, and tells the user by mail.
 * @throws AppError 400 if the current password is wrong, or has just been replaced; 429 with Retry-After after failures in the session
 */
export async function changePassword(context: Context, { current_password, new_password }: PasswordChange): Promise<void> {
  const { db, actor, now, transaction } = context
  const user = await requirePassword(context, current_password)
  const hashes = { from: user.passwordHash, to: await hashPassword(new_password) }
  await transaction(async () => {
    // Another change, or a mailed link, may have replaced the password meanwhile. That one counts, because it has ended sessions.
    if (!(await replacePassword(db, user.id, hashes, now))) throw wrongPassword()
    await endProofs(db, user.id, actor.sessionId)
    await audit(context, 'password.changed', { id: user.id })
    await noticePassword(context, user.id, 'session')
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

/** Ends the invitation of a person who is in no space any more. */
export async function endInviteWithoutSpace(db: Database, userId: number): Promise<void> {
  await db.write(sql`
    delete from invites where user_id = ${userId} and not exists (select from space_members m where m.user_id = invites.user_id)`)
}

/**
 * Turns an invited person into a user and signs them in.
 * @throws AppError 400 for a token that is wrong, used or expired, for a user who has a password by now, and for one who has been removed
 */
export async function acceptInvite(
  context: Context,
  { token, name, password, timezone }: AcceptInvite,
  visitor: Visitor,
): Promise<SignedIn> {
  const { db, now, transaction } = context
  // Somebody who has been removed from all spaces is not invited any more.
  const isValid = sql`token_hash = ${tokenHash(token)} and expires_at > ${formatInstant(now)}::timestamp and user_id in (
    select m.user_id from space_members m join spaces s on s.id = m.space_id where s.deleted_at is null)`
  const [invite] = await db.read<{ user_id: number }>(sql`select user_id from invites where ${isValid}`)
  // Hashing is expensive, so it is only done for a token that exists.
  if (!invite) throw invalidToken()
  const passwordHash = await hashPassword(password)
  return transaction(async () => {
    // The row of the user is locked first, as when a password is set. A link never replaces the password of an active user.
    const user = await activate(db, invite.user_id, { name, timezone, passwordHash }, now)
    // Deleting the row uses up the invitation.
    if (!user || !(await db.write(sql`delete from invites where ${isValid}`)).changed) throw invalidToken()
    await tellSpacesOf(context, { id: user.id, account_id: user.accountId })
    await audit(provedToBe(user, context), 'invitation.accepted', { id: user.id, accountId: user.accountId })
    return signIn(context, user, visitor)
  })
}

/**
 * Deletes expired sessions, invitations, links for a new password, changes of addresses, failed sign-ins and known pairs. Sessions are
 * kept for two hours more: deleting one that has just expired would make the callers of its account be looked up (migration
 * access_versions).
 */
export async function deleteExpired({ db, now }: Context): Promise<void> {
  const at = formatInstant(now)
  await db.write(sql`delete from sessions where expires_at < ${at}::timestamp - interval '2 hours'`)
  await db.write(sql`delete from invites where expires_at < ${at}::timestamp`)
  await deleteExpiredResets(db, now)
  await deleteExpiredAddressChanges(db, now)
  await deleteForgottenFailures(db, now)
  await deleteForgottenPairs(db, now)
  await db.write(sql`delete from login_failures where last_failed_at < ${at}::timestamp - interval '1 day'`)
}

interface StoredUser {
  id: number
  name: string
  email: string
  timezone: string
  accountId: number
  mailPreference: string
}

const meOf = (user: StoredUser, isOwner: boolean): Me => ({
  id: user.id,
  name: user.name,
  email: user.email,
  timezone: user.timezone,
  account_id: user.accountId,
  is_owner: isOwner,
  // A CHECK constraint allows only these three values.
  mail_preference: user.mailPreference as Me['mail_preference'],
})
