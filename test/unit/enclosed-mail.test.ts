/** Messages in a form of their own within a mail: opaque S/MIME, winmail.dat, calendars, and messages as files. */
import { gzipSync } from 'node:zlib'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { parseMail } from '../../src/email/inbound/mime.ts'
import {
  BINARY,
  ber,
  compressedRtf,
  der,
  mapiProperties,
  NUMBER,
  OBJECT,
  STRING_8,
  signedCms,
  type TnefFile,
  UNICODE,
  winmail,
} from '../support/enclosed-mail.ts'

const HEADER = 'From: Ann <ann@customer.example>\r\nSubject: Accepted: Kick-off\r\nDate: Tue, 03 Mar 2026 10:12:13 +0100\r\n'
const mail = (fields: string, body: string | Buffer = '') =>
  parseMail(Buffer.concat([Buffer.from(`${HEADER}${fields}\r\n\r\n`), Buffer.from(body)]))
const encoded = (fields: string, bytes: Buffer) =>
  mail(`${fields}\r\nContent-Transfer-Encoding: base64`, bytes.toString('base64').replace(/.{76}/g, '$&\r\n'))
const names = ({ attachments }: Awaited<ReturnType<typeof mail>>) => attachments.map(({ name, type }) => [name, type])

describe('the message in opaque S/MIME is read', () => {
  const SMIME = 'Content-Type: application/pkcs7-mime; smime-type=signed-data; name=smime.p7m'
  const plain = Buffer.from('Content-Type: text/plain; charset=cp949\r\n\r\nWe take it.\r\n')
  const parts = Buffer.from(
    [
      'Content-Type: multipart/mixed; boundary=i\r\n\r\n--i\r\nContent-Type: text/html\r\n\r\n<p>We take it.</p>\r\n',
      '--i\r\nContent-Type: application/pdf; name=plan.pdf\r\n\r\n%PDF\r\n--i--\r\n',
    ].join(''),
  )

  test.each<[string, string, Buffer]>([
    ['in DER', SMIME, signedCms(plain)],
    ['in BER, as programs write it that stream', SMIME, signedCms(plain, { isStreamed: true })],
    ['of the older type', 'Content-Type: application/x-pkcs7-mime', signedCms(plain)],
    ['of no type but its name', 'Content-Type: application/octet-stream; name="smime.p7m"', signedCms(plain)],
    [
      'in another signed message',
      SMIME,
      signedCms(
        Buffer.concat([
          Buffer.from(`${SMIME}\r\nContent-Transfer-Encoding: base64\r\n\r\n`),
          Buffer.from(signedCms(plain).toString('base64')),
        ]),
      ),
    ],
  ])('%s', async (_, fields, cms) => {
    const read = await encoded(fields, cms)
    expect([read.visibleText, read.attachments]).toEqual(['We take it.', []])
  })

  test('with its files', async () => {
    const read = await encoded(SMIME, signedCms(parts, { isStreamed: true }))
    expect([read.visibleText, names(read)]).toEqual(['We take it.', [['plan.pdf', 'application/pdf']]])
  })

  test('as one part of several', async () => {
    const cms = signedCms(plain).toString('base64')
    const read = await mail(
      'Content-Type: multipart/mixed; boundary=o',
      `--o\r\n${SMIME}\r\nContent-Transfer-Encoding: base64\r\n\r\n${cms}\r\n--o\r\nContent-Type: text/plain\r\n\r\nA footer.\r\n--o--`,
    )
    expect(read.visibleText).toBe('We take it.\n\nA footer.')
  })

  test.each<[string, Buffer]>([
    ['encrypted', signedCms(plain, { kind: der(0x06, Buffer.from('2a864886f70d010703', 'hex')) })],
    ['cut', signedCms(plain).subarray(0, 60)],
    [
      'without a content',
      der(0x30, der(0x06, Buffer.from('2a864886f70d010702', 'hex')), der(0xa0, der(0x30, der(0x02), der(0x31), der(0x30, der(0x06))))),
    ],
    ['nested without end', Buffer.from('3080'.repeat(100_000), 'hex')],
    [
      'in pieces without end',
      Buffer.concat([signedCms(plain, { isStreamed: true }).subarray(0, 45), Buffer.from('2480'.repeat(50_000), 'hex')]),
    ],
    ['longer than it is', Buffer.from('3084ffffffff06', 'hex')],
    ['no CMS', gzipSync('x')],
  ])('unless it is %s: then it is a file', async (_, cms) => {
    const read = await encoded(SMIME, cms)
    expect([read.visibleText, names(read)]).toEqual(['', [['smime.p7m', 'application/pkcs7-mime']]])
  })
})

