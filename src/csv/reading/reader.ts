/** Reads a stream of bytes as rows of text, a thousand at a time, in constant memory. */
import { pipeline, Readable } from 'node:stream'
import { CsvError, type Options, parse } from 'csv-parse'
import { chunkTurn } from '../../platform/concurrency/loop-turns.ts'
import { AppError, badCells } from '../../platform/errors.ts'
import { nfc } from '../../platform/normal-forms.ts'
import { asUtf8, type Encoding } from './encodings.ts'
import { type Separator, withSeparator } from './separators.ts'

export interface Row {
  /** The line of the file where the row begins, from 1. Empty lines and lines within quotes count. */
  number: number
  cells: string[]
}

const MB = 1_048_576
/** The same limit as for a batch of records (contract.md §1). */
const MAX_ROW_BYTES = 10 * MB
/** A table cannot have as many fields. Without this limit, a megabyte of commas would take a hundred megabytes of memory. */
const MAX_CELLS = 1_000
const ROWS_AT_ONCE = 1_000
const CHARACTERS_AT_ONCE = 4 * MB
/** What is parsed in one turn of the event loop, 8,000 rows at most: chunks of a file are larger, and several can arrive in one turn. */
const BYTES_AT_ONCE = 16_384

export interface ReadFile {
  separator: Separator
  /** Known once the rows are read: it may be decided by the last one. */
  encoding(): Encoding
  /** The rows in chunks, none of which is empty. */
  rows: AsyncGenerator<Row[]>
}

/**
 * Reads the file. Line ends (CRLF, LF and CR) may be mixed; empty lines and a byte order mark are skipped.
 * @param isName whether a text is the name of a column, and a semicolon or tab in it therefore part of the name
 * @throws AppError here or while the rows are read: 400 for invalid text, an unmatched quote and a row of more than 10 MB or
 * 1,000 cells; 413 above `maxBytes`
 */
export async function readFile(
  bytes: AsyncIterable<Uint8Array>,
  maxBytes: number,
  isName: (text: string) => boolean = () => false,
): Promise<ReadFile> {
  let encoding: Encoding = 'UTF-8'
  const text = asUtf8(counted(bytes, maxBytes), (found) => {
    encoding = found
  })
  const file = await withSeparator(text, isName)
  return { separator: file.separator, encoding: () => encoding, rows: readRows(file.bytes, file.separator) }
}

async function* readRows(text: AsyncIterable<Uint8Array>, separator: Separator): AsyncGenerator<Row[]> {
  // The number of lines that the rows so far take up. The parser's own count counts a CRLF within quotes twice.
  let lines = 0
  const options: Options<unknown, string[]> = {
    bom: true,
    delimiter: separator,
    // csv-parse 7 uses the first of these that matches. Without this option it expects the end of the first line for all lines.
    record_delimiter: ['\r\n', '\n', '\r'],
    relax_column_count: true,
    skip_empty_lines: true,
    max_record_size: MAX_ROW_BYTES,
    on_record: (cells, { empty_lines }): Row => {
      const number = lines + empty_lines + 1
      if (cells.length > MAX_CELLS) throw tooWide(number)
      lines += 1
      for (const cell of cells) lines += lineEnds(cell)
      return { number, cells: cells.map(nfc) }
    },
  }
  // The types of csv-parse 7 do not allow `onRecord` to change the type of a record without columns.
  const parser = parse(options as Options)
  // This property is not in the types: the cells of the unfinished row. The limit on the size of a row does not count their commas.
  const { state } = parser as unknown as { state: { record: readonly string[] } }
  const refuseWide = () => {
    if (state.record.length > MAX_CELLS) throw tooWide(lines + parser.info.empty_lines + 1)
  }
  // The parser also reports the errors of its source.
  pipeline(Readable.from(inParts(text, refuseWide)), parser, () => {})
  let held: Row[] = []
  let characters = 0
  try {
    for await (const row of parser as AsyncIterable<Row>) {
      held.push(row)
      for (const cell of row.cells) characters += cell.length
      if (held.length < ROWS_AT_ONCE && characters < CHARACTERS_AT_ONCE) continue
      yield held
      held = []
      characters = 0
    }
  } catch (error) {
    throw refusal(error, lines)
  }
  if (held.length) yield held
}

/** Counts the line ends in a cell, which may be ten million. */
function lineEnds(cell: string): number {
  if (!cell.includes('\n') && !cell.includes('\r')) return 0
  let count = 0
  for (let at = 0; at < cell.length; at++) {
    const code = cell.charCodeAt(at)
    if (code === LF || (code === CR && cell.charCodeAt(at + 1) !== LF)) count++
  }
  return count
}

const [LF, CR] = [0x0a, 0x0d]

async function* counted(bytes: AsyncIterable<Uint8Array>, maxBytes: number): AsyncGenerator<Uint8Array> {
  let count = 0
  for await (const chunk of bytes) {
    count += chunk.length
    if (count > maxBytes) throw tooLarge(maxBytes)
    yield chunk
  }
}

/** Passes the text on, each part in a turn of the event loop. @param refuseWide throws if the unfinished row has too many cells */
async function* inParts(text: AsyncIterable<Uint8Array>, refuseWide: () => void): AsyncGenerator<Uint8Array> {
  for await (const chunk of text) {
    for (let at = 0; at < chunk.length; at += BYTES_AT_ONCE) {
      await chunkTurn()
      refuseWide()
      yield chunk.subarray(at, at + BYTES_AT_ONCE)
    }
  }
}

/** The 413 of a file that is too large. */
export const tooLarge = (maxBytes: number) => new AppError('PAYLOAD_TOO_LARGE', `The file is larger than ${Math.floor(maxBytes / MB)} MB`)

const tooWide = (row: number) => badCells([{ row, column: null, message: `has more than ${MAX_CELLS} cells` }])

const QUOTE = 'unexpected quote; enclose the cell in quotes and double the quotes within it'
const REASONS: Partial<Record<CsvError['code'], string>> = {
  CSV_QUOTE_NOT_CLOSED: 'a quote is not closed',
  CSV_INVALID_CLOSING_QUOTE: QUOTE,
  CSV_NON_TRIMABLE_CHAR_AFTER_CLOSING_QUOTE: QUOTE,
  INVALID_OPENING_QUOTE: QUOTE,
  CSV_MAX_RECORD_SIZE: 'is larger than 10 MB',
}

/** @param lines the number of lines before the row */
function refusal(error: unknown, lines: number): unknown {
  if (!(error instanceof CsvError)) return error
  const message = REASONS[error.code] ?? 'is not valid CSV'
  return badCells([{ row: lines + Number(error.empty_lines ?? 0) + 1, column: null, message }], error)
}
