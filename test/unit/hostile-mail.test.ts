/** Mails that were made to take long, or memory: what is read of them grows no faster than they do. */
import { describe, expect, test } from 'vitest'
import { resolveInHtml } from '../../src/email/composing/field-tokens.ts'
import { contentOfCms } from '../../src/email/enclosures/cms.ts'
import { parseMail } from '../../src/email/inbound/mime.ts'
import { visibleText } from '../../src/email/quoting/visible-text.ts'
import { cpuTime } from '../support/cpu-time.ts'

const MOST_MS = 4_000

const message = (...lines: string[]) => Buffer.from(lines.join('\n'))
const notice = (...lines: string[]) => message('From: MAILER-DAEMON@mx.example', 'Subject: Undelivered', ...lines)
const parts = (subtype: string, bodies: string[]) =>
  message(`Content-Type: multipart/${subtype}; boundary=b`, '', bodies.map((body) => `--b\n${body}`).join('\n'), '--b--')
const repeated = (body: string, count: number) => Array.from({ length: count }, () => body)
const addresses = Array.from({ length: 200 }, (_, index) => `a${index}@b.example`).join(' ')

test.each<[what: string, raw: Buffer]>([
  ['hundreds of thousands of header fields', message('a:\n'.repeat(300_000), 'x')],
  [
    'a recipient of a report without an address',
    notice(
      'Content-Type: multipart/report; boundary=b',
      '',
      '--b\nContent-Type: message/delivery-status\n',
      `Final-Recipient: rfc822;${'a'.repeat(130_000)}\nAction: failed`,
      '--b--',
    ),
  ],
  ['blanks behind the code of a notice', notice('', `${addresses}: 550${' '.repeat(28_000)}x`)],
  ['tens of thousands of texts', parts('mixed', repeated('\na', 40_000))],
  [
    'blank forms beside HTML without words',
    parts('alternative', [...repeated('\n ', 20_000), `Content-Type: text/html\n\n${'<p></p>'.repeat(20_000)}`]),
  ],
  [
    'resource forks',
    parts('mixed', [...repeated('Content-Type: application/applefile\n\n', 13_000), ...repeated('Content-Type: a/b\n\n', 20_000)]),
  ],
  ['blanks in RTF', message('Content-Type: text/rtf', '', `{\\rtf1 a${' '.repeat(1_000_000)}b}`)],
  ['another set at each letter', message('Content-Type: text/plain; charset=iso-2022-jp', '', '\u001b$B$"\u001b(Ba'.repeat(500_000))],
  ['a sender of blanks and brackets', message(`From: ${'a '.repeat(200_000)}${"'<".repeat(100_000)} <ann@x.example>`, '', 'x')],
])('%s are read in a time that grows with the message', async (_, raw) => {
  const usedMs = cpuTime()
  await parseMail(raw)
  expect(usedMs()).toBeLessThan(MOST_MS)
})

describe('the visible text', () => {
  test('of tens of thousands of lines is all of them', () => {
    expect(visibleText('a\n'.repeat(150_000)).length).toBe(299_999)
  })

  test('above a heading of many signs is read in a time that grows with the text', () => {
    const usedMs = cpuTime()
    expect(visibleText(`Yes\n> Monday, 2 March 2026, 10:12 +03:00 from Ann <${'@'.repeat(190_000)}`)).toBe('Yes')
    expect(usedMs()).toBeLessThan(MOST_MS)
  })

  test('below the name of a mailing list is searched in a time that grows with the text', () => {
    const usedMs = cpuTime()
    const footer = `__\nThe offers mailing list\n${'@'.repeat(190_000)} x`
    expect(visibleText(`Yes\n${footer}`)).toBe(`Yes\n${footer}`)
    expect(usedMs()).toBeLessThan(MOST_MS)
  })
})

test.each(['https://', 'mailto:'])('ninety thousand tokens in a link that begins with %s are resolved in no time', (beginning) => {
  const usedMs = cpuTime()
  const { text } = resolveInHtml(`<a href="${beginning}${'{{field:a}}'.repeat(90_000)}">x</a>`, () => '1')
  expect(text).toHaveLength(`<a href="${beginning}">x</a>`.length + 90_000)
  expect(usedMs()).toBeLessThan(MOST_MS)
})

test('the content of S/MIME in a million pieces takes no more memory than a few of them', () => {
  const element = (tag: number, ...content: Buffer[]) => {
    const bytes = Buffer.concat(content)
    const length = Buffer.alloc(4)
    length.writeUInt32BE(bytes.byteLength)
    return Buffer.concat([Buffer.of(tag, 0x84), length, bytes])
  }
  const pieces = element(0x24, Buffer.from('040141'.repeat(1_000_000), 'hex'))
  const data = element(0x30, Buffer.from('06092a864886f70d010701', 'hex'), element(0xa0, pieces))
  const signed = element(0x30, Buffer.from('020101', 'hex'), element(0x31), data)
  const cms = element(0x30, Buffer.from('06092a864886f70d010702', 'hex'), element(0xa0, signed))
  expect(contentOfCms(cms)?.toString()).toBe('A'.repeat(1_000_000))
})