describe('winmail.dat', () => {
  const TNEF = 'Content-Type: application/ms-tnef; name=winmail.dat'
  const files: TnefFile[] = [
    {
      name: 'PLAN~1.PDF',
      content: Buffer.from('%PDF'),
      properties: mapiProperties([
        [0x3707, UNICODE, 'Pläne.pdf'],
        [0x370e, STRING_8, 'application/pdf'],
      ]),
    },
    {
      name: 'notes.txt',
      content: Buffer.from('old'),
      properties: mapiProperties([
        [0x9001, NUMBER, 5],
        [0x3701, BINARY, Buffer.from('new')],
      ]),
    },
  ]

  test('is replaced by its files, beside the text of the mail', async () => {
    const tnef = winmail({ properties: mapiProperties([[0x1000, UNICODE, 'The same in Outlook.']]), files }).toString('base64')
    const read = await mail(
      'Content-Type: multipart/mixed; boundary=o',
      `--o\r\nContent-Type: text/plain\r\n\r\nWe take it.\r\n--o\r\n${TNEF}\r\nContent-Transfer-Encoding: base64\r\n\r\n${tnef}\r\n--o--`,
    )
    expect(read.visibleText).toBe('We take it.')
    expect(names(read)).toEqual([
      ['Pläne.pdf', 'application/pdf'],
      ['notes.txt', 'application/octet-stream'],
    ])
    expect(read.attachments.map(({ content }) => Buffer.from(content).toString())).toEqual(['%PDF', 'new'])
  })

  const RTF = String.raw`{\rtf1\ansi\ansicpg1252\deff0{\fonttbl{\f0\fswiss Arial;}{\f1\fcharset204 Arial Cyr;}}{\colortbl;\red0;}\pard Gr\'fc\'dfe,\par {\f1 \'cf\'f0\'e8}\u8364?\tab x\line{\*\gen y}\{end\}}`
  const IN_HTML = String.raw`{\rtf1\ansi\fromhtml1{\*\htmltag64 <p>}\htmlrtf {\htmlrtf0 We take{\*\htmltag84 &nbsp;}\htmlrtf \'a0\htmlrtf0 it.\htmlrtf\par}\htmlrtf0{\*\htmltag72 </p>}}`
  test.each<[string, Parameters<typeof winmail>[0], string]>([
    [
      'in Unicode',
      {
        properties: mapiProperties([
          [0x9002, NUMBER, 1],
          [0x1000, UNICODE, 'Schöne Grüße'],
        ]),
      },
      'Schöne Grüße',
    ],
    ['in a code page', { properties: mapiProperties([[0x1000, STRING_8, 'Schöne Grüße']]) }, 'Schöne Grüße'],
    ['as an attribute', { text: 'Schöne Grüße' }, 'Schöne Grüße'],
    ['in HTML', { properties: mapiProperties([[0x1013, BINARY, Buffer.from('<p>We take it.</p>')]]) }, 'We take it.'],
    ['in compressed RTF', { properties: mapiProperties([[0x1009, BINARY, compressedRtf(RTF)]]) }, 'Grüße,\nПри€\tx\n{end}'],
    ['in RTF', { properties: mapiProperties([[0x1009, BINARY, compressedRtf(RTF, { isCompressed: false })]]) }, 'Grüße,\nПри€\tx\n{end}'],
    ['in HTML within RTF', { properties: mapiProperties([[0x1009, BINARY, compressedRtf(IN_HTML)]]) }, 'We take\u00a0it.'],
  ])('has the text of a mail that has no other, %s', async (_, tnef, expected) => {
    const read = await encoded(TNEF, winmail(tnef))
    expect([read.visibleText, read.attachments]).toEqual([expected, []])
  })

  test('that compresses by references is read, as in the example of MS-OXRTFCP §3.1.1', async () => {
    const compressed = '2d0000002b0000004c5a4675f1c5c7a703000a007263706731323542320af32068656c0900206277 05b06c647d0a800fa0'
    const rtf = Buffer.from(compressed.replace(' ', ''), 'hex')
    const read = await encoded(TNEF, winmail({ properties: mapiProperties([[0x1009, BINARY, rtf]]) }))
    expect(read.visibleText).toBe('hello world')
  })

  test('gives a message in it as its text and its files', async () => {
    const inner = winmail({ text: 'Inner words', files: [{ name: 'inner.pdf', content: Buffer.from('x') }] })
    const object = mapiProperties([
      [0x3001, UNICODE, 'Contract'],
      [0x3701, OBJECT, Buffer.concat([Buffer.alloc(16), inner])],
    ])
    const read = await encoded(TNEF, winmail({ text: 'Outer words', files: [{ properties: object }] }))
    expect(read.visibleText).toBe('Outer words')
    expect(names(read)).toEqual([
      ['Contract.txt', 'text/plain'],
      ['inner.pdf', 'application/octet-stream'],
    ])
  })

  test('that is cut stays, beside what could be read of it', async () => {
    const tnef = winmail({ files: [...files, { name: 'cut.bin', content: Buffer.alloc(500) }] })
    const read = await encoded(TNEF, tnef.subarray(0, -100))
    expect(names(read).map(([name]) => name)).toEqual(['winmail.dat', 'Pläne.pdf', 'notes.txt'])
  })

  test('of other bytes is a file', async () => {
    expect(names(await encoded(TNEF, Buffer.from('no tnef')))).toEqual([['winmail.dat', 'application/ms-tnef']])
  })

  test('of any bytes never throws', async () => {
    const tnef = winmail({
      properties: mapiProperties([
        [0x1000, UNICODE, 'x'],
        [0x1009, BINARY, compressedRtf(RTF)],
      ]),
      files,
    })
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.tuple(fc.nat(tnef.byteLength - 1), fc.nat(255)), { maxLength: 8 }),
        fc.nat(tnef.byteLength),
        async (changes, end) => {
          const damaged = Buffer.from(tnef)
          for (const [at, byte] of changes) if (at > 6) damaged[at] = byte
          await encoded(TNEF, damaged.subarray(0, end))
        },
      ),
      { numRuns: 300 },
    )
  })
})

