import type { ChildProcess } from 'node:child_process'
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import PostalMime from 'postal-mime'
import { afterAll, describe, expect, test, vi } from 'vitest'
import { messageIdOf, readHeaders, replyTokens } from '../../src/email/headers.ts'
import { parseMail } from '../../src/email/inbound/mime.ts'
import { openParser, UnreadableMail } from '../../src/email/inbound/parser.ts'
import { visibleText } from '../../src/email/quoting/visible-text.ts'
import { cpuTime } from '../support/cpu-time.ts'

const fixture = (name: string) => readFileSync(new URL(`../fixtures/mail/${name}.eml`, import.meta.url))
const mail = (name: string) => parseMail(fixture(name), 'mx.example.net')
const raw = (...lines: string[]) => Buffer.from(lines.join('\r\n'))

describe('a reply', () => {
  test.each([
    ['gmail-reply', 'Thanks, that works for us.\n\nCan you send it on Tuesday?'],
    ['outlook-reply', 'Please change the delivery address.\n\nKind regards,\nBob'],
    ['outlook-german-text', 'Schönen Dank, das nehmen wir für März.\n\nGrüße\nJürgen'],
    ['apple-reply', 'Fine by me — see you at 10.\n\nAnn'],
    ['inline-answers', 'Twelve.\n\nBy Friday.'],
    ['reply-french', 'Merci, c’est parfait.'],
    ['reply-spanish', 'Gracias, de acuerdo.'],
    ['reply-japanese', '承知しました。'],
    ['reply-polish', 'Dziękuję, zgadzam się.'],
  ])('%s contains only the text of its sender', async (name, expected) => {
    expect((await mail(name)).visibleText).toBe(expected)
  })

  test('shows its author, its recipients, its subject, and the mail that it answers', async () => {
    expect(await mail('gmail-reply')).toMatchObject({
      from: { name: 'Ann Lee', email: 'ann@customer.example' },
      to: ['reply-0123456789abcdef@reply.example.net'],
      cc: [],
      subject: 'Re: Our offer',
      messageId: '<CAFx1=abc@mail.gmail.com>',
      key: '<CAFx1=abc@mail.gmail.com>',
      inReplyTo: '<offer-1@example.com>',
      date: '2026-03-02T10:30:00.000Z',
      isAutomatic: false,
      authentication: { spf: 'pass', dkim: 'pass', dmarc: 'pass', arc: null },
      report: null,
      attachments: [],
    })
  })

  test('says where its sender wants answers, if elsewhere, and whether it came from a list', async () => {
    const parsed = (...lines: string[]) => parseMail(Buffer.from(['From: Ann <ann@customer.example>', ...lines, '', 'Yes'].join('\r\n')))
    expect(await parsed()).toMatchObject({ replyTo: [], isFromList: false })
    expect(await parsed('Reply-To: ANN@customer.example')).toMatchObject({ replyTo: [] })
    const list = await parsed('Reply-To: Tickets <Tickets@customer.example>, ann@customer.example', 'List-Id: <friends.lists.example>')
    expect(list).toMatchObject({ replyTo: ['tickets@customer.example'], isFromList: true })
    expect(await parsed('List-Post: <mailto:friends@lists.example>')).toMatchObject({ isFromList: true })
  })

  test('in ISO-8859-1 has its umlauts in name, subject and text', async () => {
    const { from, subject, text } = await mail('outlook-german-text')
    expect(from.name).toBe('Jürgen Müller')
    expect(subject).toBe('AW: Angebot für März')
    expect(text).toContain('Grüße')
  })

  test('with attachments gives them safe names, and removes scripts from its HTML', async () => {
    const { attachments, html, cc, subject, from } = await mail('nested-multipart')
    expect(attachments.map(({ name, type }) => [name, type])).toEqual([
      ['logo.png', 'image/png'],
      ['Pläne 2026.pdf', 'application/pdf'],
      ['passwd', 'text/plain'],
    ])
    expect(Buffer.from(attachments[1]?.content ?? []).toString()).toBe('%PDF-1.4\n')
    expect(html).toContain('<b>plan</b>')
    expect(html).not.toContain('script')
    expect(cc).toEqual(['x@example.com', 'y@example.com'])
    expect(subject).toBe('Plans – with files')
    expect(from.name).toBe('Lee, Ann')
  })

  test('with files whose names have marks of direction, controls or thousands of characters mends the names', async () => {
    const part = (name: string) => ['--b', `Content-Disposition: attachment; filename*=UTF-8''${encodeURIComponent(name)}`, '', 'x']
    const names = ['invoice\u202Egpj.exe', 'a\0\x07b.txt', '\u200F..', `${'見'.repeat(3_000)}.pdf`, 'عرض.pdf']
    const { attachments } = await parseMail(
      raw('From: a@b.example', 'Content-Type: multipart/mixed; boundary=b', '', ...names.flatMap(part), '--b--'),
    )
    expect(attachments.map(({ name }) => name)).toEqual([
      'invoicegpj.exe',
      'ab.txt',
      'attachment-3.txt',
      `${'見'.repeat(83)}.pdf`,
      'عرض.pdf',
    ])
  })

  test('that forwards a mail keeps the forwarded text', async () => {
    expect((await mail('forwarded')).visibleText).toContain('It does not work.')
  })
})

