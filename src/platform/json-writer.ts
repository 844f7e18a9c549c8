/** Writes JSON as bytes, for answers that are made of the bytes of other answers. Four bytes are read, checked and written at a time. */
import type { PrintedCell } from './database/printed-rows.ts'

const WORD_BYTES = 4
const [QUOTE, BACKSLASH, FIRST_PRINTABLE] = [34, 92, 32]
/** The same byte four times. */
const [QUOTES, BACKSLASHES, FIRST_PRINTABLES, ONES] = [0x22222222, 0x5c5c5c5c, 0x20202020, 0x01010101]
const HIGHEST_BITS = 0x80808080
const FIRST_BYTES = 131_072
/** The bytes of a larger answer are sent themselves, and not kept for the next. */
const MOST_KEPT_BYTES = 1_048_576

interface OutputBuffer {
  bytes: Buffer
  view: DataView
}

const outputBuffer = (length: number): OutputBuffer => {
  const bytes = Buffer.allocUnsafe(length)
  return { bytes, view: new DataView(bytes.buffer, bytes.byteOffset, length) }
}

/** The bytes in which the next answer is written; each is written in one turn of the event loop. */
let shared: OutputBuffer | undefined

/** JSON that is finished and written often. The last word is filled up with zeros. */
export class JsonPiece {
  readonly length: number
  readonly words: Int32Array

  constructor(json: string) {
    this.length = Buffer.byteLength(json)
    this.words = new Int32Array(Math.ceil(this.length / WORD_BYTES))
    const bytes = Buffer.alloc(this.words.length * WORD_BYTES)
    bytes.write(json)
    for (let word = 0; word < this.words.length; word++) this.words[word] = bytes.readInt32LE(word * WORD_BYTES)
  }
}

export class JsonWriter {
  #bytes: Buffer
  #view: DataView
  #end = 0

  constructor() {
    const { bytes, view } = shared ?? outputBuffer(FIRST_BYTES)
    this.#bytes = bytes
    this.#view = view
    // While this answer is written, another would begin with bytes of its own.
    shared = undefined
  }

  json({ words, length }: JsonPiece): void {
    // What the last word has too much is overwritten by what follows.
    this.#reserve(length + WORD_BYTES)
    const view = this.#view
    for (let word = 0, at = this.#end; word < words.length; word++, at += WORD_BYTES) view.setInt32(at, words[word] as number, true)
    this.#end += length
  }

  /** Writes a value whose printed form is JSON, such as a whole number. */
  printed({ bytes, view: from, start, end }: PrintedCell): void {
    this.#reserve(end - start)
    const to = this.#bytes
    let [at, next] = [this.#end, start]
    for (; next <= end - WORD_BYTES; next += WORD_BYTES, at += WORD_BYTES) this.#view.setInt32(at, from.getInt32(next, true), true)
    while (next < end) to[at++] = bytes[next++] as number
    this.#end = at
  }

  /** Writes a value as a JSON string. */
  string(cell: PrintedCell): void {
    const { bytes, view: from, start, end } = cell
    this.#reserve(end - start + 2)
    const to = this.#bytes
    const view = this.#view
    let [at, next, special] = [this.#end, start, 0]
    to[at++] = QUOTE
    for (; next <= end - WORD_BYTES; next += WORD_BYTES, at += WORD_BYTES) {
      const word = from.getInt32(next, true)
      special |= specialIn(word)
      view.setInt32(at, word, true)
    }
    for (; next < end; next++) {
      const byte = bytes[next] as number
      if (byte < FIRST_PRINTABLE || byte === QUOTE || byte === BACKSLASH) special = HIGHEST_BITS
      to[at++] = byte
    }
    if ((special & HIGHEST_BITS) !== 0) return void this.text(JSON.stringify(cell.text()))
    to[at++] = QUOTE
    this.#end = at
  }

  /** Writes JSON that is finished, as text. */
  text(json: string): void {
    this.#reserve(3 * json.length)
    this.#end += this.#bytes.write(json, this.#end)
  }

  /** Ends the answer. @returns its bytes, which nothing changes later */
  finish(): Buffer {
    const written = this.#bytes.subarray(0, this.#end)
    if (this.#bytes.length > MOST_KEPT_BYTES) return written
    shared = { bytes: this.#bytes, view: this.#view }
    return Buffer.from(written)
  }

  #reserve(bytes: number): void {
    if (this.#end + bytes <= this.#bytes.length) return
    const larger = outputBuffer(Math.max(this.#end + bytes, 2 * this.#bytes.length))
    this.#bytes.copy(larger.bytes, 0, 0, this.#end)
    this.#bytes = larger.bytes
    this.#view = larger.view
  }
}

/** A number with the highest bit of a byte set, if one of the four bytes has to be escaped: a quote, a backslash or a control character. */
function specialIn(word: number): number {
  const quote = word ^ QUOTES
  const backslash = word ^ BACKSLASHES
  // Subtracting n from a byte below n sets its highest bit; the bytes that had it before, in UTF-8, are left out.
  return ((word - FIRST_PRINTABLES) & ~word) | ((quote - ONES) & ~quote) | ((backslash - ONES) & ~backslash)
}
