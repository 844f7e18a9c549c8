/** Finds the character set of a text, because mail programs and gateways often name another one than they use. */
import { isUtf8 } from 'node:buffer'
import { type Charset, charsetNamed } from './charsets.ts'
import { lettersOfUtf8 } from './utf-8.ts'

/** The bytes of a text from which its character set is guessed. */
const MAX_SAMPLE = 65_536

/**
 * The character set that the bytes are in: the named one, unless it is unknown or the bytes cannot be text of it.
 * @param name as the header gives it, perhaps in quotes
 */
function charsetOf(content: Uint8Array, name: string | undefined, isHtml = false): Charset {
  const sample = sampleOf(content)
  const mark = byMark(sample)
  if (mark) return mark
  const given = name?.trim() || (isHtml ? charsetInHtml(sample) : '')
  const charset = given ? charsetNamed(given) : undefined
  // Many programs name these two whatever the text is in.
  if (!charset || charset.name === 'utf-8' || charset.name === 'windows-1252') return guess(sample) ?? WESTERN
  return correction(sample, charset) ?? charset
}

/** The text of the bytes, in the set that they are in. */
export const decodedText = (content: Uint8Array, name: string | undefined, isHtml = false): string =>
  charsetOf(content, name, isHtml).decode(content)

const UTF_8 = charsetNamed('utf-8') as Charset
const WESTERN = charsetNamed('windows-1252') as Charset

/** The first bytes, without a character that is cut. */
function sampleOf(content: Uint8Array): Uint8Array {
  if (content.byteLength <= MAX_SAMPLE) return content
  const end = content.subarray(0, MAX_SAMPLE).findLastIndex((byte) => byte < 0x80)
  return content.subarray(0, end < 0 ? MAX_SAMPLE : end + 1)
}

/** By the byte order mark at the start. */
function byMark(sample: Uint8Array): Charset | undefined {
  const start = Buffer.from(sample.subarray(0, 4)).toString('hex')
  if (start.startsWith('efbbbf')) return UTF_8
  return /^(fffe0000|0000feff)/.test(start) ? charsetNamed('utf-32') : /^(fffe|feff)/.test(start) ? charsetNamed('utf-16') : undefined
}

/** The set that the bytes show by themselves; undefined if they have letters of one byte, or none. */
function guess(sample: Uint8Array): Charset | undefined {
  if (ISO_2022.test(Buffer.from(sample).toString('latin1')) && sample.every((byte) => byte < 0x80)) return charsetNamed('iso-2022')
  // Bytes of another set are hardly ever well-formed UTF-8.
  if (isUtf8(sample) || Buffer.from(sample).includes(REPLACEMENT)) return UTF_8
  const { letters, broken } = lettersOfUtf8(sample)
  return letters > broken ? UTF_8 : undefined
}

const ISO_2022 = new RegExp(`${String.fromCharCode(0x1b)}\\$(?:[@AB]|\\([ACD])`)
/** What a program writes for a letter that it could not read. In other sets than UTF-8 the three bytes are no text. */
const REPLACEMENT = Buffer.from('\ufffd')

/** The set of bytes that cannot be in the named one, or that are UTF-8 whatever the header says. */
function correction(sample: Uint8Array, charset: Charset): Charset | undefined {
  const { name } = charset
  if (/^utf-?(16|32)/.test(name)) return sample.includes(0) ? undefined : guess(sample)
  if (sample.every((byte) => byte < 0x80)) return undefined
  if (isUtf8(sample)) return isByChance(sample, charset) ? undefined : UTF_8
  const instead = OF_EIGHT_BITS[name]
  if (instead) return charsetNamed(instead)
  return sample.some((byte) => byte >= 0x80 && byte < 0xa0) ? charsetNamed(CODE_PAGE_BESIDE[name] ?? '') : undefined
}

/** True for text of another set that is well-formed UTF-8 by chance. */
const isByChance = (sample: Uint8Array, charset: Charset): boolean =>
  OF_EIGHT_BITS[charset.name] === undefined &&
  (TWO_BYTES.has(charset.name) || lettersOfUtf8(sample).letters < MIN_LETTERS) &&
  !charset.decode(sample).includes('\ufffd')

/** What programs use instead of a set of seven bits. */
const OF_EIGHT_BITS: Record<string, string> = { 'iso-2022': 'shift_jis', hz: 'gbk', 'utf-7': 'windows-1252' }
/** With two bytes for a letter, a longer text may be UTF-8 by chance, too. */
const MIN_LETTERS = 4
const TWO_BYTES = new Set(['shift_jis', 'euc-jp', 'euc-kr', 'gbk', 'gb18030', 'big5'])
/** The code page of Windows that programs call by the name of the standard, which has no letters from 128 to 159. */
const CODE_PAGE_BESIDE: Record<string, string> = {
  'iso-8859-2': 'windows-1250',
  'iso-8859-5': 'windows-1251',
  'iso-8859-6': 'windows-1256',
  'iso-8859-7': 'windows-1253',
  'iso-8859-8': 'windows-1255',
  'iso-8859-8-i': 'windows-1255',
  'iso-8859-13': 'windows-1257',
  'iso-8859-15': 'windows-1252',
}

const charsetInHtml = (sample: Uint8Array): string =>
  /<meta\s[^>]{0,200}charset\s*=\s*["']?([\w.:-]+)/i.exec(Buffer.from(sample.subarray(0, 4_096)).toString('latin1'))?.[1] ?? ''
