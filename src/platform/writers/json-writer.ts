/** Writes JSON as bytes, for answers that are made of the bytes of other answers. */
import type { PrintedCell } from '../database/statements/printed-rows.ts'
import { BytePiece, ByteWriter, bytesLike, fourTimes, HIGHEST_BITS, WORD_BYTES } from './byte-writer.ts'

const [QUOTE, BACKSLASH, FIRST_PRINTABLE] = [34, 92, 32]
const [QUOTES, BACKSLASHES, FIRST_PRINTABLES] = [fourTimes('"'), fourTimes('\\'), fourTimes(' ')]

/** JSON that is finished and written often. */
export class JsonPiece extends BytePiece {}

export class JsonWriter extends ByteWriter {
  json(piece: JsonPiece): void {
    this.piece(piece)
  }

  /** Writes a value as a JSON string. */
  string(cell: PrintedCell): void {
    const { bytes, view: from, start, end } = cell
    this.reserve(end - start + 2)
    const { bytes: to, view } = this
    let [at, next, special] = [this.end, start, 0]
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
    this.end = at
  }
}

/** A number with the highest bit of a byte set, if one of the four bytes has to be escaped: a quote, a backslash or a control character. */
function specialIn(word: number): number {
  // Subtracting n from a byte below n sets its highest bit.
  return ((word - FIRST_PRINTABLES) & ~word) | bytesLike(word, QUOTES) | bytesLike(word, BACKSLASHES)
}
