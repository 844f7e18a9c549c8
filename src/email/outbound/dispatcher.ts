/** Sends the queued emails of all integrations: many at once, few through each server, and fairly among accounts. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { z } from 'zod'
import { type Context, type Deps, systemContext } from '../../platform/context.ts'
import { type Database, sql } from '../../platform/database/database.ts'
import { inSpan } from '../../platform/tracing.ts'
import { deliverLeased, sendEmail } from './delivery.ts'
import { type Lease, leaseDue, makeDue, RENEW_MS, renewLeases } from './lease.ts'

/** How many emails a process sends at once. Most of them wait for a server. */
const MAX_UNDERWAY = 60
/** How often a process looks for emails without being woken: retries, and those that another process or the rate has left. */
const POLL_MS = 1_000
/** How long a stop waits for the answers to emails that have been handed over. */
const STOP_MS = 25_000

interface Dispatcher {
  wake(): void
}

/** The dispatcher of each worker, by its database: a job knows no other part of the process. */
const dispatchers = new WeakMap<Database, Dispatcher>()

/** An attempt belongs to the trace of the request that has queued the email. */
const inTraceOf = <Result>({ traceparent }: Lease, fn: () => Promise<Result>): Promise<Result> =>
  traceparent === null ? fn() : inSpan('deliver email', { kind: 'consumer', parent: traceparent }, fn)

/** The job of a new email, or of one whose retry is due. */
export async function wakeDispatcher(context: Context, { comment_id }: z.infer<typeof sendEmail.schema>): Promise<void> {
  await makeDue(context, comment_id)
  const dispatcher = dispatchers.get(context.db)
  if (dispatcher) return dispatcher.wake()
  // This worker stops, and the next one may be of the previous release.
  await context.jobs.send(sendEmail, { comment_id }, { startAfter: new Date(context.now.getTime() + POLL_MS) })
}

/** Starts sending. @returns stops it: emails that are not handed over yet are given back */
export function startDispatcher(deps: Deps): () => Promise<void> {
  const underway = new Map<Lease, Promise<void>>()
  const unreached = new Set<number>()
  const log = deps.log.child({ queue: 'email.send' })
  const stopping = new AbortController()
  const context = (): Context => ({ ...systemContext(deps), log, signal: stopping.signal })
  let wake = () => {}

  async function send(lease: Lease): Promise<void> {
    try {
      const isReached = await inTraceOf(lease, () => deliverLeased(context, lease))
      if (isReached !== undefined) unreached[isReached ? 'delete' : 'add'](lease.smtp_integration_id)
    } catch (error) {
      // The lease expires, and the email is taken up again.
      log.error({ err: error, comment_id: lease.comment_id }, 'mail not sent')
    } finally {
      underway.delete(lease)
      wake()
    }
  }

  async function takeUp(): Promise<void> {
    const limit = MAX_UNDERWAY - underway.size
    if (limit <= 0) return
    const accountIds = [...underway.keys()].map(({ account_id }) => account_id)
    for (const lease of await leaseDue(context(), { limit, accountIds, unreachedIds: [...unreached] })) underway.set(lease, send(lease))
  }

  async function run(): Promise<void> {
    while (!stopping.signal.aborted) {
      const { promise: woken, resolve } = Promise.withResolvers<void>()
      wake = resolve
      await takeUp().catch((error) => log.error({ err: error }, 'queued mails not read'))
      const timer = setTimeout(resolve, POLL_MS)
      await woken
      clearTimeout(timer)
    }
  }

  const renewal = setInterval(() => {
    if (underway.size) renewLeases(deps.db, [...underway.keys()]).catch((error) => log.error({ err: error }, 'leases of mails not renewed'))
  }, RENEW_MS)
  dispatchers.set(deps.db, { wake: () => wake() })
  const running = run()

  return async () => {
    stopping.abort()
    wake()
    await running
    await Promise.race([Promise.all(underway.values()), sleep(STOP_MS, undefined, { ref: false })])
    clearInterval(renewal)
    // From here on jobs of this queue are enqueued again, those of enqueueWaiting as well.
    dispatchers.delete(deps.db)
    await enqueueWaiting(deps).catch((error) => log.error({ err: error }, 'waiting mails not enqueued'))
  }
}

const MOST_ENQUEUED = 10_000

/**
 * Gives waiting emails a job again. The previous release sends only emails that have one, so if it takes over, those whose job has woken a
 * dispatcher of this release would stay queued for ever.
 */
async function enqueueWaiting({ db, jobs }: Deps): Promise<void> {
  const waiting = await db.query<{ comment_id: number }>(sql`
    select comment_id from outbound_emails o where due_at <= localtimestamp and (leased_until is null or leased_until < localtimestamp)
      and not exists (
        select from pgboss.job j where j.name = ${sendEmail.name} and j.state < 'active' and (j.data->>'comment_id')::int = o.comment_id)
    order by due_at limit ${MOST_ENQUEUED}`)
  if (waiting.length) await jobs.sendMany(sendEmail, waiting)
}
