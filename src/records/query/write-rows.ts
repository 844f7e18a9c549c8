/** Writes the rows of a page as JSON, from what PostgreSQL prints (docs/decisions/0024-written-pages.md). */

import type { UserValue } from '../../fields/cell.ts'
import { type CellJson, type JsonById, jsonPiece } from '../../fields/cell-json.ts'
import type { FieldDef } from '../../fields/definition.ts'
import type { FieldTypeDefinition, Lookups } from '../../fields/field-type.ts'
import { TYPES } from '../../fields/registry.ts'
import { BoundedMap } from '../../platform/collections/bounded-map.ts'
import type { Database } from '../../platform/database/database.ts'
import { outdated } from '../../platform/database/outdated-definition.ts'
import type { PrintedRows } from '../../platform/database/printed-rows.ts'
import { MAX_ID } from '../../platform/http/schemas.ts'
import { memo } from '../../platform/memo.ts'
import { JsonPiece, JsonWriter } from '../../platform/writers/json-writer.ts'
import { readTitles } from '../cells/named.ts'
import type { ExpectedUsers } from './expected-users.ts'

/** What the cells refer to. */
interface Referred {
  users: Pick<ExpectedUsers, 'named'>
  /** From `lookupsOf` with at least the fields of the page. */
  lookups: Lookups
}

/** A column of the page. */
interface WrittenColumn {
  /** What precedes the cell: `,"amount":`. */
  key: JsonPiece
  write: CellJson
  names: FieldTypeDefinition['names']
  tableId: number | null
}

/** How the cells of the fields are written, found once for each list of fields. The id comes first and is written apart. */
const writtenColumns = memo((fields: readonly FieldDef[]): readonly WrittenColumn[] =>
  fields
    .filter(({ key }) => !key)
    .map((field) => ({
      key: new JsonPiece(`,${JSON.stringify(field.id)}:`),
      write: TYPES[field.type].json(field),
      names: TYPES[field.type].names,
      tableId: field.lookup_table_id,
    })),
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
export async function writeRows(db: Database, fields: readonly FieldDef[], rows: PrintedRows, references: Referred): Promise<Buffer> {
  if (!rows.length) return EMPTY
  const columns = writtenColumns(fields)
  const namedBy = await readNamed(db, columns, rows, references)
  const cells = columns.map((column) => ({ key: column.key, write: column.write, named: namedBy(column) }))
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

const NONE: JsonById = new Map()

type ReferringColumn = Pick<WrittenColumn, 'names' | 'tableId'>

/** Reads what the cells refer to. Runs at most two statements, whatever the number of rows. */
async function readNamed(
  db: Database,
  columns: readonly ReferringColumn[],
  rows: PrintedRows,
  { users: expected, lookups }: Referred,
): Promise<(column: ReferringColumn) => JsonById> {
  const idsOf = (isMeant: (column: ReferringColumn) => boolean) => idsIn(columns.map(isMeant), rows)
  const ids = idsOf(({ names }) => names === 'users')
  const users = usersJson(ids.length ? await expected.named(db, ids) : NOBODY)
  const records = await readTitles(db, lookups, (id) => idsOf(({ names, tableId }) => names === 'records' && tableId === id))
  const titles = new Map([...records].map(([tableId, named]) => [tableId, jsonById(named)]))
  return ({ names, tableId }) => (names === 'users' ? users : titles.get(names === 'records' ? (tableId ?? 0) : 0)) ?? NONE
}

const NOBODY: ReadonlyMap<number, UserValue> = new Map()
const MOST_USERS = 5_000
/** The users whom pages have named last, as JSON. It is used again while they have the same name and address. */
const namedUsers = new BoundedMap<number, { email: string; name: string; json: JsonPiece }>(MOST_USERS)

const usersJson = (users: ReadonlyMap<number, UserValue>): JsonById => new Map([...users].map(([id, user]) => [id, userJson(user)]))

function userJson(user: UserValue): JsonPiece {
  const { id, email, name } = user
  const known = namedUsers.get(id)
  if (known?.email === email && known.name === name) return known.json
  const json = jsonPiece(user)
  namedUsers.set(id, { email, name, json })
  return json
}

const jsonById = (values: ReadonlyMap<number, unknown>): JsonById => new Map([...values].map(([id, value]) => [id, jsonPiece(value)]))

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
  for (const id of ids) if (!(Math.abs(id) <= MAX_ID)) throw outdated
  return [...ids]
}
