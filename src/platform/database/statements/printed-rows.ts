/**
 * Rows as PostgreSQL prints them, kept as bytes. pg-protocol makes a string of every value, which costs as much as writing the page
 * that is made of them (docs/decisions/0024-written-pages.md).
 */
import { createRequire } from 'node:module'
import { freeChunk } from '../../bytes/freed-chunk.ts'

/** The bytes for a whole message of the connection: the rows that follow the first are probably in it. */
const MOST_FIRST_BYTES = 65_536
/** Before each value are four bytes with its length; -1 stands for NULL. */
const LENGTH_BYTES = 4
const NO_BYTES = Buffer.alloc(0)
const [COMMA, MINUS, ZERO, NINE, T, BRACE] = [44, 45, 48, 57, 116, 123]

export class PrintedRows {
  #bytes = NO_BYTES
  #end = 0
  #starts: number[] = []

  get length(): number {
    return this.#starts.length
  }

  /** The bytes of all values and of their lengths. */
  get bytes(): number {
    return this.#end
  }

  /** Copies the values of a row, each after its length. */
  add(bytes: Buffer, start: number, end: number): void {
    const needed = this.#end + end - start
    if (needed > this.#bytes.length) {
      const larger = Buffer.allocUnsafe(Math.max(needed, 2 * this.#bytes.length, Math.min(bytes.length - start, MOST_FIRST_BYTES)))
      this.#bytes.copy(larger, 0, 0, this.#end)
      freeChunk(this.#bytes)
      this.#bytes = larger
    }
    bytes.copy(this.#bytes, this.#end, start, end)
    this.#starts.push(this.#end)
    this.#end = needed
  }

  /** Drops the rows after the first `length`. */
  cutTo(length: number): void {
    this.#starts = this.#starts.slice(0, length)
  }

  /** Frees the bytes at once (bytes/freed-chunk.ts). It has no rows afterwards. */
  free(): void {
    freeChunk(this.#bytes)
    this.#bytes = NO_BYTES
    this.#starts = []
    this.#end = 0
  }

  /** The ids with which the rows begin. */
  ids(): number[] {
    const ids: number[] = []
    this.eachRow((cell) => ids.push(cell.int()))
    return ids
  }

  /** Puts the rows, which begin with ids, into the order of these ids. Rows with other ids are dropped. */
  putInOrder(ids: readonly number[]): void {
    const starts = new Map(this.ids().map((id, index) => [id, this.#starts[index] as number]))
    this.#starts = ids.flatMap((id) => starts.get(id) ?? [])
  }

  /** Calls back for each row, with its first value. All rows share one object. */
  eachRow(read: (cell: PrintedCell, index: number) => void): void {
    const cell = new PrintedCell(this.#bytes)
    for (let index = 0; index < this.#starts.length; index++) {
      cell.moveTo(this.#starts[index] as number)
      read(cell, index)
    }
  }

  /** The text of a value; null for NULL. @param column counted from 0; the row must have it */
  textOf(row: number, column: number): string | null {
    const cell = new PrintedCell(this.#bytes)
    cell.moveTo(this.#starts[row] as number)
    cell.skip(column)
    return cell.isNull ? null : cell.text()
  }
}

/** One value of a row, and the way to the next. */
export class PrintedCell {
  readonly bytes: Buffer
  readonly view: DataView
  /** Where the value begins and ends; both are the same for NULL and for an empty text. */
  start = 0
  end = 0
  isNull = true

  constructor(bytes: Buffer) {
    this.bytes = bytes
    this.view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length)
  }

  /** The cell of a value that was read as a text. */
  static of(text: string | null): PrintedCell {
    const cell = new PrintedCell(text === null ? NO_BYTES : Buffer.from(text))
    cell.end = cell.bytes.length
    cell.isNull = text === null
    return cell
  }

  /** Moves to the value whose length begins at this byte. */
  moveTo(at: number): void {
    const length = this.view.getInt32(at)
    this.isNull = length < 0
    this.start = at + LENGTH_BYTES
    this.end = this.isNull ? this.start : this.start + length
  }

  next(): void {
    this.moveTo(this.end)
  }

  skip(count: number): void {
    for (let left = count; left > 0; left--) this.next()
  }

  /** Whether the bytes of the text are among those of the value. */
  includes(text: string): boolean {
    return this.bytes.subarray(this.start, this.end).includes(text)
  }

  text(): string {
    return this.bytes.toString('utf8', this.start, this.end)
  }

  /** The value of a `bool` column, which PostgreSQL prints as `t` or `f`; false for NULL. */
  bool(): boolean {
    return !this.isNull && this.bytes[this.start] === T
  }

  /** The value of an `int` column; NaN for other text than digits, which the column may hold after a change of its type. */
  int(): number {
    return this.#intBetween(this.start, this.end)
  }

  /** The values of an `int[]` column, such as `{7,12}`, or the one value of an `int` column; none for NULL. */
  ints(): number[] {
    const { bytes, start, end } = this
    if (start === end) return []
    if (bytes[start] !== BRACE) return [this.int()]
    const values: number[] = []
    let from = start + 1
    for (let at = from; at < end; at++) {
      if (bytes[at] !== COMMA && at < end - 1) continue
      // An element may be NULL, in letters.
      if (at > from && (bytes[from] as number) <= NINE) values.push(this.#intBetween(from, at))
      from = at + 1
    }
    return values
  }

  #intBetween(start: number, end: number): number {
    const { bytes } = this
    const isNegative = bytes[start] === MINUS
    let value = 0
    for (let at = isNegative ? start + 1 : start; at < end; at++) {
      const byte = bytes[at] as number
      if (byte < ZERO || byte > NINE) return Number.NaN
      value = 10 * value + byte - ZERO
    }
    return isNegative ? -value : value
  }
}

// ── from the connection ─────────────────────────────────────────────────────

const DATA_ROW = 68
/** The bytes of a DataRow message before the first value: the number of its columns. */
const COUNT_BYTES = 2

interface Parser {
  handlePacket(start: number, code: number, length: number, bytes: Buffer): { fields?: (string | null)[] }
}

const fromPg = createRequire(createRequire(import.meta.url).resolve('pg'))
const { Parser } = fromPg('pg-protocol/dist/parser.js') as { Parser: { prototype: Parser } }
const { handlePacket } = Parser.prototype

/** The cell for the bytes of the latest message, which often has many rows. */
let reused: PrintedCell | undefined

/** A row whose strings are made when somebody asks for them, before the parser goes on and may overwrite the bytes. */
export class DataRow {
  readonly name = 'dataRow'
  readonly length: number
  readonly #parser: Parser
  readonly #start: number
  readonly #bytes: Buffer

  constructor(parser: Parser, start: number, length: number, bytes: Buffer) {
    this.#parser = parser
    this.#start = start
    this.length = length
    this.#bytes = bytes
  }

  get fields(): (string | null)[] {
    return handlePacket.call(this.#parser, this.#start, DATA_ROW, this.length, this.#bytes).fields as (string | null)[]
  }

  addTo(rows: PrintedRows): void {
    rows.add(this.#bytes, this.#start + COUNT_BYTES, this.#end)
  }

  /** A cell from which `next` goes to the first value. Other rows share it. */
  cellBeforeFirst(): PrintedCell {
    if (reused?.bytes !== this.#bytes) reused = new PrintedCell(this.#bytes)
    reused.end = this.#start + COUNT_BYTES
    return reused
  }

  get #end(): number {
    // The length of the message counts its own four bytes.
    return this.#start + this.length - LENGTH_BYTES
  }
}

// Of pg-protocol (1.16.1) only the parser sees the bytes of a row, and pg makes it.
Parser.prototype.handlePacket = function (start, code, length, bytes) {
  return code === DATA_ROW ? new DataRow(this, start, length, bytes) : handlePacket.call(this, start, code, length, bytes)
}