describe('a calendar without words says what it is about', () => {
  const calendar = (method: string, ...lines: string[]) =>
    ['BEGIN:VCALENDAR', `METHOD:${method}`, 'BEGIN:VEVENT', ...lines, 'END:VEVENT', 'END:VCALENDAR', ''].join('\r\n')
  const attendee = (status: string) => `ATTENDEE;CN="Lee: Ann";PARTSTAT=${status}:mailto:ann@customer.example`

  test.each<[string, string, string]>([
    [
      'accepted',
      calendar('REPLY', attendee('ACCEPTED'), 'SUMMARY:Kick-off', 'DTSTART;TZID=Europe/Berlin:20260303T100000'),
      'Accepted: Kick-off, 3 March 10:00',
    ],
    [
      'declined, with words',
      calendar('REPLY', attendee('DECLINED'), 'SUMMARY:Kick-off\\, part 1', 'DTSTART;VALUE=DATE:20270303', 'COMMENT:I am away.\\nAnn'),
      'Declined: Kick-off, part 1, 3 March 2027\n\nI am away.\nAnn',
    ],
    [
      'tentative, in UTC',
      calendar('REPLY', attendee('TENTATIVE'), 'SUMMARY:Kick', ' -off', 'DTSTART:20260303T090000Z'),
      'Tentative: Kick-off, 3 March 09:00 UTC',
    ],
    ['an answer that only its subject explains', calendar('REPLY', 'SUMMARY:Kick-off'), 'Accepted: Kick-off'],
    ['an answer that nothing explains', calendar('REPLY', 'SUMMARY:Lunch'), 'Answer: Lunch'],
    [
      'an invitation',
      calendar(
        'REQUEST',
        'SUMMARY:Lunch',
        'DTSTART:20260304T120000',
        'DESCRIPTION:At the lake.',
        'BEGIN:VALARM',
        'DESCRIPTION:x',
        'END:VALARM',
      ),
      'Invitation: Lunch, 4 March 12:00\n\nAt the lake.',
    ],
    ['a cancellation', calendar('CANCEL', 'SUMMARY:Lunch'), 'Cancelled: Lunch'],
    ['another time', calendar('COUNTER', 'SUMMARY:Lunch', 'DTSTART:20260304T130000'), 'New time proposed: Lunch, 4 March 13:00'],
    ['no event', 'BEGIN:VCALENDAR\r\nEND:VCALENDAR\r\n', ''],
  ])('%s', async (_, ics, expected) => {
    const read = await mail('Content-Type: text/calendar; charset=utf-8; method=REPLY', ics)
    expect([read.visibleText, names(read)]).toEqual([expected, [['attachment-1.ics', 'text/calendar']]])
  })

  test('beside blank forms of a text, but not beside words', async () => {
    const ics = `Content-Type: text/calendar\r\n\r\n${calendar('REPLY', attendee('ACCEPTED'), 'SUMMARY:Kick-off')}`
    const forms = (text: string) =>
      mail(
        'Content-Type: multipart/alternative; boundary=a',
        `--a\r\nContent-Type: text/plain\r\n\r\n${text}\r\n--a\r\nContent-Type: text/html\r\n\r\n<p>${text}</p>\r\n--a\r\n${ics}--a--`,
      )
    expect((await forms('')).visibleText).toBe('Accepted: Kick-off')
    expect((await forms('I will be there.')).visibleText).toBe('I will be there.')
  })
})

