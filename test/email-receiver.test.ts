/** The receiver of mail (docs/mail.md): real SMTP clients, polite, broken and hostile, against the service. */
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createTransport } from 'nodemailer'
import { generate } from 'selfsigned'
import { afterAll, describe, expect, onTestFinished, test } from 'vitest'
import { Clients, RECEIVER_LIMITS, type ReceiverLimits } from '../src/email/receiver/clients.ts'
import { openReceiver, type Receiver } from '../src/email/receiver/receiver.ts'
import type { Deps } from '../src/platform/context.ts'
import { sql } from '../src/platform/database/database.ts'
import { testApp } from './support/app.ts'
import { databaseProxy } from './support/database-proxy.ts'
import { mailThread } from './support/mail-thread.ts'
import { startSmtp } from './support/smtp.ts'
import { type SmtpClient, smtpClient } from './support/smtp-client.ts'

const smtp = await startSmtp()
afterAll(() => smtp.close())
const app = await testApp(
  { CATCH_DOMAIN: 'reply.example.net', INBOUND_SMTP: 'lmtp://127.0.0.1:0', AUTHSERV_ID: 'mx.example.net' },
  { worker: true },
)
const { deps } = app
const thread = await mailThread(app, smtp)
const { address, answers } = thread
const UNKNOWN = 'reply-0123456789abcdef@reply.example.net'

/** The service with other settings of its receiver. It asks no DNS as LMTP; the checks of the sender have tests of their own. */
const withSettings = (settings: Partial<Deps['settings']>): Deps => ({ ...deps, settings: { ...deps.settings, ...settings } })
const onSmtp = withSettings({ inboundSmtp: { protocol: 'smtp', host: '127.0.0.1', port: 0 } })

async function receiver(of: Deps = deps, limits: Partial<ReceiverLimits> = {}, certificateMs?: number): Promise<Receiver> {
  const opened = await openReceiver(of, { limits, ...(certificateMs && { certificateMs }) })
  onTestFinished(() => opened.close())
  return opened
}

/** A client that has been greeted and has said hello. */
async function greeted({ address: { port } }: Receiver, hello = 'LHLO client.example'): Promise<SmtpClient> {
  const client = await smtpClient(port)
  onTestFinished(() => void client.socket.destroy())
  expect(await client.answer()).toMatch(/^220 reply\.example\.net/)
  expect(await client.command(hello)).toMatch(/^250/)
  return client
}

/** Sends a mail up to its content. */
async function envelope(client: SmtpClient, to: string[] = [address], from = 'ann@customer.example'): Promise<void> {
  expect(await client.command(`MAIL FROM:<${from}>`)).toMatch(/^250/)
  for (const recipient of to) expect(await client.command(`RCPT TO:<${recipient}>`)).toMatch(/^250/)
  expect(await client.command('DATA')).toMatch(/^354/)
}

const newId = () => `<${randomBytes(8).toString('hex')}@customer.example>`
const message = (text: string, id = newId()) =>
  ['From: Ann <ann@customer.example>', 'To: someone@elsewhere.example', 'Subject: Re: Our offer', `Message-ID: ${id}`, '', text, ''].join(
    '\r\n',
  )

async function certificate(name = 'mx.example.net') {
  const { private: key, cert } = await generate([{ name: 'commonName', value: name }])
  return { key, cert }
}

async function certificateFiles() {
  const dir = mkdtempSync(join(tmpdir(), 'gridpost-certificate-'))
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }))
  const files = { cert: join(dir, 'cert.pem'), key: join(dir, 'key.pem') }
  const write = ({ cert, key }: { cert: string; key: string }) => {
    writeFileSync(files.cert, cert)
    writeFileSync(files.key, key)
  }
  write(await certificate())
  return { files, write }
}

