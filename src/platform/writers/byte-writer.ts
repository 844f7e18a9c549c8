/** Writes answers as bytes, made of the bytes of PostgreSQL's answers. Four bytes are read, checked and written at a time. */
import { freeChunk } from '../bytes/freed-chunk.ts'
import type { PrintedCell } from '../database/statements/printed-rows.ts'

export const WORD_BYTES = 4
/** The same byte four times. */
const ONES = 0x01010101
/** Marks the bytes that `bytesLike` has found. */
export const HIGHEST_BITS = 0x80808080
/** Enough for most rows. A page doubles it a few times. */
const FIRST_BYTES = 2_048
/** A larger buffer is handed over, because a copy would take time and as much memory again. */
const MOST_COPIED_BYTES = 1_048_576

/** The byte four times, as a word to compare with. */
export const fourTimes = (character: string): number => character.charCodeAt(0) * ONES

/** Compares the four bytes of a word with the one byte that `wanted` repeats. The highest bit of each equal byte is set in the result. */
export function bytesLike(word: number, wanted: number): number {
  const difference = word ^ wanted
  // Subtracting 1 from a zero byte sets its highest bit; the bytes that had it before, in UTF-8, are left out.
  return (difference - ONES) & ~difference
}

interface OutputBuffer {
  bytes: Buffer
  view: DataView
}

const outputBuffer = (length: number): OutputBuffer => {
  const bytes = Buffer.allocUnsafe(length)
  return { bytes, view: new DataView(bytes.buffer, bytes.byteOffset, length) }
}

/** A text that is finished and written often. The last word is filled up with zeros. */
export class BytePiece {
  readonly length: number
  readonly words: Int32Array

  constructor(text: string) {
    this.length = Buffer.byteLength(text)
    this.words = new Int32Array(Math.ceil(this.length / WORD_BYTES))
    const bytes = Buffer.alloc(this.words.length * WORD_BYTES)
    bytes.write(text)
    for (let word = 0; word < this.words.length; word++) this.words[word] = bytes.readInt32LE(word * WORD_BYTES)
  }
}

export class ByteWriter {
  protected bytes: Buffer
  protected view: DataView
  protected end = 0

  constructor() {
    ;({ bytes: this.bytes, view: this.view } = outputBuffer(FIRST_BYTES))
  }

  piece({ words, length }: BytePiece): void {
    // The surplus bytes of the last word are overwritten by what follows.
    this.reserve(length + WORD_BYTES)
    const { view } = this
    for (let word = 0, at = this.end; word < words.length; word++, at += WORD_BYTES) view.setInt32(at, words[word] as number, true)
    this.end += length
  }

  /** Writes a value as it is printed. */
  printed({ bytes, view: from, start, end }: PrintedCell): void {
    this.reserve(end - start)
    const to = this.bytes
    let [at, next] = [this.end, start]
    for (; next <= end - WORD_BYTES; next += WORD_BYTES, at += WORD_BYTES) this.view.setInt32(at, from.getInt32(next, true), true)
    while (next < end) to[at++] = bytes[next++] as number
    this.end = at
  }

  /** Writes a text as it is. */
  text(text: string): void {
    this.reserve(3 * text.length)
    this.end += this.bytes.write(text, this.end)
  }

  /** Ends the answer, after which nothing can be written. @returns its bytes */
  finish(): Buffer {
    const written = this.bytes.subarray(0, this.end)
    if (this.bytes.length > MOST_COPIED_BYTES) return written
    const copy = Buffer.from(written)
    freeChunk(this.bytes)
    return copy
  }

  /** The bytes that were written since the last call. What is written next overwrites them. */
  flush(): Buffer {
    const written = this.bytes.subarray(0, this.end)
    this.end = 0
    if (this.bytes.length > MOST_COPIED_BYTES) ({ bytes: this.bytes, view: this.view } = outputBuffer(FIRST_BYTES))
    return written
  }

  protected reserve(bytes: number): void {
    if (this.end + bytes <= this.bytes.length) return
    const larger = outputBuffer(Math.max(this.end + bytes, 2 * this.bytes.length))
    this.bytes.copy(larger.bytes, 0, 0, this.end)
    freeChunk(this.bytes)
    this.bytes = larger.bytes
    this.view = larger.view
  }
}
