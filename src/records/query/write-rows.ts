/** Writes the rows of a page as JSON, from what PostgreSQL prints (docs/decisions/0024-written-pages.md). */

import type { CellJson } from '../../fields/cell-json.ts'
import type { FieldDef } from '../../fields/definition.ts'
import type { Lookups } from '../../fields/field-type.ts'
import { TYPES } from '../../fields/registry.ts'
import type { Database } from '../../platform/database/database.ts'
import type { PrintedRows } from '../../platform/database/statements/printed-rows.ts'
import type { PageEnd } from '../../platform/http/answers/cursor.ts'
import { memo } from '../../platform/memo.ts'
import { JsonPiece, JsonWriter } from '../../platform/writers/json-writer.ts'
import { distinctIds, readNamed } from '../cells/named.ts'
import type { ExpectedUsers } from './expected-users.ts'
import type { ResolvedPage } from './selection.ts'

/** What the cells refer to. */
interface Referred {
  users: Pick<ExpectedUsers, 'named'>
  /** From `lookupsOf` with at least the fields of the page. */
  lookups: Lookups
}

/** A column of the page. */
interface WrittenColumn {
  field: FieldDef
  /** What precedes the cell: `,"amount":`. */
  key: JsonPiece
  write: CellJson
}

/** How the cells of the fields are written, found once for each list of fields. The id comes first and is written apart. */
const writtenColumns = memo((fields: readonly FieldDef[]): readonly WrittenColumn[] =>
  fields
    .filter(({ key }) => !key)
    .map((field) => ({ field, key: new JsonPiece(`,${JSON.stringify(field.id)}:`), write: TYPES[field.type].json(field) })),
)

const FIRST = new JsonPiece('[{"id":')
const FOLLOWING = new JsonPiece('},{"id":')
const END = new JsonPiece('}]')
const EMPTY = Buffer.from('[]')

/**
 * Writes the rows as a JSON array of their ids and cells. The users and records that cells refer to are read after the rows, for all of
 * them together, so that no name and no title is older than its row.
 * @param rows from a statement that begins with `selectList(fields)`; they are freed
 */
export async function writeRows(db: Database, fields: readonly FieldDef[], rows: PrintedRows, named: Referred): Promise<Buffer> {
  if (!rows.length) return EMPTY
  const columns = writtenColumns(fields)
  const idsOf = (isMeant: (field: FieldDef) => boolean) =>
    idsIn(
      columns.map(({ field }) => isMeant(field)),
      rows,
    )
  const namedBy = await readNamed(db, named.lookups, idsOf, (ids) => named.users.named(db, ids))
  const cells = columns.map(({ field, key, write }) => ({ key, write, named: namedBy(field) }))
  const json = new JsonWriter()
  rows.eachRow((cell, index) => {
    json.json(index === 0 ? FIRST : FOLLOWING)
    json.printed(cell)
    for (const { key, write, named } of cells) {
      cell.next()
      json.json(key)
      write(cell, json, named)
    }
  })
  json.json(END)
  rows.free()
  return json.finish()
}

/** The different ids in some of the columns. @throws `outdated` for a value that is no id: the field has just become one of texts */
export function idsIn(isMeant: readonly boolean[], rows: PrintedRows): number[] {
  const ids = new Set<number>()
  const count = isMeant.lastIndexOf(true) + 1
  if (count)
    rows.eachRow((cell) => {
      for (let column = 0; column < count; column++) {
        cell.next()
        if (isMeant[column]) for (const id of cell.ints()) ids.add(id)
      }
    })
  return distinctIds(ids)
}

/** A row of a walk or of a window, as the end of what precedes the rows after it. */
export function endAt(row: number, rows: PrintedRows, { fields, order: [sort] }: ResolvedPage): PageEnd {
  // SORT_KEY follows the id and the cells, unless the id alone decides the order.
  const key = sort && !sort.field.key ? rows.textOf(row, 1 + fields.filter((field) => !field.key).length) : null
  return { key, id: Number(rows.textOf(row, 0)) }
}
