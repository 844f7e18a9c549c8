/** Writes one record as JSON, from what PostgreSQL prints (docs/decisions/0024-written-pages.md). */
import type { CellJson, JsonById } from '../fields/cell-json.ts'
import { type FieldDef, ownFields, type TableDef } from '../fields/definition.ts'
import { TYPES } from '../fields/registry.ts'
import type { PrintedCell } from '../platform/database/printed-rows.ts'
import { WrittenJson } from '../platform/http/written-json.ts'
import { JsonPiece, JsonWriter } from '../platform/json-writer.ts'
import { memo } from '../platform/memo.ts'
import type { DataRecord } from './schema.ts'

/** @param cell the first of `printedColumns(table)` */
export function writeRecord(table: TableDef, cell: PrintedCell): WrittenJson<DataRecord> {
  const json = new JsonWriter()
  json.json(ID)
  json.printed(cell)
  cell.next()
  json.json(TITLE)
  writeText(cell, json)
  json.json(DATA)
  for (const { key, write } of writtenFields(table)) {
    cell.next()
    json.json(key)
    write(cell, json, NOTHING_NAMED)
  }
  cell.next()
  json.json(CREATED_AT)
  writeText(cell, json)
  cell.next()
  json.json(UPDATED_AT)
  writeText(cell, json)
  json.json(END)
  return new WrittenJson(json.finish())
}

const [ID, TITLE, DATA] = [new JsonPiece('{"id":'), new JsonPiece(',"title":'), new JsonPiece(',"data":{')]
const [CREATED_AT, UPDATED_AT, END] = [new JsonPiece('},"created_at":'), new JsonPiece(',"updated_at":'), new JsonPiece('}')]
const [NULL, NONE] = [new JsonPiece('null'), new JsonPiece('[]')]

function writeText(cell: PrintedCell, json: JsonWriter): void {
  if (cell.isNull) json.json(NULL)
  else json.string(cell)
}

const NOTHING_NAMED: JsonById = new Map()

/** How the fields are written, found once for each definition. */
const writtenFields = memo((table: TableDef): readonly { key: JsonPiece; write: CellJson }[] =>
  ownFields(table).map((field, index) => ({
    key: new JsonPiece(`${index ? ',' : ''}${JSON.stringify(field.id)}:`),
    write: writeOf(field),
  })),
)

/** Users and records are printed as JSON by the statement; other types write what their column holds, as in a page. */
function writeOf(field: FieldDef): CellJson {
  const { names, isMultiple, json: ofType } = TYPES[field.type]
  if (names === 'users' || names === 'records')
    return (cell, json) => (cell.isNull ? json.json(isMultiple ? NONE : NULL) : json.printed(cell))
  const write = ofType(field)
  if (names !== 'files') return write
  // PostgreSQL prints blanks between the properties of a file.
  return (cell, json) => (cell.isNull ? write(cell, json, NOTHING_NAMED) : json.text(JSON.stringify(JSON.parse(cell.text()))))
}
