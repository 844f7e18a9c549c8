import type { RecordComment } from '../comments/schema.ts'
import type { PlainOperation } from '../platform/http/openapi/document.ts'
import { operationDocs } from '../platform/http/procedures/operation-docs.ts'
import type { OutgoingMetadata } from './metadata.ts'
import type { Signature, SmtpIntegration } from './schema.ts'
import { newEmailState } from './states.ts'

const integration: SmtpIntegration = {
  id: 3,
  space_id: 1,
  label: 'Sales',
  host: 'smtp.example.com',
  port: 465,
  tls: 'tls',
  username: 'sales@example.com',
  from_domains: ['example.com'],
  from_identities: [{ name: 'Sales', email: 'sales@example.com' }],
  disable_pixel: false,
  reply_as_envelope: true,
  max_connections: 3,
  rate_per_minute: null,
  table_ids: null,
  dkim: { domain: 'example.com', selector: 'gridpost', public_key: 'MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEA' },
  dkim_record: {
    name: 'gridpost._domainkey.example.com',
    type: 'TXT',
    value: 'v=DKIM1; k=rsa; p=MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEA',
  },
  failing: null,
  has_password: true,
  created_at: '2026-03-02 10:12:00',
  updated_at: '2026-03-02 10:12:00',
}

const newIntegration = {
  label: 'Sales',
  host: 'smtp.example.com',
  port: 465,
  tls: 'tls',
  username: 'sales@example.com',
  password: 'secret',
  dkim: { domain: 'example.com', selector: 'gridpost' },
  from_domains: ['example.com'],
  from_identities: [{ name: 'Sales', email: 'sales@example.com' }],
}

const signature: Signature = {
  id: 7,
  name: 'Short',
  html: '<p>Max Born<br />Sales</p>',
  is_default: true,
  created_at: '2026-03-02 10:12:00',
  updated_at: '2026-03-02 10:12:00',
  version: 1,
}

const newEmail = {
  tableId: 101,
  recordId: 12,
  smtpIntegrationId: 3,
  fromIdentity: { name: 'Sales', email: 'sales@example.com' },
  to: ['Ann Lee <ann@customer.example>'],
  subject: 'Our offer for {{field:company}}',
  body: '<p>Dear {{field:contact}},</p><p>please find our offer attached.</p>',
  signatureId: 7,
}

const metadata: OutgoingMetadata = {
  ...newEmailState(new Date('2026-03-02T10:12:00Z')),
  from: { name: 'Sales', email: 'sales@example.com' },
  to: ['ann@customer.example'],
  cc: [],
  bcc: [],
  subject: 'Our offer for {{field:company}}',
  messageId: '<0f3a5c2d9b7e41668d2f0a1b3c4d5e6f@example.com>',
  smtpIntegrationId: 3,
  signatureId: 7,
  error: null,
  recipients: [{ email: 'ann@customer.example', kind: 'to', status: 'queued', error: null }],
  unresolved: [],
  remoteImages: 0,
  attachmentsLeftOut: 0,
}

const comment: RecordComment = {
  id: 501,
  table_id: 101,
  record_id: 12,
  type: 'email_out',
  user_id: 8,
  user_name: 'Max Born',
  api_key_id: null,
  content: newEmail.body,
  attachments: [],
  metadata: { ...metadata },
  created_at: '2026-03-02 10:12:00',
  updated_at: null,
}

const SEND_ERRORS = {
  400: 'An invalid input; `From domain not allowed: <domain>`; an attachment that is not a stored file of the table',
  404: 'Table, Record, SMTP integration, Signature or, for replyTo, Comment not found',
}

export const emailDocs = operationDocs('Email', {
  send: {
    summary: 'Send a mail from a record',
    description:
      'The mail is accepted and queued: it appears at once as an email_out comment of the record, whose `metadata.status` then shows its ' +
      'delivery. `{{field:slug}}` in subject and body becomes the value that the record has when the mail is sent, ' +
      'written for people; `{{field:slug|iso}}` becomes the value as the API answers it, `{{field:slug|url}}` the same for a URL. ' +
      'With `sendAt` the mail goes at that time, and can be cancelled until then.',
    example: { input: newEmail, output: { id: 501, status: 'queued', comment: { id: 501, type: 'email_out', metadata } } },
    errors: SEND_ERRORS,
  },

  preview: {
    summary: 'Preview a mail',
    description:
      'Takes the same input as send and returns the mail as it would be sent now, with its tokens resolved and a list of problems to ' +
      'check. Nothing is sent.',
    example: {
      input: newEmail,
      output: {
        subject: 'Our offer for Acme',
        html: '<p>Dear Ann,</p><p>please find our offer attached.</p>',
        text: 'Dear Ann,\n\nplease find our offer attached.',
        unresolved: [],
        problems: [],
      },
    },
    errors: SEND_ERRORS,
  },

  recordContext: {
    summary: 'Get the addresses and fields of a record for a mail',
    description: "Returns the values of the record's email fields, and the fields that `{{field:slug}}` can name.",
    example: {
      input: { tableId: 101, recordId: 12 },
      output: { emails: ['ann@customer.example'], fields: [{ id: 'company', name: 'Company' }] },
    },
  },

  smtpOptions: {
    summary: 'List the SMTP integrations that a table can use',
    description: 'Returns the SMTP integrations of the space that the table may use and that have a domain to send from, sorted by label.',
    example: {
      input: { tableId: 101 },
      output: {
        rows: [
          {
            id: 3,
            label: 'Sales',
            fromDomains: ['example.com'],
            fromIdentities: [{ name: 'Sales', email: 'sales@example.com' }],
            disablePixel: false,
            failing: null,
          },
        ],
      },
    },
  },

  cancel: {
    summary: 'Cancel a queued mail',
    description:
      'A mail that waits for its time or for a retry is dropped with the error code `CANCELLED`. A second cancel returns `{"ok": false}`.' +
      ' With `discard` its comment is deleted as well; only its sender may do that.',
    example: { input: { discard: true }, output: { ok: true } },
    errors: { 409: 'The email is being sent, or is not queued any more' },
  },

  retry: {
    summary: 'Send a mail again to its dropped recipients',
    description:
      'Recipients that were dropped are queued again and the mail goes at once, with the present values of its tokens unless somebody ' +
      'has it already. Returns the comment.',
    example: { output: comment },
    errors: { 409: 'No recipient of the email was dropped' },
  },

  opens: {
    summary: 'List the opens of a mail',
    description:
      'Returns every request for the image in the mail, oldest first, with a guess at the kind of client. No IP addresses are kept.',
    example: {
      output: { rows: [{ opened_at: '2026-03-02 10:30:00', class: 'human', user_agent: 'Mozilla/5.0 (X11; Linux x86_64)' }] },
    },
  },
})

