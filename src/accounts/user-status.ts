/**
 * The states of a user. The column `status` has `deleted` for everybody who may do nothing any more, so that the previous release, which
 * knows no other word for it, admits them nowhere either; `disabled_from` tells who can come back.
 */
import { type Database, raw, type Sql, sql } from '../platform/database/database.ts'
import { conflict, forbidden, notFound, unauthorized } from '../platform/errors.ts'
import { formatInstant } from '../platform/time/time.ts'

export const USER_STATUSES = ['active', 'invited', 'disabled', 'erased'] as const
export type UserStatus = (typeof USER_STATUSES)[number]

/** The status as callers see it. @param user alias of a row of users */
export const userStatus = (user: Sql): Sql => sql`case
  when ${user}.status <> 'deleted' then ${user}.status when ${user}.disabled_from is null then 'erased' else 'disabled' end`

export const isDisabled = async (db: Database, email: string): Promise<boolean> =>
  (await db.read(sql`select from users where email = ${email} and disabled_from is not null`)).length > 0

export interface UserRef {
  id: number
  account_id: number
}

/** The condition on a row of users that the person was erased. @param user its alias */
export const isErased = (user: Sql): Sql => sql`(${user}.status = 'deleted' and ${user}.disabled_from is null)`

/** Stands in place of the address of an erased user, because the column is unique and not null. */
const NO_ADDRESS = 'deleted-user-'

/** The address as callers see it: an erased user has none. @param user alias of a row of users */
export const emailOf = (user: Sql): Sql => sql`nullif(${user}.email, ${raw(`'${NO_ADDRESS}'`)} || ${user}.id)`

/**
 * Locks the row of the acting user until the transaction ends: their writes come one after the other, and none comes after an erasure.
 * @throws AppError 401 if the user may do nothing any more
 */
export async function lockActiveUser({ db, actor }: { db: Database; actor: { userId: number } }): Promise<void> {
  const [user] = await db.read<{ id: number }>(sql`
    select id from users where id = ${actor.userId} and status = 'active' for no key update`)
  if (!user) throw unauthorized('The session has ended, please sign in again')
}

/** The name of a user who was erased (contract.md §9, People of an account). */
export const erasedName = (userId: number): string => `Deleted user ${userId}`

/**
 * Disables a user, who keeps the way back. What they have started, such as a session, is ended by its own feature.
 * @returns false if the user was disabled before
 * @throws AppError 409 for the account's owner, and for a user who was erased
 */
export async function disableUser(db: Database, { id, account_id }: UserRef, now: Date): Promise<boolean> {
  await refuseOwner(db, { id, account_id }, 'disabled')
  const { changed } = await db.write(sql`
    update users set disabled_from = status, status = 'deleted', version = version + 1, updated_at = ${formatInstant(now)}::timestamp
    where id = ${id} and account_id = ${account_id} and status <> 'deleted'`)
  if (!changed) await refuseErased(db, id)
  return changed > 0
}

/** Locks the account before the user, as a change of the owner does: nobody is disabled or erased and becomes the owner. */
async function refuseOwner(db: Database, { id, account_id }: UserRef, participle: 'disabled' | 'erased'): Promise<void> {
  const [account] = await db.read<{ owner_user_id: number | null }>(
    sql`select owner_user_id from accounts where id = ${account_id} for share`,
  )
  if (account?.owner_user_id === id) throw conflict(`The account's owner cannot be ${participle}; hand the account to another user first`)
}

/**
 * Takes name, address, password and settings from a user for good. What refers to the user, such as a session, is ended by its own feature.
 * @returns the name and the address before
 * @throws AppError 409 for the account's owner, and for a user who was erased
 */
export async function eraseUser(db: Database, { id, account_id }: UserRef, now: Date): Promise<{ name: string; email: string }> {
  await refuseOwner(db, { id, account_id }, 'erased')
  // The lock makes the name and the address those that this change replaces.
  const [before] = await db.read<{ name: string; email: string; is_erased: boolean }>(sql`
    select u.name, u.email, ${isErased(sql`u`)} as is_erased from users u
    where u.id = ${id} and u.account_id = ${account_id} for update`)
  if (!before) throw notFound('User')
  if (before.is_erased) throw erased()
  const { is_erased: _, ...former } = before
  await db.write(sql`
    update users set name = ${erasedName(id)}, email = ${NO_ADDRESS + id}, password_hash = null, timezone = 'UTC',
      mail_preference = 'none', status = 'deleted', disabled_from = null, version = version + 1,
      updated_at = ${formatInstant(now)}::timestamp
    where id = ${id}`)
  return former
}

const erased = () => conflict('The user was erased')

/**
 * Brings a disabled user back as they were before, active or invited.
 * @returns false if the user was not disabled
 * @throws AppError 409 for a user who was erased
 */
export async function enableUser(db: Database, { id, account_id }: UserRef, now: Date): Promise<boolean> {
  const { changed } = await db.write(sql`
    update users set status = disabled_from, disabled_from = null, version = version + 1, updated_at = ${formatInstant(now)}::timestamp
    where id = ${id} and account_id = ${account_id} and disabled_from is not null`)
  if (!changed) await refuseErased(db, id)
  return changed > 0
}

async function refuseErased(db: Database, id: number): Promise<void> {
  const [user] = await db.read<{ status: UserStatus }>(sql`select ${userStatus(sql`u`)} as status from users u where u.id = ${id}`)
  if (!user) throw notFound('User')
  if (user.status === 'erased') throw erased()
}

/**
 * Makes an active user the owner of their account. The account's keys act for the new owner from now on.
 * @param from the owner who gives it away; undefined for an operator
 * @returns the former owner
 * @throws AppError 404 for a user of another account; 409 for one who is not active or is the owner already; 403 if `from` no longer is
 */
export async function changeOwner(db: Database, { id, account_id }: UserRef, from?: number): Promise<number | null> {
  const [account] = await db.read<{ owner_user_id: number | null }>(
    sql`select owner_user_id from accounts where id = ${account_id} for update`,
  )
  const former = account?.owner_user_id ?? null
  if (from !== undefined && from !== former) throw forbidden()
  const [user] = await db.read<{ status: UserStatus }>(sql`
    select ${userStatus(sql`u`)} as status from users u where u.id = ${id} and u.account_id = ${account_id} for share`)
  if (!user) throw notFound('User')
  if (id === former) throw conflict('The user is the owner of the account already')
  if (user.status !== 'active') throw conflict(`Only an active user can own the account; this one is ${user.status}`)
  await db.write(sql`update accounts set owner_user_id = ${id} where id = ${account_id}`)
  return former
}
