/** The metadata of the comments that emails leave on a record. */
import { z } from 'zod'
import { Id } from '../platform/http/procedures/schemas.ts'
import type { SenderAuthentication } from './authenticity/authentication-results.ts'
import { BOUNCE_KINDS } from './reports/failure-causes.ts'
import { EMAIL_STATES, EMAIL_STATUSES, type EmailStamp, RECIPIENT_STATUSES } from './states.ts'

const Failure = z.object({ code: z.string(), enhanced: z.string().nullable(), message: z.string() })

const Bounce = z
  .object({
    kind: z.enum(BOUNCE_KINDS).meta({
      description:
        'hard: the address takes no mail. soft: it may later. block: the server refuses the sender. policy: it refuses this email.',
    }),
    reason: z.string().meta({ description: 'The cause in plain words.' }),
  })
  .meta({ id: 'Bounce' })

export const RecipientState = z.object({
  email: z.string(),
  kind: z.enum(['to', 'cc', 'bcc']),
  status: z
    .enum(RECIPIENT_STATUSES)
    .meta({ description: 'unknown: the email was handed over, but the answer of the server was not received.' }),
  error: Failure.nullable(),
  bounce: Bounce.optional().meta({ description: 'Of a bounced recipient: the kind of the failure, and its reason.' }),
  delay: Failure.extend({ at: z.string() }).optional().meta({ description: 'The last notice that the email is delayed.' }),
  complaint: z
    .object({ at: z.string(), type: z.string() })
    .optional()
    .meta({ description: 'Set when the provider of the recipient reported the email as unwanted.' }),
  receipt: z
    .object({ at: z.string(), disposition: z.string() })
    .optional()
    .meta({ description: 'The read receipt of the recipient, such as displayed or deleted.' }),
})
export type RecipientState = z.infer<typeof RecipientState>

const Stamp = z.string().nullable()
/** The instant of each transition; a new email has only that of its queueing. */
const stamps = {
  ...(Object.fromEntries(EMAIL_STATUSES.map((status) => [EMAIL_STATES[status].stamp, Stamp])) as Record<EmailStamp, typeof Stamp>),
  queuedAt: z.string(),
}

/** A file that the HTML of an email shows, and its Content-ID. */
const InlineImage = z.object({ cid: z.string(), path: z.string() })
export type InlineImage = z.infer<typeof InlineImage>

/** `metadata` of an email_out comment (contract.md §6). */
export const OutgoingMetadata = z
  .object({
    status: z.enum(EMAIL_STATUSES),
    from: z.object({ name: z.string(), email: z.string() }),
    to: z.array(z.string()),
    cc: z.array(z.string()),
    bcc: z.array(z.string()),
    subject: z.string(),
    messageId: z.string(),
    smtpIntegrationId: Id,
    signatureId: Id.nullable(),
    ...stamps,
    sendAt: Stamp.optional().meta({ description: 'When a scheduled email is to go; null after a retry. Other emails do not have it.' }),
    inline: z.array(InlineImage).optional().meta({
      description: 'The attachments that the body shows, by links to /api/file/{path}. Emails without such images do not have it.',
    }),
    error: Failure.nullable(),
    recipients: z.array(RecipientState),
    unresolved: z
      .array(z.string())
      .meta({ description: 'What tokens name that have no value, such as an unknown slug; such tokens become empty.' }),
  })
  .meta({ id: 'OutgoingEmail' })
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
  date: string | null
  text: string
  visibleText: string
  html: string | null
  autoReply: boolean
  authentication: SenderAuthentication | null
  senderWasRecipient: boolean
  /** The attachments that the HTML shows as `cid:` images. */
  inline: { cid: string; path: string }[]
  /** How many attachments are in the raw message only; undefined if there are none. */
  attachmentsLeftOut?: number
  /** True if the message could not be parsed. The comment says so, and has the raw message attached as `message.eml`. */
  unreadable: boolean
}
