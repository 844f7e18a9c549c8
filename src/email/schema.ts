import { z } from 'zod'
import { EmailAddress, Id, Instant, Version } from '../platform/http/procedures/schemas.ts'
import { sanitizeHtml } from '../platform/mail/html.ts'
import { parseInstant } from '../platform/time/time.ts'
import { changesOf } from '../platform/validation-messages.ts'
import { Domain, parseMailbox } from './address.ts'
import { Dkim, DkimRecord, NewDkim } from './authenticity/dkim.ts'
import { Failure, Mailbox, OutgoingMetadata } from './metadata.ts'

// ── SMTP integrations ───────────────────────────────────────────────────────

const Label = z.string().trim().min(1, 'must not be empty').max(100, 'must have at most 100 characters')
/** Text for a header line of an email. */
const HeaderText = z.string().refine((text) => !/[\r\n]/.test(text), 'must not contain line breaks')

const Identity = z
  .strictObject({
    name: HeaderText.max(200, 'must have at most 200 characters').meta({ description: 'The name that recipients see.' }),
    email: EmailAddress.meta({ description: 'An address at one of `from_domains`.' }),
  })
  .meta({ id: 'SenderIdentity', description: 'A sender that a composer offers.' })

export const DEFAULT_MAX_CONNECTIONS = 3
const MAX_CONNECTIONS = 20
const MAX_RATE = 100_000

/** The settings of an integration. Keys that a create may leave out have a default. */
const integration = {
  label: Label.meta({ description: 'The name by which people choose it.' }),
  host: z
    .string()
    .trim()
    .min(1, 'must not be empty')
    .max(253, 'must have at most 253 characters')
    .regex(/^[\w.:[\]-]+$/, 'must be a host name or an address')
    .meta({ description: 'The SMTP server: a host name or an address.' }),
  port: z.int().min(1, 'must be 1 or more').max(65_535, 'must be at most 65535').meta({ description: 'Usually 587, or 465 with `tls`.' }),
  tls: z
    .enum(['none', 'starttls', 'tls'])
    .meta({ description: 'tls: encrypted from the start. starttls: upgraded, or refused. none: not encrypted.' }),
  username: z
    .string()
    .max(320, 'must have at most 320 characters')
    .nullable()
    .meta({ description: 'Null: the server is used without signing in.' }),
  from_domains: z.array(Domain).max(50, 'must have at most 50 domains').meta({ description: 'The domains that senders may have.' }),
  from_identities: z.array(Identity).max(50, 'must have at most 50 senders').meta({ description: 'The senders that a composer offers.' }),
  disable_pixel: z.boolean().meta({ description: 'Whether emails are sent without the image that tracks opens.' }),
  reply_as_envelope: z
    .boolean()
    .meta({ description: 'Whether the reply address is the envelope sender, so that failure reports come back.' }),
  max_connections: z
    .int()
    .min(1, 'must be 1 or more')
    .max(MAX_CONNECTIONS, `must be at most ${MAX_CONNECTIONS}`)
    .meta({ description: `The most mails that are handed to the server at once. By default ${DEFAULT_MAX_CONNECTIONS}.` }),
  rate_per_minute: z
    .int()
    .min(1, 'must be 1 or more')
    .max(MAX_RATE, `must be at most ${MAX_RATE}`)
    .nullable()
    .meta({ description: 'The most mails in a minute; null: no limit.' }),
  table_ids: z.array(Id).max(1000, 'must have at most 1000 tables').nullable().meta({ description: 'Null: all tables of the space.' }),
}
const Password = z
  .string()
  .max(1000, 'must have at most 1000 characters')
  .nullable()
  .meta({ description: 'Kept encrypted, never returned.' })

const Failing = z
  .object({
    since: Instant.meta({ description: 'Since when: UTC, YYYY-MM-DD HH:MM:SS.' }),
    message: z.string().meta({ description: "The server's words." }),
  })
  .meta({ id: 'SmtpFailure', description: 'Why an integration cannot send.' })
  .nullable()
  .meta({
    description:
      'Set while the server refuses the connection or the sign-in, or its certificate is not valid. Mails wait for up to 48 hours, and ' +
      'are tried again from time to time, and at once after an update or a successful test.',
  })

