/** Tells a user by mail that their password was replaced, so that they notice if somebody else has replaced it. */
import { z } from 'zod'
import { storedAddress } from '../platform/access/network.ts'
import type { Context } from '../platform/context.ts'
import { defineQueue } from '../platform/jobs/queue.ts'
import { escapeHtml } from '../platform/mail/html.ts'
import { NoMailer } from '../platform/mail/mailer.ts'
import { tokenHash } from '../platform/secrets/secrets.ts'
import { readableInstant } from '../platform/time/readable-time.ts'
import { formatInstant, instantOf } from '../platform/time/time.ts'

/** How a password was replaced, in words that follow "was". */
const WAYS = {
  session: 'changed by somebody who was signed in',
  link: 'replaced with a link that was mailed to this address',
  operator: 'set by the operator of the service',
} as const

const Replaced = z.object({
  user_id: z.int(),
  way: z.enum(['session', 'link', 'operator']),
  /** `YYYY-MM-DD HH:MM:SS`, UTC. */
  at: z.string(),
  ip: z.string().nullable(),
})
type Replaced = z.infer<typeof Replaced>

/** A server that is down for some hours only delays the mail. */
export const sendPasswordNotice = defineQueue({
  name: 'auth.password-notice',
  schema: Replaced,
  options: { retryLimit: 12, retryDelay: 15, retryBackoff: true, retryDelayMax: 3_600 },
})

/** Enqueues the mail in the transaction of the change, which does not wait for a mail server. */
export async function noticePassword({ jobs, now, ip }: Context, userId: number, way: Replaced['way']): Promise<void> {
  await jobs.send(sendPasswordNotice, { user_id: userId, way, at: formatInstant(now), ip: storedAddress(ip) })
}

/** Mails the notice, whatever the user has set for notifications. A mail that is sent twice after a crash has the same Message-ID. */
export async function mailPasswordNotice({ db, mailer, log, publicUrl }: Context, replaced: Replaced): Promise<void> {
  const user = await db.prisma.user.findFirst({ where: { id: replaced.user_id, status: 'active' } })
  if (!user) return
  const base = publicUrl()
  const id = tokenHash(JSON.stringify(replaced)).toString('hex').slice(0, 32)
  try {
    await mailer.send({
      to: user.email,
      subject: 'Your password for Gridpost was changed',
      ...bodyOf(replaced, user, base),
      headers: { 'Message-ID': `<password.${id}@${new URL(base).hostname}>`, 'Auto-Submitted': 'auto-generated' },
    })
  } catch (error) {
    if (!(error instanceof NoMailer)) throw error
    // A retry would not help.
    log.warn({ err: error, user_id: user.id }, 'notice of a new password not mailed')
  }
}

/** @param base the address of the service without a trailing slash */
function bodyOf({ way, at, ip }: Replaced, { email, timezone }: { email: string; timezone: string }, base: string) {
  const time = `on ${readableInstant(instantOf(at), timezone)} (${timezone})`
  const done = `The password of ${email} on Gridpost was ${WAYS[way]}, ${time}${ip === null ? '' : `, from the address ${ip}`}.`
  const calm = 'If this was your wish, there is nothing to do.'
  const mailbox = way === 'link' ? ' somebody else can read your mail: change the password of your mailbox first. Then' : ''
  const alarm = `If it was not,${mailbox} set a new password at once, which signs everyone else out:`
  const link = `${base}/forgot`
  const rest = 'Then look for API keys that you have not created, and tell the operator of the service.'
  return {
    text: `${done}\n\n${calm}\n\n${alarm}\n${link}\n\n${rest}\n`,
    html: `<p>${escapeHtml(done)}</p><p>${calm}</p><p>${alarm} <a href="${escapeHtml(link)}">Set a new password</a></p><p>${rest}</p>`,
  }
}
