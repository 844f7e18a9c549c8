/** The statements that read and write stored records. */

import { columnOf } from '../fields/cell-sql.ts'
import { type FieldDef, isMultiple, ownFields, type TableDef, titleField } from '../fields/definition.ts'
import { TYPES } from '../fields/registry.ts'
import type { Context } from '../platform/context.ts'
import { type Database, empty, ident, join, recordsOf, type Sql, sql, writesOfTable } from '../platform/database/database.ts'
import type { PrintedCell, PrintedRows } from '../platform/database/printed-rows.ts'
import { PRINTED } from '../platform/database/row-reader.ts'
import { memo } from '../platform/memo.ts'
import { formatInstant } from '../platform/time/time.ts'
import { arrayText, boundValue, cellArrays, insertedNames, typeOf, unnestedCell, unnestedRows } from './cell-values.ts'
import { textOf } from './cells/present.ts'
import type { Cells } from './drafts.ts'
import { type Change, insertPlaced, readPlaced, type StoredRow } from './placed-rows.ts'
import { cellRead } from './query/condition-sql.ts'

export const changeBy = ({ now, actor }: Context): Change => ({ now, userId: actor.userId || null })

/** The columns to read of a row `r`, with the users and records that its cells refer to. */
const selectedColumns = memo((table: TableDef): Sql => {
  const cells = ownFields(table).map((field) => textOf(field, selectedCell(table, field)))
  return join([sql`r.id, r.version, r.created_at, r.updated_at`, ...cells])
})

/** The columns of a row `r` from which `writeRecord` writes the record. */
export const printedColumns = memo((table: TableDef): Sql => {
  const title = titleField(table)
  const columns = [sql`r.id as ${ident(PRINTED)}`, title ? columnOf(title) : sql`null::text`]
  return join([...columns, ...ownFields(table).map((field) => selectedCell(table, field)), sql`r.created_at, r.updated_at`])
})

/** Returns undefined if the record does not exist. */
export async function readRow(db: Database, table: TableDef, recordId: number): Promise<StoredRow | undefined> {
  if (db.isElsewhere(table.id)) return readPlaced(db, table, recordId)
  const [row] = await db.query<StoredRow>(
    sql`select ${selectedColumns(table)} from ${recordsOf(table.id)} r where r.id = ${recordId}`,
    `record:${table.id}:${table.version}`,
  )
  return row
}

/** Records that were inserted: their cells for `writeRecords`, or the rows if they are elsewhere. */
export type InsertedRows = PrintedRows | StoredRow[]

/**
 * Inserts records in one statement.
 * @returns them in the order of their ids, which is that of the request; none if the table has a newer version than the definition
 * @throws an error of the class `isOutdated` in its place if the records are elsewhere
 */
export async function insertRows(db: Database, table: TableDef, records: readonly Cells[], { now, userId }: Change): Promise<InsertedRows> {
  if (db.isElsewhere(table.id)) return insertPlaced(db, table, records, { now, userId })
  const { text, following } = insertionOfMany(table)
  const statement = { text, values: [formatInstant(now), userId, ...cellArrays(ownFields(table), records).map(arrayText), ...following] }
  const rows = await db.queryPrinted(statement, `insert:${table.id}:${table.version}`)
  if (rows.length > 1) rows.putInOrder(rows.ids().sort((a, b) => a - b))
  return rows
}

/**
 * Inserts a record that is on this server.
 * @returns its cells for `writeRecord`; undefined if the table has a newer version than the definition
 */
export async function insertRow(db: Database, table: TableDef, record: Cells, { now, userId }: Change): Promise<PrintedCell | undefined> {
  const { text, following } = insertionOfOne(table)
  const cells = ownFields(table).map((field) => boundValue(field, record))
  const statement = { text, values: [formatInstant(now), userId, ...cells, ...following] }
  const [row] = await db.writeShort<{ [PRINTED]: PrintedCell }>(statement, `insert:${table.id}:${table.version}`, writesOfTable(table.id))
  return row?.[PRINTED]
}

/** The part of an INSERT that depends only on the definition, printed once. */
interface Insertion {
  text: string
  /** The values that follow those of the cells. */
  following: unknown[]
}

/** For one record, whose cells are bound directly: unnesting arrays would double the cost of the statement. */
const insertionOfOne = memo((table: TableDef): Insertion => {
  const own = ownFields(table)
  const cells = own.map((field) => sql`${null}::${typeOf(field)}`)
  return insertion(table, own, own.length, { cells, from: empty, order: empty, returned: printedColumns(table) })
})

const insertionOfMany = memo((table: TableDef): Insertion => {
  const own = ownFields(table)
  const noCells = cellArrays(own, [])
  const from = sql`, ${unnestedRows(own, noCells)}`
  const order = sql`order by x."#"`
  return insertion(table, own, noCells.length, { cells: own.map(unnestedCell), from, order, returned: printedColumns(table) })
})

function insertion(
  table: TableDef,
  own: readonly FieldDef[],
  bound: number,
  { cells, from, order, returned }: { cells: Sql[]; from: Sql; order: Sql; returned: Sql },
): Insertion {
  const { text, values } = sql`with by as (select ${null}::timestamp as at, ${null}::int as id)
    insert into ${recordsOf(table.id)} as r (${insertedNames(own)})
    select ${join([sql`by.at, by.id, by.at, by.id`, ...cells])} from by${from} where ${isCurrent(table)} ${order} returning ${returned}`
  return { text, following: values.slice(2 + bound) }
}

/** True if the table still has this version. A statement waits for a concurrent change of the table before it evaluates this. */
export const isCurrent = ({ id, version }: TableDef): Sql =>
  sql`exists (select 1 from public.tables t where t.id = ${id} and t.version = ${version} and t.deleted_at is null)`

/** True if the table still has this version, for rows that were read from another server. */
export async function isStillCurrent(db: Database, table: TableDef): Promise<boolean> {
  return (await db.readShort(sql`select 1 where ${isCurrent(table)}`, 'is-current')).length > 0
}

/**
 * A cell with the users or records that it refers to. For one row or a written batch a subselect is cheaper than the two extra
 * statements that present.ts runs for a page of a query.
 */
function selectedCell(table: TableDef, field: FieldDef): Sql {
  const { type, lookup, lookup_table_id } = field
  const { names } = TYPES[type]
  if (names === 'users')
    return selectedNames(field, sql`select n.id, n.email, n.name from public.users n`, sql` and n.account_id = ${table.account_id}`)
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
  return sql`(select ('[' || string_agg(row_to_json(v.*)::text, ',' order by o.at) || ']')::json from unnest(${cell}) with ordinality o (id, at)
    join lateral (${values} where n.id = o.id${only}) v on true)`
}