export const SmtpIntegration = z
  .object({
    id: Id.meta({ description: 'The `smtpIntegrationId` of a send.' }),
    space_id: Id.meta({ description: 'The space that sends through it.' }),
    ...integration,
    from_identities: z.array(Mailbox).meta({ description: 'The senders that a composer offers.' }),
    dkim: Dkim,
    dkim_record: DkimRecord,
    failing: Failing,
    has_password: z.boolean().meta({ description: 'Whether a password is kept; it is never returned.' }),
    created_at: Instant,
    updated_at: Instant,
  })
  .meta({ id: 'SmtpIntegration', description: 'An SMTP server that a space sends through.' })
export type SmtpIntegration = z.infer<typeof SmtpIntegration>

export const NewSmtpIntegration = z
  .strictObject({
    ...integration,
    tls: integration.tls.nullish().meta({ description: 'By default tls on port 465, else starttls.' }),
    username: integration.username.optional(),
    password: Password.optional(),
    dkim: NewDkim.optional(),
    from_domains: integration.from_domains
      .nullish()
      .meta({ description: 'The domains that senders may have; none by default, and then nothing can be sent.' }),
    from_identities: integration.from_identities.nullish().meta({ description: 'The senders that a composer offers; none by default.' }),
    disable_pixel: integration.disable_pixel
      .nullish()
      .meta({ description: 'Whether emails go without the image that tracks opens. Default false.' }),
    reply_as_envelope: integration.reply_as_envelope.nullish().meta({
      description: 'Whether the reply address is the envelope sender, so that failure reports come back. Default true.',
    }),
    max_connections: integration.max_connections
      .nullish()
      .meta({ description: `The most mails that are handed to the server at once. Default ${DEFAULT_MAX_CONNECTIONS}.` }),
    rate_per_minute: integration.rate_per_minute.optional(),
    table_ids: integration.table_ids.optional(),
  })
  .meta({ id: 'NewSmtpIntegration', description: 'An SMTP server to send through.' })
export type NewSmtpIntegration = z.infer<typeof NewSmtpIntegration>

export const SmtpIntegrationUpdate = changesOf(z.strictObject({ ...integration, password: Password, dkim: NewDkim })).meta({
  id: 'SmtpIntegrationUpdate',
  description: 'What can be changed about an integration.',
})
export type SmtpIntegrationUpdate = z.infer<typeof SmtpIntegrationUpdate>

export const IdPath = z.strictObject({ id: Id })

export const SmtpTest = z
  .object({
    ok: z.boolean().meta({ description: 'Whether the service could connect and sign in.' }),
    error: Failure.nullable().meta({ description: 'Why not; null if it could.' }),
  })
  .meta({ id: 'SmtpTestResult', description: 'Whether the service could connect and sign in; if not, the reason.' })
export type SmtpTest = z.infer<typeof SmtpTest>

export const TableChoice = z
  .strictObject({ tableId: Id.meta({ description: 'The table of the record that an email is to be sent from.' }) })
  .meta({ id: 'TableChoice', description: 'A table to send from.' })

export const SmtpOption = z
  .object({
    id: Id.meta({ description: 'The `smtpIntegrationId` of a send.' }),
    label: z.string().meta({ description: 'The name by which people choose it.' }),
    fromDomains: z.array(z.string()).meta({ description: 'The domains that the address of a sender may have.' }),
    fromIdentities: z.array(Mailbox).meta({ description: 'Senders to offer; others at these domains are taken, too.' }),
    disablePixel: z.boolean().meta({ description: 'Whether emails go without the image that tracks opens.' }),
    failing: Failing,
  })
  .meta({ id: 'SmtpOption', description: 'An integration that a composer can offer.' })
export type SmtpOption = z.infer<typeof SmtpOption>

// ── signatures ──────────────────────────────────────────────────────────────

const MAX_SIGNATURE_BYTES = 200 * 1024

/** The limit counts for what is stored and answered: sanitising writes `&` as `&amp;`, and takes scripts away. */
const Html = z
  .string()
  .overwrite(sanitizeHtml)
  .refine((html) => Buffer.byteLength(html) <= MAX_SIGNATURE_BYTES, 'must have at most 200 KB')
  .meta({ description: 'Sanitised; what is then stored has at most 200 KB of UTF-8.' })

