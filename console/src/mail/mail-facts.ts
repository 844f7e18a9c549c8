/** What the metadata of a mail holds. That of a mail that was received is read, because older releases have stored less of it. */
import type { Client } from 'gridpost-client'

export type OutgoingMail = Awaited<ReturnType<Client['email']['send']['mutate']>>['comment']['metadata']
export type Recipient = OutgoingMail['recipients'][number]
export type DeliveryError = NonNullable<OutgoingMail['error']>
export type Open = Awaited<ReturnType<Client['email']['opens']['query']>>['rows'][number]

export interface Mailbox {
  name: string
  email: string
}

/** The result of each check of a sender, such as `pass` or `fail`; null if it was not made. */
export type Authentication = Readonly<Record<'spf' | 'dkim' | 'dmarc' | 'arc', string | null>>

export interface IncomingMail {
  /** The mail that it answers. */
  parentCommentId: number | null
  from: Mailbox
  to: readonly string[]
  cc: readonly string[]
  subject: string
  date: string | null
  text: string
  visibleText: string
  /** Empty without one. */
  html: string
  isAutomatic: boolean
  /** Whether it came by a mailing list. */
  isFromList: boolean
  isUnreadable: boolean
  wasRecipient: boolean
  authentication: Authentication | null
  /** The paths of the attachments that the HTML shows. */
  inlinePaths: readonly string[]
  remoteImages: number
  attachmentsLeftOut: number
}

const STATUSES: Readonly<Record<OutgoingMail['status'], true>> = { queued: true, sent: true, read: true, bounced: true, dropped: true }
const OF_RECIPIENTS: Readonly<Record<Recipient['status'], true>> = { queued: true, sent: true, bounced: true, dropped: true, unknown: true }

/** The metadata of a mail that was sent; null if it is none that this page can read, such as one in a state of a newer release. */
export function outgoingMail(metadata: unknown): OutgoingMail | null {
  const { status, recipients, subject } = recordOf(metadata)
  const isKnown = Object.hasOwn(STATUSES, textOf(status)) && typeof subject === 'string' && Array.isArray(recipients)
  return isKnown && recipients.every((one) => Object.hasOwn(OF_RECIPIENTS, textOf(recordOf(one).status)))
    ? (metadata as OutgoingMail)
    : null
}

/** The recipients who have not got the mail, as far as anybody knows. */
export const missedRecipients = ({ recipients }: Pick<OutgoingMail, 'recipients'>): Recipient[] =>
  recipients.filter(({ status }) => status === 'bounced' || status === 'dropped' || status === 'unknown')

/** Whether its tokens have become values: they do when it is first handed to a server. */
export const isResolved = ({ recipients }: Pick<OutgoingMail, 'recipients'>): boolean =>
  recipients.some(({ status }) => status === 'sent' || status === 'bounced' || status === 'unknown')

/** Reads what the service has stored of a mail that was received. Whatever is missing is taken as not there. */
export function incomingMail(metadata: unknown): IncomingMail {
  const stored = recordOf(metadata)
  const from = recordOf(stored.from)
  return {
    parentCommentId: typeof stored.parentCommentId === 'number' ? stored.parentCommentId : null,
    from: { name: textOf(from.name), email: textOf(from.email) },
    to: textsOf(stored.to),
    cc: textsOf(stored.cc),
    subject: textOf(stored.subject),
    date: typeof stored.date === 'string' ? stored.date : null,
    text: textOf(stored.text),
    visibleText: textOf(stored.visibleText),
    html: textOf(stored.html),
    isAutomatic: stored.autoReply === true,
    isFromList: stored.isFromList === true,
    isUnreadable: stored.unreadable === true,
    wasRecipient: stored.senderWasRecipient !== false,
    authentication: authenticationOf(stored.authentication),
    inlinePaths: inlinePathsOf(stored),
    remoteImages: countOf(stored.remoteImages),
    attachmentsLeftOut: countOf(stored.attachmentsLeftOut),
  }
}

/** The paths of the attachments that a mail shows within its body. */
export const inlinePathsOf = (metadata: unknown): string[] =>
  listOf(recordOf(metadata).inline).flatMap((one) => textOf(recordOf(one).path) || [])

export const countOf = (value: unknown): number => (typeof value === 'number' && value > 0 ? value : 0)

function authenticationOf(value: unknown): Authentication | null {
  if (typeof value !== 'object' || value === null) return null
  const results = recordOf(value)
  const of = (check: string) => textOf(results[check]).toLowerCase() || null
  return { spf: of('spf'), dkim: of('dkim'), dmarc: of('dmarc'), arc: of('arc') }
}

const recordOf = (value: unknown): Record<string, unknown> =>
  typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}
const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : [])
const textOf = (value: unknown): string => (typeof value === 'string' ? value : '')
const textsOf = (value: unknown): string[] => listOf(value).filter((one) => typeof one === 'string')
