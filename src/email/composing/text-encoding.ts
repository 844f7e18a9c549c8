/** The transfer encodings of text in mails (RFC 2045 §6). */

/** The longest line without its end (RFC 2045 §6.7, §6.8). */
const MAX_LINE = 76

export interface EncodedText {
  encoding: '7bit' | 'quoted-printable' | 'base64'
  /** ASCII, in lines that end with CRLF. */
  text: string
}

/**
 * Encodes a text so that any server takes it: as it is if it has short lines of ASCII, else as quoted-printable, which people and filters can
 * read, or as base64 if most of its letters would be quoted.
 */
export function encodeText(text: string): EncodedText {
  const lines = text.split(/\r\n?|\n/)
  const others = count(text, NOT_PLAIN)
  if (!others && lines.every(({ length }) => length <= MAX_LINE)) return { encoding: '7bit', text: lines.join('\r\n') }
  if (!others || others < count(text, LATIN)) return { encoding: 'quoted-printable', text: lines.map(quotedPrintable).join('\r\n') }
  const base64 = Buffer.from(lines.join('\r\n')).toString('base64')
  return { encoding: 'base64', text: base64.replace(BASE64_LINE, '$&\r\n') }
}

/** The number of characters that the expression finds. */
const count = (text: string, characters: RegExp): number => text.length - text.replace(characters, '').length

const NOT_PLAIN = /[^\t\r\n -~]+/g
const LATIN = /[a-z]+/gi
const BASE64_LINE = new RegExp(`.{${MAX_LINE}}(?=.)`, 'g')

function quotedPrintable(line: string): string {
  const escaped = line.replace(TO_ESCAPE, (bytes) => Buffer.from(bytes).toString('hex').toUpperCase().replace(/../g, '=$&'))
  return escaped.length <= MAX_LINE ? escaped : escaped.replace(SOFT_LINE, '$&=\r\n')
}

/** What may not stand as it is, such as white space at the end of a line. */
const TO_ESCAPE = /[^\t -<>-~]+|[\t ]$/g
/** A part of a line that is too long. It does not end in an escaped byte, or in a letter of several, because some readers decode line by line. */
const SOFT_LINE = new RegExp(`.{${MAX_LINE - 16},${MAX_LINE - 1}}(?<!=.?)(?!$|=[89AB])`, 'g')
