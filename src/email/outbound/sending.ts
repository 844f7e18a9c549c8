/** Sends the emails of one connection, one after the other. */
import type { Context } from '../../platform/context.ts'
import { isOutage } from '../../platform/http/errors.ts'
import { inSpan } from '../../platform/tracing.ts'
import { type Attempted, attemptDelivery, type Recorder } from './delivery.ts'
import { type Lease, releaseLeases } from './lease.ts'
import { type LoadedMail, loadFirst } from './loading.ts'

/** Leased emails of an integration that share a connection. */
export interface Sending {
  integrationId: number
  accountId: number
  /** The leases that are not ended yet, and have to be renewed. */
  held: Set<Lease>
}

export interface Progress {
  /** Whether the server was reached with the last email; undefined if no server was tried. */
  isReached: boolean | undefined
  /** How many emails a connection to this server should take at once. */
  mailsAtOnce: number
}

/** A connection takes as many emails as the server accepts in this time … */
const TURN_MS = 1_000
/** … but no more than this, because the leases of a killed worker delay its emails for half a minute. */
const MOST_AT_ONCE = 25

/**
 * Sends the emails in their order. If one of them takes longer than a turn, the others are given back, for another connection.
 * @param context makes the context of an email
 */
export async function sendInTurn(context: () => Context, recorder: Recorder, { held }: Sending): Promise<Progress> {
  const waiting = [...held]
  const recorded: Promise<void>[] = []
  const startedAt = performance.now()
  let [tried, isReached]: [number, boolean | undefined] = [0, undefined]

  async function giveBack(): Promise<void> {
    const left = waiting.splice(0)
    if (!left.length) return
    for (const lease of left) held.delete(lease)
    // If this fails, the leases expire.
    await releaseLeases(context(), left).catch((error) => context().log.error({ err: error }, 'leases of mails not given back'))
  }

  // After a failure the lease expires, and a worker takes the email again.
  const failing = (lease: Lease) => (error: unknown) => context().log.error({ err: error, comment_id: lease.comment_id }, 'mail not sent')

  async function send(lease: Lease, loaded: LoadedMail): Promise<void> {
    waiting.shift()
    const late = setTimeout(giveBack, TURN_MS)
    const fail = failing(lease)
    try {
      const attempted = await inTraceOf(lease, () => attemptDelivery(context(), recorder, lease, loaded))
      if (attempted.isReached !== undefined) [tried, isReached] = [tried + 1, attempted.isReached]
      recorded.push(attempted.recorded.catch(fail).finally(() => held.delete(lease)))
    } catch (error) {
      fail(error)
    } finally {
      clearTimeout(late)
    }
    if (isReached === false || context().signal.aborted) await giveBack()
  }

  /** Loads the next emails. One that cannot be loaded is left out, for which each is tried alone. */
  async function loadNext(first: Lease, others: readonly Lease[]): Promise<Iterable<[number, LoadedMail]>> {
    try {
      return await loadFirst(context(), [first, ...others])
    } catch (error) {
      if (isOutage(error)) throw error
      if (others.length) return loadNext(first, [])
      waiting.shift()
      held.delete(first)
      failing(first)(error)
      return []
    }
  }

  for (let [first, ...others] = waiting; first; [first, ...others] = waiting) {
    for (const [id, loaded] of await loadNext(first, others)) {
      const [lease] = waiting
      if (lease?.comment_id === id) await send(lease, loaded)
    }
    // The next emails may belong to the same records and refer to these emails.
    await Promise.all(recorded)
  }
  return { isReached, mailsAtOnce: isReached && tried ? mailsPerTurn((performance.now() - startedAt) / tried) : 1 }
}

const mailsPerTurn = (msPerMail: number) => Math.max(1, Math.min(MOST_AT_ONCE, Math.floor(TURN_MS / msPerMail)))

/** An attempt belongs to the trace of the request that has queued the email. */
const inTraceOf = ({ traceparent }: Lease, fn: () => Promise<Attempted>): Promise<Attempted> =>
  traceparent === null ? fn() : inSpan('deliver email', { kind: 'consumer', parent: traceparent }, fn)