describe('visible text', () => {
  test.each([
    [
      'a sentence like an introduction stays',
      'On Monday 3 March you wrote:\nthat it is late. Why?',
      'On Monday 3 March you wrote:\nthat it is late. Why?',
    ],
    ['From: in the middle of a text stays', 'Our train:\nFrom: Bern\nat nine.', 'Our train:\nFrom: Bern\nat nine.'],
    ['an unquoted copy below an introduction is removed', 'Yes.\n\nOn 2 Mar 2026 at 10:12, Desk <d@e.example> wrote:\nOld text', 'Yes.'],
    [
      'an introduction over three lines is removed',
      'Yes.\n\nOn Mon, 2 Mar 2026 at 10:12,\nDesk of the long name\n<desk@e.example> wrote:\n> Old',
      'Yes.',
    ],
    [
      "the sender's words right above a Finnish introduction stay",
      'Kiitos!\n2.3.2026 klo 10.12 Desk <d@e.example> kirjoitti:\n> Vanha',
      'Kiitos!',
    ],
    ['an answer below the quote stays', '> Old\n> text\n\nNew.', 'New.'],
    ['Outlook’s divider is removed with everything below it', 'Yes.\n\n-----Original Message-----\nFrom: x', 'Yes.'],
    ['an introduction without a date is removed with its quote', 'Thanks!\n\nOn Monday, Ann wrote:\n> Old', 'Thanks!'],
    ['a mail without new text is shown whole', 'On 2 Mar 2026, Desk wrote:\n> Old', 'On 2 Mar 2026, Desk wrote:\n> Old'],
    ['a signature is removed', 'Yes.\n-- \nBob\n+41', 'Yes.'],
    ['a phone’s line is removed', 'Ja.\n\nVon meinem iPhone gesendet', 'Ja.'],
    ['line ends of every kind become LF', 'a\r\nb\rc\nd', 'a\nb\nc\nd'],
  ])('%s', (_, text, expected) => {
    expect(visibleText(text)).toBe(expected)
  })

  test('of 200,000 characters of the worst kind takes no time', () => {
    const usedMs = cpuTime()
    for (const line of ['On 1 wrote\n', '>\n', 'From: a\n', ' \n', 'a\n', '-----', '1 wrote: '])
      visibleText(line.repeat(200_000 / line.length))
    expect(usedMs()).toBeLessThan(5_000)
  })
})

describe('a delivery report', () => {
  test('of Postfix names the mail, the recipient and the reason', async () => {
    const { report } = await mail('dsn-postfix')
    expect(report?.messageIds).toContain('<offer-1@example.com>')
    expect(report?.recipients[0]).toEqual({
      address: 'nobody@customer.example',
      action: 'failed',
      isCertain: true,
      code: '550',
      status: '5.1.1',
      diagnostic: '550 5.1.1 <nobody@customer.example>: Recipient address rejected: User unknown',
    })
  })

  test('of Exchange distinguishes failed from delayed', async () => {
    const { report } = await mail('dsn-exchange')
    expect(report?.messageIds).toContain('<offer-1@example.com>')
    expect(report?.recipients.slice(0, 2).map(({ address, action, status }) => [address, action, status])).toEqual([
      ['full@customer.example', 'failed', '5.2.2'],
      ['slow@customer.example', 'delayed', '4.4.7'],
    ])
  })

  test('is not found in a mail about one', async () => {
    expect((await mail('gmail-reply')).report).toBeNull()
  })
})

