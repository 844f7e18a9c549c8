/** The receiver checks who has sent a mail, by SPF, DKIM, DMARC and ARC, with the DNS of the test. */
import { generateKeyPairSync } from 'node:crypto'
import { dkimSign, sealMessage } from 'mailauth'
import { afterAll, expect, onTestFinished, test } from 'vitest'
import { openSenderChecks } from '../src/email/authenticity/sender-checks.ts'
import { openReceiver } from '../src/email/receiver/receiver.ts'
import { sql } from '../src/platform/database/database.ts'
import { testApp } from './support/app.ts'
import { startDns } from './support/dns.ts'
import { mailThread } from './support/mail-thread.ts'
import { startSmtp } from './support/smtp.ts'
import { smtpClient } from './support/smtp-client.ts'

const smtp = await startSmtp()
afterAll(() => smtp.close())
const app = await testApp(
  { CATCH_DOMAIN: 'reply.example.net', INBOUND_SMTP: '127.0.0.1:0', AUTHSERV_ID: 'mx.example.net' },
  { worker: true },
)
const dns = await startDns()
afterAll(() => dns.close())
const open = await openReceiver(app.deps)
afterAll(() => open.close())
const checks = openSenderChecks({ log: app.deps.log })
afterAll(() => checks.close())

const { privateKey, publicKey } = generateKeyPairSync('rsa', {
  modulusLength: 2048,
  publicKeyEncoding: { type: 'spki', format: 'der' },
  privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
})
dns.records.set('TXT customer.example', 'v=spf1 ip4:127.0.0.1 -all')
dns.records.set('TXT s1._domainkey.customer.example', `v=DKIM1; k=rsa; p=${publicKey.toString('base64')}`)
dns.records.set('TXT _dmarc.customer.example', 'v=DMARC1; p=reject')
dns.records.set('TXT bank.example', 'v=spf1 -all')
dns.records.set('TXT _dmarc.bank.example', 'v=DMARC1; p=reject')

const mail = (from: string, text = 'Hello') =>
  [`From: ${from}`, 'To: desk@elsewhere.example', 'Subject: Re: Our offer', '', text, ''].join('\r\n')

async function signed(raw: string): Promise<string> {
  const key = { signingDomain: 'customer.example', selector: 's1', privateKey }
  const { signatures } = await dkimSign(raw, { ...key, signatureData: [key] })
  return signatures + raw
}

/** Sends the mail to the receiver, and returns the metadata of the comment. */
async function received(raw: string, sender: string) {
  const { address, answers } = await mailThread(app, smtp)
  const client = await smtpClient(open.address.port)
  await client.answer()
  await client.command('EHLO client.example')
  await client.command(`MAIL FROM:<${sender}>`)
  await client.command(`RCPT TO:<${address}>`)
  await client.command('DATA')
  client.write(`${raw}.\r\n`)
  expect(await client.answer()).toMatch(/^250/)
  client.socket.destroy()
  const [comment] = await answers()
  return comment?.metadata
}

test('a mail of its domain passes', async () => {
  const { authentication } = await received(await signed(mail('Ann <ann@customer.example>')), 'ann@customer.example')
  expect(authentication).toEqual({ spf: 'pass', dkim: 'pass', dmarc: 'pass', arc: 'none' })
})

test('a mail that was changed on the way does not pass DKIM', async () => {
  const raw = (await signed(mail('Ann <ann@customer.example>'))).replace('Hello', 'Hallo')
  const { authentication } = await received(raw, 'ann@elsewhere.example')
  expect(authentication).toMatchObject({ spf: 'none', dmarc: 'fail' })
  expect(authentication.dkim).not.toBe('pass')
})

/** The mail as a forwarder passes it on that has checked and sealed it (RFC 8617). */
async function forwarded(raw: string, instance: number): Promise<string> {
  const key = { signingDomain: 'customer.example', selector: 's1', privateKey }
  const authResults = 'list.example; dkim=pass header.d=customer.example; dmarc=pass header.from=customer.example'
  return (await sealMessage(raw, { ...key, i: instance, cv: instance === 1 ? 'none' : 'pass', authResults })) + raw
}

test.each([1, 2])('a mail with a chain of %i forwarders that have sealed it passes ARC', async (forwarders) => {
  let raw = mail('Ann <ann@customer.example>')
  for (let instance = 1; instance <= forwarders; instance++) raw = await forwarded(raw, instance)
  const { authentication } = await received(raw, 'list@elsewhere.example')
  expect(authentication).toEqual({ spf: 'none', dkim: 'none', dmarc: 'fail', arc: 'pass' })
})

test('a mail that was changed after the last forwarder has sealed it fails ARC', async () => {
  const raw = await forwarded(await forwarded(mail('Ann <ann@customer.example>'), 1), 2)
  const { authentication } = await received(raw.replace('Hello', 'Hallo'), 'list@elsewhere.example')
  expect(authentication).toMatchObject({ arc: 'fail' })
})

