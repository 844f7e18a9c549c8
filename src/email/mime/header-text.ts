/**
 * Rewrites headers in UTF-8, because postal-mime knows fewer character sets and expects no bytes outside of ASCII: encoded words
 * (RFC 2047), parameters (RFC 2231) and bytes as they are.
 */
import { isAscii, isUtf8 } from 'node:buffer'
import { decodedText } from './text-charset.ts'

export interface HeaderBlock {
  /** Its fields, each in one line of UTF-8 without its end. */
  lines: Buffer[]
  /** Where reading goes on: at an empty line, at one that begins with two dashes, or at the body. */
  end: number
  /** True if the body follows without an empty line. */
  isEnded: boolean
}

/** A longer header is read in several blocks, until it is too long for the parser. */
const MAX_BLOCK = 1_048_576

/**
 * Reads the header that begins at the position. It also ends at a line of blanks, or at one that is no field, if no field follows.
 * @param charsetOfBody names the set of bytes that are no UTF-8
 */
export function headerBlock(message: Uint8Array, start: number, charsetOfBody: () => string | undefined): HeaderBlock {
  const { lines, end, isEnded } = headerLines(message, start)
  const fields: Buffer[][] = []
  for (const { line, kind } of lines) {
    const last = fields.at(-1)
    if (last && (kind === 'continued' || kind === 'blank')) last.push(line)
    else fields.push([line])
  }
  return { lines: unfolded(fields, charsetOfBody), end, isEnded }
}

function headerLines(message: Uint8Array, start: number) {
  const lines: ReturnType<typeof lineAt>[] = []
  let [at, fieldBelow] = [start, start]
  while (at < message.byteLength && at - start < MAX_BLOCK) {
    const line = lineAt(message, at)
    if (line.kind === 'none') break
    if (line.kind === 'blank' && !KNOWN_FIELD.test(lineAt(message, line.next).beginning)) return { lines, end: line.next, isEnded: true }
    if (line.kind === 'other' && fieldBelow <= at) fieldBelow = knownFieldBelow(message, line.next)
    if (line.kind === 'other' && fieldBelow <= at) return { lines, end: at, isEnded: true }
    lines.push(line)
    at = line.next
  }
  return { lines, end: at, isEnded: false }
}

const unfolded = (fields: Buffer[][], charsetOfBody: () => string | undefined): Buffer[] =>
  fields.map((lines) => Buffer.from(fieldInUtf8(Buffer.concat(lines), charsetOfBody)))

/** The bytes of a line by which a field is known. */
const MAX_BEGINNING = 200

/** A line ends the header, is empty to the eye, continues the field above, begins one, or is something else. */
type LineKind = 'none' | 'blank' | 'continued' | 'field' | 'other'

/** The line without its end, and the position of the next one. */
function lineAt(message: Uint8Array, start: number) {
  const feed = message.indexOf(LINE_FEED, start)
  const next = feed < 0 ? message.byteLength : feed + 1
  let end = feed < 0 ? next : feed
  while (end > start && message[end - 1] === CARRIAGE_RETURN) end--
  const line = Buffer.from(message.buffer, message.byteOffset + start, end - start)
  const beginning = line.toString('latin1', 0, MAX_BEGINNING)
  return { line, beginning, kind: kindOf(beginning), next }
}

function kindOf(beginning: string): LineKind {
  // Boundaries begin with two dashes.
  if (beginning === '' || beginning.startsWith('--')) return 'none'
  if (/^[ \t]/.test(beginning)) return beginning.trim() === '' && beginning.length < MAX_BEGINNING ? 'blank' : 'continued'
  return FIELD.test(beginning) ? 'field' : 'other'
}

const FIELD = /^[!-9;-~]+[ \t]*:/
/** Fields that only headers have. Other words before a colon may be text. */
const KNOWN_FIELD = new RegExp(
  `^(${[
    'content-[\\w-]+|mime-version|from|to|cc|bcc|subject|date|message-id|in-reply-to|references|reply-to|sender|received|return-path',
    'delivered-to|x-[\\w-]+|dkim-signature|arc-[\\w-]+|authentication-results|received-spf|list-[\\w-]+|importance|priority|precedence',
    'thread-[\\w-]+|user-agent|auto-submitted|resent-[\\w-]+|errors-to|feedback-id|organization',
  ].join('|')})[ \\t]*:`,
  'i',
)

/** The position of the next known field of the header, below a line that is none, such as the first of a mailbox file; 0 without one. */
function knownFieldBelow(message: Uint8Array, start: number): number {
  for (let at = start; at < message.byteLength && at - start < MAX_BLOCK; ) {
    const { line, beginning, next } = lineAt(message, at)
    if (!line.byteLength) return 0
    if (KNOWN_FIELD.test(beginning)) return at
    at = next
  }
  return 0
}

/** The field with its name, in one line. */
function fieldInUtf8(field: Uint8Array, charsetOfBody: () => string | undefined): string {
  const bytes = Buffer.from(field.buffer, field.byteOffset, field.byteLength)
  const isPlain = isAscii(bytes) && !bytes.includes(ESCAPE)
  const text = isPlain
    ? bytes.toString('latin1')
    : isUtf8(bytes) && !bytes.includes(ESCAPE)
      ? bytes.toString('utf8')
      : decodedText(bytes, eightBits(charsetOfBody()))
  return wordsInUtf8(HAS_PARAMETERS.test(text) ? parametersInUtf8(text) : text)
}

