/** Tells the encoding of a file, and reads its text. */
import { isAscii } from 'node:buffer'
import { TextDecoder } from 'node:util'
import { AppError } from '../../platform/errors.ts'
import { likelyEncodings } from './plausible.ts'

/** The name of an encoding: `UTF-8`, `UTF-16`, or as the Encoding Standard writes it. */
export type Encoding = string

/** From the first byte beyond ASCII on, this much of a file decides its encoding. It is kept in memory. */
const DECIDING_BYTES = 1_048_576
/** The bytes are read in parts, because readers look at their limits after each. */
const PART_BYTES = 65_536
/** The longest byte order mark, that of UTF-8. */
const MARK_BYTES = 3

/** What is said about the encoding of a file. */
export interface SaidEncoding {
  /** The label that decides over everything, from the query string of the request. */
  encoding?: string | undefined
  /** The label that decides unless the file has a byte order mark, from its media type. */
  charset?: string | undefined
}

/** Labels of UTF-8 and of ASCII, which programs send whatever they send. */
const HINTS: ReadonlySet<string> = new Set(['utf-8', 'utf8', 'us-ascii', 'ascii', 'ansi_x3.4-1968'])

/** The label of a charset that decides; undefined for one that is only a hint. */
export const decidingCharset = (charset: string): string | undefined => (HINTS.has(charset.toLowerCase()) ? undefined : charset)

/** True for the labels of the Encoding Standard that can be read. */
export function isEncoding(label: string): boolean {
  try {
    new TextDecoder(label)
    return true
  } catch {
    return false
  }
}

/**
 * Reads the text, however the file is cut into chunks.
 *
 * A byte order mark says UTF-16, which Excel calls Unicode text, or UTF-8. If nothing is said the file is UTF-8 if its bytes can be that,
 * and otherwise windows-1252, in which Excel saves CSV in western Europe: text of one is hardly ever valid in the other.
 * @param onEncoding is called before the first character beyond ASCII is passed on; never for a file of ASCII
 * @throws AppError 400 for bytes that are no text in their encoding, and for those that make no words in windows-1252
 */
export async function* asText(
  bytes: AsyncIterable<Uint8Array>,
  said: SaidEncoding,
  onEncoding: (encoding: Encoding) => void,
): AsyncGenerator<string> {
  const iterator = bytes[Symbol.asyncIterator]()
  try {
    let { held, isEnd } = await collect(iterator, [], MARK_BYTES)
    let label = said.encoding ?? markedLabel(held) ?? said.charset
    while (label === undefined && isAscii(held)) {
      yield held.toString('latin1')
      const next = await iterator.next()
      if (next.done) return
      held = Buffer.from(next.value)
    }
    if (label === undefined) {
      const start = held.findIndex((byte) => byte > 0x7f)
      yield held.toString('latin1', 0, start)
      ;({ held, isEnd } = await collect(iterator, [held.subarray(start)], DECIDING_BYTES))
      label = guessedLabel(held, isEnd)
    }
    const { encoding, decode } = decoderOf(label, held)
    onEncoding(encoding)
    for (let at = 0; at < held.length; at += PART_BYTES) yield decode(held.subarray(at, at + PART_BYTES))
    for (let next = await iterator.next(); !next.done; next = await iterator.next()) yield decode(next.value)
    yield decode()
  } finally {
    await iterator.return?.()
  }
}

async function collect(
  iterator: AsyncIterator<Uint8Array>,
  begun: Uint8Array[],
  enough: number,
): Promise<{ held: Buffer; isEnd: boolean }> {
  const chunks = [...begun]
  let size = chunks.reduce((sum, { length }) => sum + length, 0)
  let isEnd = false
  while (size < enough && !isEnd) {
    const next = await iterator.next()
    isEnd = next.done === true
    if (next.done) break
    chunks.push(next.value)
    size += next.value.length
  }
  return { held: Buffer.concat(chunks), isEnd }
}

function markedLabel([first, second, third]: Buffer): string | undefined {
  if (first === 0xff && second === 0xfe) return 'utf-16le'
  if (first === 0xfe && second === 0xff) return 'utf-16be'
  return first === 0xef && second === 0xbb && third === 0xbf ? 'utf-8' : undefined
}

/** Control characters other than white space and Ctrl-Z, as in binary files and in UTF-16. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is looked for.
const NO_TEXT = /[\0-\x08\x0e-\x19\x1b-\x1f\x7f]/
/** The five bytes that have no meaning in windows-1252. */
const UNDEFINED = /[\x81\x8d\x8f\x90\x9d]/

/** @param isEnd false if the last character may be incomplete */
function guessedLabel(bytes: Buffer, isEnd: boolean): string {
  try {
    new TextDecoder('utf-8', { fatal: true }).decode(bytes, { stream: !isEnd })
    return 'utf-8'
  } catch {
    const text = bytes.toString('latin1')
    if (NO_TEXT.test(text)) throw invalid('UTF-8 or windows-1252')
    const others = likelyEncodings(bytes, UNDEFINED.test(text) ? undefined : fromWindows1252(bytes))
    if (others) {
      const names = others.length ? `name its encoding, such as ?encoding=${others.join(' or ')}` : 'name its encoding by ?encoding='
      throw new AppError('BAD_REQUEST', `The file is not UTF-8, and makes no words in windows-1252; ${names}`)
    }
    return 'windows-1252'
  }
}

/** Returns the text of the next bytes. Without an argument it ends the text. @throws AppError 400 */
type Decode = (chunk?: Uint8Array) => string

function decoderOf(label: string, held: Buffer): { encoding: Encoding; decode: Decode } {
  // The label utf-16 leaves the order of the bytes to the mark.
  const order = /^utf-?16$/i.test(label) ? markedLabel(held) : undefined
  const decoder = new TextDecoder(order?.startsWith('utf-16') ? order : label, { fatal: true })
  const encoding = decoder.encoding === 'utf-8' ? 'UTF-8' : decoder.encoding.startsWith('utf-16') ? 'UTF-16' : decoder.encoding
  // Some releases of Node read the bytes 0x80 to 0x9f of windows-1252 as Latin-1.
  if (encoding === 'windows-1252') return { encoding, decode: (chunk) => fromWindows1252(chunk) }
  return {
    encoding,
    decode(chunk) {
      try {
        return decoder.decode(chunk, { stream: chunk !== undefined })
      } catch (error) {
        throw invalid(encoding, error)
      }
    },
  }
}

/** The characters of the bytes 0x80 to 0x9f. All others are those of Latin-1. */
const WINDOWS_1252 = '€\x81‚ƒ„…†‡ˆ‰Š‹Œ\x8dŽ\x8f\x90‘’“”•–—˜™š›œ\x9džŸ'

function fromWindows1252(chunk: Uint8Array = new Uint8Array()): string {
  const text = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.length).toString('latin1')
  if (UNDEFINED.test(text)) throw invalid('UTF-8 or windows-1252')
  return text.replace(/[\x80-\x9f]/g, (character) => WINDOWS_1252[character.charCodeAt(0) - 0x80] as string)
}

const invalid = (encoding: string, cause?: unknown) => new AppError('BAD_REQUEST', `The file is not valid ${encoding}`, { cause })