describe('an automatic mail', () => {
  test('is an out-of-office note', async () => {
    expect((await mail('out-of-office')).isAutomatic).toBe(true)
  })

  test('is a report that is neither a bounce nor a complaint, such as that of a failed check of signatures', async () => {
    const report = ['--r', 'Content-Type: message/feedback-report', '', 'Feedback-Type: auth-failure', '', '--r--']
    const from = [
      'From: dmarc@customer.example',
      'Subject: Report',
      'Content-Type: multipart/report; boundary=r',
      '',
      '--r',
      '',
      'A check failed.',
    ]
    expect(await parseMail(raw(...from, ...report))).toMatchObject({ isAutomatic: true, feedback: null, report: null })
  })
})

describe('recipients', () => {
  const token = '0123456789abcdef'
  const address = `reply-${token}@reply.example.net`

  test.each([
    [`Delivered-To: ${address}`],
    [`X-Original-To: ${address}`],
    [`To: "Desk, the" <${address}>, b@c.example`],
    [`To: b@c.example,\r\n\t${address}`],
    [`Cc: Team: a@b.example, ${address};`],
    [`Bcc: <${address.toUpperCase()}>`],
    [`Received: from a by b with SMTP id 1 for <${address}>; Mon, 2 Mar 2026`],
    [`Received: from a by b with SMTP id 1\r\n for ${address}; Mon, 2 Mar 2026`],
    [`TO:${address}`],
  ])('are found in %j', (header) => {
    expect(replyTokens(readHeaders(raw(header, '', 'body')), 'reply.example.net')).toEqual([token])
  })

  test.each([
    [`Subject: ${address}`],
    [`To: "${address}" <b@c.example>`],
    [`To: reply-${token}0@reply.example.net`],
    [`To: reply-${token}@reply.example.net.evil.example`],
    [`To: xreply-${token}@reply.example.net`],
    ['X: 1\r\n\r\nTo: reply-0123456789abcdef@reply.example.net'],
  ])('are ignored in %j', (header) => {
    expect(replyTokens(readHeaders(raw(header, '', 'body')), 'reply.example.net')).toEqual([])
  })

  test('are listed once', () => {
    const headers = readHeaders(raw(`To: ${address}, a@b.example`, `Cc: ${address.toUpperCase()}, A@b.example`, '', ''))
    expect(replyTokens(headers, 'reply.example.net')).toEqual([token])
  })
})

test.each([
  ['groups in groups', `Cc: ${'a:'.repeat(65_000)}`],
  ['quotes', `Cc: ${'"'.repeat(129_999)}`],
  ['escapes in a quote', `Cc: "${'\\\\'.repeat(64_000)}`],
  ['escaped quotes', `Cc: ${'"\\'.repeat(65_000)}`],
  ['addresses without a domain', `Cc: ${'a'.repeat(130_000)}`],
  ['half addresses', `Cc: ${'a@'.repeat(65_000)}`],
  ['recipients of a relay', `Received: ${' for a'.repeat(21_000)}`],
])('a hostile header is searched in no time: %s', (_, header) => {
  const usedMs = cpuTime()
  for (let round = 0; round < 10; round++) expect(replyTokens(readHeaders(raw(header, '', 'body')), 'reply.example.net')).toEqual([])
  // A quadratic search of this length takes minutes, a linear one some milliseconds.
  expect(usedMs()).toBeLessThan(2_000)
})

test.each([
  ['short lines', '', 'a\r\n'],
  ['flowed lines of changing depth', 'Content-Type: text/plain; format=flowed\r\n', '> a \r\nb \r\n'],
  ['empty lines', '', '\r\n'],
  ['lines like boundaries', 'Content-Type: multipart/mixed; boundary=x\r\n', '--a\r\n'],
  ['base64 that pads every letter', 'Content-Transfer-Encoding: base64\r\n', 'Q=\r\n'],
  [
    'parts behind a wrong boundary',
    'Content-Type: multipart/mixed; boundary=x\r\n',
    `--a\r\nContent-Type: text/plain\r\n\r\n${'b\r\n'.repeat(2_000)}`,
  ],
])('a body of 5 MB of %s is read in no time', async (_, header, lines) => {
  const usedMs = cpuTime()
  await parseMail(Buffer.concat([Buffer.from(`From: a@b.example\r\n${header}\r\n`), Buffer.alloc(5_000_000, lines)]))
  // Takes 0.1 to 3 s where this was written; with two objects for each line it took 20 to 40 s.
  expect(usedMs()).toBeLessThan(12_000)
})

