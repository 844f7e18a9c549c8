/** Sends a comment until the service has answered for good: it is there then, or refused. */
import { errorData, messageOf } from '../../session/errors.ts'
import { commentTexts } from '../../texts/record/comments.ts'

export type Result = { kind: 'created' } | { kind: 'refused'; problem: string }

export interface Sending {
  /** Tries at once. */
  now(): void
  stop(): void
}

const RETRY_MS = 1_000
const MOST_RETRY_MS = 15_000

/** @param waits is told that the service could not be reached, and will be asked again */
export function beginSending(create: () => Promise<unknown>, { waits, done }: { waits(): void; done(result: Result): void }): Sending {
  let timer: ReturnType<typeof setTimeout> | undefined
  let isOver = false
  let isSending = false
  let failures = 0

  const send = async () => {
    if (isSending || isOver) return
    clearTimeout(timer)
    isSending = true
    const result = await create().then((): Result => ({ kind: 'created' }), resultOf)
    isSending = false
    if (isOver) return
    if (result) {
      stop()
      return done(result)
    }
    failures += 1
    waits()
    timer = setTimeout(now, Math.min(RETRY_MS * 2 ** (failures - 1), MOST_RETRY_MS))
  }
  const now = () => void send()
  const stop = () => {
    isOver = true
    clearTimeout(timer)
    removeEventListener('online', now)
  }
  addEventListener('online', now)
  now()
  return { now, stop }
}

const MAY_PASS = new Set([401, 408, 429])

/** What an error says of the comment; null if it may be taken later. */
function resultOf(error: unknown): Result | null {
  const data = errorData(error)
  const status = data?.httpStatus ?? 503
  if (status >= 500 || MAY_PASS.has(status)) return null
  // The first call with this comment still runs. A key that another page has used for another text says nothing of this one.
  if (status === 409) return messageOf(error).includes('still running') ? null : { kind: 'refused', problem: commentTexts.otherWasSent }
  return { kind: 'refused', problem: messageOf(error) }
}
