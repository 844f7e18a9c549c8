/** Tells the encoding of a file of text, and passes the text on as UTF-8. */
import { isAscii } from 'node:buffer'
import { TextDecoder } from 'node:util'
import { AppError } from '../../platform/errors.ts'

export type Encoding = 'UTF-8' | 'UTF-16' | 'windows-1252'

/** From the first byte beyond ASCII on, this much of a file decides between UTF-8 and windows-1252. It is kept in memory. */
const DECIDING_BYTES = 1_048_576
/** The bytes that were kept are passed on in parts, because readers look at their limits after each. */
const PART_BYTES = 65_536
/** The longest byte order mark, that of UTF-8. */
const MARK_BYTES = 3

/** Returns the next bytes as UTF-8. Without an argument it ends the text. @throws AppError 400 */
type Decode = (chunk?: Uint8Array) => Uint8Array

/**
 * Passes the text on as UTF-8, however the file is cut into chunks.
 *
 * A byte order mark says UTF-16, which Excel calls Unicode text, or UTF-8. Without one the file is UTF-8 if its bytes can be that, and
 * otherwise windows-1252, in which Excel saves CSV in western Europe: text of one is hardly ever valid in the other.
 * @param onEncoding is called before the first character beyond ASCII is passed on; never for a file of ASCII
 * @throws AppError 400 for bytes that are no text in their encoding. A lenient decoder would turn them into replacement characters
 */
export async function* asUtf8(bytes: AsyncIterable<Uint8Array>, onEncoding: (encoding: Encoding) => void): AsyncGenerator<Uint8Array> {
  const iterator = bytes[Symbol.asyncIterator]()
  try {
    let { held, isEnd } = await collect(iterator, [], MARK_BYTES)
    let encoding = markedEncoding(held)
    while (encoding === undefined && isAscii(held)) {
      yield held
      const next = await iterator.next()
      if (next.done) return
      held = Buffer.from(next.value)
    }
    if (encoding === undefined) {
      const start = held.findIndex((byte) => byte > 0x7f)
      yield held.subarray(0, start)
      ;({ held, isEnd } = await collect(iterator, [held.subarray(start)], DECIDING_BYTES))
      encoding = guessedEncoding(held, isEnd)
    }
    onEncoding(encoding)
    const decode = decoderOf(encoding, held)
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

function markedEncoding([first, second, third]: Buffer): Encoding | undefined {
  if ((first === 0xff && second === 0xfe) || (first === 0xfe && second === 0xff)) return 'UTF-16'
  return first === 0xef && second === 0xbb && third === 0xbf ? 'UTF-8' : undefined
}

/**
 * What no text in windows-1252 has: control characters other than white space, as in binary files and in UTF-16, and the five bytes without
 * a meaning.
 */
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is looked for.
const NO_TEXT = /[\0-\x08\x0e-\x1f\x7f\x81\x8d\x8f\x90\x9d]/

/** @param isEnd false if the last character may be incomplete */
function guessedEncoding(bytes: Buffer, isEnd: boolean): Encoding {
  try {
    new TextDecoder('utf-8', { fatal: true }).decode(bytes, { stream: !isEnd })
    return 'UTF-8'
  } catch {
    if (NO_TEXT.test(bytes.toString('latin1'))) throw invalid('UTF-8 or windows-1252')
    return 'windows-1252'
  }
}

function decoderOf(encoding: Encoding, [first]: Buffer): Decode {
  if (encoding === 'windows-1252') return fromWindows1252
  const label = encoding === 'UTF-8' ? 'utf-8' : first === 0xff ? 'utf-16le' : 'utf-16be'
  const decoder = new TextDecoder(label, { fatal: true, ignoreBOM: encoding === 'UTF-8' })
  return (chunk) => {
    try {
      const text = decoder.decode(chunk, { stream: chunk !== undefined })
      return encoding === 'UTF-16' ? Buffer.from(text) : (chunk ?? Buffer.alloc(0))
    } catch (error) {
      throw invalid(encoding, error)
    }
  }
}

/** The characters of the bytes 0x80 to 0x9f, which some releases of Node read as Latin-1. All others are those of Latin-1. */
const WINDOWS_1252 = '€\x81‚ƒ„…†‡ˆ‰Š‹Œ\x8dŽ\x8f\x90‘’“”•–—˜™š›œ\x9džŸ'

function fromWindows1252(chunk: Uint8Array = new Uint8Array()): Uint8Array {
  const text = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.length).toString('latin1')
  if (/[\x81\x8d\x8f\x90\x9d]/.test(text)) throw invalid('UTF-8 or windows-1252')
  return Buffer.from(text.replace(/[\x80-\x9f]/g, (character) => WINDOWS_1252[character.charCodeAt(0) - 0x80] as string))
}

const invalid = (encoding: string, cause?: unknown) => new AppError('BAD_REQUEST', `The file is not valid ${encoding}`, { cause })
