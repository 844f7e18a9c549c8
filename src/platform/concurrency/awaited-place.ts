/** Places of a limit (fair-limit.ts) for work that awaits one. */
import type { FairLimit, Place } from './fair-limit.ts'

export interface WaitOptions {
  refusal: () => Error
  signal?: AbortSignal
}

/**
 * Takes a place for the party, and waits for one if it has to. The caller gives it back with `leave`.
 * @throws `refusal()` when no place became free in time, or the signal's reason
 */
export async function enterPlace(limit: FairLimit, party: string, { refusal, signal }: WaitOptions): Promise<Place> {
  signal?.throwIfAborted()
  return limit.tryEnter(party) ?? waitForPlace(limit, party, refusal, signal)
}

/**
 * Runs the function in a place of the party.
 * @throws what the function throws, `refusal()` when no place became free in time, or the signal's reason
 */
export async function runInPlace<T>(limit: FairLimit, party: string, fn: () => Promise<T>, waiting: WaitOptions): Promise<T> {
  const place = await enterPlace(limit, party, waiting)
  try {
    return await fn()
  } finally {
    limit.leave(place)
  }
}

function waitForPlace(limit: FairLimit, party: string, refusal: () => Error, signal: AbortSignal | undefined): Promise<Place> {
  const { promise, resolve, reject } = Promise.withResolvers<Place>()
  const stop = limit.wait(party, { enter: resolve, refuse: () => reject(refusal()) })
  const onAbort = () => {
    stop()
    reject(signal?.reason)
  }
  signal?.addEventListener('abort', onAbort, { once: true })
  return promise.finally(() => signal?.removeEventListener('abort', onAbort))
}
