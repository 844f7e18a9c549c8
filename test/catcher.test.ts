/** The mail catcher of the embedded default: what it keeps, and the answers that it posts for a recipient or their mail server. */
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createTransport } from 'nodemailer'
import { afterAll, expect, test } from 'vitest'
import { buildApp } from '../src/app.ts'
import { mountCatcher, openCaughtMails, startCatcher } from '../src/email/catcher/catcher.ts'
import { testApp } from './support/app.ts'
import { makeTable } from './support/tables.ts'

const app = await testApp({}, { worker: true })
const folder = mkdtempSync(join(tmpdir(), 'gridpost-caught-'))
const catcher = await startCatcher({ folder })
/** Those of the embedded default, which has the catcher. */
const settings = { ...app.settings, databaseUrl: undefined }
const service = await buildApp(app.deps)
mountCatcher(service, catcher, settings)
await service.listen({ port: 0, host: '127.0.0.1' })
const url = `http://127.0.0.1:${(service.server.address() as AddressInfo).port}`
afterAll(async () => {
  await service.close()
  await catcher.close()
  rmSync(folder, { recursive: true })
})

/** A mail from a record, as the catcher has it. */
async function caught(subject: string, to: string[] = ['ann@customer.example']) {
  const account = await app.account()
  const { id: table, records } = await makeTable(app, account, { records: [{ name: 'Acme' }], fields: [{ name: 'Name', type: 'text' }] })
  const integration = { label: 'Desk', host: catcher.host, port: catcher.port, tls: 'none', from_domains: ['example.com'] }
  const { body: created } = await app.as(account.admin).post(`/api/space/${account.space}/smtp/create`, integration)
  const as = app.as(account.keys.account)
  const mail = { tableId: table, recordId: records[0], smtpIntegrationId: created.id, fromIdentity: { email: 'desk@example.com' } }
  const { body: sent } = await as.post('/api/email/send', { ...mail, to, subject, body: `<p>Body of ${subject}</p>` })
  const comments = async (): Promise<{ id: number; type: string; content: string; metadata: Record<string, unknown> }[]> =>
    (await as.get(`/api/table/${table}/record/${records[0]}/comments/get`)).body
  const statusOf = async () => (await comments()).find(({ id }) => id === sent.id)?.metadata.status
  await expect.poll(statusOf).toBe('sent')
  const found = catcher.mails().find((one) => one.subject === subject)
  if (!found) throw new Error('not caught')
  const replies = async () => (await comments()).filter(({ type }) => type === 'email_in')
  return { mail: found, comments, statusOf, replies }
}

const post = (path: string, form: Record<string, string>, headers: Record<string, string> = {}) =>
  fetch(url + path, { method: 'POST', body: new URLSearchParams(form), headers, redirect: 'manual' })
const page = async (query = '') => (await fetch(`${url}/dev/mail${query}`)).text()

/** Sends a mail that is about no record. */
const send = (port: number, subject: string) =>
  createTransport({ host: '127.0.0.1', port, ignoreTLS: true }).sendMail({
    from: 'desk@example.com',
    to: 'ann@customer.example, bob@customer.example',
    subject,
    text: 'Hello',
  })

