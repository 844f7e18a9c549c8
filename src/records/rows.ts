/** The statements that read and write stored records. */

import { columnOf } from '../fields/cell-sql.ts'
import { type FieldDef, isMultiple, ownFields, type TableDef } from '../fields/definition.ts'
import { TYPES } from '../fields/registry.ts'
import type { Context } from '../platform/context.ts'
import { type Database, empty, ident, join, recordsOf, type Sql, sql } from '../platform/database/database.ts'
import { constant, type Given, prepare } from '../platform/database/prepare.ts'
import { labelled, shortRead, shortWrite, writesOfTable } from '../platform/database/statements/statement.ts'
import { memo } from '../platform/memo.ts'
import { formatInstant } from '../platform/time/time.ts'
import { choose } from '../tables/elsewhere/choice.ts'
import { type BoundCells, boundValue, cellArrays, cellName, insertedNames, typeOf, unnestedCell, unnestedRows } from './cell-values.ts'
import { textOf } from './cells/present.ts'
import type { Cells } from './drafts.ts'
import { insertElsewhere, insertManyElsewhere, readElsewhere } from './elsewhere.ts'
import { cellRead } from './query/condition-sql.ts'
import { type Change, STORED, type StoredRow } from './stored-row.ts'

export const changeBy = ({ now, actor }: Context): Change => ({ now, userId: actor.userId || null })

/** The columns of a `StoredRow`, for a row `r` that is on this server. */
export const selectedColumns = memo((table: TableDef): Sql => {
  const cells = ownFields(table).map((field) => textOf(field, selectedCell(table, field)))
  return join([STORED, ...cells])
})

/** Returns undefined if the record does not exist. */
export const readRow = (db: Database, table: TableDef, recordId: number): Promise<StoredRow | undefined> =>
  choose(db, table.id, { here: readHere, elsewhere: readElsewhere })(db, table, recordId)

async function readHere(db: Database, table: TableDef, recordId: number): Promise<StoredRow | undefined> {
  const [row] = await db.read<StoredRow>(
    labelled(
      `record:${table.id}:${table.version}`,
      sql`select ${selectedColumns(table)} from ${recordsOf(table.id)} r where r.id = ${recordId}`,
    ),
  )
  return row
}

/**
 * Inserts a record.
 * @returns undefined if the table has a newer version than the definition
 * @throws an error of the class `isOutdated` in its place if the records are elsewhere
 */
export const insertRow = (db: Database, table: TableDef, cells: Cells, change: Change): Promise<StoredRow | undefined> =>
  choose(db, table.id, { here: insertHere, elsewhere: insertElsewhere })(db, table, cells, change)

async function insertHere(db: Database, table: TableDef, cells: Cells, change: Change): Promise<StoredRow | undefined> {
  const values: InsertValues = { at: formatInstant(change.now), userId: change.userId }
  for (const field of ownFields(table)) values[cellName(field)] = boundValue(field, cells)
  const [row] = await db.write<StoredRow>(
    shortWrite(`insert:${table.id}:${table.version}`, writesOfTable(table.id), inserting({ table }, values)),
  )
  return row
}

/** What an insert binds: when and by whom, and a cell for each field. */
type InsertValues = { at: string; userId: number | null } & BoundCells

/** The statements of the tables that were used last. */
const MOST_PREPARED = 500

/** Cells are bound directly: unnesting arrays would double the cost of the statement. */
const inserting = prepare<{ table: TableDef }, InsertValues>(MOST_PREPARED, (p, { table }) => {
  const cells = ownFields(table).map((field) => sql`${p[cellName(field)]}::${typeOf(field)}`)
  return insertion(table, { by: { at: p.at, userId: p.userId }, cells })
})

/**
 * Inserts records in one statement.
 * @returns them in the order of their ids, which is that of the request; undefined if the table has a newer version than the definition
 * @throws as `insertRow`
 */
export const insertRows = (db: Database, table: TableDef, records: readonly Cells[], change: Change): Promise<StoredRow[] | undefined> =>
  choose(db, table.id, { here: insertManyHere, elsewhere: insertManyElsewhere })(db, table, records, change)

async function insertManyHere(
  db: Database,
  table: TableDef,
  records: readonly Cells[],
  { now, userId }: Change,
): Promise<StoredRow[] | undefined> {
  const own = ownFields(table)
  const from = sql`, ${unnestedRows(own, cellArrays(own, records))}`
  const parts = { by: { at: formatInstant(now), userId }, cells: own.map(unnestedCell), from, order: sql`order by x."#"` }
  const rows = await db.write<StoredRow>(labelled(`insert:${table.id}:${table.version}`, insertion(table, parts)))
  return rows.length ? rows.sort((a, b) => a.id - b.id) : undefined
}

interface InsertParts {
  by: { at: Given<string>; userId: Given<number> | null }
  cells: readonly Sql[]
  /** With a comma before it. */
  from?: Sql
  order?: Sql
}

function insertion(table: TableDef, { by, cells, from = empty, order = empty }: InsertParts): Sql {
  return sql`with by as (select ${by.at}::timestamp as at, ${by.userId}::int as id)
    insert into ${recordsOf(table.id)} as r (${insertedNames(ownFields(table))})
    select ${join([sql`by.at, by.id, by.at, by.id`, ...cells])} from by${from} where ${isCurrent(table)} ${order}
    returning ${selectedColumns(table)}`
}

/** True if the table still has this version. A statement waits for a concurrent change of the table before it evaluates this. */
export const isCurrent = ({ id, version }: TableDef): Sql =>
  sql`exists (select 1 from public.tables t where t.id = ${constant(id)} and t.version = ${constant(version)} and t.deleted_at is null)`

/** True if the table still has this version, for rows that were read from another server. */
export async function isStillCurrent(db: Database, table: TableDef): Promise<boolean> {
  return (await db.read(shortRead('is-current', sql`select 1 where ${isCurrent(table)}`))).length > 0
}

/**
 * A cell with the users or records that it refers to. For one row or a written batch a subselect is cheaper than the two extra
 * statements that present.ts runs for a page of a query.
 */
function selectedCell(table: TableDef, field: FieldDef): Sql {
  const { type, lookup, lookup_table_id } = field
  const { names } = TYPES[type]
  if (names === 'users')
    return selectedNames(
      field,
      sql`select n.id, n.email, n.name from public.users n`,
      sql` and n.account_id = ${constant(table.account_id)}`,
    )
  if (names !== 'records') return cellRead(field)
  if (!lookup) return sql`null::text`
  const title = lookup.title_field ? sql`n.${ident(lookup.title_field)}` : sql`null::text`
  return selectedNames(field, sql`select n.id, ${title} as title from ${recordsOf(lookup_table_id ?? 0)} n`, empty)
}

/**
 * Prints JSON without blanks, as JSON.stringify does.
 * @param values selects what to show of the rows `n`, whose ids the cell holds @param only a further condition for them
 */
function selectedNames(field: FieldDef, values: Sql, only: Sql): Sql {
  const cell = columnOf(field)
  if (!isMultiple(field.type)) return sql`(select row_to_json(v.*) from (${values} where n.id = ${cell}${only}) v)`
  return sql`(select ('[' || string_agg(row_to_json(v.*)::text, ',' order by o.at) || ']')::json
    from unnest(${cell}) with ordinality o (id, at)
    join lateral (${values} where n.id = o.id${only}) v on true)`
}