describe('a mail for a reply address', () => {
  test('becomes a comment, over STARTTLS, from a usual client', async () => {
    const { files } = await certificateFiles()
    const open = await receiver({ ...onSmtp, settings: { ...onSmtp.settings, inboundCertificate: files } })
    const transport = createTransport({ host: '127.0.0.1', port: open.address.port, requireTLS: true, tls: { rejectUnauthorized: false } })
    const messageId = newId()
    const sent = await transport.sendMail({
      from: 'Ann Lee <ann@customer.example>',
      envelope: { from: 'ann@customer.example', to: address },
      to: 'desk@elsewhere.example',
      subject: 'Re: Our offer',
      messageId,
      text: 'Yes, please. Äöü.\n\n.A line with a dot',
      attachments: [{ filename: 'order.pdf', content: Buffer.from('%PDF') }],
    })
    expect(sent.response).toMatch(/^250 2\.6\.0 /)
    // It is stored when the answer is there, whatever becomes of the process.
    const [stored] = await app.db.read<{ raw: Buffer }>(sql`select raw from inbound_emails order by id desc limit 1`)
    expect(stored?.raw.toString()).toMatch(
      new RegExp(
        `^Return-Path: <ann@customer\\.example>\\r\\nDelivered-To: ${address.replaceAll('.', '\\.')}\\r\\nReceived: from \\S+ \\(\\[127\\.0\\.0\\.1\\]\\)\\r\\n\\tby reply\\.example\\.net with ESMTPS id \\w+;\\r\\n\\t.* \\+0000\\r\\n`,
      ),
    )
    const comment = (await answers()).find(({ metadata }) => metadata.messageId === messageId)
    expect(comment).toMatchObject({
      type: 'email_in',
      user_name: 'Ann Lee',
      content: 'Yes, please. Äöü.\n\n.A line with a dot',
      attachments: [{ name: 'order.pdf', size: 4 }],
      metadata: { from: { email: 'ann@customer.example' }, senderWasRecipient: true },
    })
    transport.close()
  })

  test('is answered for each recipient over LMTP, and is added to each thread', async () => {
    const other = await mailThread(app, smtp)
    const client = await greeted(await receiver())
    expect(await client.command('EHLO client.example')).toMatch(/^500/)
    const id = newId()
    await envelope(client, [address, other.address])
    client.write(`${message('To both', id)}.\r\n`)
    expect([await client.answer(), await client.answer()]).toEqual([expect.stringMatching(/^250/), expect.stringMatching(/^250/)])
    for (const { answers } of [thread, other]) expect((await answers()).map(({ metadata }) => metadata.messageId)).toContain(id)
  })

  test('is taken over LMTP behind any number of unknown recipients, in the same connection', async () => {
    const client = await greeted(await receiver())
    for (let mail = 0; mail < 3; mail++) {
      await client.command('MAIL FROM:<spam@b.example>')
      for (let at = 0; at < 100; at++) expect(await client.command(`RCPT TO:<${UNKNOWN}>`)).toMatch(/^550 5\.1\.1 /)
      await client.command('RSET')
    }
    await envelope(client)
    client.write(`${message('Behind them')}.\r\n`)
    expect(await client.answer()).toMatch(/^250/)
    expect((await answers()).at(-1)?.content).toBe('Behind them')
  })

  test('goes to the recipients of the envelope alone', async () => {
    const other = await mailThread(app, smtp)
    const client = await greeted(await receiver())
    await envelope(client)
    client.write(`Delivered-To: ${other.address}\r\nCc: ${other.address}\r\n${message('For one')}.\r\n`)
    expect(await client.answer()).toMatch(/^250/)
    expect((await answers()).at(-1)?.content).toBe('For one')
    expect(await other.answers()).toEqual([])
  })

  test('that is sent again is added once, with a Message-ID or without one', async () => {
    const client = await greeted(await receiver())
    const before = (await answers()).length
    for (const text of [message('Twice'), 'Subject: Twice\r\n\r\nWithout an id\r\n'])
      for (let time = 0; time < 2; time++) {
        await envelope(client)
        client.write(`${text}.\r\n`)
        expect(await client.answer()).toMatch(/^250/)
      }
    expect((await answers()).slice(before).map(({ content }) => content)).toEqual(['Twice', 'Without an id'])
  })

  test('from the null sender may have an address in capitals and a body that arrives byte by byte', async () => {
    const client = await greeted(await receiver(), 'LHLO [127.0.0.1]')
    const [local, domain] = address.split('@')
    await envelope(client, [`${local?.toUpperCase()}@${domain?.toUpperCase()}`], '')
    for (const byte of Buffer.from(`${message('Slowly')}.\r\n`)) client.write(Buffer.of(byte))
    expect(await client.answer()).toMatch(/^250/)
    expect((await answers()).at(-1)).toMatchObject({ content: 'Slowly', metadata: { autoReply: true } })
  })

  test('of several megabytes is stored behind its envelope as it was sent, and once', async () => {
    const open = await receiver()
    const content = `${message('Large', newId())}${`${randomBytes(37).toString('hex')}\r\n.dot\r\n`.repeat(60_000)}`
    for (let time = 0; time < 2; time++) {
      const client = await greeted(open)
      await envelope(client)
      client.write(`${content.replaceAll('\r\n.', '\r\n..')}.\r\n`)
      expect(await client.answer()).toMatch(/^250/)
    }
    expect((await answers()).filter(({ content }) => content.startsWith('Large'))).toHaveLength(1)
    const [stored] = await app.db.read<{ raw: Buffer }>(sql`select raw from inbound_emails where raw is not null order by id desc limit 1`)
    const raw = stored?.raw.toString() ?? ''
    expect(raw).toMatch(new RegExp(`^Return-Path: <ann@customer.example>\\r\\nDelivered-To: ${address}\\r\\nReceived: from client.example`))
    expect(raw.endsWith(`+0000\r\n${content}`)).toBe(true)
  })

  test('ends only at a dot between two whole line breaks', async () => {
    const client = await greeted(await receiver())
    const before = (await answers()).length
    await envelope(client)
    const smuggled = `MAIL FROM:<boss@bank.example>\r\nRCPT TO:<${address}>\r\nDATA\r\n${message('Smuggled')}`
    client.write(`${message('One')}\n.\n${smuggled}\n.\r\n${smuggled}\r.\r${smuggled}\r\n.\r\n`)
    expect(await client.answer()).toMatch(/^250/)
    expect(await client.command('NOOP')).toMatch(/^250/)
    const added = (await answers()).slice(before)
    expect(added).toHaveLength(1)
    expect(added[0]?.metadata.from.email).toBe('ann@customer.example')
  })

  test('counts the results of the mail server in front over LMTP', async () => {
    const client = await greeted(await receiver())
    await envelope(client)
    client.write(`Authentication-Results: boss.example; dmarc=pass\r\nAuthentication-Results: mx.example.net; dmarc=fail; spf=pass\r\n`)
    client.write(`${message('Checked')}.\r\n`)
    expect(await client.answer()).toMatch(/^250/)
    expect((await answers()).at(-1)?.metadata.authentication).toEqual({ spf: 'pass', dkim: null, dmarc: 'fail', arc: null })
  })
})