describe('a message in the message', () => {
  const inner =
    'From: Carl <carl@else.example>\r\nSubject: =?cp1251?Q?=CF=F0?=/Contract\r\nContent-Type: text/plain\r\n\r\nIt is signed.\r\n'
  const within = (fields: string, text: string) =>
    mail(
      'Content-Type: multipart/mixed; boundary=o',
      `--o\r\nContent-Type: text/plain\r\n\r\n${text}\r\n--o\r\nContent-Type: message/rfc822${fields}\r\n\r\n${inner}\r\n--o--`,
    )

  test.each([
    ['without a disposition', ''],
    ['inline', '\r\nContent-Disposition: inline'],
    ['as a file', '\r\nContent-Disposition: attachment'],
  ])('%s is a file that is named after its subject', async (_, fields) => {
    const read = await within(fields, 'This is what Carl sent me.')
    expect([read.visibleText, names(read)]).toEqual(['This is what Carl sent me.', [['Пр-Contract.eml', 'message/rfc822']]])
    expect(Buffer.from(read.attachments[0]?.content ?? []).toString()).toContain('It is signed.')
  })

  test('in UTF-8 (message/global) is named like it', async () => {
    const parts = '--o\r\n\r\nFrom Carl.\r\n--o\r\nContent-Type: message/global\r\n\r\nSubject: Größe\r\n\r\nIt fits.\r\n--o--'
    expect(names(await mail('Content-Type: multipart/mixed; boundary=o', parts))).toEqual([['Größe.eml', 'message/global']])
  })

  test('of a sender without a name is shown with the address', async () => {
    const { visibleText } = await mail('Content-Type: message/rfc822', 'From: <carl@else.example>\r\nSubject: Size\r\n\r\nIt fits.')
    expect(visibleText).toBe('From: <carl@else.example>\nSubject: Size\n\nIt fits.')
  })

  test('is also shown if there are no other words', async () => {
    const read = await within('', '')
    expect([read.visibleText, names(read).length]).toEqual(['From: Carl <carl@else.example>\nSubject: Пр/Contract\n\nIt is signed.', 1])
  })

  test('of a multipart/digest is a file, too', async () => {
    const read = await mail('Content-Type: multipart/digest; boundary=o', `--o\r\n\r\n${inner}\r\n--o\r\n\r\n${inner}\r\n--o--`)
    expect(names(read).map(([, type]) => type)).toEqual(['message/rfc822', 'message/rfc822'])
  })

  test('within thousands of messages is read in no time', async () => {
    const start = process.cpuUsage()
    await mail('Content-Type: message/rfc822', 'Content-Type: message/rfc822\r\n\r\n'.repeat(20_000))
    expect(process.cpuUsage(start).user / 1_000).toBeLessThan(4_000)
  })
})

test('BER of our own is what programs write', () => {
  expect(ber(0x30, der(0x02, Buffer.from([1]))).toString('hex')).toBe('30800201010000')
})
