/** Writes lines of CSV as bytes, equal to those that csv-format.ts makes of texts. */
import type { PrintedCell } from '../database/statements/printed-rows.ts'
import { BytePiece, ByteWriter, bytesLike, fourTimes, HIGHEST_BITS, WORD_BYTES } from './byte-writer.ts'
import { csvCell, listElement, quotedPart, shielded } from './csv-format.ts'

const [QUOTE, APOSTROPHE, COMMA, LINE_FEED, RETURN, BLANK] = [34, 39, 44, 10, 13, 32]
const [QUOTES, COMMAS, LINE_FEEDS, RETURNS] = [fourTimes('"'), fourTimes(','), fourTimes('\n'), fourTimes('\r')]

const END_OF_LINE = new BytePiece('\r\n')
const EMPTY_CELL = new BytePiece('""')
const ONE_QUOTE = new BytePiece('"')
const QUOTE_AND_APOSTROPHE = new BytePiece('"\'')

/** The first bytes of blanks beyond ASCII, in UTF-8, of two or three bytes: U+00A0, U+1680, U+2000 to U+205F, U+3000 and U+FEFF. */
const [BLANK_OF_TWO, BLANKS_OF_THREE] = [0xc2, [0xe1, 0xe2, 0xe3, 0xef]]
const HIGHEST_BYTE = 256

const bytesThat = (hold: (byte: number) => boolean): Uint8Array =>
  Uint8Array.from({ length: HIGHEST_BYTE }, (_, byte) => Number(hold(byte)))
const beginsBlankOfThree = bytesThat((byte) => BLANKS_OF_THREE.includes(byte))
/** The first bytes of texts that need an apostrophe. Texts that begin with control characters or apostrophes may need one, too. */
const beginsFormula = bytesThat((byte) => '=+-@'.includes(String.fromCharCode(byte)))
/** The first bytes of texts that the rules of csv-format.ts must decide about, because they are rare. */
const isDoubtfulFirst = bytesThat((byte) => byte <= BLANK || byte === APOSTROPHE || byte === BLANK_OF_TWO || BLANKS_OF_THREE.includes(byte))

/** A text that is written often, finished for each place that it can have: as a cell, or in a list that is a cell. */
export class CsvValue {
  /** The cell of this value. */
  readonly cell: BytePiece
  /** The cell of a list of this value alone. */
  readonly only: BytePiece
  /** Its part of a longer list: the first, with the opening quote, and another. */
  readonly first: BytePiece
  readonly following: BytePiece

  constructor(text: string) {
    const element = listElement(text)
    this.cell = new BytePiece(csvCell(shielded(text)))
    this.only = new BytePiece(csvCell(shielded(element)))
    this.first = new BytePiece(`"${quotedPart(shielded(element))}`)
    this.following = new BytePiece(`, ${quotedPart(element)}`)
  }
}

export class CsvWriter extends ByteWriter {
  #line = 0

  comma(): void {
    this.reserve(1)
    this.bytes[this.end++] = COMMA
  }

  /** Ends the line. The last of empty cells is quoted, because readers skip empty lines and those of separators. */
  endLine(): void {
    if (this.#isLineEmpty()) this.piece(EMPTY_CELL)
    this.piece(END_OF_LINE)
    this.#line = this.end
  }

  #isLineEmpty(): boolean {
    let at = this.#line
    while (at < this.end && this.bytes[at] === COMMA) at++
    return at === this.end
  }

  override flush(): Buffer {
    this.#line = 0
    return super.flush()
  }

  /** Writes values as one cell: those that are known among the ids. */
  list(ids: readonly number[], values: ReadonlyMap<number, CsvValue>): void {
    let [only, count]: [CsvValue | undefined, number] = [undefined, 0]
    for (const id of ids) {
      const value = values.get(id)
      if (!value) continue
      // The first is written when a second one shows that the cell needs quotes.
      if (count === 1) this.piece((only as CsvValue).first)
      if (count) this.piece(value.following)
      else only = value
      count++
    }
    if (count === 1) this.piece((only as CsvValue).only)
    else if (count) this.piece(ONE_QUOTE)
  }

  /** Writes a text as a cell: shielded from being taken for a formula, and in quotes where it needs them. */
  string(cell: PrintedCell): void {
    const { bytes, view: from, start, end } = cell
    if (start === end) return
    if (isDoubtfulFirst[bytes[start] as number] || mayEndWithBlank(bytes, start, end)) return void this.text(csvCell(shielded(cell.text())))
    this.reserve(end - start + 1)
    const { bytes: to, view } = this
    const isFormula = beginsFormula[bytes[start] as number] === 1
    let [at, next, quotes, others] = [this.end, start, 0, 0]
    if (isFormula) to[at++] = APOSTROPHE
    for (; next <= end - WORD_BYTES; next += WORD_BYTES, at += WORD_BYTES) {
      const word = from.getInt32(next, true)
      quotes |= bytesLike(word, QUOTES)
      others |= bytesLike(word, COMMAS) | bytesLike(word, LINE_FEEDS) | bytesLike(word, RETURNS)
      view.setInt32(at, word, true)
    }
    for (; next < end; next++) {
      const byte = bytes[next] as number
      if (byte === QUOTE) quotes = HIGHEST_BITS
      if (byte === COMMA || byte === LINE_FEED || byte === RETURN) others = HIGHEST_BITS
      to[at++] = byte
    }
    const hasQuotes = (quotes & HIGHEST_BITS) !== 0
    if (hasQuotes || (others & HIGHEST_BITS) !== 0) this.#quoted(cell, isFormula, hasQuotes)
    else this.end = at
  }

  #quoted(cell: PrintedCell, isFormula: boolean, hasQuotes: boolean): void {
    this.piece(isFormula ? QUOTE_AND_APOSTROPHE : ONE_QUOTE)
    if (hasQuotes) this.#withDoubledQuotes(cell)
    else this.printed(cell)
    this.piece(ONE_QUOTE)
  }

  #withDoubledQuotes({ bytes, start, end }: PrintedCell): void {
    this.reserve(2 * (end - start))
    const to = this.bytes
    let { end: at } = this
    for (let next = start; next < end; next++) {
      const byte = bytes[next] as number
      to[at++] = byte
      if (byte === QUOTE) to[at++] = QUOTE
    }
    this.end = at
  }
}

function mayEndWithBlank(bytes: Buffer, start: number, end: number): boolean {
  const last = bytes[end - 1] as number
  if (last <= BLANK) return true
  if (last < HIGHEST_BYTE / 2) return false
  if (bytes[end - 2] === BLANK_OF_TWO) return true
  return end - start > 2 && beginsBlankOfThree[bytes[end - 3] as number] === 1
}
