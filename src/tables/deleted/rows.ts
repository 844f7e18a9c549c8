/**
 * Moves the rows that belong to deleted records, such as comments and tasks, from the system tables into `deleted_rows`, and back. No
 * reader of those tables has to know of deleted records, because it does not find their rows.
 */
import type { Context } from '../../platform/context.ts'
import { type Database, empty, ident, join, raw, type Sql, sql } from '../../platform/database/database.ts'
import { labelled } from '../../platform/database/statements/statement.ts'
import type { SealedColumn } from '../../platform/secrets/sealed-columns.ts'

/** The rows of one system table that belong to records. */
export interface RowsOfRecords {
  table: string
  /** The row that has the record's `table_id` and `record_id`: a row `x` of the table itself, or one of an `owner`. */
  through?: {
    owner: string
    /** The condition that the row `o` of the owner owns `x`. */
    owns: Sql
  }
  /** Columns with a unique value that something else may have taken meanwhile. They are emptied then. */
  yields?: readonly string[]
}

/** The condition that a row belongs to the records. @param recordIds null for every record of the table */
export const belongingTo = (row: Sql, tableId: number, recordIds: readonly number[] | null): Sql =>
  sql`${row}.table_id = ${tableId} and (${recordIds}::int[] is null or ${row}.record_id = any(${recordIds}::int[]))`

const rowsOf = ({ cascades }: Pick<Context, 'cascades'>): RowsOfRecords[] => cascades.flatMap(({ rows }) => rows ?? [])

/** Deletes the rows `x`. @param returned what the statement returns */
function deleting({ table, through }: RowsOfRecords, tableId: number, recordIds: readonly number[] | null, returned: Sql): Sql {
  const owner = through ? sql`o` : sql`x`
  const using = through ? sql`using ${raw(through.owner)} o` : empty
  const owns = through ? sql`${through.owns} and` : empty
  return sql`delete from ${raw(table)} x ${using} where ${owns} ${belongingTo(owner, tableId, recordIds)} returning ${returned}`
}

/** The statement that adds rows of a system table to those that lie aside. @param rows selects table_id, record_id, source and content */
export const insertingAside = (rows: Sql): Sql => sql`insert into deleted_rows (table_id, record_id, source, content) ${rows}`

/** Moves the rows of the records aside, in the transaction that deletes the records. */
export async function moveRowsAside(context: Context, tableId: number, recordIds: readonly number[]): Promise<void> {
  const kinds = rowsOf(context)
  const moved = kinds.map(({ through }) => sql`${through ? sql`o` : sql`x`}.record_id, to_jsonb(x.*) as content`)
  // One statement: the rows of an owner are still there for those that it owns.
  const parts = kinds.map((kind, index) => sql`${raw(`m${index}`)} as (${deleting(kind, tableId, recordIds, moved[index] as Sql)})`)
  const all = kinds.map(({ table }, index) => sql`select ${table}::text as source, m.record_id, m.content from ${raw(`m${index}`)} m`)
  await context.db.write(
    labelled(
      'move-rows-aside',
      sql`
      with ${join(parts)}
      ${insertingAside(sql`select ${tableId}::int, a.record_id, a.source, a.content from (${join(all, ' union all ')}) a`)}`,
    ),
  )
}

/** Deletes the rows of a table that is deleted for good, and those that were moved aside. */
export async function deleteRowsOfTable(context: Context, tableId: number): Promise<void> {
  const parts = rowsOf(context).map((kind, index) => sql`${raw(`m${index}`)} as (${deleting(kind, tableId, null, sql`1`)})`)
  await context.db.write(sql`with ${join(parts)} delete from deleted_rows where table_id = ${tableId}`)
}

/** The rows of a table that lie aside in an account, as `x`, with the row `d` that holds each. @param alias in place of `x` */
export const rowsAside = (table: string, accountId: number, alias = 'x'): Sql => sql`
  deleted_rows d cross join lateral jsonb_populate_record(null::${raw(table)}, d.content) ${raw(alias)}
  where d.source = ${table} and d.table_id in (select t.id from tables t where t.account_id = ${accountId})`

const CHANGED_AT_ONCE = 500

/**
 * Changes rows that lie aside.
 * @param rows from `rowsAside`, with a condition that is false for changed rows @param values of columns
 */
export async function changeRowsAside(db: Database, rows: Sql, values: Record<string, Sql>): Promise<void> {
  const changes = join(Object.entries(values).map(([column, value]) => sql`${column}::text, ${value}`))
  const change = sql`
    update deleted_rows k set content = k.content || c.changes
    from (select d.id, jsonb_build_object(${changes}) as changes from ${rows} order by d.id limit ${CHANGED_AT_ONCE} for update of d) c
    where k.id = c.id`
  while ((await db.write(change)).changed) {
    // Until none is left.
  }
}

