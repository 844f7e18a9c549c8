import type { Database } from '../platform/database/database.ts'
import { toTheSecond } from '../platform/database/database.ts'
import { conflict, isUniqueViolation, notFound } from '../platform/http/errors.ts'
import { hashPassword } from '../platform/secrets.ts'

export interface NewUser {
  /** In lower case. */
  email: string
  name: string
  /** Absent: they cannot sign in until they get one. */
  password?: string
  /** An IANA zone. */
  timezone?: string
}

/**
 * Makes an account and its owner. For scripts and the first start; no request can.
 * @throws AppError 409 when the address belongs to a user already
 */
export async function createAccount(
  db: Database,
  name: string,
  owner: NewUser,
  now: Date,
): Promise<{ accountId: number; ownerId: number }> {
  const createdAt = toTheSecond(now)
  return db.transaction(async (tx) => {
    const account = await tx.account.create({ data: { name, createdAt } })
    const ownerId = await createUser(db, account.id, owner, now)
    await tx.account.update({ where: { id: account.id }, data: { ownerUserId: ownerId } })
    return { accountId: account.id, ownerId }
  })
}

/**
 * Adds an active user to an account.
 * @throws AppError 409 when the address belongs to a user already
 */
export async function createUser(
  db: Database,
  accountId: number,
  { email, name, password, timezone = 'UTC' }: NewUser,
  now: Date,
): Promise<number> {
  const passwordHash = password === undefined ? null : await hashPassword(password)
  const createdAt = toTheSecond(now)
  try {
    const user = await db.prisma.user.create({ data: { accountId, email, name, passwordHash, timezone, createdAt, updatedAt: createdAt } })
    return user.id
  } catch (error) {
    if (isUniqueViolation(error)) throw conflict('This email address belongs to a user already')
    throw error
  }
}

/**
 * Gives a user another password, for scripts; who was only invited can sign in with it. Answers the user's id.
 * @throws AppError 404 when nobody has this address
 */
export async function setPassword(db: Database, email: string, password: string, now: Date): Promise<number> {
  const passwordHash = await hashPassword(password)
  const [user] = await db.prisma.user.updateManyAndReturn({
    where: { email, status: { not: 'deleted' } },
    data: { passwordHash, status: 'active', updatedAt: toTheSecond(now), version: { increment: 1 } },
    select: { id: true },
  })
  if (!user) throw notFound('User')
  return user.id
}

/**
 * The user of this address in the account; one that is unknown is made, as invited.
 * @throws AppError 409 when the address belongs to another account (a user belongs to one)
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
    // Two invitations at once: the unique index lets one make the user, the other finds it.
    skipDuplicates: true,
  })
  const user = made[0] ?? (await db.prisma.user.findUniqueOrThrow({ where: { email } }))
  if (user.accountId !== accountId) throw conflict('This email address belongs to another account')
  return { id: user.id, name: user.name, status: user.status, isNew: made.length > 0 }
}

/** When notifications are mailed to a user (contract.md §4, Notifications). */
export type MailPreference = 'at_once' | 'digest' | 'none'

/** What a person may have changed of themselves. What is undefined keeps its value. */
export interface UserChange {
  name?: string | undefined
  timezone?: string | undefined
  passwordHash?: string
  status?: 'active'
  mailPreference?: MailPreference | undefined
}

/** Changes a user, who must exist. What changes nothing keeps the version. */
export async function changeUser(
  db: Database,
  userId: number,
  { name, timezone, passwordHash, status, mailPreference }: UserChange,
  now: Date,
) {
  const plain = {
    ...(name !== undefined && { name }),
    ...(timezone !== undefined && { timezone }),
    ...(status !== undefined && { status }),
    ...(mailPreference !== undefined && { mailPreference }),
  }
  const [changed] = await db.prisma.user.updateManyAndReturn({
    // A password that is given is another one: each has a salt of its own.
    where: { id: userId, ...(passwordHash === undefined && { NOT: { id: userId, ...plain } }) },
    data: { ...plain, ...(passwordHash !== undefined && { passwordHash }), updatedAt: toTheSecond(now), version: { increment: 1 } },
  })
  return changed ?? (await db.prisma.user.findUniqueOrThrow({ where: { id: userId } }))
}
