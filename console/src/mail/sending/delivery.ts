/** Hands a mail to the service, and takes it back. Both can be repeated: a mail is never there twice. */
import type { Client } from '../../session/client.ts'
import { errorData, messageOf } from '../../session/errors.ts'
import type { NewEmail } from '../draft/mail-draft.ts'

export type Outcome =
  | { kind: 'taken'; commentId: number }
  /** The time at which it was to go passed before the service got it: it has not been taken. */
  | { kind: 'past' }
  /** The key stands for another mail, which was taken before. */
  | { kind: 'otherMail' }
  | { kind: 'refused'; message: string }
  /** No answer came, so that it may have been taken. */
  | { kind: 'unknown'; message: string }

/** How often, and after how long, a request is repeated while the first one with its key still runs. */
const [MOST_TRIES, WAIT_MS] = [15, 700] as const

export async function handOver(client: Client, input: NewEmail, idempotencyKey: string): Promise<Outcome> {
  for (let tries = 1; ; tries++) {
    try {
      const { id } = await client.email.send.mutate(input, { context: { idempotencyKey } })
      return { kind: 'taken', commentId: id }
    } catch (error) {
      const outcome = outcomeOf(error)
      if (outcome !== 'still running') return outcome
      if (tries === MOST_TRIES) return { kind: 'unknown', message: messageOf(error) }
      await new Promise((resolve) => setTimeout(resolve, WAIT_MS))
    }
  }
}

function outcomeOf(error: unknown): Outcome | 'still running' {
  const data = errorData(error)
  const message = messageOf(error)
  const status = data?.httpStatus
  if (!data || status === undefined || status >= 500 || status === 408 || status === 429) return { kind: 'unknown', message }
  if (status === 409) return /still running/.test(message) ? 'still running' : { kind: 'otherMail' }
  if (status === 400 && data.issues?.some((issue) => 'path' in issue && issue.path[0] === 'sendAt')) return { kind: 'past' }
  return { kind: 'refused', message }
}

export type TakenBack = 'taken back' | 'too late' | 'unknown'

/** Takes a mail back that waits for its time. One that is not there any more was taken back before. */
export async function takeBack(client: Client, commentId: number): Promise<TakenBack> {
  try {
    await client.email.cancel.mutate({ comment_id: commentId, discard: true })
    return 'taken back'
  } catch (error) {
    const status = errorData(error)?.httpStatus
    if (status === 404) return 'taken back'
    return status === 409 || status === 403 ? 'too late' : 'unknown'
  }
}
