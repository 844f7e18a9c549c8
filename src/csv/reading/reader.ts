/** Reads a stream of bytes as rows of text, a thousand at a time, in constant memory. */
import { chunkTurn } from '../../platform/concurrency/loop-turns.ts'
import { AppError } from '../../platform/errors.ts'
import { asText, type Encoding, type SaidEncoding } from './encodings.ts'
import { type Row, RowParser } from './rows.ts'
import { namedSeparator, type Sampled, type Separator, sampled, separatorOf } from './separators.ts'

const MB = 1_048_576
const ROWS_AT_ONCE = 1_000
const CHARACTERS_AT_ONCE = 4 * MB
/** What is parsed in one turn of the event loop, 8,000 rows at most: chunks of a file are larger, and several can arrive in one turn. */
const PARSED_AT_ONCE = 16_384

export interface ReadFile {
  separator: Separator
  /** Known once the rows are read: it may be decided by the last one. */
  encoding(): Encoding
  /** The rows in chunks, none of which is empty. */
  rows: AsyncGenerator<Row[]>
}

export interface ReadOptions extends SaidEncoding {
  maxBytes: number
  /** By default it is told from the first rows. */
  separator?: Separator | undefined
  /** Whether a text is the name of a column, if the columns are known. */
  isName?: ((text: string) => boolean) | undefined
}

/**
 * Reads the file. Line ends (CRLF, LF and CR) may be mixed; a byte order mark, empty lines and rows of separators are skipped.
 * @throws AppError here or while the rows are read: 400 for invalid text, a quote that is stray or not closed, and a row of more than 10 MB
 * or 1,000 cells; 413 above `maxBytes`
 */
export async function readFile(bytes: AsyncIterable<Uint8Array>, { maxBytes, separator, isName, ...said }: ReadOptions): Promise<ReadFile> {
  let encoding: Encoding = 'UTF-8'
  const file = await sampled(
    asText(counted(bytes, maxBytes), said, (found) => {
      encoding = found
    }),
  )
  const named = namedSeparator(file.sample)
  const used = separator ?? named?.separator ?? separatorOf(file, isName)
  return { separator: used, encoding: () => encoding, rows: readRows(file.text, used, named?.length) }
}

/** @param begin the length of a first line that names the separator */
async function* readRows(text: Sampled['text'], separator: Separator, begin = 0): AsyncGenerator<Row[]> {
  const parser = new RowParser(separator, begin ? 2 : 1)
  let held: Row[] = []
  let characters = 0
  let skipped = begin
  for await (const part of inParts(text)) {
    parser.add(part.slice(skipped))
    skipped = Math.max(0, skipped - part.length)
    for (const row of parser.take()) {
      held.push(row)
      for (const cell of row.cells) characters += cell.length
      if (held.length < ROWS_AT_ONCE && characters < CHARACTERS_AT_ONCE) continue
      yield held
      held = []
      characters = 0
    }
  }
  parser.end()
  held.push(...parser.take())
  if (held.length) yield held
}

async function* counted(bytes: AsyncIterable<Uint8Array>, maxBytes: number): AsyncGenerator<Uint8Array> {
  let count = 0
  for await (const chunk of bytes) {
    count += chunk.length
    if (count > maxBytes) throw tooLarge(maxBytes)
    yield chunk
  }
}

/** Passes the text on, each part in a turn of the event loop. */
async function* inParts(text: AsyncIterable<string>): AsyncGenerator<string> {
  for await (const chunk of text) {
    for (let at = 0; at < chunk.length; at += PARSED_AT_ONCE) {
      await chunkTurn()
      yield chunk.slice(at, at + PARSED_AT_ONCE)
    }
  }
}

/** The 413 of a file that is too large. */
export const tooLarge = (maxBytes: number) => new AppError('PAYLOAD_TOO_LARGE', `The file is larger than ${Math.floor(maxBytes / MB)} MB`)
