/** Parses the text of a file as rows of cells (RFC 4180), as it comes in parts. */
import { type AppError, badCells } from '../../platform/errors.ts'
import { nfc } from '../../platform/normal-forms.ts'

export interface Row {
  /** The line of the file where the row begins, from 1. Empty lines and lines within quotes count. */
  number: number
  cells: string[]
}

/** About the limit of a batch of records (contract.md §1), in characters. */
const MAX_ROW = 10 * 1_048_576
/** A table cannot have as many fields. Without this limit, a megabyte of commas would take a hundred megabytes of memory. */
const MAX_CELLS = 1_000

const [TAB, LF, CR, BLANK, QUOTE] = [0x09, 0x0a, 0x0d, 0x20, 0x22]
/** Ctrl-Z, with which programs of DOS end a file. */
const END_OF_FILE = 0x1a

/**
 * Where the next character is: at the beginning of a cell, perhaps after blanks; in an open cell, where a quote is a character as others,
 * such as that of 19"; in a quoted one; after a quote in it, which is doubled or has closed it; after a closed cell.
 */
type Place = 'begin' | 'open' | 'quoted' | 'quote' | 'closed'

/** Line ends (CRLF, LF and CR) may be mixed. Empty lines and rows of nothing but separators are no rows. */
export class RowParser {
  readonly #separator: number
  #place: Place = 'begin'
  #rows: Row[] = []
  #cells: string[] = []
  #cell = ''
  /** The characters of the cells of the row so far. */
  #size = 0
  #hasQuotes = false
  /** The line of the next character, and of the first one of the row. */
  #line: number
  #number: number
  #isAfterCr = false
  /** True if the last character of a quoted cell so far is CR. */
  #isQuotedCr = false
  #isEnded = false

  /** @param line of the first character */
  constructor(separator: string, line = 1) {
    this.#separator = separator.charCodeAt(0)
    this.#line = line
    this.#number = line
  }

  /** The rows that have been completed since the last call. */
  take(): Row[] {
    return this.#rows.splice(0)
  }

  /** @throws AppError 400 for a stray quote, and a row of more than 10 MB or 1,000 cells */
  add(text: string): void {
    let at = 0
    while (at < text.length && !this.#isEnded) {
      if (this.#isAfterCr) {
        this.#isAfterCr = false
        if (text.charCodeAt(at) === LF) at++
      } else if (this.#place === 'quoted') at = this.#readQuoted(text, at)
      else if (this.#place === 'open') at = this.#readOpen(text, at)
      else at = this.#readOne(text.charCodeAt(at), at)
    }
  }

  /** Ends the text. @throws AppError 400 for a quote that is not closed */
  end(): void {
    if (this.#place === 'quoted') throw this.#refusal(QUOTE_NOT_CLOSED)
    if (this.#place === 'open' && this.#cell.charCodeAt(this.#cell.length - 1) === END_OF_FILE) this.#cell = this.#cell.slice(0, -1)
    if (!this.#isRowStart) this.#endRow()
  }

  get #isRowStart(): boolean {
    return this.#place === 'begin' && this.#cell === '' && !this.#cells.length
  }

  #readQuoted(text: string, from: number): number {
    const quote = text.indexOf('"', from)
    const end = quote < 0 ? text.length : quote
    this.#append(text.slice(from, end))
    for (let at = from; at < end; at++) {
      const code = text.charCodeAt(at)
      if (code === CR || (code === LF && !(at ? text.charCodeAt(at - 1) === CR : this.#isQuotedCr))) this.#line++
    }
    this.#isQuotedCr = text.charCodeAt(end - 1) === CR
    if (quote < 0) return end
    this.#place = 'quote'
    return quote + 1
  }

  #readOpen(text: string, from: number): number {
    let end = from
    while (end < text.length && !this.#ends(text.charCodeAt(end))) end++
    this.#append(text.slice(from, end))
    if (end === text.length) return end
    this.#endCell(text.charCodeAt(end))
    return end + 1
  }

  /** Reads a character at the beginning of a cell, or after a quote in a quoted one. @returns where the next one is */
  #readOne(code: number, at: number): number {
    if (this.#ends(code)) this.#endCell(code)
    else if (this.#place === 'begin') return this.#begin(code, at)
    else this.#readAfterQuote(code)
    return at + 1
  }

  #begin(code: number, at: number): number {
    if (code === END_OF_FILE && this.#isRowStart) this.#isEnded = true
    else if (code === QUOTE) this.#openQuotes()
    else if (this.#isBlank(code)) this.#append(String.fromCharCode(code))
    else {
      this.#place = 'open'
      return at
    }
    return at + 1
  }

  #readAfterQuote(code: number): void {
    if (code === QUOTE && this.#place === 'quote') {
      this.#append('"')
      this.#place = 'quoted'
    } else if (code === END_OF_FILE) {
      this.#endRow()
      this.#isEnded = true
    } else if (this.#isBlank(code)) this.#place = 'closed'
    else throw this.#refusal(STRAY_QUOTE)
  }

  #isBlank(code: number): boolean {
    return code === BLANK || (code === TAB && this.#separator !== TAB)
  }

  #ends(code: number): boolean {
    return code === this.#separator || code === LF || code === CR
  }

  /** Blanks before a quote are no part of the cell. */
  #openQuotes(): void {
    this.#cell = ''
    this.#hasQuotes = true
    this.#isQuotedCr = false
    this.#place = 'quoted'
  }

  #append(piece: string): void {
    this.#cell += piece
    this.#size += piece.length
    if (this.#size > MAX_ROW) throw this.#refusal('is larger than 10 MB')
  }

  /** @param code of the separator or the line end after the cell */
  #endCell(code: number): void {
    if (code !== this.#separator) {
      this.#endRow()
      this.#isAfterCr = code === CR
      this.#number = ++this.#line
      return
    }
    this.#putCell()
  }

  #putCell(): void {
    this.#cells.push(this.#cell)
    if (this.#cells.length > MAX_CELLS) throw this.#refusal(`has more than ${MAX_CELLS} cells`)
    this.#cell = ''
    this.#place = 'begin'
  }

  #endRow(): void {
    this.#putCell()
    if (this.#hasQuotes || this.#cells.some((cell) => cell !== '')) this.#rows.push({ number: this.#number, cells: this.#cells.map(nfc) })
    this.#cells = []
    this.#size = 0
    this.#hasQuotes = false
  }

  #refusal(message: string): AppError {
    return badCells([{ row: this.#number, column: null, message }])
  }
}

const QUOTE_NOT_CLOSED = 'a quote is not closed'
const STRAY_QUOTE = 'unexpected quote; enclose the cell in quotes and double the quotes within it'
