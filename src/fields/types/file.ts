/** Files: lists of entries that uploads have returned. A write is given paths, whose entries are looked up. */
import { type Sql, sql } from '../../platform/database/database.ts'
import { formsOf } from '../../platform/normal-forms.ts'
import type { FileEntry } from '../../platform/stored-files/rows.ts'
import { csvCell, joinList, shielded } from '../../platform/writers/csv-format.ts'
import { asJson, EMPTY, type Parsed, readList, textProperty, wrong } from '../cell.ts'
import { NO_VALUES } from '../cell-json.ts'
import { columnOf, isNull, likeAny, unicode } from '../cell-sql.ts'
import { type CellCsv, SHIELDED } from '../csv-rules.ts'
import type { Condition, FieldTypeDefinition } from '../field-type.ts'
import { EMPTINESS, operandText, TEXT } from '../operand.ts'

export const file: FieldTypeDefinition = {
  takes: null,
  roles: ['image'],

  column: 'jsonb',
  isMultiple: true,
  names: 'files',
  maxLength: null,
  parse,
  bind: asJson,
  value: (_, column) => column,
  json: () => (cell, json) => (cell.isNull ? json.json(NO_VALUES) : json.printed(cell)),

  compares: { contains: TEXT, ...EMPTINESS },
  condition,
  among: null,
  isEmpty: isNull,
  meaningOf: null,
  sort: null,
  equalityRank: null,
  groups: null,
  measures: [],
  search: null,

  asText: null,
  fromText: null,
  becomes: {},
  csv: { ...SHIELDED, write: () => writePaths, read: (path) => ({ value: { path } }) },
}

function parse(given: unknown): Parsed {
  const paths = readList(given, (entry) => textProperty(entry, 'path'), 'entries got from an upload', 'file')
  if (typeof paths === 'string') return wrong(paths)
  return paths.length ? { kind: 'files', paths } : EMPTY
}

/** Matches the name of any of the files. */
function condition({ field, compare, operand }: Condition): Sql {
  // The names of files keep the form that their computer gave them.
  const isMeant = likeAny(unicode(sql`f.entry->>'name'`), compare, formsOf(operandText(operand)))
  return sql`exists (select from jsonb_array_elements(${columnOf(field)}) as f (entry) where ${isMeant})`
}

const writePaths: CellCsv = (cell, csv) => {
  if (cell.isNull) return
  const paths = (JSON.parse(cell.text()) as FileEntry[]).map(({ path }) => path)
  csv.text(csvCell(shielded(joinList(paths))))
}
