/** The people of an account: who they are, who may come in, and who owns the account (contract.md §9, People of an account). */
import { changeOwner, disableUser, enableUser, type UserRef } from '../accounts/user-status.ts'
import { audit } from '../audit/log.ts'
import { requirePassword } from '../auth/current-password.ts'
import { endProofs } from '../auth/password-reset.ts'
import { mails } from '../email/metrics.ts'
import { dropMailsOf } from '../email/outbound/disabled-sender.ts'
import { tellSpacesOf } from '../events/table-events.ts'
import { endPersonalKeys, giveAccountKeys } from '../keys/service.ts'
import type { Resource } from '../platform/access/authorize.ts'
import type { Context } from '../platform/context.ts'
import { sql } from '../platform/database/database.ts'
import { joinAllSpaces } from '../spaces/service.ts'
import { noticeOwners } from './owner-notice.ts'
import { usersOf } from './queries.ts'
import type { NewOwner, User } from './schema.ts'

/** A user of the caller's account, in any state. */
export const userResource: Resource<{ found_user_id: number; account_id: number }> = {
  ids: [{ name: 'user_id', thing: 'User', found: 'found_user_id' }],
  select: ({ user_id }) => sql`
    select u.id as found_user_id, u.account_id from users u where u.id = ${user_id} and u.account_id = p.p_account_id`,
  check: () => {},
}

export async function list({ db, actor }: Context): Promise<{ rows: User[]; total: number }> {
  const rows = await usersOf(db, actor.accountId)
  return { rows, total: rows.length }
}

/**
 * Disables a user: their sessions, links and personal keys end, and their emails that wait are dropped. Their tasks, memberships and what
 * they wrote stay. A request of theirs that is running comes to its end. Disabling a user twice has no further effect.
 * @throws AppError 409 for the account's owner, and for a user who was erased
 */
export async function disable(context: Context, user: UserRef): Promise<void> {
  const { db, now, metrics, transaction } = context
  const dropped = await transaction(async () => {
    if (!(await disableUser(db, user, now))) return 0
    await tellSpacesOf(context, user)
    const count = await dropMailsOf(context, user)
    const sessions = await endProofs(db, user.id, null)
    const keys = await endPersonalKeys(db, user.id)
    await audit(context, 'user.disabled', { id: user.id, accountId: user.account_id, detail: { sessions, keys, mails: count } })
    return count
  })
  if (dropped) metrics.count(mails, { state: 'dropped' }, dropped)
}

/**
 * Lets a disabled user in again, with their memberships; what ended stays so. Enabling a user who is not disabled has no effect.
 * @throws AppError 409 for a user who was erased
 */
export async function enable(context: Context, user: UserRef): Promise<void> {
  const { db, now, transaction } = context
  await transaction(async () => {
    if (!(await enableUser(db, user, now))) return
    await tellSpacesOf(context, user)
    await audit(context, 'user.enabled', { id: user.id, accountId: user.account_id })
  })
}

/**
 * Hands the caller's account to another of its users, who becomes an admin of every space. The former owner stays a user with the spaces
 * that they are in.
 * @throws AppError 400 for a wrong password; 404 for a user of another account; 409 for one who is not active or owns it; 429 after
 *   failures
 */
export async function handOver(context: Context, { user_id, current_password }: NewOwner): Promise<void> {
  const { actor } = context
  await requirePassword(context, current_password)
  await setOwner(context, { id: user_id, account_id: actor.accountId }, actor.userId)
}

/** The same for an operator. @param from the owner who gives the account away, if one does */
export async function setOwner(context: Context, user: UserRef, from?: number): Promise<void> {
  const { db, transaction } = context
  await transaction(async () => {
    const before = await changeOwner(db, user, from)
    await joinAllSpaces(context, user)
    await giveAccountKeys(db, user)
    await noticeOwners(context, user.account_id, user.id, before)
    await audit(context, 'account.owner_changed', { id: user.account_id, accountId: user.account_id, detail: { owner: user.id, before } })
  })
}