test('the reply button posts a reply that becomes a comment of the record', async () => {
  const { mail, replies } = await caught('Grüße aus Köln', ['ann@customer.example', 'bob@customer.example'])
  const html = await page()
  expect(html).toContain(`action="/dev/mail/${mail.id}/reply"`)
  const response = await post(`/dev/mail/${mail.id}/reply`, { from: 'bob@customer.example', text: 'Schöne Grüße zurück' })
  expect(response.status).toBe(303)
  const back = response.headers.get('location') ?? ''
  expect(await page(back.replace('/dev/mail', '').replace(/#.*/, ''))).toMatch(
    new RegExp(`<details id="mail-${mail.id}" open>[\\s\\S]*posted to the webhook`),
  )
  await expect.poll(async () => (await replies()).length).toBe(1)
  expect((await replies())[0]).toMatchObject({
    content: 'Schöne Grüße zurück',
    metadata: {
      from: { email: 'bob@customer.example' },
      subject: 'Re: Grüße aus Köln',
      inReplyTo: mail.messageId,
      autoReply: false,
      senderWasRecipient: true,
      unreadable: false,
    },
  })
})

test.each([
  ['unknown', '5.1.1'],
  ['full', '5.2.2'],
  ['refused', '5.7.1'],
])('the bounce button posts a report that marks the recipient as bounced: %s', async (kind, enhanced) => {
  const { mail, comments, statusOf, replies } = await caught(`Bounces as ${kind}`)
  const response = await post(`/dev/mail/${mail.id}/bounce`, { recipient: 'ann@customer.example', kind })
  expect(response.status).toBe(303)
  await expect.poll(statusOf).toBe('bounced')
  expect((await comments())[0]?.metadata).toMatchObject({ status: 'bounced', error: { enhanced }, recipients: [{ status: 'bounced' }] })
  expect(await replies()).toEqual([])
})

test('the page has the HTML, the text and the source of a mail, and finds mails by their words', async () => {
  const { mail } = await caught('A needle & more')
  const html = await page()
  expect(html).toContain('A needle &amp; more')
  expect(html).toContain('srcdoc="&lt;p&gt;Body of A needle &amp;amp; more')
  expect(html).toContain(`src="/dev/mail/${mail.id}/source"`)
  const source = await fetch(`${url}/dev/mail/${mail.id}/source`)
  expect(source.headers.get('content-type')).toBe('text/plain; charset=utf-8')
  expect(source.headers.get('content-security-policy')).toContain('sandbox')
  const text = await source.text()
  expect(text).toContain(`Message-ID: ${mail.messageId}`)
  expect(text).not.toContain('X-Envelope-To')

  const found = async (q: string) => (await fetch(`${url}/dev/mail.json?q=${encodeURIComponent(q)}`)).json()
  expect(await found('NEEDLE customer.example')).toEqual([mail])
  expect(await found('needle nowhere')).toEqual([])
  expect(await page('?q=%22%3E%3Cscript%3E')).toContain('No mail contains “&quot;&gt;&lt;script&gt;”.')
})

test('refuses what no form of the page sends', async () => {
  const { mail, replies, comments, statusOf } = await caught('Refuses')
  for (const path of ['/dev/mail/999999/reply', '/dev/mail/x/bounce']) expect((await post(path, {})).status).toBe(404)
  for (const path of ['/dev/mail/999999/source', '/dev/mail/..%2f..%2fpasswd/source']) expect((await fetch(url + path)).status).toBe(404)
  const elsewhere = await post(
    `/dev/mail/${mail.id}/reply`,
    { text: 'x' },
    { origin: 'https://elsewhere.example', 'sec-fetch-site': 'cross-site' },
  )
  expect(elsewhere.status).toBe(403)
  const json = await fetch(`${url}/dev/mail/${mail.id}/reply`, {
    method: 'POST',
    body: '{}',
    headers: { 'content-type': 'application/json' },
  })
  expect(json.status).toBe(415)
  const injected = await post(`/dev/mail/${mail.id}/reply`, { from: 'x@y.example\r\nBcc: z@y.example', text: 'From the first recipient' })
  expect(injected.status).toBe(303)
  await expect.poll(async () => (await replies()).length).toBe(1)
  expect((await replies())[0]?.metadata).toMatchObject({ from: { email: 'ann@customer.example' } })
  expect((await post(`/dev/mail/${mail.id}/bounce`, { kind: 'toString' })).status).toBe(303)
  await expect.poll(statusOf).toBe('bounced')
  const metadata = (await comments()).find(({ type }) => type === 'email_out')?.metadata
  expect(metadata).toMatchObject({ recipients: [{ error: { enhanced: '5.1.1' } }] })
  expect(await page(`?open=${mail.id}&done=constructor`)).not.toContain('role="status"')
})

test('keeps the mails as .eml files across restarts, and deletes the oldest', async () => {
  const own = mkdtempSync(join(tmpdir(), 'gridpost-caught-'))
  writeFileSync(join(own, 'notes.txt'), 'not a mail')
  writeFileSync(join(own, '000007.eml'), 'cut off')
  const first = await startCatcher({ folder: own })
  for (const subject of ['one', 'two', 'three']) await send(first.port, subject)
  const before = first.mails()
  const [newest] = before
  const source = await first.source(newest?.id ?? 0)
  await first.close()
  expect(before.map(({ id, subject }) => [id, subject])).toEqual([
    [10, 'three'],
    [9, 'two'],
    [8, 'one'],
  ])
  expect(readFileSync(join(own, '000010.eml'), 'utf8')).toMatch(
    /^Return-Path: <desk@example.com>\r\nX-Envelope-To: ann@customer\.example, bob/,
  )

  const second = await startCatcher({ folder: own, keep: 2 })
  expect(second.mails()).toEqual(before.slice(0, 2))
  expect((await second.source(newest?.id ?? 0))?.equals(source ?? Buffer.alloc(0))).toBe(true)
  await send(second.port, 'four')
  expect(second.mails().map(({ id, subject }) => [id, subject])).toEqual([
    [11, 'four'],
    [10, 'three'],
  ])
  expect(await second.source(9)).toBeUndefined()
  expect(readdirSync(own).sort()).toEqual(['000007.eml', '000010.eml', '000011.eml', 'notes.txt'])
  await second.close()
  rmSync(own, { recursive: true })
})

test('another process shows each mail once, also to readers who ask at the same time', async () => {
  const own = mkdtempSync(join(tmpdir(), 'gridpost-caught-'))
  const first = await startCatcher({ folder: own })
  const other = await openCaughtMails(own)
  for (const subject of ['one', 'two']) await send(first.port, subject)
  const lists = await Promise.all([1, 2, 3].map(async () => other.mails()))
  expect([...lists, await other.mails()].map((mails) => mails.map(({ id }) => id))).toEqual(Array(4).fill([2, 1]))
  await first.close()
  rmSync(own, { recursive: true })
})

test('a mail whose answers go elsewhere has no buttons', async () => {
  const other = await startCatcher()
  await send(other.port, 'plain notification')
  const bare = await buildApp(app.deps)
  mountCatcher(bare, other, settings)
  const { body } = await bare.inject('/dev/mail')
  expect(body).toContain('plain notification')
  expect(body).not.toContain('method="post"')
  await bare.close()
  await other.close()
})
