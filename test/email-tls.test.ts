import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import { generate } from 'selfsigned'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { OutgoingMessage } from '../src/email/composing/mime.ts'
import type { SmtpServer } from '../src/email/smtp/connections.ts'
import { DeliveryError } from '../src/email/smtp/failure.ts'
import { deliver } from '../src/email/smtp/transport.ts'
import { startSmtp, type TestSmtp } from './support/smtp.ts'

const certificateFor = async (name: string) => {
  const { private: key, cert } = await generate([{ name: 'commonName', value: name }], {
    extensions: [{ name: 'subjectAltName', altNames: [{ type: 2, value: name }] }],
  })
  return { key, cert }
}

const servers: TestSmtp[] = []
let starttls: TestSmtp
let implicit: TestSmtp
let otherName: TestSmtp
let untrusted: TestSmtp
beforeAll(async () => {
  const [ours, others, unknown] = await Promise.all([
    certificateFor('localhost'),
    certificateFor('mail.example.com'),
    certificateFor('localhost'),
  ])
  // An operator does this with NODE_EXTRA_CA_CERTS.
  setDefaultCACertificates([...getCACertificates('default'), ours.cert, others.cert])
  starttls = await startSmtp(ours)
  implicit = await startSmtp({ ...ours, implicit: true })
  otherName = await startSmtp(others)
  untrusted = await startSmtp(unknown)
  servers.push(starttls, implicit, otherName, untrusted)
})
afterAll(() => Promise.all(servers.map((server) => server.close())))

const message: OutgoingMessage = {
  from: { name: 'Desk', email: 'desk@example.com' },
  to: [{ name: 'Ann', email: 'ann@customer.example' }],
  cc: [],
  replyTo: 'reply-0123456789abcdef@reply.example',
  subject: 'Offer',
  html: '<p>Hello</p>',
  text: 'Hello',
  messageId: '<1@example.com>',
  inReplyTo: null,
  references: [],
  date: new Date('2026-03-02T10:12:00Z'),
  attachments: [],
}
const send = (smtp: TestSmtp, tls: SmtpServer['tls'], more: Partial<SmtpServer> = {}) =>
  deliver(
    { host: 'localhost', port: smtp.port, tls, username: 'desk', password: 'secret', ...more },
    { from: 'desk@example.com', to: ['ann@customer.example'] },
    message,
    { allowPrivate: true, beforeEnd: async () => {}, signal: new AbortController().signal },
  ).catch((error: unknown) => (error instanceof DeliveryError ? error.failure : Promise.reject(error)))

describe('a mail over TLS', () => {
  test.each([
    ['STARTTLS', 'starttls', () => starttls],
    ['TLS from the first byte', 'tls', () => implicit],
  ] as const)('is delivered with %s, to the host whose name was checked', async (_, tls, server) => {
    server().login = { user: 'desk', password: 'secret' }
    expect(await send(server(), tls)).toEqual({ accepted: ['ann@customer.example'], refused: [] })
    expect(server().received).toMatchObject([{ envelopeTo: ['ann@customer.example'], isSecure: true }])
  })

  test.each([
    ['of another host', () => otherName],
    ['of an unknown authority', () => untrusted],
  ])('is withheld, like the password, from a server with a certificate %s', async (_, server) => {
    server().login = { user: 'desk', password: 'secret' }
    const failure = await send(server(), 'starttls')
    expect(failure).toMatchObject({ message: expect.stringMatching(/certificate|altnames/i) })
    expect(server().received).toEqual([])
  })
})
