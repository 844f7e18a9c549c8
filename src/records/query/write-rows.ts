/** Writes the rows of a page as JSON, from what PostgreSQL prints (docs/decisions/0024-written-pages.md). */

import type { CellJson, JsonById } from '../../fields/cell-json.ts'
import { cellJson, type FieldDef, idsOf } from '../../fields/definition.ts'
import type { Lookups } from '../../fields/field-type.ts'
import type { Database } from '../../platform/database/database.ts'
import type { PrintedRows } from '../../platform/database/statements/printed-rows.ts'
import type { PageEnd } from '../../platform/http/answers/cursor.ts'
import { memo } from '../../platform/memo.ts'
import { JsonPiece, JsonWriter } from '../../platform/writers/json-writer.ts'
import { distinctIds, readNamed } from '../cells/named.ts'
import type { Badges, Included } from '../schema.ts'
import type { ExpectedUsers } from './expected-users.ts'
import { keysOf } from './order-sql.ts'
import type { ResolvedPage } from './selection.ts'

/** What the cells refer to. */
interface Referred {
  users: Pick<ExpectedUsers, 'named'>
  /** From `lookupsOf` with at least the fields of the page. */
  lookups: Lookups
}

/** What the rows show beside their fields. */
interface Shown {
  include: Included
  /** By the ids of the rows; undefined if they are not shown. */
  badges: ReadonlyMap<number, Badges> | undefined
}

/** A column of the page. */
interface WrittenColumn {
  field: FieldDef
  /** What precedes the cell: `,"amount":`. */
  key: JsonPiece
  write: CellJson
}

/** The same, with what its cells refer to. */
interface WrittenCell extends Pick<WrittenColumn, 'key' | 'write'> {
  named: JsonById
}

/** How the cells of the fields are written, found once for each list of fields. The id comes first and is written apart. */
const writtenColumns = memo((fields: readonly FieldDef[]): readonly WrittenColumn[] =>
  fields.filter(({ key }) => !key).map((field) => ({ field, key: new JsonPiece(`,${JSON.stringify(field.id)}:`), write: cellJson(field) })),
)

const VERSION = new JsonPiece(',"_version":')
const BADGES = new JsonPiece(',"_badges":')
const FIRST = new JsonPiece('[{"id":')
const FOLLOWING = new JsonPiece('},{"id":')
const END = new JsonPiece('}]')
const EMPTY = Buffer.from('[]')

/**
 * Writes each list of rows as a JSON array of their ids and cells. The users and records that cells refer to are read after the rows, for
 * all of them together, so that no name and no title is older than its row.
 * @param lists from statements that begin with `selectList(fields)`, with the versions behind it if they are shown; they are freed
 */
export async function writeLists(
  db: Database,
  fields: readonly FieldDef[],
  lists: readonly PrintedRows[],
  named: Referred,
  shown: Shown,
): Promise<Buffer[]> {
  if (lists.every((rows) => !rows.length)) return lists.map(() => EMPTY)
  const columns = writtenColumns(fields)
  const idsInLists = (isMeant: (field: FieldDef) => boolean) => {
    const written = columns.map(({ field }) => field)
    return distinctIds(lists.flatMap((rows) => idsIn(written, isMeant, rows)))
  }
  const namedBy = await readNamed(db, named.lookups, idsInLists, (ids) => named.users.named(db, ids))
  const cells = columns.map(({ field, key, write }) => ({ key, write, named: namedBy(field) }))
  return lists.map((rows) => writeRows(cells, rows, shown))
}

function writeRows(cells: readonly WrittenCell[], rows: PrintedRows, { include, badges }: Shown): Buffer {
  if (!rows.length) return EMPTY
  const showsVersion = include.has('version')
  const json = new JsonWriter()
  rows.eachRow((cell, index) => {
    json.json(index === 0 ? FIRST : FOLLOWING)
    const ofRow = badges?.get(cell.int())
    json.printed(cell)
    for (const { key, write, named } of cells) {
      cell.next()
      json.json(key)
      write(cell, json, named)
    }
    if (showsVersion) {
      cell.next()
      json.json(VERSION)
      json.printed(cell)
    }
    if (ofRow) {
      json.json(BADGES)
      json.text(JSON.stringify(ofRow))
    }
  })
  json.json(END)
  rows.free()
  return json.finish()
}

/** The different ids in some of the columns. @throws `outdated` for a value that is no id: the field has just become one of texts */
export function idsIn(fields: readonly FieldDef[], isMeant: (field: FieldDef) => boolean, rows: PrintedRows): number[] {
  const ids = new Set<number>()
  const meant = fields.map((field) => (isMeant(field) ? idsOf(field) : null))
  const count = meant.findLastIndex((read) => read !== null) + 1
  if (count)
    rows.eachRow((cell) => {
      for (let column = 0; column < count; column++) {
        cell.next()
        for (const id of meant[column]?.(cell) ?? []) ids.add(id)
      }
    })
  return distinctIds(ids)
}

/** A row of a walk or of a window, as the end of what precedes the rows after it. */
export function endAt(row: number, rows: PrintedRows, { fields, include, order }: ResolvedPage): PageEnd {
  // The keys follow the id, the cells and the version.
  const before = 1 + fields.filter((field) => !field.key).length + (include.has('version') ? 1 : 0)
  const keys = keysOf(order).map((_, index) => rows.textOf(row, before + index))
  return { keys, id: Number(rows.textOf(row, 0)) }
}
