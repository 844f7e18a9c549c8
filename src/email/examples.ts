/** Examples of the document. */
import type { OutgoingMetadata, Signature, SmtpIntegration } from './schema.ts'

export const integration: SmtpIntegration = {
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
  table_ids: null,
  has_password: true,
  created_at: '2026-03-02 10:12:00',
  updated_at: '2026-03-02 10:12:00',
}

export const newIntegration = {
  label: 'Sales',
  host: 'smtp.example.com',
  port: 465,
  tls: 'tls',
  username: 'sales@example.com',
  password: 'secret',
  from_domains: ['example.com'],
  from_identities: [{ name: 'Sales', email: 'sales@example.com' }],
}

export const signature: Signature = {
  id: 7,
  name: 'Short',
  html: '<p>Max Born<br />Sales</p>',
  is_default: true,
  created_at: '2026-03-02 10:12:00',
  updated_at: '2026-03-02 10:12:00',
}

export const newEmail = {
  tableId: 101,
  recordId: 12,
  smtpIntegrationId: 3,
  fromIdentity: { name: 'Sales', email: 'sales@example.com' },
  to: ['Ann Lee <ann@customer.example>'],
  subject: 'Our offer for {{field:company}}',
  body: '<p>Dear {{field:contact}},</p><p>please find our offer attached.</p>',
  signatureId: 7,
}

export const metadata: OutgoingMetadata = {
  status: 'queued',
  from: { name: 'Sales', email: 'sales@example.com' },
  to: ['ann@customer.example'],
  cc: [],
  bcc: [],
  subject: 'Our offer for {{field:company}}',
  messageId: '<0f3a5c2d9b7e41668d2f0a1b3c4d5e6f@example.com>',
  smtpIntegrationId: 3,
  signatureId: 7,
  queuedAt: '2026-03-02 10:12:00',
  sentAt: null,
  readAt: null,
  bouncedAt: null,
  droppedAt: null,
  error: null,
  recipients: [{ email: 'ann@customer.example', kind: 'to', status: 'queued', error: null }],
  unresolved: [],
}
