/** Inbound messages: an ordinary reply, and the hostile ones that a stranger may send. */
import { randomUUID } from 'node:crypto'

const head = (to: string, type = 'text/plain; charset=utf-8', more = '') =>
  [
    `From: "Ann Ames" <ann@customer.example>`,
    `To: <${to}>`,
    `Subject: Re: Your order`,
    `Message-ID: <${randomUUID()}@customer.example>`,
    'Date: Sun, 22 Nov 2026 10:00:00 +0000',
    'MIME-Version: 1.0',
    `Content-Type: ${type}${more}`,
    '\r\n',
  ].join('\r\n')

const WORDS = 'Thank you for the offer. We would like to order two of them, and to know when they can be here. '

/** A reply of 4 KB in text and HTML that quotes the mail which it answers. */
export function ordinary(to: string): string {
  const part = (type: string, body: string) => `--b\r\nContent-Type: ${type}; charset=utf-8\r\n\r\n${body}\r\n`
  const text = `${WORDS.repeat(8)}\r\n\r\nOn Sat, 21 Nov 2026 at 09:00, Desk <desk@example.com> wrote:\r\n> ${WORDS}\r\n> ${WORDS}`
  const html = `<div>${WORDS.repeat(16)}</div><blockquote class="gmail_quote">${WORDS.repeat(8)}</blockquote>`
  return `${head(to, 'multipart/alternative; boundary=b')}${part('text/plain', text)}${part('text/html', html)}--b--\r\n`
}

/** A message with an attachment that makes it as large as the given number of bytes. */
export function large(to: string, bytes: number): string {
  const line = `${'QUJD'.repeat(19)}\r\n`
  const opening = `${head(to, 'multipart/mixed; boundary=b')}--b\r\nContent-Type: text/plain\r\n\r\n${WORDS}\r\n--b\r\nContent-Type: application/pdf\r\nContent-Transfer-Encoding: base64\r\nContent-Disposition: attachment; filename=offer.pdf\r\n\r\n`
  return `${opening}${line.repeat(Math.floor((bytes - opening.length - 20) / line.length))}--b--\r\n`
}

const MEGABYTE = 1_048_576

export const HOSTILE: Record<string, (to: string) => string> = {
  '20 MB of short lines': (to) => head(to) + 'a\r\n'.repeat((20 * MEGABYTE) / 3),
  '20 MB of short HTML lines': (to) => head(to, 'text/html; charset=utf-8') + '<b>\r\n'.repeat((20 * MEGABYTE) / 5),
  '100,000 headers': (to) => head(to).replace('\r\n\r\n', `\r\n${'X-Much: little\r\n'.repeat(100_000)}\r\n`),
  '5 MB of blank lines': (to) => head(to) + '\r\n'.repeat((5 * MEGABYTE) / 2),
  '20,000 parts': (to) =>
    `${head(to, 'multipart/mixed; boundary=b')}${'--b\r\nContent-Type: text/plain\r\n\r\na\r\n'.repeat(20_000)}--b--\r\n`,
  '100,000 recipients': (to) => head(to).replace('Subject:', `Cc: ${'"A, B" <a@b.example>, '.repeat(100_000)}c@d.example\r\nSubject:`),
  'To: a:a:a:…': (to) => head(to).replace('Subject:', `Cc: ${'a:'.repeat(65_000)}\r\nSubject:`),
}
