import { z } from 'zod'
import { createInvite } from '../auth/service.ts'
import { tooManyFailures } from '../auth/throttling/attempts.ts'
import { bucket, count } from '../auth/throttling/throttle.ts'
import type { SpaceRef } from '../platform/access/resources.ts'
import type { Context } from '../platform/context.ts'
import { linkToForm } from '../platform/http/pages/links.ts'
import { defineQueue } from '../platform/jobs/queue.ts'
import { escapeHtml } from '../platform/mail/html.ts'
import { NoMailer } from '../platform/mail/mailer.ts'

/** The token is created when the mail is sent, so that only the mail contains it. */
const Invitation = z.object({ user_id: z.int(), space_name: z.string(), inviter: z.string() })
type Invitation = z.infer<typeof Invitation>

export const sendInvite = defineQueue({ name: 'spaces.invite', schema: Invitation })

/**
 * Sends an invitation to a person who has not accepted one.
 * @throws AppError 429 with Retry-After after several mails to the person
 */
export async function invite({ db, actor, jobs, now }: Context, { name }: SpaceRef, userId: number): Promise<void> {
  const waitSeconds = await count(db, [bucket('invitesToUser', String(userId))], now)
  const message = 'The invitation was mailed several times; let the person look for it, or retry later'
  if (waitSeconds > 0) throw tooManyFailures(waitSeconds, message)
  await jobs.send(sendInvite, { user_id: userId, space_name: name, inviter: actor.name })
}

/** Mails an invitation at once (contract.md §4: invite mails do not wait for a digest). Earlier links for the person stop working. */
export async function mailInvite(
  { db, mailer, log, now, publicUrl }: Context,
  { user_id, space_name, inviter }: Invitation,
): Promise<void> {
  const isMember = { some: { space: { deletedAt: null } } }
  const user = await db.prisma.user.findFirst({ where: { id: user_id, status: 'invited', memberships: isMember } })
  if (!user) return
  const link = linkToForm(publicUrl(), '/invite', { token: await createInvite(db, user.id, now), email: user.email })
  const line = `${inviter} invites you to work in “${space_name}” on Gridpost.`
  try {
    await mailer.send({
      to: user.email,
      subject: `${inviter} invites you to ${space_name}`.replaceAll(/[\r\n]+/g, ' '),
      text: `${line}\n\nAccept with this link, within 14 days:\n${link}\n`,
      html: `<p>${escapeHtml(line)}</p><p><a href="${escapeHtml(link)}">Accept the invitation</a> (within 14 days)</p>`,
    })
  } catch (error) {
    if (!(error instanceof NoMailer)) throw error
    // A retry would not help. An operator reads this in the log and sets SMTP_URL.
    log.error({ err: error, user_id }, 'invitation not mailed')
  }
}
