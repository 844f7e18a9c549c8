/** Finds the references to files in cells, comments, mails and tasks. A file is dropped when its last reference is deleted. */

import { holdsFiles, type TableDef } from '../fields/definition.ts'
import type { Context } from '../platform/context.ts'
import { type Database, empty, ident, join, recordsOf, type Sql, sql } from '../platform/database/database.ts'
import { dropFiles, type LosingFile, lockHeld, type ReleasedFrom, reassignFiles } from '../platform/stored-files/held.ts'
import { tableDefinitions } from './definition-cache.ts'

/** A file with the table or task that it belongs to. */
export type OwnedFile = Pick<LosingFile, 'path' | 'table_id' | 'task_id'>

/** Which references do not count. */
interface Apart {
  /** The records whose own references do not count, because they are deleted or purged now. */
  from?: { tableId: number; recordIds: readonly number[] }
  /** True if those of deleted records do not count, which keep their files only in case they are restored. */
  isLive?: boolean
}

/**
 * Finds which of the files are used by a cell of their table, a comment or mail of a record of that table, their task or a comment on it.
 * Deleted records that can be restored count as well.
 * @returns for each used path the record that uses the file, or null for a task
 */
export async function holdersOf(db: Database, files: readonly OwnedFile[], apart: Apart = {}): Promise<Map<string, number | null>> {
  if (!files.length) return new Map()
  const tableIds = [...new Set(files.flatMap(({ table_id }) => table_id ?? []))]
  const taskIds = [...new Set(files.flatMap(({ task_id }) => task_id ?? []))]
  const paths = files.map(({ path }) => path)
  const held = await readReferences<{ path: string; record_id: number | null; is_live: boolean }>(
    db,
    await references(db, { tableIds, taskIds, ...apart }),
    (used) => sql`
    select path, is_live, max(record_id) as record_id from (${used}) used where path = any(${paths}::text[]) group by path, is_live`,
  )
  // Cells of several tables may use a file whose path was copied to another table. A record that is deleted is the last to be named.
  held.sort((a, b) => Number(a.is_live) - Number(b.is_live) || (a.record_id ?? 0) - (b.record_id ?? 0))
  return new Map(held.map(({ path, record_id }) => [path, record_id]))
}

/**
 * Counts the references to the files by the record or task that their rows name. The references of other records are not looked for, which
 * would take a scan of the table.
 * @returns for each used path the number of its references
 */
export async function countNear(db: Database, files: readonly (OwnedFile & { record_id: number | null })[]): Promise<Map<string, number>> {
  if (!files.length) return new Map()
  const idsOf = (column: 'table_id' | 'task_id' | 'record_id') => [...new Set(files.flatMap((file) => file[column] ?? []))]
  const found = await references(db, { tableIds: idsOf('table_id'), taskIds: idsOf('task_id'), recordIds: idsOf('record_id') })
  const counted = await readReferences<{ path: string; uses: number }>(
    db,
    found,
    (used) => sql`
    select used.path, count(*)::int as uses
    from unnest(${files.map(({ path }) => path)}::text[], ${files.map(({ table_id }) => table_id)}::int[],
        ${files.map(({ record_id }) => record_id)}::int[], ${files.map(({ task_id }) => task_id)}::int[])
      as f (path, table_id, record_id, task_id)
    join (${used}) used on used.path = f.path
      and case when f.task_id is null then used.table_id is not distinct from f.table_id and used.record_id is not distinct from f.record_id
        else used.task_id is not distinct from f.task_id end
    group by used.path`,
  )
  const uses = new Map<string, number>()
  for (const { path, uses: n } of counted) uses.set(path, (uses.get(path) ?? 0) + n)
  return uses
}

/** Runs the statement on the references of comments, mails and tasks, and on those of the cells of each table. @returns the rows of all */
async function readReferences<Row>(db: Database, { attached, cells }: References, statement: (used: Sql) => Sql): Promise<Row[]> {
  const rows = await db.read<Row>(statement(attached))
  for (const { tableId, used } of cells) rows.push(...(await db.records(tableId).read<Row>(statement(used))))
  return rows
}

/** The statements that select references to files. */
interface References {
  /** Of comments, mails and tasks. */
  attached: Sql
  /** Of the cells of each table, for its `db.records`. */
  cells: { tableId: number; used: Sql }[]
}

/** Where references are looked for. */
interface Searched extends Apart {
  tableIds: readonly number[]
  taskIds: readonly number[]
  /** Limits the references of tables to these records. */
  recordIds?: readonly number[]
}

