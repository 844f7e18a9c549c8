/**
 * The states of an email and of its recipients (contract.md §6, States), with the transitions into each. The wire's schema, the
 * conditions of SQL statements and the services read these tables, so a new state is a new line here and the code that causes it.
 */
import type { EmailEventType } from '../comments/events.ts'
import { formatInstant } from '../platform/time/time.ts'

interface EmailState<Status extends string, Stamp extends string> {
  /** The states from which an email can come into this one. */
  from: readonly Status[]
  /** The key of the metadata that holds the instant of the transition. */
  stamp: Stamp
  event: EmailEventType
  /** Whether the email belongs to the record's thread: later emails refer to it in their headers. */
  isInThread: boolean
}

const emailStates = {
  // A dropped email is queued again by a retry; a bounced one, if a server accepts it for a recipient that was dropped before.
  queued: { from: ['dropped'], stamp: 'queuedAt', event: 'email.status', isInThread: false },
  sent: { from: ['queued', 'bounced'], stamp: 'sentAt', event: 'email.status', isInThread: true },
  read: { from: ['sent'], stamp: 'readAt', event: 'email.status', isInThread: true },
  bounced: { from: ['sent', 'read'], stamp: 'bouncedAt', event: 'email.status', isInThread: false },
  dropped: { from: ['queued'], stamp: 'droppedAt', event: 'email.status', isInThread: false },
} as const

export type EmailStatus = keyof typeof emailStates
export type EmailStamp = (typeof emailStates)[EmailStatus]['stamp']

export const EMAIL_STATES: Readonly<Record<EmailStatus, EmailState<EmailStatus, EmailStamp>>> = emailStates
export const EMAIL_STATUSES = Object.keys(emailStates) as [EmailStatus, ...EmailStatus[]]

interface RecipientStateDef<Status extends string> {
  from: readonly Status[]
  /** Whether the recipient has the email, or may still get it. Without such a recipient an email is bounced or dropped. */
  isReachable: boolean
}

const recipientStates = {
  queued: { from: ['dropped'], isReachable: true },
  // A server may accept an email after another worker has recorded that the outcome of this attempt is unknown.
  sent: { from: ['queued', 'unknown'], isReachable: true },
  bounced: { from: ['sent', 'unknown'], isReachable: false },
  dropped: { from: ['queued'], isReachable: false },
  unknown: { from: ['queued'], isReachable: true },
} as const

export type RecipientStatus = keyof typeof recipientStates

export const RECIPIENT_STATES: Readonly<Record<RecipientStatus, RecipientStateDef<RecipientStatus>>> = recipientStates
export const RECIPIENT_STATUSES = Object.keys(recipientStates) as [RecipientStatus, ...RecipientStatus[]]

export const canBecome = (from: EmailStatus, to: EmailStatus): boolean => EMAIL_STATES[to].from.includes(from)

export const recipientCanBecome = (from: RecipientStatus, to: RecipientStatus): boolean => RECIPIENT_STATES[to].from.includes(from)

export interface Transition {
  /** The states in which the statement finds the email; in another one it changes nothing. */
  from: readonly EmailStatus[]
  /** The keys of the metadata that change. */
  metadata: { status: EmailStatus } & Partial<Record<EmailStamp, string | null>>
  event: EmailEventType
}

/** The change of an email that comes into a state. */
export function transitionTo(status: EmailStatus, now: Date): Transition {
  const { from, stamp, event } = EMAIL_STATES[status]
  return { from, event, metadata: { status, [stamp]: formatInstant(now) } }
}

/** The status and the stamps of a new email, whose event is `comment.created`. */
export function newEmailState(now: Date): { status: 'queued' } & Record<EmailStamp, string | null> & { queuedAt: string } {
  const stamps = Object.fromEntries(EMAIL_STATUSES.map((status) => [EMAIL_STATES[status].stamp, null])) as Record<EmailStamp, null>
  return { status: 'queued', ...stamps, queuedAt: formatInstant(now) }
}

/** The statuses of emails that belong to their record's thread. */
export const THREAD_STATUSES: readonly EmailStatus[] = EMAIL_STATUSES.filter((status) => EMAIL_STATES[status].isInThread)
