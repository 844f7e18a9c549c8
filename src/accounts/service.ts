import type { Database } from '../platform/database/database.ts'
import { sql, toTheSecond } from '../platform/database/database.ts'
import { isUniqueViolation } from '../platform/database/database-errors.ts'
import { conflict, notFound } from '../platform/errors.ts'
import { hashPassword } from '../platform/secrets/secrets.ts'
import { isDisabled } from './user-status.ts'

export interface NewUser {
  /** In lower case. */
  email: string
  name: string
  /** Without a password the user cannot sign in. */
  password?: string
  /** In place of the password, for callers that have hashed it before their transaction. */
  passwordHash?: string
  /** An IANA zone. */
  timezone?: string
}

const ADDRESS_TAKEN = 'This email address belongs to a user already'

/** Whether anybody was ever a user of this service. */
export async function hasUsers(db: Database): Promise<boolean> {
  const [{ found } = { found: true }] = await db.read<{ found: boolean }>(sql`select exists (select from users) as found`)
  return found
}

/**
 * Creates an account and its owner. Scripts and the first start do so, and of requests only that of the first owner.
 * @throws AppError 409 if a user already has the address
 */
export async function createAccount(
  db: Database,
  name: string,
  owner: NewUser,
  now: Date,
): Promise<{ accountId: number; ownerId: number }> {
  const createdAt = toTheSecond(now)
  return db.transaction(async () => {
    const account = await db.prisma.account.create({ data: { name, createdAt } })
    const ownerId = await createUser(db, account.id, owner, now)
    await db.prisma.account.update({ where: { id: account.id }, data: { ownerUserId: ownerId } })
    return { accountId: account.id, ownerId }
  })
}

/**
 * Adds an active user to an account.
 * @throws AppError 409 if a user already has the address
 */
export async function createUser(
  db: Database,
  accountId: number,
  { email, name, password, passwordHash: hash, timezone = 'UTC' }: NewUser,
  now: Date,
): Promise<number> {
  const passwordHash = password === undefined ? (hash ?? null) : await hashPassword(password)
  const createdAt = toTheSecond(now)
  try {
    const user = await db.prisma.user.create({ data: { accountId, email, name, passwordHash, timezone, createdAt, updatedAt: createdAt } })
    return user.id
  } catch (error) {
    if (isUniqueViolation(error)) throw conflict(ADDRESS_TAKEN)
    throw error
  }
}

/**
 * Sets a user's password, for scripts. An invited user becomes active.
 * @returns the ids of the user and the account
 * @throws AppError 404 if no user has the address; 409 for a user who is disabled
 */
export async function setPassword(db: Database, email: string, password: string, now: Date): Promise<{ id: number; accountId: number }> {
  const passwordHash = await hashPassword(password)
  const [user] = await db.prisma.user.updateManyAndReturn({
    where: { email, status: { not: 'deleted' } },
    data: { passwordHash, status: 'active', updatedAt: toTheSecond(now), version: { increment: 1 } },
    select: { id: true, accountId: true },
  })
  if (user) return user
  throw (await isDisabled(db, email)) ? conflict('The user is disabled; enable them first') : notFound('User')
}

/**
 * Replaces the password that was checked. Of simultaneous changes that checked the same one, one succeeds.
 * @param hashes the one that was checked, and the new one
 * @returns false if the password has been replaced since it was checked
 */
export async function replacePassword(db: Database, userId: number, hashes: { from: string; to: string }, now: Date): Promise<boolean> {
  const { count } = await db.prisma.user.updateMany({
    where: { id: userId, passwordHash: hashes.from },
    data: { passwordHash: hashes.to, updatedAt: toTheSecond(now), version: { increment: 1 } },
  })
  return count > 0
}

/**
 * Returns the account's user with this address. An unknown address becomes an invited user.
 * @throws AppError 409 if the address belongs to another account, because a user belongs to one
 */
export async function findOrInvite(
  db: Database,
  accountId: number,
  email: string,
  now: Date,
): Promise<{ id: number; name: string; status: string; isNew: boolean }> {
  const createdAt = toTheSecond(now)
  const made = await db.prisma.user.createManyAndReturn({
    data: { accountId, email, name: email, status: 'invited', createdAt, updatedAt: createdAt },
    // Of two simultaneous invitations, the unique index lets one create the user; the other finds that user.
    skipDuplicates: true,
  })
  const user = made[0] ?? (await db.prisma.user.findFirstOrThrow({ where: { email } }))
  if (user.accountId !== accountId) throw conflict('This email address belongs to another account')
  return { id: user.id, name: user.name, status: user.status, isNew: made.length > 0 }
}

/** Turns an invited user into an active one. @returns undefined if the user is not invited any more */
export async function activate(
  db: Database,
  userId: number,
  { name, timezone, passwordHash }: { name: string; timezone: string | null | undefined; passwordHash: string },
  now: Date,
) {
  const [activated] = await db.prisma.user.updateManyAndReturn({
    where: { id: userId, status: 'invited' },
    data: { name, ...(timezone && { timezone }), passwordHash, status: 'active', updatedAt: toTheSecond(now), version: { increment: 1 } },
  })
  return activated
}

/**
 * Gives an active user another address.
 * @param email in lower case
 * @returns the address before, and the user; undefined if the user is not active any more
 * @throws AppError 409 if a user has the address by now
 */
export async function changeAddress(db: Database, userId: number, email: string, now: Date) {
  // The lock makes `former` the address that this change replaces.
  const [before] = await db.read<{ email: string }>(
    sql`select email from users where id = ${userId} and status = 'active' for no key update`,
  )
  if (!before) return undefined
  try {
    const user = await db.prisma.user.update({
      where: { id: userId },
      data: { email, updatedAt: toTheSecond(now), version: { increment: 1 } },
    })
    return { former: before.email, user }
  } catch (error) {
    if (isUniqueViolation(error)) throw conflict(ADDRESS_TAKEN)
    throw error
  }
}

/** When notifications are mailed to a user (contract.md §4, Notifications). */
export type MailPreference = 'at_once' | 'digest' | 'none'

/** The changes of a user's own profile. Undefined properties keep their value. */
export interface UserChange {
  name?: string | undefined
  timezone?: string | undefined
  passwordHash?: string
  mailPreference?: MailPreference | undefined
}

/** Changes an existing user. The version stays if nothing changes. */
export async function changeUser(db: Database, userId: number, { name, timezone, passwordHash, mailPreference }: UserChange, now: Date) {
  const plain = {
    ...(name !== undefined && { name }),
    ...(timezone !== undefined && { timezone }),
    ...(mailPreference !== undefined && { mailPreference }),
  }
  const [changed] = await db.prisma.user.updateManyAndReturn({
    // A given password always counts as a change, because each hash has its own salt.
    where: { id: userId, ...(passwordHash === undefined && { NOT: { id: userId, ...plain } }) },
    data: { ...plain, ...(passwordHash !== undefined && { passwordHash }), updatedAt: toTheSecond(now), version: { increment: 1 } },
  })
  return changed ?? (await db.prisma.user.findFirstOrThrow({ where: { id: userId } }))
}