/**
 * Selects the path, the table and record, or the task, of each reference in the tables and tasks. A deleted table has none. No alias can be
 * confused with a user's column, because the columns of user tables are read in selects of their own.
 */
async function references(db: Database, { tableIds, taskIds, recordIds, from, isLive = false }: Searched): Promise<References> {
  const tables = await tableDefinitions(db, [...tableIds])
  const ofRecords = (table: Sql, record: Sql) => sql`
    ${recordIds ? sql`and ${record} = any(${recordIds}::int[])` : empty}
    ${from ? sql`and not (${table} = ${from.tableId} and ${record} = any(${from.recordIds}::int[]))` : empty}`
  const cellsOf = ({ id, fields }: TableDef) =>
    fields.filter(holdsFiles).map(
      (field) => sql`
          select ${id}::int as table_id, null::int as task_id, id as record_id, ${ident(field.id)} as files, true as is_live
          from ${recordsOf(id)} where ${ident(field.id)} is not null ${ofRecords(sql`${id}::int`, sql`id`)}`,
    )
  const lists = [
    sql`
      select table_id, null::int as task_id, record_id, attachments as files, true as is_live from record_comments
      where table_id = any(${tableIds}::int[]) and attachments <> '[]' ${ofRecords(sql`table_id`, sql`record_id`)}`,
    sql`select null::int, id, null::int, attachments, true from tasks where id = any(${taskIds}::int[]) and attachments <> '[]'`,
    sql`select null::int, task_id, null::int, attachments, true from task_comments
      where task_id = any(${taskIds}::int[]) and attachments <> '[]'`,
    ...(isLive ? [] : ofDeleted(tableIds, taskIds, ofRecords)),
  ]
  const withFiles = [...tables.values()].filter(({ fields }) => fields.some(holdsFiles))
  const cells = withFiles.map((table) => ({ tableId: table.id, used: selectPaths(cellsOf(table)) }))
  return { attached: selectPaths(lists), cells }
}

/** Selects the references of deleted records, with their comments and tasks. A deleted record of a deleted table has none either. */
function ofDeleted(tableIds: readonly number[], taskIds: readonly number[], ofRecords: (table: Sql, record: Sql) => Sql): Sql[] {
  const files = sql`d.content->'attachments'`
  return [
    sql`
      select d.table_id, null::int, d.record_id, (c.value->>'value')::jsonb, false
      from deleted_records d cross join lateral jsonb_each(d.cells) c
      where d.table_id = any(${tableIds}::int[]) and d.has_files and c.value->>'type' = 'file'
        ${ofRecords(sql`d.table_id`, sql`d.record_id`)}`,
    sql`
      select d.table_id, null::int, d.record_id, ${files}, false from deleted_rows d
      where d.table_id = any(${tableIds}::int[]) and d.source = 'record_comments' and ${files} <> '[]'
        ${ofRecords(sql`d.table_id`, sql`d.record_id`)}`,
    sql`
      select null::int, (k.content->>'id')::int, null::int, ${files}, false
      from deleted_rows k join deleted_rows d on d.table_id = k.table_id and d.record_id = k.record_id
      where k.source = 'tasks' and (k.content->>'id')::int = any(${taskIds}::int[]) ${ofRecords(sql`k.table_id`, sql`k.record_id`)}
        and (d.id = k.id or d.source = 'task_comments' and d.content->'task_id' = k.content->'id') and ${files} <> '[]'`,
  ]
}

const selectPaths = (lists: readonly Sql[]): Sql => sql`
  select listed.table_id, listed.task_id, listed.record_id, listed.is_live, entries.entry->>'path' as path
  from (${join(lists, ' union all ')}) listed, jsonb_array_elements(listed.files) as entries (entry)`

/** Drops the files that have lost a reference, unless others remain, in the transaction that has deleted the reference. */
export async function releaseFiles(context: Pick<Context, 'db' | 'now'>, paths: readonly string[], from: ReleasedFrom = {}): Promise<void> {
  await release(context, await lockHeld(context.db, paths), from)
}

/** As `releaseFiles`. @param files locked by this transaction */
async function release({ db, now }: Pick<Context, 'db' | 'now'>, files: readonly LosingFile[], from: ReleasedFrom = {}): Promise<void> {
  if (!files.length) return
  // Most files have one reference. For the others the table has to be scanned for further references.
  const used = await holdersOf(
    db,
    files.filter(({ is_shared }) => is_shared !== false),
  )
  await reassignFiles(db, used)
  const unused = files.flatMap(({ path }) => (used.has(path) ? [] : path))
  await dropFiles(db, unused, now, from)
}
