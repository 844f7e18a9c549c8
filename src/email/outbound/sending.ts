/** Sends the emails of one connection, one after the other. */
import type { Context } from '../../platform/context.ts'
import { inSpan } from '../../platform/tracing/tracing.ts'
import { type Attempted, attemptDelivery, type Recorder } from './delivery.ts'
import type { Lease } from './lease.ts'
import type { LoadedMail } from './loading.ts'
import { openPrefetch, type Sending } from './prefetch.ts'

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
 * Sends the emails in their order, and more of the integration as long as it gets them. If one of them takes longer than a turn, the others
 * are given back, for another connection.
 * @param context makes the context of an email
 */
export async function sendInTurn(context: () => Context, recorder: Recorder, sending: Sending): Promise<Progress> {
  const mails = openPrefetch(context, sending)
  let isReached: boolean | undefined
  /** How many emails the server was tried with, and how long one of the latest took. */
  let [tried, msPerMail] = [0, 0]
  const mailsAtOnce = () => (isReached && tried ? mailsPerTurn(msPerMail) : 1)

  async function send(lease: Lease, loaded: LoadedMail): Promise<void> {
    const startedAt = performance.now()
    const late = setTimeout(mails.giveBack, TURN_MS)
    // After a failure the lease expires, and a worker takes the email again.
    const fail = (error: unknown) => context().log.error({ err: error, comment_id: lease.comment_id }, 'mail not sent')
    try {
      const attempted = await inTraceOf(lease, () => attemptDelivery(context(), recorder, lease, loaded))
      mails.hold(lease, attempted.recorded.catch(fail))
      if (attempted.isReached !== undefined) {
        ;[tried, isReached] = [tried + 1, attempted.isReached]
        msPerMail += (performance.now() - startedAt - msPerMail) / Math.min(tried, MOST_AT_ONCE)
      }
    } catch (error) {
      mails.hold(lease, Promise.resolve(fail(error)))
    } finally {
      clearTimeout(late)
    }
    if (isReached === false || context().signal.aborted) await mails.giveBack()
  }

  for (let next = await mails.next(sending.asked); next; next = await mails.next(mailsAtOnce())) await send(next.lease, next.loaded)
  await mails.recorded()
  return { isReached, mailsAtOnce: mailsAtOnce() }
}

const mailsPerTurn = (msPerMail: number) => Math.max(1, Math.min(MOST_AT_ONCE, Math.floor(TURN_MS / msPerMail)))

/** An attempt belongs to the trace of the request that has queued the email. */
const inTraceOf = ({ traceparent }: Lease, fn: () => Promise<Attempted>): Promise<Attempted> =>
  traceparent === null ? fn() : inSpan('deliver email', { kind: 'consumer', parent: traceparent }, fn)