describe('the receiver refuses', () => {
  test.each([
    ['an unknown token', UNKNOWN],
    ['another address of the domain', 'postmaster@reply.example.net'],
    ['another domain', 'ann@customer.example'],
    ['an address that looks like a relay', `ann%customer.example@reply.example.net`],
    ['a token at another domain', address.replace('example.net', 'example.org')],
    ['a token with more behind it', address.replace('@', 'a@')],
  ])('%s', async (_, recipient) => {
    const client = await greeted(await receiver(onSmtp), 'EHLO client.example')
    await client.command('MAIL FROM:<ann@customer.example>')
    expect(await client.command(`RCPT TO:<${recipient}>`)).toMatch(/^550 5\.1\.1 /)
    expect(await client.command('DATA')).toMatch(/^503/)
  })

  test.each(['VRFY desk', 'EXPN desk', 'HELP', 'AUTH PLAIN AGEAYg==', 'STARTTLS', 'XCLIENT ADDR=10.0.0.1', 'WIZ x', 'SHELL', 'BDAT 10'])(
    '%s',
    async (line) => {
      const client = await greeted(await receiver(onSmtp), 'EHLO client.example')
      expect(await client.command(line)).toMatch(/^500/)
    },
  )

  test('to offer a sign-in, or TLS without a certificate', async () => {
    const client = await smtpClient((await receiver(onSmtp)).address.port)
    await client.answer()
    const offered = await client.command('EHLO client.example')
    expect(offered).toMatch(/^250[- ]SIZE 26214400/m)
    expect(offered).not.toMatch(/AUTH|STARTTLS|VRFY|XCLIENT/)
    client.socket.destroy()
  })

  test.each([
    ['a line break in the name of the client', 'EHLO a\0b', /^501/],
    ['control characters in the sender', 'MAIL FROM:<a\x01@b.example>', /^501/],
    ['a sender without brackets', 'MAIL FROM: ann@customer.example', /^501/],
    ['a size that is no number', 'MAIL FROM:<a@b.example> SIZE=x', /^501/],
    ['a size over the limit', 'MAIL FROM:<a@b.example> SIZE=26214401', /^552 5\.3\.4/],
    ['a recipient before a sender', `RCPT TO:<${UNKNOWN}>`, /^503/],
    ['a request of HTTP', 'GET / HTTP/1.1', /^421/],
    ['a very long line', `NOOP ${'a'.repeat(5000)}`, /^421/],
  ])('%s', async (_, line, expected) => {
    const client = await greeted(await receiver(onSmtp), 'EHLO client.example')
    expect(await client.command(line)).toMatch(expected)
  })

  test('more than 25 MB, and goes on', async () => {
    const client = await greeted(await receiver())
    await envelope(client)
    const line = Buffer.alloc(1_048_576, `${'a'.repeat(62)}\r\n`)
    client.write('Subject: Large\r\n\r\n')
    for (let mb = 0; mb < 25; mb++) client.write(line)
    client.write('.\r\n')
    expect(await client.answer()).toMatch(/^552 5\.3\.4/)
    await envelope(client)
    client.write(`${message('Small again')}.\r\n`)
    expect(await client.answer()).toMatch(/^250/)
    expect((await answers()).at(-1)?.content).toBe('Small again')
  })

  test('a client that names one unknown recipient after the other', async () => {
    const open = await receiver(onSmtp, { refusalsPerConnection: 3, refusalsPerMinute: 5 })
    const guess = async () => {
      const client = await greeted(open, 'EHLO client.example')
      await client.command('MAIL FROM:<a@b.example>')
      const said: string[] = []
      for (let at = 0; at < 8 && !said.at(-1)?.startsWith('421'); at++) said.push(await client.command(`RCPT TO:<x${at}@b.example>`))
      return said.map((answer) => answer.slice(0, 3))
    }
    expect(await guess()).toEqual(['550', '550', '550', '421'])
    expect(await guess()).toEqual(['550', '550', '550', '421'])
    const client = await smtpClient(open.address.port)
    expect(await client.answer()).toMatch(/^421 Too many unknown recipients/)
    expect(await client.answer()).toBe('closed')
  })

  test('more connections of one address than are allowed, and lets it come back later', async () => {
    const open = await receiver(onSmtp, { connectionsPerAddress: 2 })
    const first = await greeted(open, 'EHLO client.example')
    await greeted(open, 'EHLO client.example')
    const third = await smtpClient(open.address.port)
    expect(await third.answer()).toMatch(/^421 Too many connections/)
    await first.command('QUIT')
    first.socket.destroy()
    const again = async () => {
      const client = await smtpClient(open.address.port)
      const said = await client.answer()
      client.socket.destroy()
      return said
    }
    await expect.poll(again).toMatch(/^220/)
  })

  test('nobody because of connections that have ended, over TLS as well', async () => {
    const { files } = await certificateFiles()
    const open = await receiver({ ...onSmtp, settings: { ...onSmtp.settings, inboundCertificate: files } }, { connectionsPerAddress: 1 })
    const overTls = async () => {
      const client = await smtpClient(open.address.port)
      const greeting = await client.answer()
      if (greeting.startsWith('220')) {
        expect(await client.command('STARTTLS')).toMatch(/^220/)
        await client.startTls()
      }
      client.socket.destroy()
      return greeting
    }
    for (let at = 0; at < 3; at++) await expect.poll(overTls).toMatch(/^220/)
  })

  test('a flood of connections of one address, and still takes those of others', async () => {
    const { address } = await receiver(onSmtp, { connections: 6, connectionsPerAddress: 3 })
    // They stay open after the end of the server's side.
    const flood = Array.from({ length: 300 }, () => connect({ port: address.port, host: '127.0.0.1', allowHalfOpen: true }))
    onTestFinished(() => flood.forEach((socket) => void socket.destroy()))
    const [said, closed] = [new Map<Socket, string>(), new Set<Socket>()]
    for (const socket of flood) {
      socket.on('error', () => {})
      socket.on('close', () => closed.add(socket))
      socket.on('data', (bytes) => said.set(socket, bytes.toString()))
    }
    await Promise.all(flood.map((socket) => once(socket, 'connect')))
    const other = await smtpClient(address.port, '127.0.0.2')
    onTestFinished(() => void other.socket.destroy())
    expect(await other.answer()).toMatch(/^220/)
    await expect.poll(() => said.size).toBe(300)
    const refused = flood.filter((socket) => said.get(socket) === '421 Too many connections, please try again later\r\n')
    expect(refused).toHaveLength(297)
    // The server has no half of them open: what they send now is refused by the system.
    const speak = () => refused.filter((socket) => !closed.has(socket) && socket.write('NOOP\r\n')).length
    await expect.poll(speak).toBe(0)
    expect(await other.command('EHLO client.example')).toMatch(/^250/)
  })

  test('more connections of one network, whichever way its address is written', () => {
    const clients = new Clients({ ...RECEIVER_LIMITS, connectionsPerAddress: 1 })
    const isAdmitted = (remoteAddress: string) => clients.admit(remoteAddress, remoteAddress) === undefined
    expect(['::ffff:192.0.2.1', '::ffff:192.0.2.2', '2001:db8::1', '2001:db8:0:1::1'].map(isAdmitted)).toEqual([true, true, true, true])
    expect(['192.0.2.1', '::FFFF:192.0.2.2', '2001:db8:0:0:9::9'].map(isAdmitted)).toEqual([false, false, false])
    expect(['2001:db8::5:1:2:3:4', '2001:db8::6:1:2:3:4'].map(isAdmitted)).toEqual([true, true])
  })

  test('more connections than are allowed in all', async () => {
    const { address } = await receiver(onSmtp, { connections: 2 })
    const clients = await Promise.all(['127.0.0.1', '127.0.0.2', '127.0.0.3'].map((from) => smtpClient(address.port, from)))
    onTestFinished(() => clients.forEach(({ socket }) => void socket.destroy()))
    const said = await Promise.all(clients.map((client) => client.answer()))
    expect(said.map((answer) => answer.slice(0, 31)).sort()).toEqual([
      '220 reply.example.net ESMTP Gri',
      '220 reply.example.net ESMTP Gri',
      '421 Too many connected clients,',
    ])
    clients[0]?.socket.destroy()
    clients[1]?.socket.destroy()
    const again = async () => {
      const client = await smtpClient(address.port)
      const answer = await client.answer()
      client.socket.destroy()
      return answer
    }
    await expect.poll(again).toMatch(/^220/)
  })

  test('more mails than are allowed in a minute, and in one connection', async () => {
    const busy = await greeted(await receiver(onSmtp, { mailsPerMinute: 1 }), 'EHLO client.example')
    expect(await busy.command('MAIL FROM:<a@b.example>')).toMatch(/^250/)
    await busy.command('RSET')
    expect(await busy.command('MAIL FROM:<a@b.example>')).toMatch(/^421 .*in a minute/)
    const long = await greeted(await receiver(deps, { mailsPerConnection: 1 }))
    await long.command('MAIL FROM:<a@b.example>')
    await long.command('RSET')
    expect(await long.command('MAIL FROM:<a@b.example>')).toMatch(/^421 .*connect again/)
  })

  test('more recipients than are allowed', async () => {
    const other = await mailThread(app, smtp)
    const client = await greeted(await receiver(deps, { recipients: 1 }))
    await client.command('MAIL FROM:<a@b.example>')
    expect(await client.command(`RCPT TO:<${address}>`)).toMatch(/^250/)
    expect(await client.command(`RCPT TO:<${other.address}>`)).toMatch(/^452 4\.5\.3/)
  })
})

