/** Sends the queued emails of all integrations: many at once, few through each server, and fairly among accounts. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { z } from 'zod'
import { Batches } from '../../platform/concurrency/batches.ts'
import { type Context, type Deps, systemContext } from '../../platform/context.ts'
import { type Database, sql } from '../../platform/database/database.ts'
import { isOutage } from '../../platform/database/database-errors.ts'
import { memo } from '../../platform/memo.ts'
import { type Lease, leaseDue, leaseNext, makeDue, RENEW_MS, renewLeases } from './lease.ts'
import type { Sending } from './prefetch.ts'
import { sendEmail } from './queue.ts'
import { sendInTurn } from './sending.ts'
import { openSettling } from './settling.ts'
import { freeSlots, fullAccounts, hasRoom, serverWait } from './slots.ts'
import { openStamping } from './stamping.ts'

/** How often a process looks for emails without being woken: retries, and those that another process or the rate has left. */
const POLL_MS = 1_000
/** The pause after a look that has found nothing to send. */
const REST_MS = 25
/** How long a stop waits for the answers to emails that have been handed over. */
const STOP_MS = 25_000

/** Of how many integrations a process remembers how fast their servers are. */
const MOST_KNOWN = 1_000

interface Dispatcher {
  wake(): void
}

/** The dispatcher of each worker, by its database: a job knows no other part of the process. */
const dispatchers = new WeakMap<Database, Dispatcher>()

/** Jobs that are fetched together share a statement. */
const dueBatches = memo((_: Database) => new Batches(makeDueTogether, { most: 60, isForAll: isOutage }))

async function makeDueTogether(jobs: readonly { context: Context; comment_id: number }[]): Promise<undefined[]> {
  await makeDue(
    (jobs[0] as { context: Context }).context,
    jobs.map(({ comment_id }) => comment_id),
  )
  return jobs.map(() => undefined)
}

/** The job of a new email, or of one whose retry is due. */
export async function wakeDispatcher(context: Context, { comment_id }: z.infer<typeof sendEmail.schema>): Promise<void> {
  await dueBatches(context.db).add({ context, comment_id })
  const dispatcher = dispatchers.get(context.db)
  if (dispatcher) return dispatcher.wake()
  // This worker stops, and the next one may be of the previous release.
  await context.jobs.send(sendEmail, { comment_id }, { startAfter: new Date(context.now.getTime() + POLL_MS) })
}

/** Starts sending. @returns stops it: emails that are not handed over yet are given back */
export function startDispatcher(deps: Deps): () => Promise<void> {
  const underway = new Map<Sending, Promise<void>>()
  const unreached = new Set<number>()
  const mailsPerConnection = new Map<number, number>()
  const log = deps.log.child({ queue: 'email.send' })
  const stopping = new AbortController()
  const context = (): Context => ({ ...systemContext(deps), log, signal: stopping.signal })
  const recorder = { ...openStamping(context), ...openSettling(context) }
  let wake = () => {}
  /** Wakes it even from a pause: a connection has become free. */
  let wakeAtOnce = () => {}

  /** @param leases emails that share a connection */
  function sendingOf(leases: readonly [Lease, ...Lease[]]): Sending {
    const [{ lease, smtp_integration_id: integrationId, account_id: accountId }] = leases
    return {
      ...{ integrationId, accountId, isWaiting: false, held: new Set(leases), asked: mailsPerConnection.get(integrationId) ?? 1 },
      leaseMore: async (most) =>
        hasRoom([...underway.keys()], accountId) && !unreached.has(integrationId)
          ? leaseNext(context(), { integrationId, lease }, most)
          : [],
    }
  }

  async function send(sending: Sending): Promise<void> {
    try {
      const wait = serverWait(sending, () => wakeAtOnce())
      const { isReached, mailsAtOnce } = await sendInTurn(context, { ...recorder, wait }, sending)
      if (isReached !== undefined) unreached[isReached ? 'delete' : 'add'](sending.integrationId)
      if (mailsPerConnection.size >= MOST_KNOWN) mailsPerConnection.clear()
      mailsPerConnection.set(sending.integrationId, mailsAtOnce)
    } catch (error) {
      // The leases expire, and the emails are taken up again.
      log.error({ err: error, comment_ids: [...sending.held].map(({ comment_id }) => comment_id) }, 'mails not sent')
    } finally {
      underway.delete(sending)
      wakeAtOnce()
    }
  }

  /** @returns false if it has found no emails to send */
  async function takeUp(): Promise<boolean> {
    const open = [...underway.keys()]
    const limit = freeSlots(open)
    if (limit <= 0) return true
    const fullAccountIds = fullAccounts(open)
    const leases = await leaseDue(context(), { limit, slots: open, fullAccountIds, unreachedIds: [...unreached], mailsPerConnection })
    for (const leased of Map.groupBy(leases, ({ lease }) => lease).values()) {
      const sending = sendingOf(leased as [Lease, ...Lease[]])
      underway.set(sending, send(sending))
    }
    return leases.length > 0
  }

  async function run(): Promise<void> {
    while (!stopping.signal.aborted) {
      const woken = Promise.withResolvers<void>()
      const freed = Promise.withResolvers<void>()
      wake = woken.resolve
      wakeAtOnce = () => {
        freed.resolve()
        woken.resolve()
      }
      const wasUseful = await takeUp().catch((error) => log.error({ err: error }, 'queued mails not read'))
      // New emails for servers that have no connection free would otherwise cause a statement each.
      if (!wasUseful) await Promise.race([freed.promise, sleep(REST_MS)])
      const timer = setTimeout(wake, POLL_MS)
      await woken.promise
      clearTimeout(timer)
    }
  }

  const renewal = setInterval(() => {
    const leases = [...underway.keys()].flatMap(({ held }) => [...held])
    if (leases.length) renewLeases(deps.db, leases).catch((error) => log.error({ err: error }, 'leases of mails not renewed'))
  }, RENEW_MS)
  dispatchers.set(deps.db, { wake: () => wake() })
  const running = run()

  return async () => {
    stopping.abort()
    wakeAtOnce()
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
  const waiting = await db.read<{ comment_id: number }>(sql`
    select comment_id from outbound_emails o where due_at <= localtimestamp and (leased_until is null or leased_until < localtimestamp)
      and not exists (
        select from pgboss.job j where j.name = ${sendEmail.name} and j.state < 'active' and (j.data->>'comment_id')::int = o.comment_id)
    order by due_at limit ${MOST_ENQUEUED}`)
  if (waiting.length) await jobs.sendMany(sendEmail, waiting)
}
