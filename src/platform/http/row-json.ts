/**
 * Writes the rows of a statement as JSON, from the bytes that PostgreSQL prints. No object is made of a row, and of few values a string
 * (docs/decisions/0026-written-json.md).
 */
import type { z } from 'zod'
import type { PrintedCell, PrintedRows } from '../database/printed-rows.ts'
import { JsonPiece, JsonWriter } from '../writers/json-writer.ts'
import { WrittenJson, WrittenList } from './written-json.ts'

/** Writes a value that is not NULL. */
export type WriteValue = (cell: PrintedCell, json: JsonWriter) => void

/** A whole number: printed as JSON spells it. */
export const asNumber: WriteValue = (cell, json) => json.printed(cell)

/** A value that the statement has printed as JSON, as JSON.stringify would. */
export const asJson: WriteValue = (cell, json) => json.printed(cell)

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

/** Marks a property that is left out where the column is null. Elsewhere null is written. */
export interface Optional {
  ifPresent: WriteValue
}

/** How each column of a row is written, by the name of its property, in the order of the columns and of the properties. */
export type RowShape<Row> = { readonly [Name in keyof Row]-?: WriteValue | Optional }

/**
 * Writes a page of rows, whose last column is the total. An empty page is no row, or one without an id, so that a page beyond the end has
 * the total, too. The rows are freed.
 */
export type WriteList<Row> = (rows: PrintedRows) => WrittenList<Row>

const FIRST = new JsonPiece('[')
const FOLLOWING = new JsonPiece('},')
const END = new JsonPiece('}]')
const END_OF_ROW = new JsonPiece('}')

/** Returns the function that writes pages of rows of the shape. The first property is always present. */
export function listWriter<Row>(shape: RowShape<Row>): WriteList<Row> {
  const columns = columnsOf(shape)
  return (rows) => {
    if (rows.length === 0) return new WrittenList('[]', { total: 0 })
    const total = Number(rows.textOf(0, columns.length))
    if (rows.textOf(0, 0) === null) return new WrittenList('[]', { total })
    const json = new JsonWriter()
    rows.eachRow((cell, index) => {
      json.json(index === 0 ? FIRST : FOLLOWING)
      writeColumns(columns, cell, json)
    })
    json.json(END)
    rows.free()
    return new WrittenList(json.finish(), { total })
  }
}

/** Returns the function that writes one row of the shape, from its first cell on. The first property is always present. */
export function rowWriter<Row>(shape: RowShape<Row>): (cell: PrintedCell) => WrittenJson<Row> {
  const columns = columnsOf(shape)
  return (cell) => {
    const json = new JsonWriter()
    writeColumns(columns, cell, json)
    json.json(END_OF_ROW)
    return new WrittenJson(json.finish())
  }
}

interface WrittenColumn {
  key: JsonPiece
  write: WriteValue
  /** Written in place of the key and the value if the column is null. */
  absent: JsonPiece | undefined
}

const columnsOf = <Row>(shape: RowShape<Row>): readonly WrittenColumn[] =>
  Object.entries<WriteValue | Optional>(shape).map(([name, value], at) => {
    const key = `${at === 0 ? '{' : ','}${JSON.stringify(name)}:`
    const isOptional = typeof value !== 'function'
    return {
      key: new JsonPiece(key),
      write: isOptional ? value.ifPresent : value,
      absent: isOptional ? undefined : new JsonPiece(`${key}null`),
    }
  })

/** Writes an object but its closing brace. */
function writeColumns(columns: readonly WrittenColumn[], cell: PrintedCell, json: JsonWriter): void {
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
