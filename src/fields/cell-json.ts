/**
 * Writes cells as JSON, from what PostgreSQL prints: the parts that several field types share. A page of records is made of these pieces,
 * without an object for a row (docs/decisions/0024-written-pages.md).
 */
import { PrintedCell } from '../platform/database/statements/printed-rows.ts'
import { EXACT_LENGTH } from '../platform/exact-json.ts'
import { JsonPiece, type JsonWriter } from '../platform/writers/json-writer.ts'

/** Values as finished JSON, by the ids that cells hold. */
export type JsonById = ReadonlyMap<number, JsonPiece>

/**
 * Writes one cell.
 * @param named the users or records that the cells of the field refer to; empty for a type that names neither
 */
export type CellJson = (cell: PrintedCell, json: JsonWriter, named: JsonById) => void

/** A cell that was read as a text, to be written as others are. */
export const cellOfText = (text: string | null): PrintedCell => PrintedCell.of(text)

/** Makes the value JSON once, for all cells that refer to it. */
export const jsonPiece = (value: unknown): JsonPiece => new JsonPiece(JSON.stringify(value))

export const NULL = jsonPiece(null)
export const TRUE = jsonPiece(true)
export const FALSE = jsonPiece(false)
export const NO_VALUES = jsonPiece([])
const BEGIN = new JsonPiece('[')
const COMMA = new JsonPiece(',')
const END = new JsonPiece(']')

/** Writes null for an empty cell. */
const orNull =
  (write: (cell: PrintedCell, json: JsonWriter) => void): CellJson =>
  (cell, json) => {
    if (cell.isNull) json.json(NULL)
    else write(cell, json)
  }

/** Writes a value that is a JSON string. */
export const textJson: CellJson = orNull((cell, json) => json.string(cell))

/** Writes a number with all its digits, as JSON.stringify spells it if JavaScript keeps them. A text that is no number becomes null. */
export const numberJson: CellJson = orNull((cell, json) => {
  if (isPlainNumber(cell)) return json.printed(cell)
  const text = cell.text()
  json.text(text.length <= EXACT_LENGTH && AS_IN_JAVASCRIPT.test(text) ? text : exactDecimal(text))
})

/** Without needless zeros, because those at the beginning are no JSON, and those at the end are no digits of a cell. */
function exactDecimal(text: string): string {
  const [, sign, whole = '', fraction = ''] = DECIMAL.exec(text) ?? []
  if (sign === undefined || whole.length + fraction.length <= EXACT_LENGTH) return JSON.stringify(Number(text))
  return `${sign}${whole}${fraction && `.${fraction}`}`
}
const DECIMAL = /^(-?)0*(\d+?)(?:\.(?:(\d*[1-9])?0*))?$/

/** Without needless zeros, and not so small that JavaScript would write an exponent. */
const AS_IN_JAVASCRIPT = /^(?:0|-?[1-9]\d*(?:\.\d*[1-9])?|-?0\.(?!0{6})\d*[1-9])$/
const [POINT, ZERO, NINE] = [46, 48, 57]

/**
 * True if the value is certainly spelled as in JSON: a few digits without a leading zero, or a trailing one after a decimal point.
 * While a number field is converted to a text field, its column may already hold `007` or an empty text, which are not valid JSON numbers.
 */
function isPlainNumber({ bytes, start, end }: PrintedCell): boolean {
  if (end - start > EXACT_LENGTH || start === end) return false
  if (bytes[start] === ZERO) return end - start === 1
  let point = -1
  for (let at = start; at < end; at++) {
    const byte = bytes[at] as number
    if (byte >= ZERO && byte <= NINE) continue
    if (byte !== POINT || point >= 0 || at === start) return false
    point = at
  }
  return point < 0 || (point < end - 1 && bytes[end - 1] !== ZERO)
}

/** Writes a list of cells, whose texts the cell holds as a JSON list. @param write writes one of them */
export const eachJson =
  (write: CellJson): CellJson =>
  (cell, json, named) => {
    let before = BEGIN
    for (const one of cellsIn(cell)) {
      json.json(before)
      write(one, json, named)
      before = COMMA
    }
    json.json(before === BEGIN ? NO_VALUES : END)
  }

/** The cells of such a list. */
export const cellsIn = (cell: PrintedCell): PrintedCell[] =>
  cell.isNull ? [] : (JSON.parse(cell.text()) as (string | null)[]).map(cellOfText)

/** Reads the ids in a cell, or in the cells of such a list. */
export const idsInCell = (cell: PrintedCell): number[] => cell.ints()
export const idsInEach = (cell: PrintedCell): number[] => cellsIn(cell).flatMap(idsInCell)

/** Writes the value with the id that the cell holds; null if there is none. */
export function writeOne(cell: PrintedCell, json: JsonWriter, values: JsonById): void {
  json.json((cell.isNull ? undefined : values.get(cell.int())) ?? NULL)
}

/** Writes the values with the ids of the list that the cell holds, in order. Ids of deleted values are left out. */
export function writeList(cell: PrintedCell, json: JsonWriter, values: JsonById): void {
  let before = BEGIN
  for (const id of cell.ints()) {
    const value = values.get(id)
    if (!value) continue
    json.json(before)
    json.json(value)
    before = COMMA
  }
  json.json(before === BEGIN ? NO_VALUES : END)
}
