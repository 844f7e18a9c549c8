/** Writes the lines of an export from what PostgreSQL prints, as pages of records are written (docs/decisions/0024-written-pages.md). */

import type { CellCsv, CsvById } from '../fields/csv-rules.ts'
import { cellCsv, type FieldDef } from '../fields/definition.ts'
import type { FieldTypeDefinition } from '../fields/field-type.ts'
import { TYPES } from '../fields/registry.ts'
import type { Database } from '../platform/database/database.ts'
import type { PrintedRows } from '../platform/database/statements/printed-rows.ts'
import { CsvValue, CsvWriter } from '../platform/writers/csv-writer.ts'
import { readTitles, readUsers } from '../records/cells/named.ts'
import { lookupsOf } from '../records/cells/present.ts'
import { idsIn } from '../records/query/write-rows.ts'

interface Column {
  write: CellCsv
  names: FieldTypeDefinition['names']
  tableId: number | null
  textOf: (named: unknown) => string
}

/**
 * Returns a function that writes rows as lines. The users and records that cells refer to are read after the rows, for all together.
 * The rows must begin with an id that is not written. The lines are overwritten by the next ones.
 */
export function lineWriter(db: Database, accountId: number, fields: readonly FieldDef[]): (rows: PrintedRows) => Promise<Buffer> {
  const lookups = lookupsOf(fields)
  const columns = fields.map((field): Column => {
    const { csv, names } = TYPES[field.type]
    return { write: cellCsv(field), names, tableId: field.lookup_table_id, textOf: csv.textOf ?? String }
  })
  const idsOf = (rows: PrintedRows, isMeant: (field: FieldDef) => boolean) => idsIn(fields, isMeant, rows)

  async function namedBy(rows: PrintedRows): Promise<(column: Column) => CsvById> {
    const users = await readUsers(
      db,
      accountId,
      idsOf(rows, ({ type }) => TYPES[type].names === 'users'),
    )
    const titles = await readTitles(db, lookups, (id) =>
      idsOf(rows, ({ type, lookup_table_id }) => TYPES[type].names === 'records' && lookup_table_id === id),
    )
    // Each value is made CSV once for all columns that name it: those of users have one text, those of a table another.
    const finished = new Map<unknown, CsvById>()
    return ({ names, tableId, textOf }) => {
      const values = names === 'users' ? users : names === 'records' ? titles.get(tableId ?? 0) : undefined
      if (!values) return NONE
      const known = finished.get(values) ?? csvById(values, textOf)
      finished.set(values, known)
      return known
    }
  }

  const csv = new CsvWriter()
  return async (rows) => {
    const valuesOf = await namedBy(rows)
    const cells = columns.map((column) => ({ write: column.write, named: valuesOf(column) }))
    rows.eachRow((cell) => {
      let isFirst = true
      for (const { write, named } of cells) {
        if (!isFirst) csv.comma()
        isFirst = false
        cell.next()
        write(cell, csv, named)
      }
      csv.endLine()
    })
    return csv.flush()
  }
}

const NONE: CsvById = new Map()

const csvById = (values: ReadonlyMap<number, unknown>, textOf: (named: unknown) => string): CsvById =>
  new Map([...values].map(([id, value]) => [id, new CsvValue(textOf(value))]))
