/** The statements that read and write stored records. */

import { emailOf } from '../accounts/user-status.ts'
import { emittingRecord, tellTables } from '../events/table-events.ts'
import { columnOf } from '../fields/cell-sql.ts'
import { type FieldDef, isMultiple, ownFields, type TableDef, titleField } from '../fields/definition.ts'
import { TYPES } from '../fields/registry.ts'
import type { Context } from '../platform/context.ts'
import { type Database, empty, ident, join, recordsOf, type Sql, sql } from '../platform/database/database.ts'
import { constant, type Given, prepare } from '../platform/database/prepare.ts'
import { labelled, shortRead, shortWrite, writesOfTable } from '../platform/database/statements/statement.ts'
import { memo } from '../platform/memo.ts'
import { formatInstant } from '../platform/time/time.ts'
import { choose } from '../tables/elsewhere/choice.ts'
import { type BoundCells, boundValue, cellArrays, cellName, insertedNames, typeOf, unnestedCell, unnestedRows } from './cell-values.ts'
import { textOf, valuesOf } from './cells/present.ts'
import type { Cells } from './drafts.ts'
import { insertElsewhere, insertManyElsewhere, readElsewhere, readManyElsewhere } from './elsewhere.ts'
import { changeEvent } from './history/change-events.ts'
import { CHANGE_ID, changeIdOf, newChangeId, writeEntries } from './history/entries.ts'
import { cellRead } from './query/condition-sql.ts'
import type { DataRecord } from './schema.ts'
import { type Change, STORED, type StoredRow } from './stored-row.ts'

/** Who changes records, and when. A job acts with the key of its requester. */
export const changeBy = ({ now, actor, requester }: Context): Change => ({
  now,
  userId: actor.userId || null,
  keyId: requester ? requester.keyId : actor.keyId,
})

/** The columns of a `StoredRow`, for a row `r` that is on this server. */
export const selectedColumns = memo((table: TableDef): Sql => {
  const cells = ownFields(table).map((field) => textOf(field, selectedCell(table, field)))
  return join([STORED, ...cells])
})

/** The record as the API answers it. */
export function recordOf(table: TableDef, row: StoredRow): DataRecord {
  const { id, created_at, updated_at, version } = row
  const field = titleField(table)
  const title = field ? (row[field.id] as string | null) : null
  return { id, title, data: valuesOf(ownFields(table), row), created_at, updated_at, version }
}

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

/** The records with the ids, in the order of the ids. Unknown ids are left out. */
export const readRows = (db: Database, table: TableDef, recordIds: readonly number[]): Promise<StoredRow[]> =>
  choose(db, table.id, { here: readManyHere, elsewhere: readManyElsewhere })(db, table, recordIds)

const readManyHere = (db: Database, table: TableDef, recordIds: readonly number[]): Promise<StoredRow[]> =>
  db.read<StoredRow>(
    sql`select ${selectedColumns(table)} from ${recordsOf(table.id)} r where r.id = any(${recordIds}::int[]) order by r.id`,
  )

/**
 * Inserts a record.
 * @returns undefined if the table has a newer version than the definition
 * @throws an error of the class `isOutdated` in its place if the records are elsewhere
 */
export const insertRow = (db: Database, table: TableDef, cells: Cells, change: Change): Promise<StoredRow | undefined> =>
  choose(db, table.id, { here: insertHere, elsewhere: insertElsewhere })(db, table, cells, change)

async function insertHere(db: Database, table: TableDef, cells: Cells, change: Change): Promise<StoredRow | undefined> {
  const values: InsertValues = { at: formatInstant(change.now), userId: change.userId, keyId: change.keyId }
  for (const field of ownFields(table)) values[cellName(field)] = boundValue(field, cells)
  const [row] = await db.write<StoredRow>(
    shortWrite(`insert:${table.id}:${table.version}`, writesOfTable(table.id), inserting({ table }, values)),
  )
  return row
}

/** What an insert binds: when and by whom, and a cell for each field. */
type InsertValues = { at: string; userId: number | null; keyId: number | null } & BoundCells

/** The statements of the tables that were used last. */
const MOST_PREPARED = 500

/** Cells are bound directly: unnesting arrays would double the cost of the statement. */
const inserting = prepare<{ table: TableDef }, InsertValues>(MOST_PREPARED, (p, { table }) => {
  const cells = ownFields(table).map((field) => sql`${p[cellName(field)]}::${typeOf(field)}`)
  const event = emittingRecord(table, {
    ...{ type: 'record.created', recordId: sql`r.id`, userId: sql`by.id`, changeId: sql`by.change`, at: sql`by.at` },
    from: sql`by, added r`,
  })
  return insertion(table, { by: p, cells, records: 1, event })
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
  { now, userId, keyId }: Change,
): Promise<StoredRow[] | undefined> {
  const own = ownFields(table)
  const from = sql`, ${unnestedRows(own, cellArrays(own, records))}`
  const by = { at: formatInstant(now), userId, keyId }
  const parts = { by, cells: own.map(unnestedCell), from, order: sql`order by x."#"`, records: records.length }
  const statement = labelled(`insert:${table.id}:${table.version}`, insertion(table, parts))
  return db.transaction(async () => {
    const rows = await db.write<StoredRow>(statement)
    const changeId = changeIdOf(rows)
    if (changeId === null) return undefined
    await tellTables({ db, now }, [changeEvent(table, 'record.created', { recordIds: rows.map(({ id }) => id), changeId, userId })])
    return rows.sort((a, b) => a.id - b.id)
  })
}

interface InsertParts {
  by: { at: Given<string>; userId: Given<number> | null; keyId: Given<number> | null }
  cells: readonly Sql[]
  /** With a comma before it. */
  from?: Sql
  order?: Sql
  records: number
  /** The statement that writes the event, if this one does. */
  event?: Sql
}

function insertion(table: TableDef, { by, cells, from = empty, order = empty, records, event }: InsertParts): Sql {
  const entries = writeEntries(table.id, {
    ...{ kind: 'create', changeId: sql`by.change`, at: sql`by.at`, userId: sql`by.id`, keyId: sql`by.key` },
    ...{ id: sql`r.id`, version: sql`r.version`, records: constant(records), from: sql`by, added r` },
  })
  return sql`with by as (select ${by.at}::timestamp as at, ${by.userId}::int as id, ${by.keyId}::int as key, ${newChangeId} as change),
    added as (
      insert into ${recordsOf(table.id)} as r (${insertedNames(ownFields(table))})
      select ${join([sql`by.at, by.id, by.at, by.id`, ...cells])} from by${from} where ${isCurrent(table)} ${order}
      returning ${writtenColumns(table)}),
    entered as (${entries})${event ? sql`, told as (${event})` : empty}
    select ${selectedColumns(table)}, by.change as ${ident(CHANGE_ID)} from by, added r`
}

/** The columns of a row `r` that was written, for a statement that reads it as a row `r` again. */
export const writtenColumns = memo(
  (table: TableDef): Sql =>
    join([sql`r.id, r.version, r.created_at, r.updated_at`, ...ownFields(table).map(({ id }) => sql`r.${ident(id)}`)]),
)

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
      sql`select n.id, ${emailOf(sql`n`)} as email, n.name from public.users n`,
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
