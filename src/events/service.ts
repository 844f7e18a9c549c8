/** One open stream as an async iterable, for the subscription; routes.ts writes directly to the socket. */

import type { StreamCaller } from '../platform/access/reauthenticate.ts'
import type { Context } from '../platform/context.ts'
import { type AppError, unauthorized, unavailable } from '../platform/errors.ts'
import { formatInstant } from '../platform/time/time.ts'
import type { Feed } from './feed.ts'
import type { Subscriber } from './open-streams.ts'
import { type StreamItem, wire } from './schema.ts'

/** A reader with a larger backlog is disconnected. It can continue from its last event. */
const MOST_WAITING = 2_000

/** The id of Last-Event-ID as a number; -1, which is never found, if it cannot be the id of an event. */
export const idOf = (text: string | null | undefined): number | undefined =>
  text == null ? undefined : /^\d{1,15}$/.test(text) ? Number(text) : -1

/**
 * Yields the events that the caller may see, from now on or from the one after `lastEventId`.
 * @throws AppError 401 when the key or session ends, 503 when the caller should reconnect, 429 for too many streams
 */
export async function* follow(
  { actor, now }: Pick<Context, 'actor' | 'now'>,
  { credentials, ip, tables }: StreamCaller & Pick<Subscriber, 'tables'>,
  feed: Feed,
  lastEventId: string | null | undefined,
  signal: AbortSignal | undefined,
): AsyncGenerator<StreamItem, void> {
  const after = idOf(lastEventId)
  const waiting: StreamItem[] = []
  let ended: AppError | undefined
  let arrived = Promise.withResolvers<void>()
  let emptied: PromiseWithResolvers<void> | undefined
  const wake = () => arrived.resolve()
  const leave = await feed.subscribe(
    {
      credentials,
      ip,
      actor,
      tables,
      open: (id) => {
        if (after === undefined) waiting.push({ id, type: 'ready', at: formatInstant(now) })
      },
      send: (events) => {
        waiting.push(...events.map(wire))
        wake()
        if (waiting.length <= MOST_WAITING) return
        ended ??= unavailable('The stream was read too slowly')
        leave()
      },
      beat: () => {},
      drained: async () => {
        if (!waiting.length) return
        emptied ??= Promise.withResolvers()
        await emptied.promise
      },
      end: (why) => {
        ended ??= why === 'ended' ? unauthorized('The key or session has ended') : unavailable('The stream was interrupted; reconnect')
        wake()
      },
    },
    after,
  )
  signal?.addEventListener('abort', wake, { once: true })
  try {
    while (!signal?.aborted) {
      const item = waiting.shift()
      if (item) yield item
      else if (ended) throw ended
      else {
        emptied?.resolve()
        emptied = undefined
        await arrived.promise
        arrived = Promise.withResolvers()
      }
    }
  } finally {
    leave()
    emptied?.resolve()
  }
}
