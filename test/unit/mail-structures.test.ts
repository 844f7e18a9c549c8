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

test.each<[string, string, string, string]>([
  [
    'of an unknown kind of text in a multipart',
    'Content-Type: multipart/mixed; boundary=x',
    '--x\r\nContent-Type: text/markdown\r\n\r\nWe *take* it.\r\n--x--',
    'We *take* it.',
  ],
  [
    'of the known form of unknown ones',
    'Content-Type: multipart/alternative; boundary=x',
    '--x\r\nContent-Type: text/x-amp-html\r\n\r\n<amp>\r\n--x\r\nContent-Type: text/x-web-markdown\r\n\r\nWe take it.\r\n--x--',
    'We take it.',
  ],
  [
    'in enriched text with commands',
    'Content-Type: multipart/mixed; boundary=x',
    '--x\r\nContent-Type: text/enriched\r\n\r\n<bold>We</bold> take\r\nit <<3.\r\n\r\nAnn\r\n--x--',
    'We take it <3.\nAnn',
  ],
  [
    'in RTF',
    'Content-Type: multipart/mixed; boundary=x',
    "--x\r\nContent-Type: text/rtf\r\n\r\n{\\rtf1\\ansi We take it f\\'fcr 5.\\par Ann}\r\n--x--",
    'We take it für 5.\nAnn',
  ],
  [
    'in HTML beside a text of zero-width letters',
    'Content-Type: multipart/alternative; boundary=x',
    '--x\r\nContent-Type: text/plain; charset=utf-8\r\n\r\n\u200b\ufeff \u00a0\u2800\r\n--x\r\nContent-Type: text/html\r\n\r\n<p>We take it.</p>\r\n--x--',
    'We take it.',
  ],
  [
    'in HTML beside an empty text, above a footer',
    'Content-Type: multipart/mixed; boundary=o',
    [
      '--o\r\nContent-Type: multipart/alternative; boundary=x\r\n\r\n--x\r\nContent-Type: text/plain\r\n\r\n \r\n',
      '--x\r\nContent-Type: text/html\r\n\r\n<p>We take it.</p>\r\n--x--\r\n--o\r\nContent-Type: text/plain\r\n\r\nA footer.\r\n--o--',
    ].join(''),
    'We take it.\n\nA footer.',
  ],
  ['below an empty line with blanks', 'Content-Type: text/plain\r\n \t', 'We take it.', 'We take it.'],
  ['below a header without an empty line', 'Content-Type: text/plain\r\nWe take it.', 'Ann', 'We take it.\n\nAnn'],
  ['of a text that is marked as a file', 'Content-Type: text/plain\r\nContent-Disposition: attachment', 'We take it.', 'We take it.'],
  [
    'of a text in a multipart that is marked as a file',
    'Content-Type: multipart/mixed; boundary=x',
    '--x\r\nContent-Type: text/plain\r\nContent-Disposition: attachment\r\n\r\nWe take it.\r\n--x--',
    'We take it.',
  ],
  [
    'in HTML whose style sheet has no end',
    'Content-Type: text/html',
    '<html><style>p { color: red }<body><p>We take it.</p>',
    'p { color: red }\n\nWe take it.',
  ],
])('the words of a message %s are the text', async (_, fields, body, expected) => {
  const mail = await parseMail(message(fields, body))
  expect(mail.visibleText).toBe(expected)
  expect(mail.attachments.filter(({ type }) => type !== 'text/x-amp-html')).toEqual([])
})

test('a header goes on below a line of blanks or of a mailbox file if fields follow', async () => {
  const folded =
    'From x@y Mon Mar 2\r\nFrom: Ann <ann@customer.example>\r\nSubject: one\r\n \r\nX-Other: 1\r\nContent-Type: text/html\r\n\r\n<p>a</p>'
  expect(await parseMail(Buffer.from(folded))).toMatchObject({ subject: 'one', visibleText: 'a', from: { name: 'Ann' } })
})

test('the words of a text file are shown if there are no others, and it stays a file', async () => {
  const file = 'Content-Type: text/plain; name=notes.txt\r\nContent-Disposition: attachment; filename=notes.txt\r\n\r\nWe take it.\r\n'
  const alone = await parseMail(
    message('Content-Type: multipart/mixed; boundary=x', `--x\r\nContent-Type: text/plain\r\n\r\n\r\n--x\r\n${file}--x--`),
  )
  expect([alone.visibleText, alone.attachments.map(({ name }) => name)]).toEqual(['We take it.', ['notes.txt']])
  const beside = await parseMail(message('Content-Type: multipart/mixed; boundary=x', `--x\r\n\r\nSee my notes.\r\n--x\r\n${file}--x--`))
  expect([beside.visibleText, beside.attachments.map(({ name }) => name)]).toEqual(['See my notes.', ['notes.txt']])
})

