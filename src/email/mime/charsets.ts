/**
 * The character sets of mails by the names that programs give them: one table for bodies, headers, the names of files and reports. Most are
 * read by TextDecoder (Encoding Standard), the code pages of DOS, those of other Macs and UTF-7 by iconv-lite.
 */
import { createRequire } from 'node:module'
import type * as Iconv from 'iconv-lite'
import { decodeHz, decodeIso2022 } from './iso-2022.ts'
import { decodeUtf8 } from './utf-8.ts'

const require = createRequire(import.meta.url)

export interface Charset {
  /** A name that TextDecoder, iconv-lite or this file knows. */
  name: string
  decode(bytes: Uint8Array): string
}

/** Names that say nothing about the bytes from 128 on, and those of encodings. */
const SAYS_NOTHING = new RegExp(
  [
    '^(us)?ascii(8bit)?$|^ansi(x34)?(1968|1986)?$|^iso646|^(cp|ibm)367$|^20127$|unknown|userdefined',
    '^([78]bit|binary|base64|hex|quotedprintable|none)$',
  ].join('|'),
)

/** The names without spaces and punctuation, and without the year of a standard. Others are named by number. */
const ALIASES: Record<string, string> = {
  ...named('utf-8', 'utf', 'unicode11utf8', 'unicode20utf8'),
  ...named('utf-7', 'utf7', 'unicode11utf7', 'unicode20utf7'),
  ...named('utf-16', 'utf16', 'ucs2', 'iso10646ucs2', 'csunicode', 'unicode'),
  ...named('utf-16be', 'unicodefffe'),
  ...named('shift_jis', 'shiftjis', 'shiftjis2004', 'shiftjisx0213', 'sjis', 'sjiswin', 'mskanji', 'ms31j', 'windows31j', 'macjapanese'),
  ...named('euc-jp', 'eucjp', 'eucjpms', 'eucjpwin', 'eucjis2004', 'eucjisx0213', 'ujis'),
  ...named('iso-2022', 'iso2022', 'jis', 'jis7', 'jis8', 'junet'),
  ...named('euc-kr', 'euckr', 'uhc', 'ksc5601', 'ksx1001', 'korean', 'mackorean'),
  ...named('gbk', 'gb2312', 'gb231280', 'euccn', 'cngb', 'gb', 'chinese', 'macchinesesimp'),
  ...named('big5', 'big5hkscs', 'big5eten', 'cnbig5', 'xbig5', 'macchinesetrad'),
  ...named('hz', 'hz', 'hzgb2312', 'hzgb'),
  ...named('windows-874', 'thai', 'thai8'),
  ...named('koi8-r', 'koi8', 'koi'),
  ...named('koi8-u', 'koi8u', 'koi8ru'),
  ...named('macintosh', 'mac', 'macroman', 'macosroman'),
  ...named('x-mac-cyrillic', 'maccyrillic', 'macukrainian', 'macukraine'),
  ...named('maccenteuro', 'macce', 'maccentraleurope', 'maccentraleurroman'),
  ...named('maciceland', 'macicelandic'),
  ...named('macromania', 'macromanian'),
  ...named('iso-8859-8-i', 'iso88598i', 'logical'),
}

function named(charset: string, ...names: string[]): Record<string, string> {
  return Object.fromEntries(names.map((name) => [name, charset]))
}

/** The parts of ISO 8859 that are called Latin. */
const LATIN = ['', '1', '2', '3', '4', '9', '10', '13', '14', '15', '16']

/** The code pages of Windows, IBM and Macs whose numbers TextDecoder does not know by itself. */
const CODE_PAGES: Record<string, string> = {
  ...named('shift_jis', '932', '942', '943'),
  ...named('gbk', '936', '1383', '1386', '20936', '51936'),
  ...named('euc-kr', '949', '970', '1363', '51949'),
  ...named('big5', '950', '951', '1370'),
  ...named('euc-jp', '954', '20932', '33722', '51932'),
  ...named('iso-2022', '50220', '50221', '50222', '50225'),
  ...named('hz', '52936'),
  ...named('utf-8', '65001'),
  ...named('utf-7', '65000'),
  ...named('utf-16le', '1200'),
  ...named('utf-16be', '1201'),
  ...named('windows-874', '874'),
  ...named('windows-1252', '819'),
  ...named('gb18030', '54936'),
  ...named('koi8-r', '878', '20866'),
  ...named('koi8-u', '1168', '21866'),
  ...named('macintosh', '10000'),
  ...named('x-mac-cyrillic', '10007'),
  ...named('maccenteuro', '10029'),
  ...named('iso-8859-8-i', '38598'),
}

