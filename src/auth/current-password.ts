/** The current password, by which a signed-in user proves that it is them before a change that a stolen session must not make. */
import { auditFailedSignIn } from '../audit/failed-sign-ins.ts'
import type { Context } from '../platform/context.ts'
import { badInput } from '../platform/errors.ts'
import { verifyPassword } from '../platform/secrets/secrets.ts'
import { attempt } from './throttling/attempts.ts'
import { bucket } from './throttling/throttle.ts'

/** The signed-in user, and the hash that the password was checked against. */
export interface Proved {
  id: number
  email: string
  passwordHash: string
}

/**
 * Checks the current password of the signed-in user. Wrong ones are counted for the session, and audited.
 * @throws AppError 400 if it is wrong; 429 with Retry-After after failures in the session
 */
export async function requirePassword(context: Context, currentPassword: string): Promise<Proved> {
  const { db, actor, now } = context
  const user = await db.prisma.user.findFirstOrThrow({ where: { id: actor.userId } })
  const passwordHash = await attempt(db, [bucket('session', String(actor.sessionId))], now, async () =>
    (await verifyPassword(currentPassword, user.passwordHash)) ? user.passwordHash : null,
  )
  if (!passwordHash) {
    await auditFailedSignIn(context, user)
    throw wrongPassword()
  }
  return { id: user.id, email: user.email, passwordHash }
}

export const wrongPassword = () => badInput('current_password', 'is wrong')