describe('the receiver cuts off', () => {
  test('a client that says nothing', async () => {
    const client = await smtpClient((await receiver(deps, { idleMs: 300 })).address.port)
    expect(await client.answer()).toMatch(/^220/)
    expect(await client.answer()).toMatch(/^421 .*Timeout/)
    expect(await client.answer()).toBe('closed')
  })

  test('a client that keeps talking and sends no mail', async () => {
    const client = await smtpClient((await receiver(deps, { commandsMs: 500 })).address.port)
    onTestFinished(() => void client.socket.destroy())
    // On a slow machine the time may be over before a greeting has been answered.
    let said = await client.answer()
    while (!/^(421|closed)/.test(said)) said = await client.command('NOOP')
    expect(said).toMatch(/^421 4\.4\.2 (No mail came in time|Too many commands)/)
    expect(await client.answer()).toBe('closed')
  })

  test('a flood of commands', async () => {
    const client = await greeted(await receiver(deps, { commandsPerMail: 50 }))
    client.write('NOOP\r\n'.repeat(10_000))
    let count = 0
    let said = await client.answer()
    for (; said.startsWith('250'); said = await client.answer()) count++
    expect(said).toMatch(/^421 .*Too many commands/)
    expect(count).toBeLessThanOrEqual(50)
  })

  test.each([
    ['trickles', { contentGraceMs: 300, contentBytesPerSecond: 1_000 }],
    ['does not end', { contentMs: 500 }],
  ])('a content that %s, and stores nothing of it', async (_, limits) => {
    const client = await greeted(await receiver(deps, limits))
    const before = (await answers()).length
    await envelope(client)
    client.write(message('Half'))
    const trickle = setInterval(() => client.write('a'), 20)
    const said = await client.answer()
    clearInterval(trickle)
    expect(said).toMatch(/^421 .*too slowly/)
    await expect.poll(() => client.answer()).toBe('closed')
    expect((await answers()).length).toBe(before)
  })

  test('nobody else: a client that hangs up in the content leaves nothing behind', async () => {
    const open = await receiver(deps, { connectionsPerAddress: 2 })
    const before = (await answers()).length
    for (let time = 0; time < 5; time++) {
      const client = await smtpClient(open.address.port)
      expect(await client.answer()).toMatch(/^(220|421)/)
      await client.command('LHLO a')
      await client.command('MAIL FROM:<a@b.example>')
      await client.command(`RCPT TO:<${address}>`)
      await client.command('DATA')
      client.write(message('Half'))
      client.socket.resetAndDestroy()
    }
    await expect.poll(async () => (await (await smtpClient(open.address.port)).answer()).slice(0, 3)).toBe('220')
    expect((await answers()).length).toBe(before)
  })
})

