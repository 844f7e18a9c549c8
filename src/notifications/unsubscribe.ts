/** The link at the end of every mail, which stops them: signed, so that it needs no row, and good for nothing else. */
import { timingSafeEqual } from 'node:crypto'
import { changeUser } from '../accounts/service.ts'
import { type Database, sql } from '../platform/database/database.ts'
import { MAX_ID } from '../platform/http/schemas.ts'
import { sign } from '../platform/secrets.ts'

const signatureOf = (secretKey: Buffer, userId: string) =>
  sign(secretKey, 'gridpost unsubscribe links', Buffer.from(userId)).toString('base64url')

/** The path of a user's link. It goes on working, because mails are kept for years. */
export const unsubscribePath = (secretKey: Buffer, userId: number): string =>
  `/unsubscribe/${userId}.${signatureOf(secretKey, String(userId))}`

/** The user whose link has this token; null for a token that is none of ours. */
export function unsubscribingUserId(secretKey: Buffer, token: string): number | null {
  const [, id = '', signature = ''] = /^([1-9]\d{0,9})\.([\w-]{43})$/.exec(token) ?? []
  if (!id || Number(id) > MAX_ID) return null
  return timingSafeEqual(Buffer.from(signature), Buffer.from(signatureOf(secretKey, id))) ? Number(id) : null
}

/** Ends the mails about notifications. Doing it again changes nothing. @returns false when the user is no more */
export async function unsubscribe(db: Database, userId: number, now: Date): Promise<boolean> {
  const [user] = await db.query<{ wants_mail: boolean }>(
    sql`select mail_preference <> 'none' as wants_mail from users where id = ${userId} and status <> 'deleted'`,
  )
  if (user?.wants_mail) await changeUser(db, userId, { mailPreference: 'none' }, now)
  return user !== undefined
}
