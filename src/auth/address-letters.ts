/** The mails about another address of a user: the link to the new one, or a word to the user who has it; and the notice to the old one. */
import { z } from 'zod'
import type { Context } from '../platform/context.ts'
import { type Database, sql } from '../platform/database/database.ts'
import { linkToForm } from '../platform/http/pages/links.ts'
import { defineQueue } from '../platform/jobs/queue.ts'
import { escapeHtml } from '../platform/mail/html.ts'
import { type Letter, NoMailer } from '../platform/mail/mailer.ts'
import { newToken, tokenHash } from '../platform/secrets/secrets.ts'
import { readableInstant } from '../platform/time/readable-time.ts'
import { formatInstant, instantOf } from '../platform/time/time.ts'

export const AddressChangeJob = z.object({ change_id: z.int() })
type AddressChangeJob = z.infer<typeof AddressChangeJob>

export const sendAddressLink = defineQueue({ name: 'auth.address-link', schema: AddressChangeJob })
/** A server that is down for some hours only delays the mail. */
export const sendAddressNotice = defineQueue({
  name: 'auth.address-notice',
  schema: AddressChangeJob,
  options: { retryLimit: 12, retryDelay: 15, retryBackoff: true, retryDelayMax: 3_600 },
})

interface Change {
  user_id: number
  /** The new address. */
  email: string
  /** The present address of the user. */
  current: string
  timezone: string
  /** Of a confirmed change: the address before, and when it was confirmed. */
  former: string | null
  confirmed_at: string | null
}

/** Mails the link to the new address, or tells the user who has it. */
export async function mailAddressLink(context: Context, { change_id }: AddressChangeJob): Promise<void> {
  const { db, now, publicUrl } = context
  const change = await changeOf(db, change_id)
  if (!change || change.confirmed_at !== null) return
  if (await db.prisma.user.findFirst({ where: { email: change.email } })) return mail(context, change, takenLetter(change.email))
  const token = newToken()
  const { changed } = await db.write(sql`
    update address_changes set token_hash = ${tokenHash(token)}
    where id = ${change_id} and confirmed_at is null and expires_at > ${formatInstant(now)}::timestamp`)
  // It has expired, or a new password has ended it.
  if (changed) await mail(context, change, linkLetter(change, linkToForm(publicUrl(), '/confirm', { token, email: change.email })))
}

/** Tells the address that the user had before. A mail that is sent twice after a crash has the same Message-ID. */
export async function mailAddressNotice(context: Context, { change_id }: AddressChangeJob): Promise<void> {
  const change = await changeOf(context.db, change_id)
  if (!change?.former || !change.confirmed_at) return
  const { former, confirmed_at } = change
  const messageId = `<address.${change_id}.${instantOf(confirmed_at).getTime()}@${new URL(context.publicUrl()).hostname}>`
  await mail(context, change, noticeLetter({ ...change, former, confirmed_at }), { 'Message-ID': messageId })
}

async function changeOf(db: Database, id: number): Promise<Change | undefined> {
  const [change] = await db.read<Change>(sql`
    select c.user_id, c.email, u.email as current, u.timezone, c.former_email as former, c.confirmed_at
    from address_changes c join users u on u.id = c.user_id and u.status = 'active' where c.id = ${id}`)
  return change
}

type Body = Omit<Letter, 'headers'>

async function mail({ mailer, log }: Context, { user_id }: Change, letter: Body, headers: Record<string, string> = {}): Promise<void> {
  try {
    await mailer.send({ ...letter, headers: { ...headers, 'Auto-Submitted': 'auto-generated' } })
  } catch (error) {
    if (!(error instanceof NoMailer)) throw error
    // A retry would not help. An operator reads this in the log and sets SMTP_URL.
    log.error({ err: error, user_id }, 'mail about a new address not sent')
  }
}

function linkLetter({ email, current }: Change, link: string): Body {
  const line = `The user ${current} on Gridpost wants to use this address, ${email}, in place of ${current}.`
  const rest = 'If you did not ask for it, ignore this mail: nothing changes.'
  return {
    to: email,
    subject: 'Confirm your new address for Gridpost',
    text: `${line}\n\nConfirm it with this link, once and within an hour:\n${link}\n\n${rest}\n`,
    html: `<p>${escapeHtml(line)}</p><p><a href="${escapeHtml(link)}">Confirm the address</a> (once, within an hour)</p><p>${rest}</p>`,
  }
}

/** It does not say who has asked, because the asker does not learn who has the address either. */
function takenLetter(email: string): Body {
  const line = `Somebody who is signed in to Gridpost has asked to use your address, ${email}. It is yours already, so nothing has changed.`
  const rest = 'If that was you with another user, give this one another address first. If it was not, there is nothing to do.'
  return {
    to: email,
    subject: 'Your address for Gridpost was asked for',
    text: `${line}\n\n${rest}\n`,
    html: `<p>${escapeHtml(line)}</p><p>${rest}</p>`,
  }
}

function noticeLetter({ former, email, timezone, confirmed_at }: Change & { former: string; confirmed_at: string }): Body {
  const time = `on ${readableInstant(instantOf(confirmed_at), timezone)} (${timezone})`
  const done = `The address of ${former} on Gridpost was changed to ${email}, ${time}. Sign in with the new one from now on.`
  const calm = 'If this was your wish, there is nothing to do.'
  const alarm = 'If it was not, tell the owner of your account and the operator of the service at once: they can disable the user.'
  return {
    to: former,
    subject: 'Your address for Gridpost was changed',
    text: `${done}\n\n${calm}\n\n${alarm}\n`,
    html: `<p>${escapeHtml(done)}</p><p>${calm}</p><p>${alarm}</p>`,
  }
}
