/**
 * Erasing a person (contract.md §9, People of an account). The request ends everything by which they come in and takes their name and
 * address; what names them in texts follows in batches, at once as far as it is quick, and else in a job.
 */
import { z } from 'zod'
import { erasedName, eraseUser, isErased, type UserRef } from '../accounts/user-status.ts'
import { endFailedSignIns } from '../audit/failed-sign-ins.ts'
import { audit } from '../audit/log.ts'
import { requirePassword } from '../auth/current-password.ts'
import { deleteAddressChanges, forgetSignIns } from '../auth/erasure.ts'
import { endProofs } from '../auth/password-reset.ts'
import { namesAside, namesIn, renameErased, renameErasedAside } from '../comments/authorship.ts'
import { endSubscriptions } from '../comments/subscriptions.ts'
import { removeIdentities } from '../email/integrations.ts'
import { mails } from '../email/metrics.ts'
import { dropMailsOf } from '../email/outbound/disabled-sender.ts'
import { deleteSignatures } from '../email/signatures.ts'
import { endPersonalKeys } from '../keys/service.ts'
import { deleteNotifications, renameInNotifications, renameInNotificationsAside } from '../notifications/erasure.ts'
import type { Context } from '../platform/context.ts'
import { type Database, sql } from '../platform/database/database.ts'
import { defineQueue } from '../platform/jobs/queue.ts'
import { formatInstant } from '../platform/time/time.ts'
import { deletePreferences } from '../preferences/service.ts'
import { leaveAllSpaces } from '../spaces/service.ts'
import { deleteRowsAsideOf } from '../tables/deleted/rows.ts'
import { replaceUser } from '../views/addresses.ts'
import { idRanges } from './queries.ts'
import type { Proof } from './schema.ts'

const Erased = z.object({ user_id: z.int() })

/** Takes an erased user's name and addresses out of what others read. A server that is busy only delays it. */
export const forgetUser = defineQueue({
  name: 'people.forget',
  schema: Erased,
  options: { retryLimit: 12, retryDelay: 15, retryBackoff: true, retryDelayMax: 3_600, expireInSeconds: 3_600 },
})

/** Requests that were running may write the name once more, so a second job looks again. */
const LOOK_AGAIN_MS = 15 * 60_000

/** The answer waits this long for the texts. */
const PROMPT_MS = 1_000

/** The first job begins when the request has done what it can, so that they do not lock each other's rows. */
const AFTER_REQUEST_MS = 3 * PROMPT_MS

/**
 * Erases a user of the caller's account for good.
 * @throws AppError 400 for a wrong password of the caller; 409 for the owner, and for a user who was erased; 429 after failures
 */
export async function erase(context: Context, user: UserRef, { current_password }: Proof): Promise<void> {
  await requirePassword(context, current_password)
  await eraseAs(context, user)
  try {
    await forgetPromptly(context, user.id)
  } catch (error) {
    // The user is erased by now; the job repeats what has failed.
    context.log.warn({ err: error, user_id: user.id }, 'texts about an erased user are left to the job')
  }
}

/** The same for an operator, whose job does the rest. */
export async function eraseAs(context: Context, user: UserRef): Promise<void> {
  const { db, jobs, now, metrics, transaction } = context
  const { id, account_id: accountId } = user
  const dropped = await transaction(async () => {
    const { name, email } = await eraseUser(db, user, now)
    const count = await dropMailsOf(context, user)
    const sessions = await endProofs(db, id, null)
    const addresses = await deleteAddressChanges(db, id)
    const keys = await endPersonalKeys(db, id)
    await leaveAllSpaces(context, user)
    const signatures = await deleteSignatures(db, id)
    await deletePreferences(db, id)
    await db.write(sql`
      insert into erasures (user_id, name, emails, created_at)
      values (${id}, ${name}, ${[...new Set([email, ...addresses])]}::text[], ${formatInstant(now)}::timestamp)`)
    await audit(context, 'user.erased', { id, accountId, detail: { sessions, keys, signatures, mails: count } })
    await jobs.send(forgetUser, { user_id: id }, { startAfter: new Date(Date.now() + AFTER_REQUEST_MS) })
    await jobs.send(forgetUser, { user_id: id }, { startAfter: new Date(Date.now() + LOOK_AGAIN_MS) })
    return count
  })
  if (dropped) metrics.count(mails, { state: 'dropped' }, dropped)
}

