/** Records the outcomes of attempts. Outcomes that arrive at the same time share a transaction. */

import { setTimeout as sleep } from 'node:timers/promises'
import { movingEmails, updateEmails } from '../../comments/emails.ts'
import { Batches } from '../../platform/concurrency/batches.ts'
import type { Context } from '../../platform/context.ts'
import { sql } from '../../platform/database/database.ts'
import { isOutage } from '../../platform/database/database-errors.ts'
import { labelled } from '../../platform/database/statements/statement.ts'
import { formatInstant } from '../../platform/time/time.ts'
import type { RecipientState } from '../metadata.ts'
import { mails, recipients as recipientStates } from '../metrics.ts'
import { type AttemptedMail, lockAttempted } from '../queries.ts'
import { type EmailStatus, transitionTo } from '../states.ts'
import { undeliverableAddresses } from '../suppressions/refused.ts'
import { suppress } from '../suppressions/service.ts'
import { markFailing, resume } from './faults.ts'
import type { Lease } from './lease.ts'
import { emailAfter, errorOf, isReached, type Outcome, recipientAfter } from './outcome.ts'
import { sendEmail } from './queue.ts'

/** The seconds between attempts: seven attempts in about five hours. */
const RETRY_SECONDS = [5, 30, 120, 900, 3600, 14_400]

/** The longest pause between two tries to record an outcome. */
const MAX_WAIT_MS = 500

/** How many outcomes are recorded in one transaction. */
const MOST_AT_ONCE = 50
/** The least time between two such transactions. A connection sends its next email meanwhile, so a busy worker needs fewer of them. */
const REST_MS = 40

interface Attempt {
  lease: Lease
  outcome: Outcome
  /** The email as the worker has read it, with the metadata that its attempt has left; undefined if it was not handed over. */
  known?: AttemptedMail | undefined
}

export interface Settling {
  /**
   * Records the outcome of an attempt. No other process knows the answer of the server, so the outcome is kept in memory while the database
   * is not available, and recorded when it is back.
   */
  settle(attempt: Attempt): Promise<void>
}

/** @param context makes the context of a transaction */
export function openSettling(context: () => Context): Settling {
  const batches = new Batches((attempts: readonly Attempt[]) => saveOutcomes(context(), attempts, false), {
    most: MOST_AT_ONCE,
    isForAll: isOutage,
    restMs: REST_MS,
  })

  async function save(attempt: Attempt): Promise<void> {
    const isSaved = await batches.add(attempt)
    // Its row is locked by another transaction, for which the other outcomes do not wait.
    if (!isSaved) await saveOutcomes(context(), [attempt], true)
  }

  return {
    async settle(attempt) {
      for (let waitMs = 100; ; waitMs = Math.min(waitMs * 2, MAX_WAIT_MS)) {
        try {
          return await save(attempt)
        } catch (error) {
          if (!isOutage(error)) throw error
          const { comment_id } = attempt.lease
          context().log.warn({ err: error, comment_id }, 'the outcome of a mail is kept until the database is back')
          await sleep(waitMs)
        }
      }
    },
  }
}

/**
 * Records outcomes, and the time of the next attempt for recipients that are still queued.
 * @param waits true to wait for emails that another transaction has locked; otherwise they are left out
 * @returns for each attempt whether it was recorded
 */
async function saveOutcomes(context: Context, attempts: readonly Attempt[], waits: boolean): Promise<boolean[]> {
  const { metrics } = context
  const ends = await saveDelivered(context, attempts)
  const saved = new Set(ends.map(({ attempt }) => attempt))
  const left = attempts.filter((attempt) => !saved.has(attempt))
  if (left.length) ends.push(...(await saveOthers(context, left, waits)))
  for (const { status, tried } of ends) {
    if (status) metrics.count(mails, { state: status })
    for (const { status: state } of tried) metrics.count(recipientStates, { state })
  }
  const recorded = new Set(ends.map(({ attempt }) => attempt))
  return attempts.map((attempt) => recorded.has(attempt))
}

/**
 * Records that emails were delivered to all of their recipients, which is how nearly all attempts end: in one statement, for those that are
 * still as the worker has read them. It leaves out those that another transaction has locked, and those of an integration that will be
 * resumed.
 */
async function saveDelivered({ db, now }: Context, attempts: readonly Attempt[]): Promise<End[]> {
  const ends = attempts.flatMap((attempt) => (attempt.known ? endOf(attempt.known, attempt, now) : [])).filter(isDelivered)
  if (!ends.length) return []
  const saved = await db.write<{ comment_id: number }>(
    labelled(
      'save-delivered',
      sql`
      with mine as materialized (
        select o.comment_id, x.metadata
        from unnest(${ends.map(({ mail }) => mail.comment_id)}::int[], ${ends.map(({ attempt }) => attempt.lease.lease)}::int[],
          ${ends.map(({ mail }) => JSON.stringify(mail.metadata))}::text[],
          ${ends.map((end) => JSON.stringify(changeOf(now)(end).metadata))}::text[]) x (comment_id, lease, before, metadata)
        join outbound_emails o on o.comment_id = x.comment_id and o.lease = x.lease
        join record_comments c on c.id = x.comment_id and c.metadata = x.before::jsonb
        left join smtp_integrations i on i.id = o.smtp_integration_id
        where i.failing_message is null
        for update of o, c skip locked
      ), ended as (
        update outbound_emails o set attempts = o.attempts + 1, leased_until = null, due_at = null
        from mine m where o.comment_id = m.comment_id
      ), ${movingEmails(sql`mine`, now)}
      select comment_id from mine`,
    ),
  )
  const ids = new Set(saved.map(({ comment_id }) => comment_id))
  return ends.filter(({ mail }) => ids.has(mail.comment_id))
}

