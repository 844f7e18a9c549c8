/**
 * Writes the rows of a statement as JSON, from the bytes that PostgreSQL prints. No object is made of a row, and of few values a string
 * (docs/decisions/0026-written-json.md).
 */
import type { z } from 'zod'
import type { PrintedCell, PrintedRows } from '../../database/statements/printed-rows.ts'
import { JsonPiece, JsonWriter } from '../../writers/json-writer.ts'
import type { PageEnd } from './cursor.ts'
import { WrittenList } from './written-json.ts'

/** Writes a value that is not NULL. */
export type WriteValue = (cell: PrintedCell, json: JsonWriter) => void

/** A whole number: printed as JSON spells it. */
export const asNumber: WriteValue = (cell, json) => json.printed(cell)

/** A text, a date, a time or an instant. */
export const asText: WriteValue = (cell, json) => json.string(cell)

/** A value of the type jsonb: PostgreSQL prints spaces and an order of its own, so the schema decides which properties there are. */
export const asJsonb =
  (schema: z.ZodType): WriteValue =>
  (cell, json) => {
    // Most rows have no attachments.
    if (isEmptyList(cell)) json.printed(cell)
    else json.text(JSON.stringify(schema.parse(JSON.parse(cell.text()))))
  }

const LIST_BEGINS = 91
const isEmptyList = ({ bytes, start, end }: PrintedCell): boolean => end - start === '[]'.length && bytes[start] === LIST_BEGINS

/** How a column is written, by the name of its property. */
export interface WrittenColumn {
  readonly write: WriteValue
  /** True if the property is left out where the column is null. Elsewhere null is written. */
  readonly isOptional: boolean
}

/**
 * Writes a page of rows, whose last column is the total. An empty page is no row, or one without an id, so that a page beyond the end has
 * the total, too. The rows are freed.
 */
export type WriteList<Row> = (rows: PrintedRows) => WrittenList<Row>

const FIRST = new JsonPiece('[')
const FOLLOWING = new JsonPiece('},')
const END = new JsonPiece('}]')

/** Returns the function that writes pages of rows with these columns, in their order. The first property is always present. */
export function listWriter<Row>(shape: { readonly [Name in keyof Row]-?: WrittenColumn }): WriteList<Row> {
  const columns = Object.entries<WrittenColumn>(shape).map(([name, { write, isOptional }], at) => {
    const key = `${at === 0 ? '{' : ','}${JSON.stringify(name)}:`
    return { key: new JsonPiece(key), write, absent: isOptional ? undefined : new JsonPiece(`${key}null`) }
  })
  return (rows) => {
    if (rows.length === 0) return new WrittenList('[]', { total: 0 })
    const total = Number(rows.textOf(0, columns.length))
    if (rows.textOf(0, 0) === null) return new WrittenList('[]', { total })
    const json = new JsonWriter()
    rows.eachRow((cell, index) => {
      json.json(index === 0 ? FIRST : FOLLOWING)
      writeRow(columns, cell, json)
    })
    json.json(END)
    rows.free()
    return new WrittenList(json.finish(), { total })
  }
}

/**
 * Returns where the page ends, for a cursor; undefined if no row follows it. After the total its rows have the number of all rows from the
 * first of the page on.
 * @param shape the columns in their order, among them `id`
 * @param keys the columns that the rows are sorted by before the id
 */
export function endOfPage<Name extends string>(
  rows: PrintedRows,
  shape: Readonly<Record<Name | 'id', unknown>>,
  keys: readonly Name[] = [],
): PageEnd | undefined {
  const names = Object.keys(shape)
  const last = rows.length - 1
  if (last < 0 || Number(rows.textOf(0, names.length + 1)) <= rows.length) return undefined
  return { keys: keys.map((name) => rows.textOf(last, names.indexOf(name))), id: Number(rows.textOf(last, names.indexOf('id'))) }
}

/**
 * Returns the function that writes pages of rows with a column that refers to texts. These are read after the rows, for all of them
 * together.
 * @param name the column. `read` gets what is printed in it, and returns the function that gives the text for each
 */
export function referringListWriter<Row>(shape: { readonly [Name in keyof Row]-?: WrittenColumn }, name: keyof Row & string) {
  const at = Object.keys(shape).indexOf(name)
  type TextOf = (reference: string) => string | null
  return async (rows: PrintedRows, read: (references: readonly string[]) => Promise<TextOf>): Promise<WrittenList<Row>> => {
    const references = Array.from({ length: rows.length }, (_, row) => rows.textOf(row, at))
    const textOf = await read(references.filter((reference) => reference !== null))
    const write: WriteValue = (cell, json) => json.text(JSON.stringify(textOf(cell.text())))
    return listWriter<Row>({ ...shape, [name]: { isOptional: false, write } })(rows)
  }
}

/** How to write a column: its key and its value, or what stands in their place if it is null. */
interface Property {
  key: JsonPiece
  write: WriteValue
  absent: JsonPiece | undefined
}

/** Writes an object but its closing brace. */
function writeRow(columns: readonly Property[], cell: PrintedCell, json: JsonWriter): void {
  let isFirst = true
  for (const { key, write, absent } of columns) {
    if (!isFirst) cell.next()
    isFirst = false
    if (!cell.isNull) {
      json.json(key)
      write(cell, json)
    } else if (absent) json.json(absent)
  }
}