/**
 * Replaces what names the user in views, comments, notifications and the senders of integrations, and ends what only the user has read. It
 * may be repeated. The name and the addresses are forgotten once all is done.
 */
export async function forget(context: Context, { user_id }: z.infer<typeof Erased>): Promise<void> {
  const user = await erasedUser(context.db, user_id)
  if (!user) return
  for await (const _ of stepsOf(context, user, true)) {
    // All of them.
  }
  await endErasure(context.db, user_id)
}

/** The same as far as it is quick, without waiting for what somebody else has locked. */
async function forgetPromptly(context: Context, userId: number): Promise<void> {
  const until = performance.now() + PROMPT_MS
  const user = await erasedUser(context.db, userId)
  if (!user) return
  let left = 0
  for await (const skipped of stepsOf(context, user, false)) {
    left += skipped
    if (performance.now() >= until) return
  }
  if (!left) await endErasure(context.db, userId)
}

interface ErasedUser extends UserRef {
  /** What the user was called; null and empty once it is forgotten. */
  name: string | null
  emails: string[]
}

async function erasedUser(db: Database, id: number): Promise<ErasedUser | undefined> {
  const [user] = await db.read<ErasedUser>(sql`
    select u.id, u.account_id, e.name, coalesce(e.emails, '{}') as emails from users u left join erasures e on e.user_id = u.id
    where u.id = ${id} and ${isErased(sql`u`)}`)
  return user
}

async function endErasure(db: Database, userId: number): Promise<void> {
  await db.write(sql`delete from erasures where user_id = ${userId}`)
}

/** Each step is short. It yields how many rows it has left out because they were locked. */
async function* stepsOf(context: Context, user: ErasedUser, waits: boolean): AsyncGenerator<number> {
  const { db } = context
  const { id, account_id, name, emails } = user
  await forgetSignIns(db, id, emails)
  await endFailedSignIns(db, id)
  // The previous release erases users without it.
  await deletePreferences(db, id)
  for (const email of emails) {
    await replaceUser(context, account_id, { email, ...(name !== null && { name }) }, (takesPart) => (takesPart ? erasedName(id) : id))
    await removeIdentities(context, account_id, email)
    yield 0
  }
  while (await deleteNotifications(db, id)) yield 0
  while (await endSubscriptions(db, id)) yield 0
  await deleteRowsAsideOf(db, ['notifications', 'subscriptions', 'task_subscribers'], account_id, id)
  yield* textSteps(db, user, waits)
}

const COMMENTS = ['record_comments', 'task_comments'] as const

/**
 * What a notification quotes is found by the names in comments. So the comments keep these until all notifications are renamed, whatever
 * ends this before, or runs beside it.
 */
async function* textSteps(db: Database, user: ErasedUser, waits: boolean): AsyncGenerator<number> {
  const names = new Set(user.name === null ? [] : [user.name])
  for (const table of COMMENTS) {
    for await (const ids of idRanges(db, table)) {
      for (const used of await namesIn(db, table, user, ids)) names.add(used)
      yield 0
    }
    for (const used of await namesAside(db, table, user)) names.add(used)
  }
  let left = 0
  for await (const ids of idRanges(db, 'notifications')) {
    const skipped = await renameInNotifications(db, user, [...names], ids, waits)
    left += skipped
    yield skipped
  }
  await renameInNotificationsAside(db, user, [...names])
  if (left) return
  for (const table of COMMENTS) {
    for await (const ids of idRanges(db, table)) yield await renameErased(db, table, user, ids, waits)
    await renameErasedAside(db, table, user)
    yield 0
  }
}
