/** Tells the former and the new owner of an account by mail that it was handed over, so that they notice if it was not their wish. */
import { z } from 'zod'
import type { Context } from '../platform/context.ts'
import { sql } from '../platform/database/database.ts'
import { defineQueue } from '../platform/jobs/queue.ts'
import { escapeHtml } from '../platform/mail/html.ts'
import { NoMailer } from '../platform/mail/mailer.ts'
import { readableInstant } from '../platform/time/readable-time.ts'
import { formatInstant, instantOf } from '../platform/time/time.ts'

const HandedOver = z.object({
  account_id: z.int(),
  /** The user who is told. */
  user_id: z.int(),
  is_new_owner: z.boolean(),
  other_user_id: z.int().nullable(),
  /** `YYYY-MM-DD HH:MM:SS`, UTC. */
  at: z.string(),
})
type HandedOver = z.infer<typeof HandedOver>

/** A server that is down for some hours only delays the mail. */
export const sendOwnerNotice = defineQueue({
  name: 'people.owner-notice',
  schema: HandedOver,
  options: { retryLimit: 12, retryDelay: 15, retryBackoff: true, retryDelayMax: 3_600 },
})

/** Enqueues the mails in the transaction of the change. @param former null if the account had no owner */
export async function noticeOwners({ jobs, now }: Context, accountId: number, owner: number, former: number | null): Promise<void> {
  const common = { account_id: accountId, at: formatInstant(now) }
  await jobs.send(sendOwnerNotice, { ...common, user_id: owner, is_new_owner: true, other_user_id: former })
  if (former !== null) await jobs.send(sendOwnerNotice, { ...common, user_id: former, is_new_owner: false, other_user_id: owner })
}

/** Mails the notice, whatever the user has set for notifications. A mail that is sent twice after a crash has the same Message-ID. */
export async function mailOwnerNotice({ db, mailer, log, publicUrl }: Context, change: HandedOver): Promise<void> {
  const { user_id, account_id, other_user_id, at } = change
  const [found] = await db.read<Told>(sql`
    select u.email, u.timezone, a.name as account, o.name as other
    from users u join accounts a on a.id = u.account_id left join users o on o.id = ${other_user_id}::int and o.account_id = a.id
    where u.id = ${user_id} and u.status = 'active' and a.id = ${account_id}`)
  if (!found) return
  const messageId = `<owner.${account_id}.${user_id}.${instantOf(at).getTime()}@${new URL(publicUrl()).hostname}>`
  try {
    await mailer.send({ ...letterOf(change, found), headers: { 'Message-ID': messageId, 'Auto-Submitted': 'auto-generated' } })
  } catch (error) {
    if (!(error instanceof NoMailer)) throw error
    // A retry would not help.
    log.warn({ err: error, user_id }, 'notice of another owner not mailed')
  }
}

interface Told {
  email: string
  timezone: string
  account: string
  other: string | null
}

function letterOf({ is_new_owner, at }: HandedOver, { email, timezone, account, other }: Told) {
  const time = `on ${readableInstant(instantOf(at), timezone)} (${timezone})`
  const done = is_new_owner
    ? `You own the account “${account}” on Gridpost since it was handed to you${other === null ? '' : ` by ${other}`}, ${time}.`
    : `The account “${account}” on Gridpost was handed to ${other ?? 'another user'}, ${time}. You are still a user of it.`
  const means = is_new_owner
    ? 'You are an admin of every space now, decide who may come in, and its API keys act for you.'
    : 'If this was your wish, there is nothing to do. If it was not, set a new password at once and tell the operator of the service.'
  return {
    to: email,
    subject: is_new_owner ? 'You own an account on Gridpost' : 'Your account on Gridpost has another owner',
    text: `${done}\n\n${means}\n`,
    html: `<p>${escapeHtml(done)}</p><p>${means}</p>`,
  }
}