test.each([
  ['line ends of every kind', '7bit', 'a\r\nb\nc\rd\r\r\ne\r\n\r\n\nf\r'],
  ['no line end at its end', '8bit', 'a\r\nb'],
  ['soft line breaks', 'quoted-printable', 'a=\r\nb=C3=A9=\nc\r\n--d\r\n'],
  ['base64 that pads every line', 'base64', 'QQ==\r\nQkM=\r\nREVG\r\n'],
  ['base64 of another alphabet, and a footer', 'base64', 'QU_J-DQUJD\r\n\r\n-- \r\nA footer=\r\nof words!'],
  ['base64 that was cut', 'base64', 'QUJDR'],
])('an attachment with %s has the bytes that postal-mime reads', async (_, encoding, body) => {
  const part = ['--x', 'Content-Type: application/pdf', `Content-Transfer-Encoding: ${encoding}`, '', `${body}\r\n--x`]
  const message = raw('Content-Type: multipart/mixed; boundary=x', '', ...part, '', 'A text.', '--x--')
  const [expected, { attachments }] = [await PostalMime.parse(message), await parseMail(message)]
  expect(attachments.map(({ content }) => Buffer.from(content).toString('latin1'))).toEqual(
    expected.attachments.map(({ content }) => Buffer.from(content as ArrayBuffer).toString('latin1')),
  )
})

test('lines of a body that begin like boundaries are part of it', async () => {
  const { text } = await parseMail(
    raw('Content-Type: multipart/mixed; boundary=x', '', '--x', '', '--', '--y', 'a', '--xy', '', '--x--', 'b'),
  )
  expect(text).toBe('--\n--y\na\n--xy\n\n')
})

describe('a malformed message', () => {
  test.each<[string, Buffer]>([
    ['nothing', Buffer.alloc(0)],
    ['no header', raw('', 'text')],
    ['only a header', raw('From: a@b.example')],
    ['NUL', raw('From: a\0b@c.example', 'Subject: a\0b', '', 'te\0xt')],
    ['random bytes', Buffer.from(Array.from({ length: 5000 }, (_, i) => (i * 7919) % 256))],
    ['an unclosed part', raw('Content-Type: multipart/mixed; boundary=x', '', '--x', 'Content-Type: text/plain', '', 'a')],
    ['an unknown charset', raw('Content-Type: text/plain; charset=nonsense', '', 'a')],
    ['broken base64', raw('Content-Type: text/plain', 'Content-Transfer-Encoding: base64', '', '!!!!')],
  ])('(%s) gives a result without NUL', async (_, bytes) => {
    const result = await parseMail(bytes)
    const { attachments: __, ...told } = result
    expect(JSON.stringify(told)).not.toContain('\\u0000')
    expect(result.key).not.toBe('')
  })

  test('of any bytes never throws', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.uint8Array({ maxLength: 300 }),
        fc.constantFrom('', 'From: a\r\n', 'Content-Type: text/html\r\n\r\n'),
        async (bytes, head) => {
          await parseMail(Buffer.concat([Buffer.from(head), bytes]))
        },
      ),
      { numRuns: 200 },
    )
  })

  test('has its Message-ID only if it is valid', () => {
    expect(messageIdOf('<a@b.example>')).toBe('<a@b.example>')
    expect(messageIdOf('a@b.example')).toBeNull()
    expect(messageIdOf('<a b>')).toBeNull()
    expect(messageIdOf('<a\r\nBcc: x>')).toBeNull()
    expect(messageIdOf(`<${'a'.repeat(300)}>`)).toBeNull()
  })
})