describe('the certificate', () => {
  const nameOf = async (open: Receiver) => {
    const client = await greeted(open)
    expect(await client.command('STARTTLS')).toMatch(/^220/)
    const secure = await client.startTls()
    expect(await client.command('LHLO client.example')).not.toContain('STARTTLS')
    return secure.getPeerCertificate().subject.CN
  }

  test('is replaced while the receiver runs, and a broken one is not used', async () => {
    const { files, write } = await certificateFiles()
    const open = await receiver(withSettings({ inboundCertificate: files }), {}, 50)
    expect(await nameOf(open)).toBe('mx.example.net')
    writeFileSync(files.cert, 'half a certificate')
    expect(await nameOf(open)).toBe('mx.example.net')
    write(await certificate('mx2.example.net'))
    await expect.poll(() => nameOf(open)).toBe('mx2.example.net')
  })

  test('that cannot be used ends the start with one line', async () => {
    const { files, write } = await certificateFiles()
    write({ ...(await certificate()), key: (await certificate()).key })
    await expect(openReceiver(withSettings({ inboundCertificate: files }))).rejects.toThrow(/^INBOUND_SMTP_CERT: .*cannot be used: [^\n]+$/)
    const missing = { ...files, key: `${files.key}.missing` }
    await expect(openReceiver(withSettings({ inboundCertificate: missing }))).rejects.toThrow(/^INBOUND_SMTP_KEY: ENOENT[^\n]+$/)
  })

  test('protects nothing that was said before it', async () => {
    const { files } = await certificateFiles()
    const client = await greeted(await receiver(withSettings({ inboundCertificate: files })))
    await client.command('MAIL FROM:<a@b.example>')
    client.write('STARTTLS\r\nRSET\r\nMAIL FROM:<injected@b.example>\r\n')
    expect(await client.answer()).toMatch(/^220/)
    await client.startTls()
    expect(await client.command(`RCPT TO:<${address}>`)).toMatch(/^503/)
    expect(await client.command('LHLO client.example')).toMatch(/^250/)
    expect(await client.command(`RCPT TO:<${address}>`)).toMatch(/^503/)
  })
})

