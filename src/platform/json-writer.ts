/** Writes JSON as bytes, for answers that are made of the bytes of other answers. */
import type { PrintedCell } from './database/printed-rows.ts'

const [QUOTE, BACKSLASH, FIRST_PRINTABLE] = [34, 92, 32]
const FIRST_BYTES = 131_072
/** The bytes of a larger answer are sent themselves, and not kept for the next. */
const MOST_KEPT_BYTES = 1_048_576

/** The bytes in which the next answer is written; each is written in one turn of the event loop. */
let shared: Buffer | undefined

export class JsonWriter {
  #bytes = shared ?? Buffer.allocUnsafe(FIRST_BYTES)
  #end = 0

  constructor() {
    // While this answer is written, another would begin with bytes of its own.
    shared = undefined
  }

  /** Writes JSON that is finished. */
  json(bytes: Uint8Array): void {
    this.#reserve(bytes.length)
    copy(bytes, 0, bytes.length, this.#bytes, this.#end)
    this.#end += bytes.length
  }

  /** Writes a value whose printed form is JSON, such as a whole number. */
  printed({ bytes, start, end }: PrintedCell): void {
    this.#reserve(end - start)
    copy(bytes, start, end, this.#bytes, this.#end)
    this.#end += end - start
  }

  /** Writes a value as a JSON string. */
  string(cell: PrintedCell): void {
    const { bytes, start, end } = cell
    this.#reserve(end - start + 2)
    const to = this.#bytes
    let at = this.#end
    to[at++] = QUOTE
    for (let from = start; from < end; from++) {
      const byte = bytes[from] as number
      if (byte < FIRST_PRINTABLE || byte === QUOTE || byte === BACKSLASH) {
        this.text(JSON.stringify(cell.text()))
        return
      }
      to[at++] = byte
    }
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
    shared = this.#bytes
    return Buffer.from(written)
  }

  #reserve(bytes: number): void {
    if (this.#end + bytes <= this.#bytes.length) return
    const larger = Buffer.allocUnsafe(Math.max(this.#end + bytes, 2 * this.#bytes.length))
    this.#bytes.copy(larger, 0, 0, this.#end)
    this.#bytes = larger
  }
}

/** Below this, a loop is faster than a call of the runtime. */
const SHORT = 100

function copy(from: Uint8Array, start: number, end: number, to: Buffer, at: number): void {
  if (end - start > SHORT) to.set(from.subarray(start, end), at)
  else for (let next = start, into = at; next < end; next++) to[into++] = from[next] as number
}
