/** The transfer encodings of text in mails (RFC 2045 §6). */

/** The longest line without its end (RFC 2045 §6.7, §6.8). */
const MAX_LINE = 76

export interface EncodedText {
  encoding: '7bit' | 'quoted-printable' | 'base64'
  /** ASCII, in lines that end with CRLF. */
  text: string
}

/**
 * Encodes a text so that any server takes it: as it is if it has short lines of ASCII, else as quoted-printable, which people and filters
 * can read, or as base64 if most of its letters would be quoted.
 */
export function encodeText(text: string): EncodedText {
  const lines = text.split(/\r\n?|\n/)
  const others = count(text, NOT_PLAIN)
  if (!others && lines.every(({ length }) => length <= MAX_LINE)) return { encoding: '7bit', text: lines.join('\r\n') }
  if (!others || others < count(text, LATIN)) {
    const isPlain = others === 0
    return { encoding: 'quoted-printable', text: lines.map((line) => quotedPrintable(line, isPlain)).join('\r\n') }
  }
  const base64 = Buffer.from(lines.join('\r\n')).toString('base64')
  return { encoding: 'base64', text: base64.replace(BASE64_LINE, '$&\r\n') }
}

/** The number of characters that the expression finds. */
const count = (text: string, characters: RegExp): number => text.length - text.replace(characters, '').length

const NOT_PLAIN = /[^\t\r\n -~]+/g
const LATIN = /[a-z]+/gi
const BASE64_LINE = new RegExp(`.{${MAX_LINE}}(?=.)`, 'g')

/** @param isPlain true if the text is known to have only characters that may stand in a line, except `=` */
function quotedPrintable(line: string, isPlain: boolean): string {
  const escaped = needsEscapes(line, isPlain)
    ? line.replace(TO_ESCAPE, (bytes) => Buffer.from(bytes).toString('hex').toUpperCase().replace(/../g, '=$&'))
    : line
  return escaped.length <= MAX_LINE ? escaped : folded(escaped)
}

/** What may not stand as it is, such as white space at the end of a line. */
const TO_ESCAPE = /[^\t -<>-~]+|[\t ]$/g

/** The same in a fifth of the time for a long line, because the expression looks for the end of the line after each space. */
const needsEscapes = (line: string, isPlain: boolean): boolean =>
  line.includes('=') || line.endsWith(' ') || line.endsWith('\t') || (!isPlain && NOT_IN_LINE.test(line))
const NOT_IN_LINE = /[^\t -~]/

/** The line with soft breaks. Loops take half the time of an expression with the same conditions. */
function folded(line: string): string {
  const parts: string[] = []
  let from = 0
  while (line.length - from > MAX_LINE) {
    let to = from + MAX_LINE - 1
    while (isInLetter(line, to)) to--
    parts.push(line.slice(from, to))
    from = to
  }
  parts.push(line.slice(from))
  return parts.join('=\r\n')
}

/** True within an escaped byte, and between the bytes of a letter, because some readers decode line by line. */
const isInLetter = (line: string, at: number): boolean =>
  line[at - 1] === '=' || line[at - 2] === '=' || (line[at] === '=' && CONTINUATION.includes(line[at + 1] ?? ''))

/** The first digits of the bytes of a letter after its first. */
const CONTINUATION = '89AB'
