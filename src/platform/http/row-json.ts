/**
 * Writes the rows of a statement as JSON text, from the texts that PostgreSQL prints. No object is made of a row
 * (docs/decisions/0026-written-json.md).
 */
import type { z } from 'zod'
import type { PrintedRows } from '../database/printed-rows.ts'
import { WrittenList } from './written-json.ts'

/** Writes a value as JSON text. @param text as PostgreSQL prints it */
export type WriteValue = (text: string) => string

/** A whole number or a boolean in JSON: printed as JSON spells it. */
export const asNumber: WriteValue = (text) => text

/** A value whose text never needs an escape: a date, a time, an instant, or one of a fixed set of words. */
export const asPlain: WriteValue = (text) => `"${text}"`

/** Any text. */
export const asText: WriteValue = (text) => JSON.stringify(text)

/** A value of the type jsonb: PostgreSQL prints spaces and an order of its own, so the schema decides which properties there are. */
export const asJsonb =
  (schema: z.ZodType): WriteValue =>
  (text) =>
    text === '[]' ? text : JSON.stringify(schema.parse(JSON.parse(text)))

/** Marks a property that is left out where the column is null. Elsewhere null is written. */
export interface Optional {
  ifPresent: WriteValue
}

/** How each column of a row is written, by the name of its property, in the order of the columns and of the properties. */
export type RowShape<Row> = { readonly [Name in keyof Row]-?: WriteValue | Optional }

/**
 * Writes a page of rows, whose last column is the total. An empty page is no row, or one without an id, so that a page beyond the end has
 * the total, too.
 */
export type WriteList<Row> = (rows: PrintedRows) => WrittenList<Row>

/** Returns the function that writes pages of rows of the shape. The first property is always present. */
export function listWriter<Row>(shape: RowShape<Row>): WriteList<Row> {
  const columns = Object.entries<WriteValue | Optional>(shape).map(([name, value], at) => ({
    key: `${at === 0 ? '{' : ','}${JSON.stringify(name)}:`,
    write: typeof value === 'function' ? value : value.ifPresent,
    isOptional: typeof value !== 'function',
  }))
  return (rows) => {
    if (rows.length === 0) return new WrittenList('[]', { total: 0 })
    const total = Number(rows.textOf(0, columns.length))
    if (rows.textOf(0, 0) === null) return new WrittenList('[]', { total })
    let json = ''
    rows.eachRow((cell, index) => {
      json += index === 0 ? '[' : '},'
      for (const { key, write, isOptional } of columns) {
        if (!cell.isNull) json += key + write(cell.text())
        else if (!isOptional) json += `${key}null`
        cell.next()
      }
    })
    return new WrittenList(`${json}}]`, { total })
  }
}
