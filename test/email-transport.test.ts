import dns from 'node:dns/promises'
import { syncBuiltinESMExports } from 'node:module'
import { type AddressInfo, createServer } from 'node:net'
import { Readable } from 'node:stream'
import Fastify from 'fastify'
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { mountCatcher, startCatcher } from '../src/email/catcher/catcher.ts'
import type { OutgoingMessage } from '../src/email/composing/mime.ts'
import type { SmtpServer } from '../src/email/smtp/connections.ts'
import { DeliveryError } from '../src/email/smtp/failure.ts'
import { isPublic } from '../src/email/smtp/host-addresses.ts'
import { deliver, probe } from '../src/email/smtp/transport.ts'
import { readSettings } from '../src/settings.ts'
import { startSmtp, type TestSmtp } from './support/smtp.ts'

let smtp: TestSmtp
let server: SmtpServer
beforeAll(async () => {
  smtp = await startSmtp()
  server = { host: '127.0.0.1', port: smtp.port, tls: 'none', username: null, password: null }
})
afterAll(() => smtp.close())
beforeEach(() => {
  smtp.received.length = 0
  smtp.recipients.clear()
  smtp.onContent = {}
  smtp.onSender = {}
  smtp.login = undefined
})

const message = (more: Partial<OutgoingMessage> = {}): OutgoingMessage => ({
  from: { name: 'Désk', email: 'desk@example.com' },
  to: [{ name: 'Ann', email: 'ann@customer.example' }],
  cc: [],
  replyTo: 'reply-0123456789abcdef@reply.example',
  subject: 'Angebot für März',
  html: '<p>Grüße</p>',
  text: 'Grüße',
  messageId: '<1@example.com>',
  inReplyTo: null,
  references: ['<0@example.com>'],
  date: new Date('2026-03-02T10:12:00Z'),
  attachments: [],
  ...more,
})
const envelope = (...to: string[]) => ({ from: 'desk@example.com', to: to.length ? to : ['ann@customer.example'] })
const options = { allowPrivate: true, beforeEnd: async () => {}, signal: new AbortController().signal }
const failure = (attempt: Promise<unknown>) =>
  attempt.then(
    () => 'delivered',
    (error) => (error instanceof DeliveryError ? error.failure : error),
  )

/** Answers the lookups of the test, also those of modules that are loaded already. @returns the names that are looked up */
function answerLookups(answer: () => string[]): string[] {
  const asked: string[] = []
  const { lookup } = dns
  const replaceBy = (replacement: typeof lookup) => {
    dns.lookup = replacement
    syncBuiltinESMExports()
  }
  const fake = async (name: string) => {
    asked.push(name)
    return answer().map((address) => ({ address, family: address.includes(':') ? 6 : 4 }))
  }
  replaceBy(fake as unknown as typeof lookup)
  onTestFinished(() => replaceBy(lookup))
  return asked
}

/** A server that answers what came at once with what the test says. */
async function startScripted(answer: (text: string) => string) {
  const heard: string[] = []
  const scripted = createServer((socket) => {
    socket.on('error', () => {})
    socket.write('220 mx.customer.example\r\n')
    socket.setEncoding('latin1').on('data', (text: string) => {
      heard.push(text)
      socket.write(answer(text))
    })
  })
  await new Promise<void>((resolve) => scripted.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void scripted.close())
  return { port: (scripted.address() as AddressInfo).port, heard }
}