export const Signature = z
  .object({
    id: Id.meta({ description: 'The `signatureId` of a send.' }),
    name: z.string().meta({ description: 'The name by which its user chooses it.' }),
    html: z.string().meta({ description: 'The signature, sanitised.' }),
    is_default: z.boolean().meta({ description: 'Whether a composer offers it first; at most one of a user.' }),
    created_at: Instant,
    updated_at: Instant,
    version: Version,
  })
  .meta({
    id: 'EmailSignature',
    description: "A user's signature. The default is for the composer: a send adds only the signature that it names.",
  })
export type Signature = z.infer<typeof Signature>

const SignatureName = Label.meta({ description: 'The name by which its user chooses it.' })

export const NewSignature = z
  .strictObject({
    name: SignatureName,
    html: Html,
    is_default: z.boolean().nullish().meta({ description: 'True makes it the default in place of another.' }),
  })
  .meta({ id: 'NewSignature', description: 'A signature to keep.' })
export type NewSignature = z.infer<typeof NewSignature>
export const SignatureUpdate = changesOf(
  z.strictObject({
    name: SignatureName,
    html: Html,
    is_default: z.boolean().meta({ description: 'True makes it the default in place of another.' }),
  }),
).meta({ id: 'SignatureUpdate', description: 'What can be changed about a signature.' })
export type SignatureUpdate = z.infer<typeof SignatureUpdate>

// ── sending ─────────────────────────────────────────────────────────────────

export const MAX_RECIPIENTS = 50
const MAX_SUBJECT = 998

/** `ann@example.org` or `Ann <ann@example.org>`. It stays text here; the service parses it with `parseMailbox`. */
const Recipient = z
  .string()
  .max(600, 'must have at most 600 characters')
  .refine((text) => parseMailbox(text) !== undefined, 'must be an email address')
const Recipients = z.array(Recipient).max(MAX_RECIPIENTS, `must have at most ${MAX_RECIPIENTS} recipients`)

const ECHOED = 'As the upload answered it; not needed.'
const EmailAttachment = z
  .strictObject({
    name: z.string().meta({ description: 'The name that the recipients see.' }),
    path: z.string().max(1000, 'must have at most 1000 characters').meta({ description: 'The `path` of the upload.' }),
    type: z.string().nullish().meta({ description: ECHOED }),
    size: z.number().nullish().meta({ description: ECHOED }),
    host: z.string().nullish().meta({ description: ECHOED }),
  })
  .meta({ id: 'EmailAttachment', description: 'The response of the upload.' })

/** When a scheduled email is to go. The service checks that the instant is within a year. */
const SendAt = z
  .string()
  .refine((text) => parseInstant(text) !== null, 'must be an instant, as 2026-03-31T09:30:00Z or YYYY-MM-DD HH:MM:SS in UTC')
  .meta({ description: 'When the email is to go; at once without it. At most a year ahead.', example: '2026-03-31T09:30:00Z' })

export const RecordChoice = TableChoice.extend({ recordId: Id.meta({ description: 'The record that an email is to be sent from.' }) }).meta(
  {
    id: 'RecordChoice',
    description: 'A record to send from.',
  },
)