test('a file of a Mac in two forks is listed once', async () => {
  const part = (type: string, name: string, body: string) => `--d\r\nContent-Type: ${type}; name="${name}"\r\n\r\n${body}\r\n`
  const forks = `${part('application/applefile', 'plan.pdf', 'fork')}${part('application/pdf', 'plan.pdf', '%PDF')}--d--`
  const names = async (type: string, body = forks) =>
    (await parseMail(message(`Content-Type: ${type}; boundary=d`, body))).attachments.map((file) => [
      file.name,
      Buffer.from(file.content).toString().trim(),
    ])
  expect(await names('multipart/appledouble')).toEqual([['plan.pdf', '%PDF']])
  expect(await names('multipart/mixed')).toEqual([['plan.pdf', '%PDF']])
  expect(await names('multipart/appledouble', `${part('application/applefile', 'plan.pdf', 'single')}--d--`)).toEqual([
    ['plan.pdf', 'single'],
  ])
})

test.each<[string, string, string, string]>([
  ['a comma in its name', 'From: Lee, Ann <ann@x.example>', 'Lee, Ann', 'ann@x.example'],
  ['two commas in its name', 'From: Lee, Ann, Dr. <ann@x.example>', 'Lee, Ann, Dr.', 'ann@x.example'],
  ['a title behind a comma', 'From: Ann Lee, PhD <ann@x.example>', 'Ann Lee, PhD', 'ann@x.example'],
  ['an address within a quoted name', 'From: "Ann Lee <ann@x.example>"', 'Ann Lee', 'ann@x.example'],
  ['a quote that is not closed', 'From: "Ann Lee <ann@x.example>', 'Ann Lee', 'ann@x.example'],
  ['another name in brackets', 'From: Ann <Sales> <ann@x.example>', 'Ann <Sales', 'ann@x.example'],
  ['brackets twice', 'From: Ann Lee <<ann@x.example>>', 'Ann Lee', 'ann@x.example'],
  ['the brackets of Outlook', 'From: Ann Lee [mailto:ann@x.example]', 'Ann Lee', 'ann@x.example'],
  ['an address in quotes', "From: 'ann@x.example'", '', 'ann@x.example'],
  ['an apostrophe in its address', "From: o'neil@x.example", '', "o'neil@x.example"],
  ['a blank in its quoted address', 'From: Ann <"ann lee"@x.example>', 'Ann', '"ann lee"@x.example'],
  ['a route', 'From: Ann <@relay.example:ann@x.example>', 'Ann', 'ann@x.example'],
  ['the scheme of Exchange', 'From: Ann <smtp:ann@x.example>', 'Ann', 'ann@x.example'],
  ['a semicolon in its name', 'From: Ann; Sales <ann@x.example>', 'Ann; Sales', 'ann@x.example'],
  ['an encoded name before a comma', 'From: =?utf-8?Q?Cli=C3=ABnt?=, Mia <ann@x.example>', 'Cliënt, Mia', 'ann@x.example'],
  ['quotes before a comma', 'From: "Lee \\"A\\"", Ann <ann@x.example>', 'Lee "A", Ann', 'ann@x.example'],
  ['a comma before an address without brackets', 'From: Lee, Ann ann@x.example', 'Lee, Ann', 'ann@x.example'],
  ['a comma, and another sender', 'From: Lee, Ann <ann@x.example>, Bob <bob@x.example>', 'Lee, Ann', 'ann@x.example'],
  ['two senders', 'From: ann@x.example, Bob <bob@x.example>', '', 'ann@x.example'],
  ['a group', 'From: Desk: Ann Lee <ann@x.example>;', 'Ann Lee', 'ann@x.example'],
  ['a link to write to it', 'From: Ann Lee <mailto:ann@x.example>', 'Ann Lee', 'ann@x.example'],
  ['a link with a subject', 'From: <MAILTO:ann@x.example?subject=Hi>', '', 'ann@x.example'],
  ['the same link behind the address', 'From: Ann Lee <ann@x.example<mailto:ann@x.example>>', 'Ann Lee', 'ann@x.example'],
  ['only a name, and Reply-To', 'From: Ann Lee\r\nReply-To: Desk <desk@x.example>', 'Ann Lee', 'desk@x.example'],
  ['an empty address, and Sender', 'From: Ann Lee <>\r\nSender: desk@x.example', 'Ann Lee', 'desk@x.example'],
  ['no From, and Sender', 'Sender: Desk <desk@x.example>', 'Desk', 'desk@x.example'],
  ['no From, and Return-Path', 'Return-Path: <desk@x.example>', '', 'desk@x.example'],
  ['a name and nothing else', 'From: Ann Lee\r\nReturn-Path: <>', 'Ann Lee', ''],
  ['the name of a user of the same machine', 'From: Ann Lee <ann>', 'Ann Lee', 'ann'],
])('a sender with %s is known', async (_, fields, name, email) => {
  expect((await parseMail(Buffer.from(`${fields}\r\n\r\nHello`))).from).toEqual({ name, email })
})
