import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { expect, test } from 'vitest'
import { type OutgoingMessage, writeMessage } from '../../src/email/composing/mime.ts'

const message = (more: Partial<OutgoingMessage>): OutgoingMessage => ({
  from: { name: 'Desk', email: 'desk@example.com' },
  to: [{ name: '', email: 'ann@customer.example' }],
  cc: [],
  replyTo: 'reply-0123456789abcdef@reply.example',
  subject: 'Our offer',
  html: '<p>Hello</p>',
  text: 'Hello',
  messageId: '<1@example.com>',
  inReplyTo: null,
  references: [],
  date: new Date('2026-03-02T10:12:00Z'),
  attachments: [],
  ...more,
})
const file = { name: 'a.txt', type: 'text/plain', open: async () => Readable.from([Buffer.from('a')]) }

/** The fields above that of the content type, which differs. */
async function header(written: Buffer | Readable): Promise<string> {
  const text = String(Buffer.isBuffer(written) ? written : await buffer(written))
  const [, fields = ''] = /^(.*?\r\n)Content-Type: /s.exec(text) ?? []
  return fields
}

const mailboxes = (count: number) =>
  Array.from({ length: count }, (_, index) => ({ name: `Person ${index}`, email: `p${index}@customer.example` }))
const ids = (count: number) => Array.from({ length: count }, (_, index) => `<${index}.0123456789abcdef@example.com>`)

test.each<[string, Partial<OutgoingMessage>]>([
  ['plain names', {}],
  ['a name outside of ASCII', { from: { name: 'Désk 🙂', email: 'desk@example.com' } }],
  ['a name with quotes and a backslash', { from: { name: '"D\\esk"', email: 'desk@example.com' } }],
  ['a name with a comma', { to: [{ name: 'Lee, Ann', email: 'ann@customer.example' }] }],
  ['a long name', { to: [{ name: 'x'.repeat(120), email: 'ann@customer.example' }] }],
  ['a line break in a name', { to: [{ name: 'Ann\r\nBcc: x@evil.example', email: 'ann@customer.example' }] }],
  ['an encoded word as a name', { to: [{ name: '=?utf-8?Q?x?=', email: 'ann@customer.example' }] }],
  ['letters outside of ASCII in a domain', { to: [{ name: '', email: 'ann@bücher.example' }] }],
  ['letters outside of ASCII before the @', { to: [{ name: '', email: 'jürgen@customer.example' }] }],
  ['many recipients', { to: mailboxes(20), cc: mailboxes(15) }],
  ['nobody to show', { to: [] }],
  ['a thread', { inReplyTo: '<0@example.com>', references: ids(20) }],
  ['no subject', { subject: '' }],
  ['a blank subject', { subject: ' ' }],
  ['a subject of just one line', { subject: `${'x '.repeat(33)}y` }],
  ['a subject of a letter more', { subject: `${'x '.repeat(33)}yz` }],
  ['a long subject', { subject: 'an offer for you '.repeat(30) }],
  ['a subject outside of ASCII', { subject: 'Größe und Маße '.repeat(10) }],
  ['a subject of one long word', { subject: 'x'.repeat(2_000) }],
  ['a tab in the subject', { subject: 'a\tb' }],
])('a mail with %s has the header that nodemailer writes', async (_, more) => {
  const short = await header(writeMessage(message(more), () => true))
  expect(short).toBe(await header(writeMessage(message({ ...more, attachments: [file] }), () => true)))
  expect(short).toMatch(/^From: /)
  expect(short.replaceAll('\r\n', '')).not.toMatch(/[\r\n]/)
})
