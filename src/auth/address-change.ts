/**
 * Another address for a user (contract.md §9, People): the new one confirms it with a mailed link, which works once and for an hour, and
 * the old one is told. What is asked for an address that a user has is done alike, but that user is told instead.
 */
import { changeAddress } from '../accounts/service.ts'
import { audit } from '../audit/log.ts'
import { tellSpacesOf } from '../events/table-events.ts'
import type { Context } from '../platform/context.ts'
import { type Database, sql } from '../platform/database/database.ts'
import { defineQueue } from '../platform/jobs/queue.ts'
import { tokenHash } from '../platform/secrets/secrets.ts'
import { formatInstant } from '../platform/time/time.ts'
import { AddressChangeJob, sendAddressLink, sendAddressNotice } from './address-letters.ts'
import { requirePassword, wrongPassword } from './current-password.ts'
import { invalidToken } from './password-reset.ts'
import type { AddressRequest, Confirmation } from './schema.ts'
import type { Visitor } from './sessions.ts'
import { tooManyFailures } from './throttling/attempts.ts'
import { rememberDevice } from './throttling/known-device.ts'
import { pairOf, rememberPair } from './throttling/known-pair.ts'
import { bucket, count } from './throttling/throttle.ts'

const LIFETIME_MS = 3_600_000
/** Jobs about a confirmed change read its row for so long. */
const KEPT_MS = 7 * 86_400_000

/** Lets other features follow a change that was confirmed. */
export const followAddress = defineQueue({ name: 'auth.follow-address', schema: AddressChangeJob })

/**
 * Mails a link to the new address. Whether a user has it shows neither in the answer nor in its time: the job that mails finds out. After
 * three mails to one address no more are sent for a while; the links that were mailed still work.
 * @throws AppError 400 if the current password is wrong; 429 with Retry-After after failures in the session, and after many changes
 */
export async function requestAddress(context: Context, { email, current_password }: AddressRequest): Promise<void> {
  const { db, jobs, now, transaction } = context
  const { id, passwordHash } = await requirePassword(context, current_password)
  const waitSeconds = await count(db, [bucket('addressChanges', String(id))], now)
  if (waitSeconds > 0) throw tooManyFailures(waitSeconds, 'Too many changes of the address, please wait')
  const isTaken = (await count(db, [bucket('mailsToNewAddress', email)], now)) === 0
  await transaction(async () => {
    const expiresAt = new Date(now.getTime() + LIFETIME_MS)
    const [change] = await db.write<{ id: number }>(sql`
      insert into address_changes (user_id, email, created_at, expires_at)
      select id, ${email}, ${formatInstant(now)}::timestamp, ${formatInstant(expiresAt)}::timestamp
      from users where id = ${id} and password_hash = ${passwordHash}
      -- Waits for a change of the password that has not been committed yet, because that one ends changes of the address.
      for share returning id`)
    if (!change) throw wrongPassword()
    await audit(context, 'address.change_requested', { id })
    if (isTaken) await jobs.send(sendAddressLink, { change_id: change.id })
  })
}

/**
 * Gives the user the address that was mailed the token, and tells the old one. Links for a new password that were mailed there end.
 * @param visitor with the present value of the cookie of known-device.ts
 * @returns its new value: reading the user's mail proves as much as signing in
 * @throws AppError 400 for a token that is wrong, used or expired; 409 if a user has the address by now
 */
export async function confirmAddress(
  context: Context,
  { token }: Confirmation,
  { deviceCookie, ip }: Pick<Visitor, 'deviceCookie' | 'ip'>,
): Promise<string> {
  const { db, jobs, now, settings, transaction } = context
  const isValid = sql`token_hash = ${tokenHash(token)} and expires_at > ${formatInstant(now)}::timestamp`
  const [found] = await db.read<{ id: number; user_id: number; email: string }>(
    sql`select id, user_id, email from address_changes where ${isValid}`,
  )
  if (!found) throw invalidToken()
  return transaction(async () => {
    // The row of the user is locked first, as when a password is set: that one ends changes of the address.
    const changed = await changeAddress(db, found.user_id, found.email, now)
    if (!changed) throw invalidToken()
    const { id, accountId } = changed.user
    const { changed: used } = await db.write(sql`
      update address_changes set token_hash = null, confirmed_at = ${formatInstant(now)}::timestamp, former_email = ${changed.former},
        expires_at = ${formatInstant(new Date(now.getTime() + KEPT_MS))}::timestamp
      where id = ${found.id} and ${isValid}`)
    if (!used) throw invalidToken()
    await endAddressChanges(db, id)
    await tellSpacesOf(context, { id, account_id: accountId })
    await db.write(sql`delete from password_resets where user_id = ${id}`)
    await audit({ ...context, requester: { userId: id, keyId: null, ip: context.ip } }, 'address.changed', { id, accountId })
    await jobs.send(sendAddressNotice, { change_id: found.id })
    await jobs.send(followAddress, { change_id: found.id })
    await rememberPair(context, pairOf(found.email, ip))
    return rememberDevice(settings.secretKeys, deviceCookie, found.email, now)
  })
}

/** A change that was confirmed; undefined once its row is gone. */
export async function confirmedChange(db: Database, id: number): Promise<{ account_id: number; from: string; to: string } | undefined> {
  const [change] = await db.read<{ account_id: number; from: string; to: string }>(sql`
    select u.account_id, c.former_email as "from", c.email as "to" from address_changes c join users u on u.id = c.user_id
    where c.id = ${id} and c.confirmed_at is not null`)
  return change
}

/** Ends the changes of the user that nobody has confirmed yet. */
async function endAddressChanges(db: Database, userId: number): Promise<void> {
  await db.write(sql`delete from address_changes where user_id = ${userId} and confirmed_at is null`)
}

export async function deleteExpiredAddressChanges(db: Database, now: Date): Promise<void> {
  await db.write(sql`delete from address_changes where expires_at < ${formatInstant(now)}::timestamp`)
}
