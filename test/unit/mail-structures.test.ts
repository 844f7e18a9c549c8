/** Messages whose header says something else than their body: the words of the sender must be found all the same. */
import { expect, test } from 'vitest'
import { parseMail } from '../../src/email/inbound/mime.ts'

const HEADER = 'From: Ann <ann@customer.example>\r\nSubject: Re: Our offer\r\n'
const latin1 = (text: string) => Buffer.from(text, 'latin1')
const message = (fields: string, body: Buffer | string) => Buffer.concat([Buffer.from(`${HEADER}${fields}\r\n\r\n`), Buffer.from(body)])
const base64 = (body: Buffer) => body.toString('base64')
const UTF_16 = 'Content-Type: text/plain; charset=utf-16\r\nContent-Transfer-Encoding: base64'

test.each<[string, string, Buffer | string, string]>([
  ['ASCII, although it is UTF-8', 'Content-Type: text/plain; charset=us-ascii', 'Schöne Grüße', 'Schöne Grüße'],
  ['a set that the gateway did not know', 'Content-Type: text/plain; charset=unknown-8bit', 'Schöne Grüße', 'Schöne Grüße'],
  ['the same, in the Windows code page', 'Content-Type: text/plain; charset=unknown-8bit', latin1('Schöne Grüße'), 'Schöne Grüße'],
  ['Latin-1, although it is UTF-8', 'Content-Type: text/plain; charset=iso-8859-1', 'Schöne Grüße', 'Schöne Grüße'],
  ['UTF-8, although it is the Windows code page', 'Content-Type: text/plain; charset=utf-8', latin1('Schöne Grüße'), 'Schöne Grüße'],
  [
    'UTF-8, of which a character is cut',
    'Content-Type: text/plain; charset=utf-8',
    Buffer.concat([Buffer.from('Schöne Grüße '), latin1('\xc3')]),
    'Schöne Grüße',
  ],
  ['UTF-8 in single quotes', "Content-Type: text/plain; charset='utf-8'", 'Schöne Grüße', 'Schöne Grüße'],
  ['UTF-16 with the mark of big-endian', UTF_16, base64(Buffer.from('\ufeffGrüße', 'utf16le').swap16()), 'Grüße'],
  ['UTF-16 without a mark', UTF_16, base64(Buffer.from('Grüße', 'utf16le')), 'Grüße'],
  ['KOI8-R', 'Content-Type: text/plain; charset=koi8-r', Buffer.from([0xe4, 0xc1]), 'Да'],
  [
    'none, and the HTML says KOI8-R',
    'Content-Type: text/html',
    Buffer.concat([latin1('<meta http-equiv="Content-Type" content="text/html; charset=koi8-r"><p>'), Buffer.from([0xe4, 0xc1])]),
    'Да',
  ],
])('a text whose character set is %s is readable', async (_, fields, body, expected) => {
  expect((await parseMail(message(fields, body))).visibleText).toBe(expected)
})

test.each<[string, string, string, string]>([
  ['whose type is no type', 'Content-Type: text; charset=utf-8', 'Wir nehmen es für März.', 'Wir nehmen es für März.'],
  ['whose type has a space', 'Content-Type: plain text', 'We take it.', 'We take it.'],
  ['whose type is empty', 'Content-Type:', 'We take it.', 'We take it.'],
  ['in Markdown', 'Content-Type: text/markdown', 'We **take** it.', 'We **take** it.'],
  ['in enriched text', 'Content-Type: text/enriched', 'We take it.', 'We take it.'],
  [
    'that is not in base64, whatever its header says',
    'Content-Type: text/plain\r\nContent-Transfer-Encoding: base64',
    'Thanks, we take the offer as it is.\r\n\r\nAnn',
    'Thanks, we take the offer as it is.\n\nAnn',
  ],
  [
    'in base64 with characters that do not belong there',
    'Content-Type: text/plain\r\nContent-Transfer-Encoding: base64',
    `!${base64(Buffer.from('We take it, but not before March.')).replace(/(.{7})/g, '$1 ')}`,
    'We take it, but not before March.',
  ],
  [
    'in a part without an empty line',
    'Content-Type: multipart/mixed; boundary=x',
    '--x\r\nContent-Type: text/plain\r\nWe take it, says Ann.\r\n--x--\r\n',
    'We take it, says Ann.',
  ],
])('the words of a body %s are the text', async (_, fields, body, expected) => {
  const mail = await parseMail(message(fields, body))
  expect(mail.visibleText).toBe(expected)
  expect(mail.attachments).toEqual([])
})

test('a file with words in its encoding, a calendar and a multipart without words stay what they are', async () => {
  const file = 'Content-Type: application/x-notes\r\nContent-Transfer-Encoding: base64'
  expect((await parseMail(message(file, 'not base64, really'))).attachments).toHaveLength(1)
  expect((await parseMail(message('Content-Type: text/calendar; method=REPLY', 'BEGIN:VCALENDAR'))).attachments).toHaveLength(1)
  const empty = '--x\r\nContent-Type: text/plain\r\n\r\n--x--\r\n'
  expect((await parseMail(message('Content-Type: multipart/mixed; boundary=x', empty))).visibleText).toBe('')
})
