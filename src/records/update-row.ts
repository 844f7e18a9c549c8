/** The statement that updates the cells of a record, prepared for the fields that it changes. */

import { type FieldDef, ownFields, type TableDef } from '../fields/definition.ts'
import { TYPES } from '../fields/registry.ts'
import type { IfMatch } from '../platform/answer.ts'
import { type Database, ident, join, recordsOf, type Sql, sql } from '../platform/database/database.ts'
import { prepare } from '../platform/database/prepare.ts'
import { shortWrite, writesOfTable } from '../platform/database/statements/statement.ts'
import { formatInstant } from '../platform/time/time.ts'
import { choose } from '../tables/elsewhere/choice.ts'
import { type BoundCells, boundValue, cellName, typeOf } from './cell-values.ts'
import type { Cells } from './drafts.ts'
import { updateElsewhere } from './elsewhere.ts'
import { isCurrent, selectedColumns } from './rows.ts'
import type { Change, StoredRow, UpdateWay } from './stored-row.ts'

/**
 * Updates cells of a record. The version increases only if a cell changes, so that an update without effect makes no If-Match stale.
 * @param change.doubles the fields whose new values came as numbers of JSON. Most clients read those as doubles, so the double that is
 * nearest to the stored number leaves it as it is
 * @returns undefined if the record does not exist, `ifMatch` lacks its version, or the table has a newer version than the definition
 * @throws an error of the class `isOutdated` in place of the last if the record is elsewhere
 */
export async function updateRow(
  db: Database,
  table: TableDef,
  recordId: number,
  cells: Cells,
  { now, userId, ifMatch, doubles = [] }: Change & { ifMatch: IfMatch; doubles?: readonly string[] },
): Promise<StoredRow | undefined> {
  const own = ownFields(table).filter(({ id }) => cells.has(id))
  const values: Values = { recordId, ifMatch: ifMatch ?? null, at: formatInstant(now), userId }
  for (const field of own) values[cellName(field)] = boundValue(field, cells)
  const way = choose(db, table.id, { here: updateHere, elsewhere: updateElsewhere })
  const near = own.filter(({ id, type }) => TYPES[type].takes === 'decimals' && doubles.includes(id))
  return way.run(db, table, updating({ table, fields: idsOf(own), near: idsOf(near), way }, values))
}

const idsOf = (fields: readonly FieldDef[]) => fields.map(({ id }) => id).join(' ')

const updateHere: UpdateWay = {
  isCurrent,
  returned: selectedColumns,
  run: async (db, { id, version }, update) =>
    (await db.write<StoredRow>(shortWrite(`update:${id}:${version}`, writesOfTable(id), update)))[0],
}

/** What an update binds: the record, its expected versions, when and by whom it is changed, and a cell for each field. */
type Values = { recordId: number; ifMatch: readonly number[] | null; at: string; userId: number | null } & BoundCells

interface Shape {
  table: TableDef
  /** The ids of the fields that are changed. */
  fields: string
  /** Those of them that keep a number whose nearest double is the new value. */
  near: string
  way: UpdateWay
}

/** Callers choose the fields, so only the statements that were used last are kept. */
const MOST_PREPARED = 500

const updating = prepare<Shape, Values>(MOST_PREPARED, (p, { table, fields, near, way }) => {
  const [ids, nearIds] = [fields, near].map((each) => new Set(each.split(' ')))
  const own = ownFields(table).filter(({ id }) => ids?.has(id))
  const columns = own.map(({ id }) => ident(id))
  const given = own.map((field) => sql`${p[cellName(field)]}::${typeOf(field)} as ${ident(field.id)}`)
  const next = own.map(({ id }) => (nearIds?.has(id) ? nearest(ident(id)) : sql`n.${ident(id)}`))
  const present = join(columns.map((column) => sql`r.${column}`))
  const differs = sql`row(${present}) is distinct from row(${join(next)})`
  return sql`
    update ${recordsOf(table.id)} r set ${join([
      ...columns.map((column, index) => sql`${column} = ${next[index] as Sql}`),
      sql`version = r.version + (${differs})::int`,
      sql`updated_at = case when ${differs} then ${p.at}::timestamp else r.updated_at end`,
      sql`updated_by = case when ${differs} then ${p.userId}::int else r.updated_by end`,
    ])}
    from (select ${join(given)}) n
    where r.id = ${p.recordId} and (${p.ifMatch}::int[] is null or r.version = any(${p.ifMatch}::int[])) and ${way.isCurrent(table)}
    returning ${way.returned(table)}`
})

const nearest = (column: Sql): Sql => sql`case when r.${column}::float8 = n.${column}::float8 then r.${column} else n.${column} end`