describe('the parser process', () => {
  const parser = openParser()
  afterAll(() => parser.close())

  test('gives the same result, attachments included', async () => {
    const result = await parser.parse(fixture('nested-multipart'))
    expect(result.attachments.map(({ content }) => content.byteLength)).toEqual([70, 9, 8])
    expect(result.visibleText).toBe('See the plan.')
  })

  test('answers many concurrent requests', async () => {
    const results = await Promise.all(['gmail-reply', 'apple-reply', 'dsn-postfix'].map((name) => parser.parse(fixture(name))))
    expect(results.map(({ subject }) => subject)).toEqual(['Re: Our offer', 'Re: Meeting', 'Undelivered Mail Returned to Sender'])
  })

  test('reports an unreadable message, and reads the next', async () => {
    const deep = Array.from({ length: 200 }, (_, i) => `Content-Type: multipart/mixed; boundary=b${i}\r\n\r\n--b${i}\r\n`).join('')
    await expect(parser.parse(Buffer.from(deep))).rejects.toThrow(UnreadableMail)
    expect((await parser.parse(fixture('apple-reply'))).subject).toBe('Re: Meeting')
  })

  test('is terminated when a message takes too long, and restarted', async () => {
    const hasty = openParser({ timeoutMs: 1 })
    await expect(hasty.parse(Buffer.alloc(5_000_000, 'a\r\n'))).rejects.toThrow('took longer than')
    await expect(hasty.parse(Buffer.alloc(5_000_000, 'a\r\n'))).rejects.toThrow(UnreadableMail)
    await hasty.close()
  })

  test('ends after a large message and when it is idle, to give its memory back', async () => {
    const children: ChildProcess[] = []
    const note = (message: unknown) => children.push((message as { process: ChildProcess }).process)
    subscribe('child_process', note)
    const thrifty = openParser({ idleMs: 50 })
    await thrifty.parse(Buffer.alloc(2_000_000, 'a\r\n'))
    await expect.poll(() => children[0]?.signalCode).toBe('SIGKILL')
    await thrifty.parse(fixture('apple-reply'))
    await thrifty.parse(fixture('apple-reply'))
    await expect.poll(() => children[1]?.signalCode).toBe('SIGKILL')
    expect(children).toHaveLength(2)
    unsubscribe('child_process', note)
    await thrifty.close()
  })

  test('keeps its compiled code for the next one, where the service keeps its own', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'gridpost-compiled-'))
    vi.stubEnv('NODE_COMPILE_CACHE', folder)
    const other = openParser()
    await other.parse(fixture('apple-reply'))
    await expect.poll(() => readdirSync(folder, { recursive: true }).length).toBeGreaterThan(10)
    await other.close()
    vi.unstubAllEnvs()
    rmSync(folder, { recursive: true })
  })

  test('is not the fault of a message when it is ended from outside, and does not know the secrets of the service', async () => {
    const children: ChildProcess[] = []
    const note = (message: unknown) => children.push((message as { process: ChildProcess }).process)
    subscribe('child_process', note)
    const ended = openParser()
    const reading = ended.parse(Buffer.alloc(2_000_000, 'a\r\n'))
    // Before its code has run, it cannot ignore the signal.
    await expect.poll(() => children.length).toBe(1)
    children[0]?.kill('SIGTERM')
    await expect(reading).rejects.toThrow('The process got SIGTERM')
    await expect(reading).rejects.not.toBeInstanceOf(UnreadableMail)
    expect((await ended.parse(fixture('apple-reply'))).subject).toBe('Re: Meeting')
    const environment = readFileSync(`/proc/${children[1]?.pid}/environ`, 'utf8')
    expect(environment.split('\0').filter((entry) => entry && !/^(TZ|NODE_COMPILE_CACHE|NODE_CHANNEL_\w+)=/.test(entry))).toEqual([])
    // A supervisor signals all processes of the service. A message that is being read is still read.
    children[1]?.kill('SIGTERM')
    expect((await ended.parse(fixture('gmail-reply'))).subject).toBe('Re: Our offer')
    expect(children).toHaveLength(2)
    unsubscribe('child_process', note)
    await ended.close()
  })

  test('reads 25 MB', async () => {
    const big = raw(
      'To: a@b.example',
      'Content-Type: multipart/mixed; boundary=x',
      '',
      '--x',
      'Content-Type: application/pdf',
      'Content-Transfer-Encoding: base64',
      '',
      Buffer.alloc(25_000_000, 'QUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVphYmNkZWZnaGlqa2xtbm9wcXJzdHV2d3h5\r\n').toString(),
      '--x--',
    )
    expect((await parser.parse(big)).attachments[0]?.content.byteLength).toBeGreaterThan(17_000_000)
  })
})
