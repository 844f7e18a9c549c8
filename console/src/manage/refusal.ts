/** What the service refuses, in words for a person. */
import { errorData, messageOf } from '../session/errors.ts'

export interface Refusal {
  message: string
  /** Whether it can be done in spite of what the message says. */
  canForce: boolean
}

/** What a program would send to have it all the same; a person has a button for it. */
const HOW_TO_FORCE = /; send (force|drop_failing): true.*$/

export const plainMessage = (message: string): string => message.replace(HOW_TO_FORCE, '.')

export function refusalOf(error: unknown): Refusal {
  const message = messageOf(error)
  return { message: plainMessage(message), canForce: errorData(error)?.code === 'CONFLICT' && HOW_TO_FORCE.test(message) }
}