/** Replaces keys of a JSON column in rows that lie aside. @param changes each with the id of its row */
export async function mergeAside(db: Database, column: string, changes: readonly { row: number; keys: object }[]): Promise<void> {
  await db.write(sql`
    update deleted_rows d set content = jsonb_set(d.content, ${[column]}::text[], d.content->${column} || x.keys::jsonb)
    from unnest(${changes.map(({ row }) => row)}::bigint[], ${changes.map(({ keys }) => JSON.stringify(keys))}::text[]) x (id, keys)
    where d.id = x.id`)
}

/** The secrets of a column in the rows of its table that lie aside. */
export const sealedAside = (sealed: SealedColumn, what: string): SealedColumn => ({
  ...{ ...sealed, what, table: 'deleted_rows', key: { column: 'id', type: 'bigint' } },
  within: { column: 'content', only: `t.source = '${sealed.table}'` },
})

/** Deletes the rows of a user that lie aside. */
export async function deleteRowsAsideOf(db: Database, tables: readonly string[], accountId: number, userId: number): Promise<void> {
  await db.write(sql`
    delete from deleted_rows d where d.source = any(${tables}::text[]) and (d.content->>'user_id')::int = ${userId}
      and d.table_id in (select t.id from tables t where t.account_id = ${accountId})`)
}

/** Deletes rows that the previous release has left aside when it removed their table. */
export async function forgetRowsOfGoneTables(db: Database): Promise<void> {
  await db.write(sql`
    delete from deleted_rows where table_id in (select distinct d.table_id from deleted_rows d except select t.id from tables t)`)
}

/** Deletes rows that were moved aside, for good. */
export async function forgetRows(db: Database, tableId: number, recordIds: readonly number[]): Promise<void> {
  await db.write(sql`delete from deleted_rows where table_id = ${tableId} and record_id = any(${recordIds}::int[])`)
}

/** Rows of a table that have the same columns. */
interface SameColumns {
  source: string
  columns: string[]
  rows: number
  /** False if others of the table have other columns, because another release has moved them aside. */
  is_only: boolean
}

/** Puts the rows of restored records back. */
export async function putRowsBack(context: Context, tableId: number, recordIds: readonly number[]): Promise<void> {
  const { db } = context
  const rows = sql`table_id = ${tableId} and record_id = any(${recordIds}::int[])`
  const found = await db.read<SameColumns>(
    labelled(
      'columns-of-rows-aside',
      sql`
      select g.source, g.columns, g.rows, count(*) over (partition by g.source) = 1 as is_only from (
        select d.source, array(select * from jsonb_object_keys(d.content) order by 1) as columns, count(*)::int as rows
        from deleted_rows d where ${rows} group by 1, 2
      ) g`,
    ),
  )
  if (!found.length) return
  const kinds = new Map(rowsOf(context).map((kind) => [kind.table, kind]))
  const groups = found.filter(({ source }) => kinds.has(source))
  const existing = await existingColumns(db, [...new Set(groups.map(({ source }) => source))])
  const isOf = ({ source, columns, is_only }: SameColumns) => {
    const same = is_only ? empty : sql`and array(select * from jsonb_object_keys(b.content) order by 1) = ${columns}::text[]`
    return sql`b.source = ${source} ${same}`
  }
  const inserting = (group: SameColumns, from: Sql, isLeft: (column: string) => boolean = () => false) => {
    const columns = group.columns.filter((column) => existing.get(group.source)?.has(column) && !isLeft(column))
    const values = join(columns.map((column) => sql`p.${ident(column)}`))
    return sql`
      insert into ${raw(group.source)} (${join(columns.map(ident))})
      select ${values} from ${from} b cross join lateral jsonb_populate_record(null::${raw(group.source)}, b.content) p
      where ${isOf(group)} on conflict do nothing`
  }
  // Rows that may have to yield go first, because others refer to them.
  for (const group of groups) {
    const { yields } = kinds.get(group.source) ?? {}
    if (!yields) continue
    const aside = sql`(select source, content from deleted_rows where ${rows})`
    const { changed } = await db.write(inserting(group, aside))
    if (changed < group.rows) await db.write(inserting(group, aside, (column) => yields.includes(column)))
  }
  const others = groups.filter(({ source }) => !kinds.get(source)?.yields)
  const parts = others.map((group, index) => sql`, ${raw(`b${index}`)} as (${inserting(group, sql`back`)})`)
  await db.write(sql`with back as (delete from deleted_rows where ${rows} returning source, content)${join(parts, ' ')} select`)
}

/** The columns that the tables have in this release. */
async function existingColumns(db: Database, tables: readonly string[]): Promise<ReadonlyMap<string, ReadonlySet<string>>> {
  const rows = await db.read<{ source: string; columns: string[] }>(
    labelled(
      'columns-of-tables',
      sql`
      select s.source, array(
        select a.attname::text from pg_attribute a
        where a.attrelid = to_regclass('public.' || s.source) and a.attnum > 0 and not a.attisdropped and a.attgenerated = '') as columns
      from unnest(${tables}::text[]) as s (source)`,
    ),
  )
  return new Map(rows.map(({ source, columns }) => [source, new Set(columns)]))
}
