/** The metadata of the comments that emails leave on a record. */
import { z } from 'zod'
import { Id } from '../platform/http/procedures/schemas.ts'
import type { SenderAuthentication } from './authenticity/authentication-results.ts'
import { BOUNCE_KINDS } from './reports/failure-causes.ts'
import { EMAIL_STATES, EMAIL_STATUSES, type EmailStamp, RECIPIENT_STATUSES } from './states.ts'

/** Why a server did not take an email, a connection or a sign-in. */
export const Failure = z
  .object({
    code: z.string().meta({ description: 'The reply code of the server, such as 550, or a word of the service, such as ECONNREFUSED.' }),
    enhanced: z.string().nullable().meta({ description: 'The enhanced status code (RFC 3463), such as 5.1.1; null without one.' }),
    message: z.string().meta({ description: 'The words of the server or of the service, for people.' }),
  })
  .meta({ id: 'DeliveryError', description: 'Why a mail server, or the way to it, refused something.' })

/** A name and an address, as in a header of an email. */
export const Mailbox = z
  .object({
    name: z.string().meta({ description: 'The name; empty without one.' }),
    email: z.string().meta({ description: 'The address alone, without the name.' }),
  })
  .meta({ id: 'Mailbox', description: 'A name and an address, as in a header of an email.' })

const Bounce = z
  .object({
    kind: z.enum(BOUNCE_KINDS).meta({
      description:
        'hard: the address takes no mail. soft: it may later. block: the server refuses the sender. policy: it refuses this email.',
    }),
    reason: z.string().meta({ description: 'The cause in plain words.' }),
  })
  .meta({ id: 'Bounce' })

export const RecipientState = z
  .object({
    email: z.string().meta({ description: 'The address alone, without a name.' }),
    kind: z.enum(['to', 'cc', 'bcc']).meta({ description: 'In which of the three lists the sender put it.' }),
    status: z
      .enum(RECIPIENT_STATUSES)
      .meta({ description: 'unknown: the email was handed over, but the answer of the server was not received.' }),
    error: Failure.nullable().meta({ description: 'Why it was not delivered; null otherwise.' }),
    bounce: Bounce.optional().meta({ description: 'Of a bounced recipient: the kind of the failure, and its reason.' }),
    delay: Failure.extend({ at: z.string().meta({ description: 'When the notice came: UTC, YYYY-MM-DD HH:MM:SS.' }) })
      .meta({ id: 'DeliveryDelay', description: 'A notice of a mail server that an email is still on its way.' })
      .optional()
      .meta({ description: 'The last notice that the email is delayed.' }),
    complaint: z
      .object({
        at: z.string().meta({ description: 'When it came: UTC, YYYY-MM-DD HH:MM:SS.' }),
        type: z.string().meta({ description: 'The kind of the complaint, such as abuse (RFC 5965).' }),
      })
      .optional()
      .meta({ description: 'Set when the provider of the recipient reported the email as unwanted.' }),
    receipt: z
      .object({
        at: z.string().meta({ description: 'When it came: UTC, YYYY-MM-DD HH:MM:SS.' }),
        disposition: z.string().meta({ description: 'What was done with the email, such as displayed (RFC 8098).' }),
      })
      .optional()
      .meta({ description: 'The read receipt of the recipient, such as displayed or deleted.' }),
  })
  .meta({ id: 'EmailRecipient', description: 'How it stands with one recipient of an email.' })
export type RecipientState = z.infer<typeof RecipientState>

const Stamp = z.string().nullable()
const stampOf = (status: string) =>
  Stamp.meta({ description: `When it became ${status}: UTC, YYYY-MM-DD HH:MM:SS; null if it has not been.` })