export const NewEmail = RecordChoice.extend({
  smtpIntegrationId: Id.meta({ description: 'The server to send through: an `id` of email/smtpOptions.' }),
  fromIdentity: z
    .strictObject({
      name: HeaderText.max(200, 'must have at most 200 characters').nullish().meta({ description: 'The name that recipients see.' }),
      email: z
        .string()
        .refine((text) => parseMailbox(text)?.name === '', 'must be an email address')
        .meta({ description: 'An address at one of the `fromDomains` of the integration.' }),
    })
    .meta({ description: 'The sender.' }),
  to: Recipients.min(1, 'must have at least one recipient').meta({
    description: 'The recipients: `ann@example.org` or `Ann <ann@example.org>`; at most 50.',
  }),
  cc: Recipients.nullish().meta({ description: 'Recipients of a copy, whom all recipients see.' }),
  bcc: Recipients.nullish().meta({ description: 'Recipients of a copy, whom no other recipient sees.' }),
  subject: HeaderText.max(MAX_SUBJECT, `must have at most ${MAX_SUBJECT} characters`)
    .nullish()
    .meta({ description: 'May contain {{field:slug}} like the body.' }),
  body: z
    .string()
    .nullish()
    .meta({
      description:
        'HTML; sanitised. May contain {{field:slug}}, {{field:slug|iso}} and {{field:slug|url}}, and images as data URLs or links to ' +
        '/api/file/{path}. At most 1 MB besides the data URLs, and 3 MB once &, < and > are escaped.',
    }),
  signatureId: Id.nullish().meta({ description: 'A signature of the caller, which is put below the body.' }),
  attachments: z
    .array(EmailAttachment)
    .max(50, 'must have at most 50 files')
    .nullish()
    .meta({ description: 'Stored files of the table, such as the answers of comments/upload.' }),
  sendAt: SendAt.nullish().meta({ description: 'When the email is to go, at most a year ahead; at once without it.' }),
  replyTo: Id.nullish().meta({
    description: 'The comment of the mail of this record that it answers. By default it continues the latest thread with its recipients.',
  }),
}).meta({ id: 'NewEmail', description: 'An email to send from a record.' })
export type NewEmail = z.infer<typeof NewEmail>

export const QueuedEmail = z
  .object({
    id: Id.meta({ description: 'The id of its comment.' }),
    status: z.literal('queued').meta({ description: 'Always queued: the email goes later, in the background.' }),
    comment: z
      .object({
        id: Id.meta({ description: 'The `comment_id` of paths.' }),
        type: z.literal('email_out').meta({ description: 'The type of comments that are emails from here.' }),
        metadata: OutgoingMetadata.meta({ description: 'The email as it is now; comments/get shows how it goes on.' }),
      })
      .meta({ description: 'The comment that the email left on the record.' }),
  })
  .meta({ id: 'QueuedEmail', description: 'An email that was accepted and waits to be sent.' })
export type QueuedEmail = z.infer<typeof QueuedEmail>

export const RecordContext = z
  .object({
    emails: z.array(z.string()).meta({ description: "The values of the record's email fields, each once." }),
    fields: z
      .array(
        z.object({
          id: z.string().meta({ description: 'The slug of a token.' }),
          name: z.string().meta({ description: 'The heading of the field.' }),
        }),
      )
      .meta({ description: 'The fields that {{field:slug}} can name.' }),
  })
  .meta({ id: 'RecordContext', description: 'What a composer needs to know about a record.' })
export type RecordContext = z.infer<typeof RecordContext>

export const Preview = z
  .object({
    subject: z.string().meta({ description: 'The subject with the values of the record.' }),
    html: z.string().meta({ description: 'The sanitised body with the values of the record and the signature.' }),
    text: z.string().meta({ description: 'The same as plain text.' }),
    unresolved: z.array(z.string()).meta({ description: 'What tokens name that have no value; such tokens become empty.' }),
    problems: z.array(z.string()).meta({ description: 'Problems to check before sending.' }),
  })
  .meta({ id: 'EmailPreview', description: 'An email as it would go.' })
export type Preview = z.infer<typeof Preview>

/** `ok` is false when the email was cancelled before. */
export const Cancelled = z
  .object({ ok: z.boolean().meta({ description: 'False if it was cancelled before.' }) })
  .meta({ id: 'EmailCancellation', description: 'What a cancellation has done.' })

export const EmailPath = z.strictObject({ comment_id: Id })

export const Cancellation = z
  .strictObject({
    discard: z.boolean().nullish().meta({ description: 'True takes the mail back: its comment goes, too. For its sender only.' }),
  })
  .meta({ id: 'EmailCancellationOptions', description: 'What becomes of the comment of a cancelled mail.' })

export const Open = z
  .object({
    opened_at: Instant.meta({ description: 'When the image was requested: UTC, YYYY-MM-DD HH:MM:SS.' }),
    class: z
      .enum(['human', 'image_proxy', 'prefetch', 'scanner'])
      .meta({ description: 'A guess at the client: human, a proxy of the mail provider, a program that loads all images, or a scanner.' }),
    user_agent: z.string().nullable().meta({ description: 'What the client calls itself; null if it does not say.' }),
  })
  .meta({ id: 'EmailOpen', description: 'One request for the image in an email, without the address of the client.' })
export type Open = z.infer<typeof Open>