describe('delivery', () => {
  test('carries names, umlauts, threads and attachments', async () => {
    const file = { name: 'Pläne.txt', type: 'text/plain', open: async () => Readable.from([Buffer.from('.\r\nline\n.')]) }
    const delivery = await deliver(
      server,
      envelope('ann@customer.example', 'bcc@customer.example'),
      message({ attachments: [file] }),
      options,
    )
    expect(delivery).toEqual({ accepted: ['ann@customer.example', 'bcc@customer.example'], refused: [] })
    const [received] = smtp.received
    expect(received?.envelopeTo).toEqual(['ann@customer.example', 'bcc@customer.example'])
    expect(received?.raw).not.toContain('bcc@')
    expect(received?.email).toMatchObject({
      from: { name: 'Désk', address: 'desk@example.com' },
      replyTo: [{ address: 'reply-0123456789abcdef@reply.example' }],
      subject: 'Angebot für März',
      messageId: '<1@example.com>',
      references: '<0@example.com>',
      html: '<p>Grüße</p>\n',
      text: 'Grüße\n',
    })
    expect(Buffer.from(received?.email.attachments[0]?.content as ArrayBuffer).toString()).toBe('.\r\nline\n.')
  })

  test('is the same with and without attachments', async () => {
    const html = `<p>Grüße = 1 \n.\n..</p>${'<b>lang</b> '.repeat(40)}`
    const more = { html, text: 'Grüße\n.\n..\n \nEnde', cc: [{ name: 'Bö', email: 'bo@customer.example' }], inReplyTo: '<0@example.com>' }
    const file = { name: 'a.txt', type: 'text/plain', open: async () => Readable.from([Buffer.from('a')]) }
    await deliver(server, envelope(), message({ ...more, attachments: [file] }), options)
    await deliver(server, envelope(), message(more), options)
    const [withFile, without] = smtp.received.map(({ email: { headers, attachments, ...email } }) => ({
      ...email,
      headers: headers.map(({ key, value }) => (key === 'content-type' ? [key] : [key, value])),
    }))
    expect(without).toMatchObject({ html: `${html}\n`, text: `${more.text}\n` })
    expect({ ...without, headerLines: [] }).toEqual({ ...withFile, headerLines: [] })
  })

  test.each([20_000, 40_000])('reaches the server with a content of several blocks: %i lines', async (lines) => {
    const html = `<p>${'Für alle.\r\n.'.repeat(lines)}</p>`
    let heldBack: string | undefined
    const beforeEnd = async () => {
      heldBack = smtp.received.length ? 'no' : 'yes'
    }
    await deliver(server, envelope(), message({ html }), { ...options, beforeEnd })
    expect(heldBack).toBe('yes')
    expect(smtp.received[0]?.email.html === `${html.replaceAll('\r\n', '\n')}\n`).toBe(true)
  })

  test.each([
    ['without spaces', 'x'.repeat(2_000)],
    ['with a long link', `See https://a.example/?q=${'=?y_"'.repeat(300)} today`],
    ['of letters outside of ASCII', `${'ж🙂'.repeat(500)} ё`],
  ])('puts a subject %s into lines of at most 998 bytes', async (_, subject) => {
    const file = { name: 'a.txt', type: 'text/plain', open: async () => Readable.from([Buffer.from('a')]) }
    for (const attachments of [[], [file]]) await deliver(server, envelope(), message({ subject, attachments }), options)
    for (const { raw, email } of smtp.received) {
      expect(email.subject).toBe(subject)
      expect(raw.split('\r\n').filter(({ length }) => length > 998)).toEqual([])
    }
    expect(smtp.received).toHaveLength(2)
  })

  test('reports for each recipient whether the server accepted it', async () => {
    smtp.recipients.set('gone@customer.example', 550).set('full@customer.example', 451)
    const to = ['gone@customer.example', 'ann@customer.example', 'full@customer.example']
    const { accepted, refused } = await deliver(server, envelope(...to), message(), options)
    expect(accepted).toEqual(['ann@customer.example'])
    expect(refused.map(({ address, failure }) => [address, failure.kind, failure.code, failure.enhanced])).toEqual([
      ['gone@customer.example', 'permanent', '550', '5.1.1'],
      ['full@customer.example', 'temporary', '451', '4.2.1'],
    ])
  })

  test('reports that no recipient was accepted, and sends no content', async () => {
    smtp.recipients.set('gone@customer.example', 550).set('full@customer.example', 451)
    let isAsked = false
    const { accepted, refused } = await deliver(server, envelope('gone@customer.example', 'full@customer.example'), message(), {
      ...options,
      beforeEnd: async () => {
        isAsked = true
      },
    })
    expect([accepted, refused.map(({ failure }) => failure.kind), isAsked]).toEqual([[], ['permanent', 'temporary'], false])
  })

  test.each<[TestSmtp['onContent'], object]>([
    [{ code: 550 }, { kind: 'permanent', code: '550' }],
    [{ code: 451 }, { kind: 'temporary', code: '451' }],
    [{ hangUp: 'before' }, { kind: 'temporary' }],
    [{ hangUp: 'after' }, { kind: 'unknown', code: 'OUTCOME_UNKNOWN' }],
  ])('reports the outcome of the content: %j', async (onContent, expected) => {
    smtp.onContent = onContent
    // The content exceeds the socket buffers, so that "before" really precedes its end.
    const html = onContent.hangUp === 'before' ? 'x'.repeat(20_000_000) : 'x'
    expect(await failure(deliver(server, envelope(), message({ html }), options))).toMatchObject(expected)
  })

  test.each(['354 Go on', '150 Working on it', '999 What', 'Thank you'])(
    'does not know the outcome of a content that is answered %j',
    async (answer) => {
      const { port } = await startScripted((text) => {
        if (text.startsWith('DATA')) return '354 Go on\r\n'
        if (text.endsWith('.\r\n')) return `${answer}\r\n`
        return text.startsWith('From:') ? '' : '250 OK\r\n'
      })
      const attempt = deliver({ ...server, port }, envelope(), message(), options)
      expect(await failure(attempt)).toMatchObject({ kind: 'unknown', code: 'OUTCOME_UNKNOWN' })
    },
  )

  test('knows which recipients were refused when the outcome for the others is unknown', async () => {
    smtp.recipients.set('gone@customer.example', 550)
    smtp.onContent = { hangUp: 'after' }
    const attempt = deliver(server, envelope('gone@customer.example', 'ann@customer.example'), message(), options)
    await expect(attempt).rejects.toMatchObject({
      failure: { kind: 'unknown' },
      refused: [{ address: 'gone@customer.example', failure: { kind: 'permanent', code: '550' } }],
    })
  })

  test('reports the words of a server without NUL, which the database would refuse', async () => {
    const hostile = createServer((socket) => {
      socket.on('error', () => {})
      socket.write('220 mx.customer.example\r\n')
      socket.on('data', (bytes) => {
        for (const command of bytes.toString().trim().split('\r\n'))
          socket.write(command.startsWith('RCPT') ? '550 5.1.1 No\0 such user\r\n' : '250 OK\r\n')
      })
    })
    await new Promise<void>((resolve) => hostile.listen(0, '127.0.0.1', resolve))
    onTestFinished(() => void hostile.close())
    const { port } = hostile.address() as AddressInfo
    const { refused } = await deliver({ ...server, port }, envelope(), message(), options)
    expect(refused).toMatchObject([{ failure: { code: '550', message: '550 5.1.1 No such user' } }])
  })

  test.each([
    ['250 mx.customer.example\r\n', ['MAIL', 'RCPT', 'RCPT', 'DATA', 'content']],
    ['250-mx.customer.example\r\n250 PIPELINING\r\n', ['MAIL RCPT RCPT DATA', 'content']],
  ])('takes no more round trips over a kept connection than it must: %j', async (greeting, expected) => {
    const { port, heard } = await startScripted((text) => {
      if (text.startsWith('EHLO')) return greeting
      // Its end may come with the content or alone.
      if (text.startsWith('From:')) return text.endsWith('\r\n.\r\n') ? '250 OK\r\n' : ''
      return text.replace(/^DATA/m, '354 Go on').replace(/^(MAIL|RCPT|\.).*/gm, '250 OK')
    })
    for (const to of ['ann', 'bob'])
      await deliver({ ...server, port }, envelope(`${to}@customer.example`, 'cy@customer.example'), message(), options)
    const said = heard.filter((text) => text !== '.\r\n')
    const verbs = said.map((text) => (text.startsWith('From:') ? 'content' : text.match(/^[A-Z]+/gm)?.join(' ')))
    expect(verbs).toEqual(['EHLO', ...expected, ...expected])
  })

  test.each([
    ['refused', '552 5.3.4 Too big', { kind: 'permanent', code: '552' }],
    ['accepted', '250 OK', { kind: 'temporary', code: 'CONNECTION' }],
  ])('is not ended, and has failed, if the server has %s it before the end', async (_, answer, expected) => {
    const { port, heard } = await startScripted((text) => {
      if (text.startsWith('DATA')) return '354 Go on\r\n'
      return text.startsWith('From:') ? `${answer}\r\n` : '250 OK\r\n'
    })
    const { promise: mayEnd, resolve: letEnd } = Promise.withResolvers<void>()
    const attempt = deliver({ ...server, port }, envelope(), message(), { ...options, beforeEnd: () => mayEnd })
    expect(await failure(attempt)).toMatchObject(expected)
    letEnd()
    await new Promise(setImmediate)
    expect(heard.join('')).toMatch(/--\r\n$/)
  })

  test.each<[string, OutgoingMessage['attachments']]>([
    ['short', []],
    ['with a file', [{ name: 'a.txt', type: 'text/plain', open: async () => Readable.from([Buffer.from('a')]) }]],
  ])('that is %s and cannot be composed fails with the error of composing', async (_, attachments) => {
    const broken = message({ to: null as unknown as OutgoingMessage['to'], attachments })
    expect(await failure(deliver(server, envelope(), broken, options))).toBeInstanceOf(TypeError)
    expect(smtp.received).toEqual([])
  })

  test('delivers nothing when it is aborted before the end of the content', async () => {
    const stopped = new Error('somebody else sends it')
    const attempt = deliver(server, envelope(), message(), { ...options, beforeEnd: () => Promise.reject(stopped) })
    expect(await failure(attempt)).toBe(stopped)
    expect(smtp.received).toEqual([])
  })

  test.each([
    ['the greeting', 'connect'],
    ['the answer to the sender', 'sender'],
    ['the rest of the content', 'firstBytes'],
  ] as const)('is stopped at once while it waits for %s', async (_, point) => {
    smtp.endConnections()
    const stopping = new AbortController()
    smtp.on = {
      [point]: async () => {
        stopping.abort(new Error('stopping'))
        await new Promise(() => {})
      },
    }
    const html = 'x'.repeat(20_000_000)
    const attempt = deliver(server, envelope(), message({ html }), { ...options, signal: stopping.signal })
    await expect(attempt).rejects.toThrow('stopping')
    smtp.on = {}
  })

  test('is not stopped once the end of the content is sent', async () => {
    const stopping = new AbortController()
    const beforeEnd = async () => stopping.abort(new Error('stopping'))
    const attempt = deliver(server, envelope(), message(), { ...options, beforeEnd, signal: stopping.signal })
    expect((await attempt).accepted).toEqual(['ann@customer.example'])
  })

  test('fails temporarily when an attachment cannot be read', async () => {
    const file = { name: 'a', type: 'text/plain', open: () => Promise.reject(new Error('gone')) }
    expect(await failure(deliver(server, envelope(), message({ attachments: [file] }), options))).toMatchObject({ kind: 'temporary' })
    expect(smtp.received).toEqual([])
  })
})

