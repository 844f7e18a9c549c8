/** The statement that updates the cells of a record, prepared for the fields that it changes. */

import { emittingRecord } from '../events/table-events.ts'
import { type FieldDef, ownFields, type TableDef } from '../fields/definition.ts'
import { TYPES } from '../fields/registry.ts'
import type { IfMatch } from '../platform/answer.ts'
import { type Database, empty, ident, join, recordsOf, type Sql, sql } from '../platform/database/database.ts'
import { constant, prepare } from '../platform/database/prepare.ts'
import { shortWrite, writesOfTable } from '../platform/database/statements/statement.ts'
import { formatInstant } from '../platform/time/time.ts'
import { choose } from '../tables/elsewhere/choice.ts'
import { type BoundCells, boundValue, cellName, nextCell, typeOf } from './cell-values.ts'
import type { Cells } from './drafts.ts'
import { updateElsewhere } from './elsewhere.ts'
import { CHANGE_ID, changesBetween, newChangeId, writeEntries } from './history/entries.ts'
import { isCurrent, selectedColumns, writtenColumns } from './rows.ts'
import type { Change, StoredRow, UpdateParts, UpdateWay } from './stored-row.ts'

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
  { ifMatch, doubles = [], ...change }: Change & { ifMatch: IfMatch; doubles?: readonly string[] },
): Promise<StoredRow | undefined> {
  const own = ownFields(table).filter(({ id }) => cells.has(id))
  const { now, userId, keyId } = change
  const values: Values = { recordId, ifMatch: ifMatch ?? null, at: formatInstant(now), userId, keyId }
  for (const field of own) values[cellName(field)] = boundValue(field, cells)
  const way = choose(db, table.id, { here: updateHere, elsewhere: updateElsewhere })
  const near = own.filter(({ id, type }) => TYPES[type].takes === 'decimals' && doubles.includes(id))
  const statement = updating({ table, fields: idsOf(own), near: idsOf(near), way }, values)
  return (await way.run(db, table, statement, { ids: [recordId], own, change: { ...change, kind: 'update' } }))[0]
}

const idsOf = (fields: readonly FieldDef[]) => fields.map(({ id }) => id).join(' ')

const updateHere: UpdateWay = {
  compose: (table, parts) => updatingHere(table, parts, eventOf(table, parts)),
  run: (db, { id, version }, update) => db.write<StoredRow>(shortWrite(`update:${id}:${version}`, writesOfTable(id), update)),
}

/** The statement that writes the event of the one record that was `entered`. */
function eventOf(table: TableDef, { own, at, userId }: UpdateParts): Sql {
  const ids = sql`array[${join(own.map(({ id }) => constant(id)))}]`
  return emittingRecord(table, {
    ...{ type: 'record.updated', recordId: sql`e.record_id`, userId: sql`${userId}::int`, changeId: sql`e.change_id` },
    fields: sql`array(select f.id from unnest(${ids}) with ordinality f (id, at) where e.changes ? f.id order by f.at)`,
    ...{ at: sql`${at}::timestamp`, from: sql`entered e` },
  })
}

/**
 * The statement of an update with the entries of its history. It locks and reads the rows before itself, so that of two updates at once
 * each finds what the other has left; PostgreSQL 17 has no `returning old`.
 * @param event writes the event of the rows `entered`, if this statement does
 */
export function updatingHere(table: TableDef, { own, update, given, isMeant, isGiven, ...of }: UpdateParts, event?: Sql): Sql {
  const { kind, at, userId, keyId, records, undoes, changeId = newChangeId } = of
  const columns = join([sql`r.id, r.version`, ...own.map(({ id }) => sql`r.${ident(id)}`)])
  const entries = writeEntries(table.id, {
    ...{ kind, changeId: sql`d.id`, at: sql`${at}::timestamp`, userId: sql`${userId}::int`, keyId: sql`${keyId}::int` },
    ...{ id: sql`r.id`, version: sql`r.version`, records, changes: changesBetween(own, sql`o`, sql`r`), ...(undoes && { undoes }) },
    from: sql`changed r join before o on o.id = r.id and o.version <> r.version, drawn d`,
  })
  return sql`
    with before as (
      select ${columns} from ${recordsOf(table.id)} r where ${isMeant} and ${isCurrent(table)} for no key update),
    changed as (${update} from before o, ${given} where r.id = o.id and ${isGiven} returning ${writtenColumns(table)}),
    drawn as (select ${changeId} as id),
    entered as (${entries} returning change_id, record_id, changes)${event ? sql`, told as (${event})` : empty}
    select ${selectedColumns(table)}, (select e.change_id from entered e limit 1) as ${ident(CHANGE_ID)} from changed r`
}

/** What an update binds: the record, its expected versions, when and by whom it is changed, and a cell for each field. */
type Values = BoundCells & Record<'userId' | 'keyId', number | null> & { recordId: number; ifMatch: readonly number[] | null; at: string }

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
  const next = own.map((field) => {
    const column = ident(field.id)
    return nearIds?.has(field.id) ? nearest(column) : nextCell(field, sql`r.${column}`, sql`n.${column}`)
  })
  const present = join(columns.map((column) => sql`r.${column}`))
  const differs = sql`row(${present}) is distinct from row(${join(next)})`
  const update = sql`
    update ${recordsOf(table.id)} r set ${join([
      ...columns.map((column, index) => sql`${column} = ${next[index] as Sql}`),
      sql`version = r.version + (${differs})::int`,
      sql`updated_at = case when ${differs} then ${p.at}::timestamp else r.updated_at end`,
      sql`updated_by = case when ${differs} then ${p.userId}::int else r.updated_by end`,
    ])}`
  return way.compose(table, {
    ...{ own, update, given: sql`(select ${join(given)}) n`, at: p.at, userId: p.userId, keyId: p.keyId },
    ...{ kind: 'update', records: constant(1) },
    isGiven: sql`true`,
    isMeant: sql`r.id = ${p.recordId} and (${p.ifMatch}::int[] is null or r.version = any(${p.ifMatch}::int[]))`,
  })
})

const nearest = (column: Sql): Sql => sql`case when r.${column}::float8 = n.${column}::float8 then r.${column} else n.${column} end`
