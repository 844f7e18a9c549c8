/**
 * A JSON body is held in memory while it is read, as bytes, as text and as values: 50 MB of upload take some 200 MB. Only so many
 * large ones are read at once in a process; the others wait before their bytes are taken from the line.
 */
import { unavailable } from './errors.ts'

/** Bodies of this size or more are large. */
export const LARGE_BYTES = 4 * 1_048_576

export interface Gate {
  /**
   * Waits for a place. `release` gives it back, or gives up waiting for it; more than once does no harm.
   * @returns `entered` resolves once there is one, and rejects with 503 after too long a wait
   */
  enter(): { entered: Promise<void>; release: () => void }
}

/** @param places how many at once */
export function openGate(places: number, { waitMs = 30_000 }: { waitMs?: number } = {}): Gate {
  let free = places
  const waiting = new Set<() => void>()
  const next = () => {
    const [first] = waiting
    if (first) first()
    else free++
  }
  return {
    enter() {
      const { promise, resolve, reject } = Promise.withResolvers<void>()
      let state: 'waiting' | 'inside' | 'gone' = 'waiting'
      const timer = setTimeout(() => {
        leaveQueue()
        reject(unavailable('Too many large requests at once, please try again', 5))
      }, waitMs).unref()
      function leaveQueue() {
        state = 'gone'
        waiting.delete(admit)
        clearTimeout(timer)
      }
      function admit() {
        waiting.delete(admit)
        clearTimeout(timer)
        state = 'inside'
        resolve()
      }
      if (free > 0) {
        free--
        admit()
      } else waiting.add(admit)
      return {
        entered: promise,
        release() {
          if (state === 'inside') next()
          if (state === 'waiting') reject(unavailable('The caller has gone'))
          leaveQueue()
        },
      }
    },
  }
}