const isDelivered = ({ isMine, status, tried }: End): boolean =>
  isMine && status !== undefined && tried.every((recipient) => recipient.status === 'sent')

/** Records the outcomes of emails that it locks first. */
function saveOthers(context: Context, attempts: readonly Attempt[], waits: boolean): Promise<End[]> {
  const { db, now } = context
  // A worker that lost a lease and later leased the email again may have two outcomes of it.
  const byId = new Map(attempts.map((attempt) => [attempt.lease.comment_id, attempt]))
  return context.transaction(async () => {
    const found = await lockAttempted(db, [...byId.keys()], waits)
    const ends = found.map((mail) => endOf(mail, byId.get(mail.comment_id) as Attempt, now))
    if (!ends.length) return []
    await updateEmails(db, ends.map(changeOf(now)), now)
    await endAttempts(context, ends)
    await suppressGone(context, ends)
    return ends
  })
}

/** The result of an attempt. */
interface End {
  mail: AttemptedMail
  attempt: Attempt
  /** False if another worker has taken the email meanwhile. It may have recorded the outcome as unknown. */
  isMine: boolean
  /** The answers of the server that count. */
  known: Pick<Outcome, 'refused'>
  recipients: RecipientState[]
  /** The recipients of the attempt. */
  tried: RecipientState[]
  /** The new state of the email; undefined if it does not change. */
  status: EmailStatus | undefined
  retryAt: Date | null
}

function endOf(mail: AttemptedMail, attempt: Attempt, now: Date): End {
  const { lease, outcome } = attempt
  const isMine = mail.lease === lease.lease
  const isLastAttempt = isCounted(outcome) && mail.attempts >= RETRY_SECONDS.length
  // Even without the lease the email was delivered to the recipients that the server accepted.
  const known: Outcome = isMine ? outcome : { accepted: outcome.accepted, refused: new Map() }
  const recipients = mail.metadata.recipients.map((recipient) => recipientAfter(recipient, known, isLastAttempt))
  // An attempt that failed because of its integration does not count. When the next one is made depends on the integration (`markFailing`).
  const seconds = outcome.fault ? 0 : (outcome.pauseSeconds ?? RETRY_SECONDS[mail.attempts])
  const isQueued = recipients.some(({ status }) => status === 'queued')
  return {
    ...{ mail, attempt, isMine, known, recipients },
    tried: recipients.filter((_, index) => mail.metadata.recipients[index]?.status === 'queued'),
    status: emailAfter(mail.metadata.status, recipients),
    retryAt: isQueued && seconds !== undefined ? new Date(now.getTime() + seconds * 1000) : null,
  }
}

const isCounted = ({ fault, pauseSeconds }: Outcome) => !fault && pauseSeconds === undefined

/** The change of the comment. Its row is locked, so it is in the state that `endOf` has seen. */
const changeOf =
  (now: Date) =>
  ({ mail, recipients, status }: End) => ({
    commentId: mail.comment_id,
    metadata: { ...(status && transitionTo(status, now).metadata), recipients, error: errorOf(recipients) },
    isTransition: status !== undefined,
  })

/** Gives the leases back, with the time of the next attempt, and records what the attempts say about the integrations. */
async function endAttempts(context: Context, ends: readonly End[]): Promise<void> {
  const { db, jobs } = context
  // The integrations are locked in their own order, because two processes may record outcomes of the same ones.
  const mine = ends
    .filter(({ isMine }) => isMine)
    .toSorted((a, b) => a.attempt.lease.smtp_integration_id - b.attempt.lease.smtp_integration_id)
  // Without queued recipients the stamp stays: the email is never sent again.
  await db.write(
    labelled(
      'end-attempts',
      sql`
      update outbound_emails o set attempts = o.attempts + case when e.is_counted then 1 else 0 end,
        leased_until = null, due_at = e.retry_at::timestamp, attempted_at = case when e.retry_at is null then o.attempted_at end
      from unnest(${mine.map(({ mail }) => mail.comment_id)}::int[], ${mine.map(({ attempt }) => isCounted(attempt.outcome))}::boolean[],
        ${mine.map(({ retryAt }) => retryAt && formatInstant(retryAt))}::text[]) e (comment_id, is_counted, retry_at)
      where o.comment_id = e.comment_id`,
    ),
  )
  for (const { mail, attempt, retryAt } of mine) {
    const { fault, others } = attempt.outcome
    const { comment_id, smtp_integration_id } = attempt.lease
    if (fault && others) await markFailing(context, { ...mail, ...fault, integration_id: smtp_integration_id }, others)
    else if (mail.failing_message !== null && isReached(attempt.outcome)) await resume(db, smtp_integration_id)
    if (retryAt && !fault) await jobs.send(sendEmail, { comment_id }, { startAfter: retryAt })
  }
}

/** Suppresses the addresses that the server has refused for good, across all emails in the order in which `suppress` locks them. */
async function suppressGone(context: Context, ends: readonly End[]): Promise<void> {
  const gone = ends.flatMap(({ mail, known }) => undeliverableAddresses(known.refused).map((address) => ({ mail, address })))
  const inOrder = gone.toSorted((a, b) => a.mail.account_id - b.mail.account_id || (a.address < b.address ? -1 : 1))
  for (const { mail, address } of inOrder) await suppress(context, mail, [address], 'hard_bounce')
}