const known = new Map<string, Charset | undefined>()
/** A message may name as many as it likes. */
const MOST_KNOWN = 1_000

/** The character set of the name; undefined for a name that is not known, or that says nothing about letters outside of ASCII. */
export function charsetNamed(name: string): Charset | undefined {
  const given = name.slice(0, 100).toLowerCase()
  if (!known.has(given)) {
    if (known.size >= MOST_KNOWN) known.clear()
    known.set(given, found(given))
  }
  return known.get(given)
}

function found(given: string): Charset | undefined {
  const key = given.replace(/:(19|20)\d\d$|[^a-z0-9]/g, '')
  if (!key || SAYS_NOTHING.test(key)) return undefined
  const keys = [key, key.replace(/^(xms|xsun|x|cs)/, '')]
  for (const one of keys) {
    const charset = decoderFor(ALIASES[one] ?? byNumber(one) ?? '')
    if (charset) return charset
  }
  return [given, ...keys].map(standard).find(Boolean) ?? keys.map(fromIconv).find(Boolean)
}

/** The set that a number names: a part of ISO 8859, a Latin alphabet, ISO 2022 or a code page. */
function byNumber(key: string): string | undefined {
  if (/^utf8/.test(key)) return 'utf-8'
  if (/^iso2022(jp|kr|cn)/.test(key)) return 'iso-2022'
  if (/^gb18030/.test(key)) return 'gb18030'
  if (/^tis620/.test(key)) return 'windows-874'
  const part = /^(?:iso)?8859(\d{1,2})[ei]?$/.exec(key)?.[1] ?? LATIN[Number(/^(?:iso)?l(?:atin)?(\d\d?)$/.exec(key)?.[1] ?? 0)]
  if (key === 'latin0') return 'iso-8859-15'
  if (part) return `iso-8859-${part}`
  const page = /^(?:cp|windows|win|ms|ibm|dos|ansi|codepage|microsoftcp)?(\d{3,5})(?:nec)?$/.exec(key)?.[1]
  if (page === undefined) return undefined
  if (/^125\d$/.test(page)) return `windows-${page}`
  return CODE_PAGES[page] ?? (/^28(59\d|60\d)$/.test(page) ? `iso-8859-${Number(page) - 28_590}` : `cp${page}`)
}

const decoderFor = (name: string): Charset | undefined => {
  const decode = OWN[name]
  return decode ? { name, decode } : name ? (standard(name) ?? fromIconv(name)) : undefined
}

const OWN: Record<string, Charset['decode']> = {
  'utf-8': decodeUtf8,
  'utf-16': (bytes) => withoutCutLetter(new TextDecoder(bytes[0] === 0xfe && bytes[1] === 0xff ? 'utf-16be' : 'utf-16le').decode(bytes)),
  'iso-2022': decodeIso2022,
  hz: decodeHz,
}

function standard(label: string): Charset | undefined {
  try {
    const decoder = new TextDecoder(label)
    return { name: decoder.encoding, decode: (bytes) => withoutCutLetter(decoder.decode(bytes)) }
  } catch {
    // Not a label of the Encoding Standard.
    return undefined
  }
}

/** The text without the sign for a letter that is cut at its end. */
const withoutCutLetter = (text: string): string => text.replace(/\ufffd(?=\s{0,100}$)/, '')

let iconv: typeof Iconv | undefined

/** The package is loaded with the first name that TextDecoder does not know. */
function fromIconv(name: string): Charset | undefined {
  iconv ??= require('iconv-lite') as typeof Iconv
  const { decode, encodingExists } = iconv
  return encodingExists(name) ? { name, decode: (bytes) => decode(Buffer.from(bytes), name) } : undefined
}
