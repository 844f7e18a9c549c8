/** Records as the API answers them: single ones as objects, those of a batch as JSON from what PostgreSQL prints (docs/decisions/0024-written-pages.md). */
import { type CellJson, type JsonById, textJson } from '../fields/cell-json.ts'
import { holdsFiles, ownFields, type TableDef, titleField } from '../fields/definition.ts'
import type { PrintedCell, PrintedRows } from '../platform/database/printed-rows.ts'
import { WrittenList } from '../platform/http/written-json.ts'
import { memo } from '../platform/memo.ts'
import { JsonPiece, JsonWriter } from '../platform/writers/json-writer.ts'
import { valuesOf, writtenCells } from './cells/present.ts'
import type { DataRecord } from './schema.ts'
import type { StoredRow } from './stored-row.ts'

/** The record as the API answers it. */
export function recordOf(table: TableDef, row: StoredRow): DataRecord {
  const { id, created_at, updated_at } = row
  const title = titleField(table)
  return { id, title: title ? (row[title.id] as string | null) : null, data: valuesOf(ownFields(table), row), created_at, updated_at }
}

/** @param rows of `printedColumns(table)` */
export function writeRecords(table: TableDef, rows: PrintedRows): WrittenList<DataRecord> {
  const json = new JsonWriter()
  rows.eachRow((cell, index) => {
    json.json(index ? FOLLOWING : FIRST)
    writeInto(json, table, cell)
  })
  json.json(END_OF_LIST)
  rows.free()
  return new WrittenList(json.finish())
}

function writeInto(json: JsonWriter, table: TableDef, cell: PrintedCell): void {
  json.json(ID)
  json.printed(cell)
  cell.next()
  json.json(TITLE)
  textJson(cell, json, NOTHING_NAMED)
  json.json(DATA)
  for (const { key, write } of writtenFields(table)) {
    cell.next()
    json.json(key)
    write(cell, json, NOTHING_NAMED)
  }
  cell.next()
  json.json(CREATED_AT)
  textJson(cell, json, NOTHING_NAMED)
  cell.next()
  json.json(UPDATED_AT)
  textJson(cell, json, NOTHING_NAMED)
  json.json(END)
}

const [ID, TITLE, DATA] = [new JsonPiece('{"id":'), new JsonPiece(',"title":'), new JsonPiece(',"data":{')]
const [CREATED_AT, UPDATED_AT, END] = [new JsonPiece('},"created_at":'), new JsonPiece(',"updated_at":'), new JsonPiece('}')]
const [FIRST, FOLLOWING, END_OF_LIST] = [new JsonPiece('['), new JsonPiece(','), new JsonPiece(']')]

const NOTHING_NAMED: JsonById = new Map()

/** How the fields are written, found once for each definition. */
const writtenFields = memo((table: TableDef): readonly { key: JsonPiece; write: CellJson }[] =>
  writtenCells(ownFields(table)).map(({ field, key, write }) => ({
    key,
    // PostgreSQL prints blanks between the properties of a file.
    write: holdsFiles(field) ? (cell, json) => json.text(JSON.stringify(JSON.parse(cell.isNull ? '[]' : cell.text()))) : write,
  })),
)
