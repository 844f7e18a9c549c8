/** How far the delivery of a message has come, and how long each part of it may take. */
import { tooSlow } from './connections.ts'
import type { ContentSteps } from './whole-contents.ts'

/** The time for sender and recipients, for the content, and for the answer to it. */
export const ENVELOPE_MS = 60_000
const CONTENT_MS = 300_000
const ANSWER_MS = 300_000

export interface Progress {
  hasBegun: boolean
  isEnding: boolean
  /** True once the server may accept the message even if its answer is not received. */
  isHandedOver: boolean
  /** Why the service itself has stopped the delivery; undefined if it has not. */
  stopped: unknown
}

/** The steps of sending the content. They record the progress, and set the limits. */
export function contentSteps(progress: Progress, limit: TimeLimit, beforeEnd: () => Promise<void>): ContentSteps {
  return {
    begin() {
      progress.hasBegun = true
      limit.set(CONTENT_MS)
    },
    async beforeEnd() {
      // The content may have left its buffer only after the server had refused it.
      if (limit.hasEnded()) throw tooSlow()
      progress.isEnding = true
      try {
        await beforeEnd()
      } catch (error) {
        progress.stopped = error
        throw error
      }
      // The final dot follows.
      progress.isHandedOver = true
      limit.set(ANSWER_MS)
    },
  }
}

/** Composes the message. If that fails, the server and its connection are not at fault. */
export function composed<Content>(progress: Progress, compose: () => Content): Content {
  try {
    return compose()
  } catch (error) {
    progress.stopped = error
    throw error
  }
}

type TimeLimit = ReturnType<typeof timeLimit>

/** Limits the time of each part of a dialogue, however many bytes the server trickles in this time. */
export function timeLimit() {
  const { promise: exceeded, reject } = Promise.withResolvers<never>()
  // It may be exceeded when nobody waits for it any more.
  exceeded.catch(() => {})
  let timer: NodeJS.Timeout | undefined
  let hasEnded = false
  const exceed = () => reject(tooSlow())
  const set = (ms: number) => {
    clearTimeout(timer)
    // The server may have answered before the end of the content, for which its sender still waits.
    if (!hasEnded) timer = setTimeout(exceed, ms)
  }
  const end = () => {
    hasEnded = true
    clearTimeout(timer)
  }
  return { exceeded, exceed, set, end, hasEnded: () => hasEnded }
}
