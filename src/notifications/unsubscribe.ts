/** The link at the end of every mail to unsubscribe. It is signed, so it needs no row, and grants nothing else. */
import { changeUser } from '../accounts/service.ts'
import { audit } from '../audit/log.ts'
import type { Context } from '../platform/context.ts'
import { sql } from '../platform/database/database.ts'
import { MAX_ID } from '../platform/row-ids.ts'
import { isSigned, sign } from '../platform/secrets/secrets.ts'
import type { SecretKeys } from '../settings.ts'

const PURPOSE = 'gridpost unsubscribe links'

/** The path of a user's link. It does not expire, because mails are kept for years. */
export const unsubscribePath = (secretKeys: SecretKeys, userId: number): string =>
  `/unsubscribe/${userId}.${sign(secretKeys, PURPOSE, Buffer.from(String(userId))).toString('base64url')}`

/** Returns the user of the token; null for an invalid one. */
export function unsubscribingUserId(secretKeys: SecretKeys, token: string): number | null {
  const [, id = '', signature = ''] = /^([1-9]\d{0,9})\.([\w-]{43})$/.exec(token) ?? []
  if (!id || Number(id) > MAX_ID) return null
  const bytes = Buffer.from(signature, 'base64url')
  // Only the spelling that was issued is accepted: the last character of base64 has spare bits.
  const isOurs = isSigned(secretKeys, PURPOSE, Buffer.from(id), bytes) && bytes.toString('base64url') === signature
  return isOurs ? Number(id) : null
}

/** Stops the mails about notifications. A repeated call changes nothing. @returns false if the user does not exist */
export async function unsubscribe(context: Context, userId: number): Promise<boolean> {
  const { db, now, transaction } = context
  return transaction(async () => {
    const [user] = await db.read<{ account_id: number; wants_mail: boolean }>(sql`
      select account_id, mail_preference <> 'none' as wants_mail from users
      where id = ${userId} and status <> 'deleted' for no key update`)
    if (user?.wants_mail) {
      await changeUser(db, userId, { mailPreference: 'none' }, now)
      await audit(context, 'user.updated', { id: userId, accountId: user.account_id, detail: { changed: ['mail_preference'] } })
    }
    return user !== undefined
  })
}