describe('a server', () => {
  test('is authenticated to', async () => {
    smtp.login = { user: 'desk', password: 'sécret' }
    await probe({ ...server, username: 'desk', password: 'sécret' }, options)
    expect(await failure(probe({ ...server, username: 'desk', password: 'wrong' }, options))).toMatchObject({
      kind: 'permanent',
      code: '535',
    })
  })

  test.each([
    ['nobody listens', { port: 1 }, 'temporary'],
    ['it has no name', { host: 'nowhere.invalid' }, 'temporary'],
    ['it has no TLS', { tls: 'starttls' as const }, 'temporary'],
  ])('that fails because %s is reported with a reason', async (_, more, kind) => {
    expect(await failure(probe({ ...server, ...more }, options))).toMatchObject({ kind, message: expect.stringMatching(/./) })
  })

  test('at a private address is refused before a connection is opened', async () => {
    const before = smtp.connections
    for (const host of [
      '127.0.0.1',
      'localhost',
      '10.1.2.3',
      '192.168.1.1',
      '169.254.169.254',
      '::1',
      '[::1]',
      '0.0.0.0',
      '127.1',
      '0x7f000001',
    ])
      expect(await failure(probe({ ...server, host }, { allowPrivate: false })), host).toMatchObject({ kind: expect.stringMatching(/./) })
    expect(smtp.connections).toBe(before)
  })

  test('is connected to at the address that was checked, whatever its name resolves to afterwards', async () => {
    const answers = [['127.0.0.1'], ['203.0.113.1']]
    const asked = answerLookups(() => answers.shift() ?? [])
    expect((await deliver({ ...server, host: 'rebound.example' }, envelope(), message(), options)).accepted).toEqual([
      'ann@customer.example',
    ])
    expect(asked).toEqual(['rebound.example'])
  })

  test('whose name resolves to private addresses is refused before a connection is opened', async () => {
    const before = smtp.connections
    answerLookups(() => ['127.0.0.1', '::1', '::ffff:127.0.0.1'])
    expect(await failure(probe({ ...server, host: 'inside.example' }, { allowPrivate: false }))).toMatchObject({ code: 'PRIVATE_ADDRESS' })
    expect(smtp.connections).toBe(before)
  })

  test.each([
    ['8.8.8.8', true],
    ['2001:4860:4860::8888', true],
    ['100.64.0.1', false],
    ['::ffff:10.0.0.1', false],
    ['64:ff9b::a00:1', false],
    ['2002:a00:1::', false],
    ['fe80::1', false],
    ['fd00::1', false],
    ['224.0.0.1', false],
    ['240.0.0.1', false],
    ['::7f00:1', false],
    ['::a00:1', false],
    ['1::1', false],
    ['4000::1', false],
    ['e000::1', false],
    ['not an address', false],
  ])('at %s is public: %s', (address, expected) => {
    expect(isPublic(address)).toBe(expected)
  })
})

