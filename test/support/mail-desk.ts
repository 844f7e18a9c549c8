/** A desk that sends mails from a record, and what comes back for them. Its mails are told apart by their sender. */
import { expect } from 'vitest'
import { sql } from '../../src/platform/database/database.ts'
import type { TestApp } from './app.ts'
import type { TestSmtp } from './smtp.ts'
import { makeTable } from './tables.ts'

/** Makes an account with a record and an SMTP integration. @param app with CATCH_DOMAIN reply.example.net, and a worker */
export async function mailDesk(app: TestApp, smtp: TestSmtp) {
  const account = await app.account()
  const { id: table, records } = await makeTable(app, account, { records: [{ name: 'Acme' }], fields: [{ name: 'Name', type: 'text' }] })
  const integration = { label: 'Desk', host: '127.0.0.1', port: smtp.port, tls: 'none', from_domains: ['example.com'] }
  const { body: created } = await app.as(account.admin).post(`/api/space/${account.space}/smtp/create`, integration)
  const as = app.as(account.keys.account)
  const from = `desk-${created.id}@example.com`
  const mail = (to: string[]) => ({
    ...{ tableId: table, recordId: records[0], smtpIntegrationId: created.id, fromIdentity: { email: from } },
    ...{ to, subject: 'Our offer', body: '<p>Dear Ann</p>' },
  })
  const comments = async () => (await as.get(`/api/table/${table}/record/${records[0]}/comments/get?limit=100`)).body.toReversed()
  const metadataOf = async (id: number) => (await comments()).find((comment: { id: number }) => comment.id === id).metadata
  /** The desk's mails that the server has taken. */
  const arrived = () => smtp.received.filter(({ email }) => email.from?.address === from)
  const replyAddress = () => /reply-[0-9a-f]{16}@reply\.example\.net/.exec(arrived().at(-1)?.raw ?? '')?.[0] as string
  /** Sends a mail, and waits until it has left the queue. */
  const sent = async (...to: string[]) => {
    const { body } = await as.post('/api/email/send', mail(to))
    await expect.poll(async () => (await metadataOf(body.id)).status).not.toBe('queued')
    const { messageId } = await metadataOf(body.id)
    return { id: body.id as number, messageId: messageId as string, address: replyAddress(), metadata: () => metadataOf(body.id) }
  }
  const suppressed = async () => (await as.get('/api/email/suppressions/list')).body.map(({ email }: { email: string }) => email).sort()
  return { ...account, table, as, mail, comments, metadataOf, sent, arrived, suppressed }
}

/** Posts a message to the webhook. */
export async function postMail({ url }: TestApp, lines: string[]): Promise<void> {
  const response = await fetch(`${url}/webhooks/email_receive`, { method: 'POST', body: lines.join('\r\n') })
  expect(response.status).toBe(200)
}

/** Waits until every stored message has been read. */
export async function untilRead({ db }: TestApp): Promise<void> {
  const waiting = () => db.read(sql`select id from inbound_emails where processed_at is null`)
  await expect.poll(waiting).toEqual([])
}

/** A failure report with a line for each address. */
export const failureReport = (to: string, words: Record<string, string>, messageId?: string) => [
  'From: Mail Delivery System <MAILER-DAEMON@mx.customer.example>',
  `To: ${to}`,
  'Subject: Undelivered Mail Returned to Sender',
  'Auto-Submitted: auto-replied',
  'Content-Type: multipart/report; report-type=delivery-status; boundary=b',
  '',
  '--b',
  '',
  'Your message could not be delivered.',
  '--b',
  'Content-Type: message/delivery-status',
  '',
  'Reporting-MTA: dns; mx.customer.example',
  ...Object.entries(words).flatMap(([address, said]) => [
    '',
    `Final-Recipient: rfc822; ${address}`,
    'Action: failed',
    `Status: ${/\b[45]\.\d+\.\d+/.exec(said)?.[0] ?? '5.0.0'}`,
    `Diagnostic-Code: smtp; ${said}`,
  ]),
  ...(messageId ? ['', '--b', 'Content-Type: text/rfc822-headers', '', `Message-ID: ${messageId}`] : []),
  '--b--',
]
