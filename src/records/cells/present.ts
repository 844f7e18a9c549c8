/** Makes the values of API answers of cells that were read as texts, for code that works with single values. */

import { type CellJson, cellOfText, type JsonById, NO_VALUES, NULL } from '../../fields/cell-json.ts'
import { cellJson, type FieldDef, idsOf } from '../../fields/definition.ts'
import type { Lookups } from '../../fields/field-type.ts'
import { TYPES } from '../../fields/registry.ts'
import { type Database, ident, join, type Sql, sql } from '../../platform/database/database.ts'
import { parseExact } from '../../platform/exact-json.ts'
import { memo } from '../../platform/memo.ts'
import { JsonPiece, JsonWriter } from '../../platform/writers/json-writer.ts'
import { cellRead, columnName } from '../query/condition-sql.ts'
import { distinctIds, readNamed, readUsers } from './named.ts'

/** Values by field id, as API answers show them; a number of many digits is an `ExactNumber`. */
export type Values = Record<string, unknown>
/** One record: its id, and the value of each field that was read. */
export type Row = { id: number } & Values

/** By `columnName` the text of each cell, as PostgreSQL prints it, or null. A row may have other columns, too. */
export type CellTexts = Record<string, unknown>

/** The cells of a row `r` as texts. */
export const cellTexts = (fields: readonly FieldDef[]): Sql[] => withoutKey(fields).map((field) => textOf(field, cellRead(field)))

/** Selects the id of a row `r` and its cells as texts. */
export const selectTexts = memo((fields: readonly FieldDef[]): Sql => join([sql`r.id`, ...cellTexts(fields)]))

/** @param cell of the field, as SQL */
export const textOf = (field: FieldDef, cell: Sql): Sql => sql`(${cell})::text as ${ident(columnName(field))}`

const withoutKey = (fields: readonly FieldDef[]) => fields.filter(({ key }) => !key)

/** The tables that the lookups among the fields refer to. */
export function lookupsOf(fields: readonly FieldDef[]): Lookups {
  const linking = fields.flatMap(({ link }) => link?.lookup ?? [])
  return new Map(
    [...fields, ...linking].flatMap(({ lookup_table_id, lookup }) =>
      lookup_table_id !== null && lookup ? [[lookup_table_id, { titleField: lookup.title_field }]] : [],
    ),
  )
}

/**
 * The values of each row. Runs at most two statements, whatever the number of rows.
 * @param lookups from `lookupsOf` with at least these fields
 */
export async function present(
  db: Database,
  accountId: number,
  fields: readonly FieldDef[],
  rows: readonly CellTexts[],
  lookups: Lookups,
): Promise<Values[]> {
  await nameReferences(db, accountId, fields, rows, lookups)
  return rows.map((row) => valuesOf(fields, row))
}

/** Replaces the ids of users and records by what they refer to as JSON, in place. Other cells stay as they are. */
export async function nameReferences(
  db: Database,
  accountId: number,
  fields: readonly FieldDef[],
  rows: readonly CellTexts[],
  lookups: Lookups,
): Promise<void> {
  const referring = fields.filter(refersTo)
  if (!referring.length) return
  const idsIn = (isMeant: (field: FieldDef) => boolean) => {
    const meant = referring.filter(isMeant)
    return distinctIds(rows.flatMap((row) => meant.flatMap((field) => idsOf(field)(cellOf(field, row)))))
  }
  const namedBy = await readNamed(db, lookups, idsIn, (ids) => readUsers(db, accountId, ids))
  for (const field of referring) {
    const [write, named] = [cellJson(field), namedBy(field)]
    for (const row of rows) row[columnName(field)] = jsonText((json) => write(cellOf(field, row), json, named))
  }
}

const refersTo = ({ type }: FieldDef) => TYPES[type].names === 'users' || TYPES[type].names === 'records'

const cellOf = (field: FieldDef, row: CellTexts) => cellOfText(row[columnName(field)] as string | null)

/** The values of a row, whose users and records have been named. */
export function valuesOf(fields: readonly FieldDef[], row: CellTexts): Values {
  return parseExact(
    jsonText((json) => {
      json.json(BEGIN)
      for (const { field, key, write } of writtenCells(fields)) {
        json.json(key)
        write(cellOf(field, row), json, NOTHING_NAMED)
      }
      json.json(END)
    }),
  ) as Values
}

const [BEGIN, END] = [new JsonPiece('{'), new JsonPiece('}')]
const NOTHING_NAMED: JsonById = new Map()

/** What `write` writes, as text. */
export function jsonText(write: (json: JsonWriter) => void): string {
  const json = new JsonWriter()
  write(json)
  return json.finish().toString()
}

/** A field, and how its cell is written in a JSON object. */
interface WrittenCell {
  field: FieldDef
  /** What precedes the cell: `,"amount":`. */
  key: JsonPiece
  write: CellJson
}

/** How the cells of a row are written whose users and records have been named, found once for each list of fields. */
const writtenCells = memo((fields: readonly FieldDef[]): readonly WrittenCell[] =>
  withoutKey(fields).map((field, index) => ({
    field,
    key: new JsonPiece(`${index ? ',' : ''}${JSON.stringify(field.id)}:`),
    write: refersTo(field) ? namedJson(field) : cellJson(field),
  })),
)

/** Writes the JSON of what the cell refers to. */
const namedJson =
  ({ type }: FieldDef): CellJson =>
  (cell, json) =>
    cell.isNull ? json.json(TYPES[type].isMultiple ? NO_VALUES : NULL) : json.printed(cell)
