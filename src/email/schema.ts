import { z } from 'zod'
import { EmailAddress, Id } from '../platform/http/procedures/schemas.ts'
import { sanitizeHtml } from '../platform/mail/html.ts'
import { parseInstant } from '../platform/time/time.ts'
import { changesOf } from '../platform/validation-messages.ts'
import { Domain, parseMailbox } from './address.ts'
import { Dkim, DkimRecord, NewDkim } from './authenticity/dkim.ts'
import { OutgoingMetadata } from './metadata.ts'

// ── SMTP integrations ───────────────────────────────────────────────────────

const Label = z.string().trim().min(1, 'must not be empty').max(100, 'must have at most 100 characters')
/** Text for a header line of an email. */
const HeaderText = z.string().refine((text) => !/[\r\n]/.test(text), 'must not contain line breaks')

const Identity = z.strictObject({ name: HeaderText.max(200, 'must have at most 200 characters'), email: EmailAddress })

export const DEFAULT_MAX_CONNECTIONS = 3
const MAX_CONNECTIONS = 20
const MAX_RATE = 100_000

/** The settings of an integration. Keys that a create may leave out have a default. */
const integration = {
  label: Label,
  host: z
    .string()
    .trim()
    .min(1, 'must not be empty')
    .max(253, 'must have at most 253 characters')
    .regex(/^[\w.:[\]-]+$/, 'must be a host name or an address'),
  port: z.int().min(1, 'must be 1 or more').max(65_535, 'must be at most 65535'),
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
  .object({ since: z.string(), message: z.string().meta({ description: "The server's words." }) })
  .nullable()
  .meta({
    description:
      'Set while the server refuses the connection or the sign-in, or its certificate is not valid. Mails wait for up to 48 hours, and ' +
      'are tried again from time to time, and at once after an update or a successful test.',
  })

export const SmtpIntegration = z
  .object({
    id: Id,
    space_id: Id,
    ...integration,
    dkim: Dkim,
    dkim_record: DkimRecord,
    failing: Failing,
    has_password: z.boolean(),
    created_at: z.string(),
    updated_at: z.string(),
  })
  .meta({ id: 'SmtpIntegration', description: 'An SMTP server that a space sends through.' })
export type SmtpIntegration = z.infer<typeof SmtpIntegration>

export const NewSmtpIntegration = z.strictObject({
  ...integration,
  tls: integration.tls.nullish().meta({ description: 'By default tls on port 465, else starttls.' }),
  username: integration.username.optional(),
  password: Password.optional(),
  dkim: NewDkim.optional(),
  from_domains: integration.from_domains.nullish(),
  from_identities: integration.from_identities.nullish(),
  disable_pixel: integration.disable_pixel.nullish(),
  reply_as_envelope: integration.reply_as_envelope.nullish(),
  max_connections: integration.max_connections.nullish(),
  rate_per_minute: integration.rate_per_minute.optional(),
  table_ids: integration.table_ids.optional(),
})
export type NewSmtpIntegration = z.infer<typeof NewSmtpIntegration>

export const SmtpIntegrationUpdate = changesOf(z.strictObject({ ...integration, password: Password, dkim: NewDkim }))
export type SmtpIntegrationUpdate = z.infer<typeof SmtpIntegrationUpdate>

export const IdPath = z.strictObject({ id: Id })

export const SmtpTest = z
  .object({
    ok: z.boolean(),
    error: z.object({ code: z.string(), enhanced: z.string().nullable(), message: z.string() }).nullable(),
  })
  .meta({ description: 'Whether the service could connect and sign in; if not, the reason.' })
export type SmtpTest = z.infer<typeof SmtpTest>

export const TableChoice = z.strictObject({ tableId: Id })

export const SmtpOption = z
  .object({
    id: Id,
    label: z.string(),
    fromDomains: z.array(z.string()),
    fromIdentities: z.array(z.object({ name: z.string(), email: z.string() })),
    disablePixel: z.boolean(),
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
  .object({ id: Id, name: z.string(), html: z.string(), is_default: z.boolean(), created_at: z.string(), updated_at: z.string() })
  .meta({
    id: 'EmailSignature',
    description: "A user's signature. The default is for the composer: a send adds only the signature that it names.",
  })
export type Signature = z.infer<typeof Signature>

export const NewSignature = z.strictObject({ name: Label, html: Html, is_default: z.boolean().nullish() })
export type NewSignature = z.infer<typeof NewSignature>
export const SignatureUpdate = changesOf(z.strictObject({ name: Label, html: Html, is_default: z.boolean() }))
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

const EmailAttachment = z
  .strictObject({
    name: z.string(),
    path: z.string().max(1000, 'must have at most 1000 characters'),
    type: z.string().nullish(),
    size: z.number().nullish(),
    host: z.string().nullish(),
  })
  .meta({ description: 'The response of the upload.' })

/** When a scheduled email is to go. The service checks that the instant is within a year. */
const SendAt = z
  .string()
  .refine((text) => parseInstant(text) !== null, 'must be an instant, as 2026-03-31T09:30:00Z or YYYY-MM-DD HH:MM:SS in UTC')
  .meta({ description: 'When the email is to go; at once without it. At most a year ahead.', example: '2026-03-31T09:30:00Z' })

export const RecordChoice = TableChoice.extend({ recordId: Id })

export const NewEmail = RecordChoice.extend({
  smtpIntegrationId: Id,
  fromIdentity: z.strictObject({
    name: HeaderText.max(200, 'must have at most 200 characters').nullish(),
    email: z.string().refine((text) => parseMailbox(text)?.name === '', 'must be an email address'),
  }),
  to: Recipients.min(1, 'must have at least one recipient'),
  cc: Recipients.nullish(),
  bcc: Recipients.nullish(),
  subject: HeaderText.max(MAX_SUBJECT, `must have at most ${MAX_SUBJECT} characters`).nullish(),
  body: z
    .string()
    .nullish()
    .meta({
      description:
        'HTML; sanitised. May contain {{field:slug}}, {{field:slug|iso}} and {{field:slug|url}}, and images as data URLs or links to ' +
        '/api/file/{path}. At most 1 MB besides the data URLs.',
    }),
  signatureId: Id.nullish(),
  attachments: z.array(EmailAttachment).max(50, 'must have at most 50 files').nullish(),
  sendAt: SendAt.nullish(),
})
export type NewEmail = z.infer<typeof NewEmail>

export const QueuedEmail = z.object({
  id: Id,
  status: z.literal('queued'),
  comment: z.object({ id: Id, type: z.literal('email_out'), metadata: OutgoingMetadata }),
})
export type QueuedEmail = z.infer<typeof QueuedEmail>

export const RecordContext = z.object({
  emails: z.array(z.string()).meta({ description: "The values of the record's email fields, each once." }),
  fields: z.array(z.object({ id: z.string(), name: z.string() })).meta({ description: 'The fields that {{field:slug}} can name.' }),
})
export type RecordContext = z.infer<typeof RecordContext>

export const Preview = z.object({
  subject: z.string(),
  html: z.string(),
  text: z.string(),
  unresolved: z.array(z.string()),
  problems: z.array(z.string()).meta({ description: 'Problems to check before sending.' }),
})
export type Preview = z.infer<typeof Preview>

/** `ok` is false when the email was cancelled before. */
export const Cancelled = z.object({ ok: z.boolean() })

export const EmailPath = z.strictObject({ comment_id: Id })

export const Open = z
  .object({ opened_at: z.string(), class: z.enum(['human', 'image_proxy', 'prefetch', 'scanner']), user_agent: z.string().nullable() })
  .meta({ id: 'EmailOpen', description: 'One request for the image in an email, without the address of the client.' })
export type Open = z.infer<typeof Open>