test('the catcher shows its mails, newest first, and forgets the oldest', async () => {
  const catcher = await startCatcher({ keep: 2 })
  const there = { ...server, port: catcher.port }
  for (const subject of ['one', 'two', 'three']) await deliver(there, envelope(), message({ subject }), options)
  expect(catcher.mails().map(({ subject }) => subject)).toEqual(['three', 'two'])
  expect(catcher.mails()[0]).toMatchObject({
    messageId: '<1@example.com>',
    envelopeFrom: 'desk@example.com',
    envelopeTo: ['ann@customer.example'],
    to: ['ann@customer.example'],
    html: '<p>Grüße</p>',
    headers: { 'reply-to': 'reply-0123456789abcdef@reply.example' },
  })

  const app = Fastify()
  mountCatcher(app, catcher, readSettings({ SECRET_KEY: 'a key for tests, long enough to be one' }))
  await deliver(there, envelope(), message({ subject: '<b>four</b>', html: '<p onclick="x()">"Grüße"</p><script>x</script>' }), options)
  const json = await app.inject('/dev/mail.json')
  expect(json.json()).toEqual(catcher.mails())
  const page = await app.inject('/dev/mail')
  expect(page.headers['content-security-policy']).toContain("default-src 'none'")
  expect(page.body).toContain('&lt;b&gt;four&lt;/b&gt;')
  expect(page.body).toContain('<iframe sandbox loading="lazy" title="Message" srcdoc="&lt;p&gt;&quot;Grüße&quot;&lt;/p&gt;"></iframe>')
  await app.close()
  await catcher.close()
})