const [LINE_FEED, CARRIAGE_RETURN, ESCAPE] = [0x0a, 0x0d, 0x1b]
const HAS_PARAMETERS = /^content-(type|disposition)[ \t]*:/i

/** A set in which bytes of a header can be, because they are letters of ASCII otherwise. */
const eightBits = (charset: string | undefined) => (/^(utf|ucs|unicode)-?(7|16|32|2|4)/i.test(charset ?? '') ? undefined : charset)

/** With the language, which may follow the name of the set. */
const ENCODED_WORD = /=\?([^?\s*]{1,60})(?:\*[^?\s]{0,40})?\?([QB])\?([^?]*)\?=/gi

/** Words of one set beside each other are read together, because a letter may be cut between them. */
function wordsInUtf8(text: string): string {
  if (!text.includes('=?')) return text
  const pieces: (string | Words)[] = []
  let end = 0
  for (const match of text.matchAll(ENCODED_WORD)) {
    const between = text.slice(end, match.index)
    end = match.index + match[0].length
    const last = pieces.at(-1)
    const isBeside = between.trim() === '' && typeof last === 'object'
    const [, charset = '', encoding = '', encoded = ''] = match
    const bytes = encoding.toUpperCase() === 'B' ? Buffer.from(encoded, 'base64') : unquoted(encoded.replaceAll('_', ' '), '=')
    if (isBeside && last.charset === charset.toLowerCase()) last.bytes.push(bytes)
    // A blank between two words is no text.
    else pieces.push(isBeside ? ' ' : between, { charset: charset.toLowerCase(), bytes: [bytes] })
  }
  return [...pieces, text.slice(end)].map((piece) => (typeof piece === 'string' ? piece : wordInUtf8(piece))).join('')
}

interface Words {
  charset: string
  bytes: Buffer[]
}

function wordInUtf8({ charset, bytes }: Words): string {
  const together = decodedText(Buffer.concat(bytes), charset)
  const text = together.includes('\ufffd') ? bytes.map((word) => decodedText(word, charset)).join('') : together
  return `=?utf-8?B?${Buffer.from(text).toString('base64')}?=`
}

/** The bytes of a text in which a sign and two digits stand for a byte. */
const unquoted = (text: string, sign: '=' | '%'): Buffer =>
  Buffer.from(
    Buffer.from(text)
      .toString('latin1')
      .replace(QUOTED_BYTE[sign], (_, digits: string) => String.fromCharCode(Number.parseInt(digits, 16))),
    'latin1',
  )
const QUOTED_BYTE = { '=': /=([0-9a-f]{2})/gi, '%': /%([0-9a-f]{2})/gi }

/** A quoted text, which may be unclosed, or a parameter in sections (RFC 2231 §3) or with a character set (§4). */
const QUOTED = '"(?:[^"\\\\]|\\\\.)*(?:"|\\\\?$)'
const SECTION = new RegExp(`${QUOTED}|;[ \\t]*([^\\s=;*"]{1,100})\\*(?:(\\d{1,3})(\\*)?)?[ \\t]*=[ \\t]*(${QUOTED}|[^;\\s]*)`, 'g')

interface Section {
  number: number
  isEncoded: boolean
  value: string
}

function parametersInUtf8(text: string): string {
  const parameters = new Map<string, Section[]>()
  const rest = text.replace(
    SECTION,
    (whole, name: string | undefined, number: string | undefined, star: string | undefined, given = '') => {
      if (name === undefined) return whole
      const value = given.startsWith('"') ? given.replace(/^"|"$/g, '').replace(/\\(.)/g, '$1') : given
      const sections = parameters.get(name) ?? []
      sections.push({ number: Number(number ?? 0), isEncoded: number === undefined || star !== undefined, value })
      parameters.set(name, sections)
      return ''
    },
  )
  return rest + [...parameters].map(([name, sections]) => `; ${parameterInUtf8(name, sections)}`).join('')
}

function parameterInUtf8(name: string, given: Section[]): string {
  const sections = given.toSorted((a, b) => a.number - b.number)
  if (!sections.some(({ isEncoded }) => isEncoded))
    return `${name}="${sections
      .map(({ value }) => value)
      .join('')
      .replace(/[\\"]/g, '\\$&')}"`
  const [first, ...others] = sections as [Section, ...Section[]]
  const [, charset, value = first.value] = /^([^']*)'[^']*'(.*)$/s.exec(first.isEncoded ? first.value : '') ?? []
  // A letter may be cut between two sections.
  const runs: { isEncoded: boolean; value: string }[] = []
  for (const section of [{ ...first, value }, ...others]) {
    const last = runs.at(-1)
    if (last?.isEncoded === section.isEncoded) last.value += section.value
    else runs.push({ isEncoded: section.isEncoded, value: section.value })
  }
  const text = runs.map(({ isEncoded, value }) => (isEncoded ? decodedText(unquoted(value, '%'), charset || undefined) : value)).join('')
  return `${name}*=utf-8''${encodeURIComponent(text.toWellFormed())}`
}