test.each<[string, (raw: string) => string]>([
  ['whose first seal was removed', (raw) => raw.replace(/^ARC-Seal: i=1;.*(\r\n[ \t].*)*\r\n/m, '')],
  ['whose first results were changed', (raw) => raw.replace(/(ARC-Authentication-Results: i=1;[^=]*dkim=)pass/, '$1none')],
  ['whose first seal is not valid', (raw) => raw.replace(/^(ARC-Seal: i=1;(?:.*\r\n[ \t])*.*\bb=)..../m, '$1AAAA')],
])('a chain %s fails ARC', async (_, broken) => {
  const raw = await forwarded(await forwarded(mail('Ann <ann@customer.example>'), 1), 2)
  expect(broken(raw)).not.toBe(raw)
  const { authentication } = await received(broken(raw), 'list@elsewhere.example')
  expect(authentication).toMatchObject({ arc: 'fail' })
})

test('a forged sender is shown as such, whatever the mail says itself, and stays so in a replay', async () => {
  const forged = `Authentication-Results: mx.example.net; spf=pass; dkim=pass; dmarc=pass\r\n${mail('Boss <boss@bank.example>')}`
  const { authentication } = await received(forged, 'boss@bank.example')
  expect(authentication).toEqual({ spf: 'fail', dkim: 'none', dmarc: 'fail', arc: 'none' })
  const [stored] = await app.db.read<{ authentication: unknown }>(sql`select authentication from inbound_emails order by id desc limit 1`)
  expect(stored?.authentication).toEqual(authentication)
})

test('a bounce has the name of its client checked', async () => {
  dns.records.set('TXT client.example', 'v=spf1 ip4:127.0.0.1 -all')
  const { authentication } = await received(mail('Ann <ann@customer.example>'), '')
  expect(authentication).toMatchObject({ spf: 'pass', dmarc: 'fail' })
})

test('a large mail, which the thread reads from a file, is checked to its last byte', async () => {
  const text = `${'We order two of them. '.repeat(3)}\r\n`.repeat(50_000)
  const raw = await signed(mail('Ann <ann@customer.example>', text))
  const { authentication } = await received(raw, 'ann@customer.example')
  expect(authentication).toEqual({ spf: 'pass', dkim: 'pass', dmarc: 'pass', arc: 'none' })
  const last = raw.lastIndexOf('two of them')
  const changed = `${raw.slice(0, last)}six${raw.slice(last + 'two'.length)}`
  expect((await received(changed, 'ann@customer.example')).authentication).toMatchObject({ dkim: 'neutral' })
})

test('a DNS server that does not answer costs a limited time', async () => {
  dns.silent.add('silent.example').add('_dmarc.silent.example').add('s1._domainkey.silent.example')
  const raw = Buffer.from(mail('Eve <eve@silent.example>'))
  const hasty = openSenderChecks({ log: app.deps.log, dnsMs: 300 })
  onTestFinished(() => hasty.close())
  const startedAt = performance.now()
  const found = await hasty.check({ raw, ip: '192.0.2.1', helo: 'a.example', sender: 'eve@silent.example' })
  expect(found).toMatchObject({ spf: 'temperror', dmarc: 'temperror' })
  expect(performance.now() - startedAt).toBeLessThan(10_000)
})

const signature = (n: number) =>
  `DKIM-Signature: v=1; a=rsa-sha256; c=relaxed/relaxed; d=d${n}.example; s=s; h=from; l=${n}; bh=${'A'.repeat(43)}=; b=AAAA\r\n`
const withSignatures = (count: number, text: string) =>
  Buffer.from(Array.from({ length: count }, (_, n) => signature(n)).join('') + mail('Eve <eve@customer.example>', text))

test('a large mail with many signatures takes a limited time, and asks DNS a few times', async () => {
  dns.queries.length = 0
  const raw = withSignatures(20, `${'a'.repeat(70)}\r\n`.repeat(50_000))
  const found = await checks.check({ raw, ip: '127.0.0.1', helo: 'a.example', sender: 'eve@customer.example' })
  expect(found).toMatchObject({ spf: 'pass', dmarc: 'pass', arc: 'none' })
  expect(found.dkim).not.toBe('pass')
  expect(dns.queries.length).toBeLessThanOrEqual(60)
})

test.each([
  ['a header without an end', Buffer.alloc(1_048_576, 'X: y\r\n')],
  ['a header with 21 signatures', withSignatures(21, 'Hello')],
  ['a header of 300 KB', Buffer.from(`X: ${'y'.repeat(300_000)}\r\n\r\n`)],
])('%s is not checked', async (_, raw) => {
  const found = await checks.check({ raw, ip: '127.0.0.1', helo: 'a', sender: 'a@b.example' })
  expect(found).toEqual({ spf: 'permerror', dkim: 'permerror', dmarc: 'permerror', arc: 'permerror' })
})

test('a thread that does not come back is replaced', async () => {
  const hasty = openSenderChecks({ log: app.deps.log, timeoutMs: 1 })
  const message = {
    raw: Buffer.from(mail('Ann <ann@customer.example>')),
    ip: '127.0.0.1',
    helo: 'a.example',
    sender: 'ann@customer.example',
  }
  expect(await hasty.check(message)).toEqual({ spf: 'temperror', dkim: 'temperror', dmarc: 'temperror', arc: 'temperror' })
  await hasty.close()
  expect((await checks.check(message)).spf).toBe('pass')
})