export const signatureDocs = operationDocs('Email', {
  list: {
    summary: 'List signatures',
    description:
      "Returns the caller's own signatures, sorted by name. A key that is limited to some spaces sends with them, and neither lists " +
      'nor changes them.',
    example: { output: { rows: [signature] } },
  },

  create: {
    summary: 'Create a signature',
    description: 'A new default replaces the old one.',
    example: { input: { name: 'Short', html: '<p>Max Born<br />Sales</p>', is_default: true }, output: signature },
  },

  update: {
    summary: 'Update a signature',
    description: "Fields that are absent stay unchanged. Another user's signature is 404.",
    example: { input: { name: 'Short' }, output: signature },
    errors: { 409: 'The signature has changed since' },
  },

  delete: {
    summary: 'Delete a signature',
    description: "Queued mails keep it. Another user's signature is 404.",
    example: { output: { ok: true } },
  },
})

export const smtpDocs = operationDocs('Email', {
  list: {
    summary: 'List SMTP integrations',
    description: 'Sorted by label. Passwords are never returned.',
    example: { output: { rows: [integration] } },
  },

  create: {
    summary: 'Create an SMTP integration',
    description:
      'A host at a private, loopback or link-local address is refused unless the operator allows it. With `dkim` the service makes a ' +
      'key, signs every mail with it, and answers the DNS record to publish in `dkim_record`.',
    example: { input: newIntegration, output: integration },
  },

  update: {
    summary: 'Update an SMTP integration',
    description:
      'Fields that are absent stay unchanged; `password: null` and `username: null` clear these two. Another `dkim.selector` makes a ' +
      'new key. A stored password has to be given again with another `host`, without TLS where there was TLS, and with another `port` ' +
      'without TLS.',
    example: { input: { label: 'Sales EU' }, output: { ...integration, label: 'Sales EU' } },
    errors: { 409: 'Deleted meanwhile' },
  },

  delete: {
    summary: 'Delete an SMTP integration',
    description: 'Mails that are still queued for it are dropped, usually also those that are on their way.',
    example: { output: { ok: true } },
  },

  test: {
    summary: 'Test an SMTP integration',
    description: "Connects and signs in to the server without sending a mail, and returns the server's error, if any.",
    example: { output: { ok: true, error: null } },
    errors: { 409: 'Deleted meanwhile' },
  },
})

const png = { 'image/png': { schema: { type: 'string', format: 'binary' } } }

export const emailOperations: PlainOperation[] = [
  {
    method: 'get',
    path: '/email/pixel/{token}.png',
    operationId: 'email.pixel',
    tag: 'Email',
    summary: 'Get the tracking pixel',
    description: 'Returns the same image for every token. The first GET for a mail that was sent marks the mail as read.',
    isPublic: true,
    parameters: [
      { name: 'token', in: 'path', required: true, description: 'The token of the mail and its recipient.', schema: { type: 'string' } },
    ],
    responses: { 200: { description: 'A transparent image of 1x1 pixels.', content: png } },
  },
  {
    method: 'post',
    path: '/webhooks/email_receive',
    operationId: 'email.receive',
    tag: 'Email',
    summary: 'Receive an inbound mail',
    description:
      'Takes the raw RFC 822 bytes, with any content type, up to 25 MB. A mail to a known reply address becomes a comment of its ' +
      'record; any other mail is dropped. A mail that cannot be parsed becomes a comment that says so (`metadata.unreadable`), with ' +
      'the mail as an attachment. `metadata.inline` maps the Content-IDs that the HTML shows (`cid:`) to the paths of attachments.',
    isPublic: true,
    requestBody: { required: true, content: { 'text/raw': { schema: { type: 'string', format: 'binary' } } } },
    responses: { 200: { description: 'The mail was stored, or dropped on purpose. The body is empty.' } },
    errors: [413],
  },
]