/** The instant of each transition; a new email has only that of its queueing. */
const stamps = {
  ...(Object.fromEntries(EMAIL_STATUSES.map((status) => [EMAIL_STATES[status].stamp, stampOf(status)])) as Record<
    EmailStamp,
    typeof Stamp
  >),
  queuedAt: z.string().meta({ description: 'When it was queued, the last time: UTC, YYYY-MM-DD HH:MM:SS.' }),
}

/** A file that the HTML of an email shows, and its Content-ID. */
const InlineImage = z.object({
  cid: z.string().meta({ description: 'The Content-ID by which the HTML of the email names it.' }),
  path: z.string().meta({ description: 'The attachment of the comment; GET /api/file/{path} returns its bytes.' }),
})
export type InlineImage = z.infer<typeof InlineImage>

/** `metadata` of an email_out comment (contract.md §6). */
export const OutgoingMetadata = z
  .object({
    status: z
      .enum(EMAIL_STATUSES)
      .meta({ description: 'queued: it waits. sent: a server took it. read: it was opened. bounced, dropped: no recipient has it.' }),
    from: Mailbox.meta({ description: 'The sender.' }),
    to: z.array(z.string()).meta({ description: 'The recipients, as they were given.' }),
    cc: z.array(z.string()).meta({ description: 'Recipients of a copy.' }),
    bcc: z.array(z.string()).meta({ description: 'Recipients of a copy, whom no other recipient sees.' }),
    subject: z.string().meta({ description: 'As it goes out; with its tokens while it waits.' }),
    messageId: z.string().meta({ description: 'The Message-ID of its header.' }),
    smtpIntegrationId: Id.meta({ description: 'The integration that sends it.' }),
    signatureId: Id.nullable().meta({ description: 'The signature below the body; null without one.' }),
    ...stamps,
    sendAt: Stamp.optional().meta({ description: 'When a scheduled email is to go; null after a retry. Other emails do not have it.' }),
    inline: z.array(InlineImage).optional().meta({
      description: 'The attachments that the body shows, by links to /api/file/{path}. Emails without such images do not have it.',
    }),
    error: Failure.nullable().meta({ description: 'Why it is bounced or dropped, or waits after a failed attempt; null otherwise.' }),
    recipients: z.array(RecipientState).meta({ description: 'How it stands with each recipient.' }),
    unresolved: z
      .array(z.string())
      .meta({ description: 'What tokens name that have no value, such as an unknown slug; such tokens become empty.' }),
    remoteImages: z
      .int()
      .optional()
      .meta({ description: 'How many images of the body are on other servers. Emails of earlier releases do not have it.' }),
    attachmentsLeftOut: z.int().optional().meta({ description: 'Always 0: nothing is left out of an email that is sent.' }),
  })
  .meta({ id: 'OutgoingEmail', description: 'The `metadata` of an email_out comment.' })
export type OutgoingMetadata = z.infer<typeof OutgoingMetadata>

/** `metadata` of an email_in comment (contract.md §6, Inbound). */
export interface IncomingMetadata {
  parentCommentId: number
  from: { name: string; email: string }
  to: string[]
  cc: string[]
  subject: string
  messageId: string | null
  inReplyTo: string | null
  /** The Message-IDs in References, and Outlook's Thread-Index; undefined without them. An answer goes on from them. */
  references?: string[]
  threadIndex?: string
  /** Where the sender wants answers, if not at their own address; undefined without it. */
  replyTo?: string[]
  /** Present if the mail came from a mailing list. */
  isFromList?: true
  date: string | null
  text: string
  visibleText: string
  html: string | null
  autoReply: boolean
  authentication: SenderAuthentication | null
  senderWasRecipient: boolean
  /** The attachments that the HTML shows as `cid:` images. */
  inline: { cid: string; path: string }[]
  /** How many images of the HTML are on other servers. */
  remoteImages: number
  /** How many attachments are in the raw message only. */
  attachmentsLeftOut: number
  /** True if the message could not be parsed. The comment says so, and has the raw message attached as `message.eml`. */
  unreadable: boolean
}