describe('without the database', () => {
  test('the answer is 451, and the mail is taken when it is back', async () => {
    const proxy = await databaseProxy()
    const away = await testApp({ CATCH_DOMAIN: 'reply.example.net', DATABASE_URL: proxy.url, INBOUND_SMTP: 'lmtp://127.0.0.1:0' })
    const open = await receiver(away.deps)
    const id = newId()
    const client = await greeted(open)
    await envelope(client)
    await proxy.cut()
    client.write(`${message('Later', id)}.\r\n`)
    expect(await client.answer()).toMatch(/^451 4\.3\.0 .*could not be stored/)
    await client.command('MAIL FROM:<ann@customer.example>')
    expect(await client.command(`RCPT TO:<${address}>`)).toMatch(/^451 4\.3\.0 .*cannot be checked/)
    await proxy.restore()
    await client.command('RSET')
    const recipient = async () => {
      await client.command('RSET')
      await client.command('MAIL FROM:<ann@customer.example>')
      return client.command(`RCPT TO:<${address}>`)
    }
    await expect.poll(recipient).toMatch(/^250/)
    await client.command('DATA')
    client.write(`${message('Later', id)}.\r\n`)
    expect(await client.answer()).toMatch(/^250/)
    expect((await answers()).filter(({ metadata }) => metadata.messageId === id)).toHaveLength(1)
    await open.close()
    await away.stop()
  })
})

describe('a stop', () => {
  test('waits for the mail that is being received, and takes no other', async () => {
    const open = await openReceiver(deps)
    const idle = await greeted(open)
    const busy = await greeted(open)
    await envelope(busy)
    busy.write(message('Last'))
    const closing = open.close()
    expect(await idle.answer()).toMatch(/^421 .*stopping/)
    busy.write('.\r\n')
    expect(await busy.answer()).toMatch(/^250/)
    busy.socket.end()
    await closing
    await expect(smtpClient(open.address.port)).rejects.toThrow('ECONNREFUSED')
    expect((await answers()).at(-1)?.content).toBe('Last')
  })
})
