/**
 * Reads the JSON of an upload while it arrives. The text of its key `data` is handed on in pieces. Everything else is small: it is kept and
 * parsed at the end with an empty `data`, by the same parser as any other body, so the same JSON is accepted.
 */
import { AppError, badInput } from '../../errors.ts'
import { parseJson } from './json-body.ts'

/** The most bytes of a body besides its data. */
const MOST_BESIDES = 1_048_576

const QUOTE = 0x22
const BACKSLASH = 0x5c
const LF = 0x0a
const CR = 0x0d

/** What the escapes of JSON stand for, apart from `\u`. */
const ESCAPES = new Map(Object.entries({ '"': '"', '\\': '\\', '/': '/', b: '\b', f: '\f', n: '\n', r: '\r', t: '\t' }))
/** Stands for any character beyond ASCII, none of which is base64. */
const NOT_ASCII = Buffer.from([0xff])

/** Where the next string of the outermost object would be: a key, a value, or neither. */
type NextString = 'key' | 'value' | 'elsewhere'

export class JsonUpload {
  #kept: Buffer[] = []
  #keptBytes = 0
  #before = ''
  #depth = 0
  #isInString = false
  #isInData = false
  /** The beginning of an escape in `data`. `#isEscaped` is true after a backslash in any other string. */
  #escape = ''
  #isEscaped = false
  #nextString: NextString = 'elsewhere'
  /** The bytes of the string that may be a key. */
  #key: number[] | undefined
  #isKeyData = false
  #hasData = false

  /** True as soon as the text of `data` has begun. */
  get hasData(): boolean {
    return this.#hasData
  }

  /** @returns the bytes of the text of `data` in the chunk. @throws AppError 400, 413 */
  read(chunk: Buffer): Buffer {
    const pieces: Buffer[] = []
    for (let at = 0; at < chunk.length; ) at = this.#isInData ? this.#readData(chunk, at, pieces) : this.#readRest(chunk, at)
    return pieces.length === 1 ? (pieces[0] as Buffer) : Buffer.concat(pieces)
  }

  /** The keys that came before the text of `data`, once it has begun. */
  keysBefore(): Record<string, unknown> {
    try {
      return JSON.parse(`${this.#before}"}`)
    } catch {
      return {}
    }
  }

  /** The value of the whole body, with an empty text for `data`. @throws AppError 400 */
  end(): unknown {
    if (this.#isInData) throw notJson()
    return parseJson(Buffer.concat(this.#kept))
  }

  /** Keeps everything up to the text of `data`. @returns where it stopped */
  #readRest(chunk: Buffer, from: number): number {
    let at = from
    while (at < chunk.length && !this.#isInData) this.#step(chunk[at++] as number)
    this.#keptBytes += at - from
    if (this.#keptBytes > MOST_BESIDES)
      throw new AppError('PAYLOAD_TOO_LARGE', `The body must have at most ${MOST_BESIDES} bytes besides data`)
    this.#kept.push(Buffer.from(chunk.subarray(from, at)))
    if (this.#isInData) this.#before = Buffer.concat(this.#kept).toString()
    return at
  }

  #step(byte: number): void {
    const char = String.fromCharCode(byte)
    if (this.#isInString) this.#stepInString(byte)
    else if (char === '"') this.#beginString()
    else if (char === '{' || char === '[') {
      this.#depth++
      this.#nextString = this.#depth === 1 && char === '{' ? 'key' : 'elsewhere'
    } else if (char === '}' || char === ']') {
      this.#depth--
      this.#nextString = 'elsewhere'
    } else if (this.#depth === 1 && char === ',') this.#nextString = 'key'
    else if (this.#depth === 1 && char === ':') this.#nextString = 'value'
  }

  #beginString(): void {
    if (this.#depth === 1 && this.#nextString === 'value' && this.#isKeyData) {
      if (this.#hasData) throw badInput('data', 'is given twice')
      this.#hasData = true
      this.#isInData = true
    } else {
      this.#isInString = true
      this.#key = this.#depth === 1 && this.#nextString === 'key' ? [QUOTE] : undefined
    }
    this.#nextString = 'elsewhere'
  }

  #stepInString(byte: number): void {
    this.#key?.push(byte)
    if (this.#isEscaped) this.#isEscaped = false
    else if (byte === BACKSLASH) this.#isEscaped = true
    else if (byte === QUOTE) {
      this.#isInString = false
      if (this.#key) this.#isKeyData = isData(Buffer.from(this.#key).toString())
      this.#key = undefined
    }
  }

  /** Hands on the text up to the next escape, or up to its end. @returns where it stopped */
  #readData(chunk: Buffer, from: number, pieces: Buffer[]): number {
    if (this.#escape) return this.#readEscape(chunk, from, pieces)
    const [quote, backslash] = [indexOf(chunk, QUOTE, from), indexOf(chunk, BACKSLASH, from)]
    const end = Math.min(quote, backslash)
    const piece = chunk.subarray(from, end)
    // JSON allows line breaks in a string only as escapes.
    if (piece.includes(LF) || piece.includes(CR)) throw notJson()
    if (piece.length) pieces.push(piece)
    if (end === chunk.length) return end
    if (end === backslash) this.#escape = '\\'
    // The quote is kept by the rest.
    else this.#leaveData()
    return end === backslash ? end + 1 : end
  }

  #leaveData(): void {
    this.#isInData = false
    this.#isKeyData = false
    // The kept text goes on with the quote that ends the string.
    this.#isInString = true
  }

  #readEscape(chunk: Buffer, at: number, pieces: Buffer[]): number {
    this.#escape += String.fromCharCode(chunk[at] as number)
    const meaning = meaningOf(this.#escape.slice(1))
    if (meaning) {
      pieces.push(meaning)
      this.#escape = ''
    }
    return at + 1
  }
}

/** The bytes for an escape, without its backslash; undefined while it is incomplete. @throws AppError 400 */
function meaningOf(code: string): Buffer | undefined {
  const simple = ESCAPES.get(code)
  if (simple) return Buffer.from(simple)
  if (!/^u[\da-f]{0,4}$/i.test(code)) throw notJson()
  if (code.length < 5) return undefined
  const char = Number.parseInt(code.slice(1), 16)
  return char < 0x80 ? Buffer.from([char]) : NOT_ASCII
}

/** Whether the JSON of a string, such as `"d\u0061ta"`, is the key. */
function isData(json: string): boolean {
  try {
    return JSON.parse(json) === 'data'
  } catch {
    return false
  }
}

function indexOf(chunk: Buffer, byte: number, from: number): number {
  const at = chunk.indexOf(byte, from)
  return at < 0 ? chunk.length : at
}

const notJson = () => new AppError('BAD_REQUEST', 'The body is not valid JSON')
