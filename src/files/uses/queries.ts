/** Walks through the places that use files, cells, comments, mails and tasks, and compares them with the rows of the files. */
import { holdsFiles, type TableDef } from '../../fields/definition.ts'
import { type Database, ident, join, recordsOf, type Sql, sql } from '../../platform/database/database.ts'
import type { RecordsNode } from '../../platform/database/records-plane.ts'
import { tableDefinitions } from '../../tables/definition-cache.ts'
import { holdersOf } from '../../tables/file-references.ts'

/**
 * What is wrong with a use: the file has no row, belongs to another table or task, counts as dropped, or its row says that only another
 * record uses it, so that it would be dropped too early.
 */
export type Fault = 'rowless' | 'misplaced' | 'dropped' | 'uncounted'

/** A place that uses a file, and the entry that names the file there. */
export interface FaultyUse {
  fault: Fault
  account_id: number
  space_id: number | null
  table_id: number | null
  record_id: number | null
  task_id: number | null
  /** The field of the cell; null for a comment, a mail or a task. */
  field_id: string | null
  /** The comment or mail; null for a cell or a task. */
  comment_id: number | null
  /** Null if the entry names none. */
  path: string | null
  name: string | null
  type: string | null
  size: number | null
}

/** The tables whose definitions are read at once. */
const TABLES_AT_ONCE = 200

/** The uses that do not agree with the row of their file. Each statement examines at most `atOnce` rows. */
export async function* faultyUses(db: Database, atOnce: number): AsyncGenerator<FaultyUse[]> {
  for await (const table of tablesWithFiles(db)) yield* walk(db, cellsOf(table), atOnce, db.records(table.id))
  for (const list of [commentsAndMails, tasks, taskComments]) yield* walk(db, list, atOnce)
}

/** The table or task that a path was made for: `1-4-…` or `task-55-…`. */
const PLACE_IN_PATH = /^(?:\d+-(?<table>\d+)|task-(?<task>\d+))-/

/**
 * Those of the paths that something uses, or may use once its table is restored: bytes without a row that may not be deleted. Each path is
 * looked for in the table or task that it was made for.
 */
export async function usedPaths(db: Database, paths: readonly string[]): Promise<Set<string>> {
  const files = paths.map((path) => {
    const { table, task } = PLACE_IN_PATH.exec(path)?.groups ?? {}
    return { path, table_id: table ? Number(table) : null, task_id: task ? Number(task) : null }
  })
  const used = new Set((await holdersOf(db, files)).keys())
  const deleted = await db.read<{ id: number }>(sql`
    select t.id from tables t join spaces s on s.id = t.space_id
    where t.id::text = any(${files.map(({ table_id }) => String(table_id))}::text[])
      and (t.deleted_at is not null or s.deleted_at is not null)`)
  const restorable = new Set(deleted.map(({ id }) => id))
  return new Set(files.flatMap(({ path, table_id }) => (used.has(path) || (table_id !== null && restorable.has(table_id)) ? path : [])))
}

/** Rows with lists of files, and how they are read. */
interface Walked {
  from: Sql
  /** True for rows that have files. */
  hasFiles: Sql
  /** Selects the uses of the rows: their place, and the list of files as `files`. */
  select(rows: Sql): Sql
}

/** The rows without files count as well: a statement that looked for the next ones with files could read a large table to its end. */
async function* walk(db: Database, { from, hasFiles, select }: Walked, atOnce: number, on: RecordsNode = db): AsyncGenerator<FaultyUse[]> {
  for (let after = 0; ; ) {
    const [some] = await on.read<{ last: number | null; has_files: boolean | null }>(sql`
      select max(walked.id) as last, bool_or(walked.has_files) as has_files
      from (select id, (${hasFiles}) as has_files from ${from} where id > ${after} order by id limit ${atOnce}) walked`)
    if (!some || some.last === null) return
    const uses = select(sql`from ${from} where id > ${after} and id <= ${some.last}`)
    if (some.has_files) yield await db.read<FaultyUse>(faulty(JSON.stringify(await on.read(uses))))
    after = some.last
  }
}

/**
 * The faulty ones among the uses, which were read before, because cells may be on a server without the rows of files. The limit changes no
 * result, but makes PostgreSQL look up each path: it expects 100 files in every list, and would read all rows of files for a few records.
 * @param uses as JSON
 */
const faulty = (uses: string): Sql => sql`
  select * from (
    select u.account_id, u.space_id, u.table_id, u.record_id, u.task_id, u.field_id, u.comment_id, e.entry->>'path' as path,
      e.entry->>'name' as name, e.entry->>'type' as type, (e.entry->>'size')::float8 as size,
      case when f.path is null then 'rowless'
        when f.account_id <> u.account_id or f.task_id is distinct from u.task_id
          or (u.task_id is null and f.table_id is distinct from u.table_id) then 'misplaced'
        when f.dropped_at is not null then 'dropped'
        when f.is_shared = false and u.task_id is null and f.record_id is distinct from u.record_id then 'uncounted' end as fault
    from jsonb_to_recordset(${uses}::jsonb) as u (account_id int, space_id int, table_id int, record_id int, task_id int, field_id text,
        comment_id int, files jsonb)
      cross join lateral jsonb_array_elements(u.files) as e (entry)
      left join lateral (select * from stored_files s where s.path = e.entry->>'path' limit 1) f on true
  ) compared where fault is not null`

/** The tables that have fields for files. Those of a deleted table are walked through once it is restored. */
export async function* tablesWithFiles(db: Database): AsyncGenerator<TableDef> {
  for (let after = 0; ; ) {
    const ids = await db.read<{ id: number }>(
      sql`select id from tables where id > ${after} and deleted_at is null order by id limit ${TABLES_AT_ONCE}`,
    )
    const last = ids.at(-1)
    if (!last) return
    const tables = await tableDefinitions(
      db,
      ids.map(({ id }) => id),
    )
    for (const table of tables.values()) if (table.fields.some(holdsFiles)) yield table
    after = last.id
  }
}

function cellsOf({ id, space_id, account_id, fields }: TableDef): Walked {
  const ofFiles = fields.filter(holdsFiles)
  return {
    from: recordsOf(id),
    hasFiles: join(
      ofFiles.map((field) => sql`${ident(field.id)} is not null`),
      ' or ',
    ),
    select: (rows) =>
      join(
        ofFiles.map(
          (field) => sql`
            select ${account_id}::int as account_id, ${space_id}::int as space_id, ${id}::int as table_id, id as record_id,
              null::int as task_id, ${field.id}::text as field_id, null::int as comment_id, ${ident(field.id)} as files
              ${rows} and ${ident(field.id)} is not null`,
        ),
        ' union all ',
      ),
  }
}

const hasAttachments = sql`attachments <> '[]'`

const commentsAndMails: Walked = {
  from: sql`record_comments`,
  hasFiles: hasAttachments,
  select: (rows) => sql`
    select account_id, space_id, table_id, record_id, null::int as task_id, null::text as field_id, id as comment_id,
      attachments as files ${rows}`,
}

const tasks: Walked = {
  from: sql`tasks`,
  hasFiles: hasAttachments,
  select: (rows) => sql`
    select account_id, space_id, table_id, record_id, id as task_id, null::text as field_id, null::int as comment_id,
      attachments as files ${rows}`,
}

const taskComments: Walked = {
  from: sql`task_comments`,
  hasFiles: hasAttachments,
  select: (rows) => sql`
    select account_id, null::int as space_id, null::int as table_id, null::int as record_id, task_id, null::text as field_id,
      id as comment_id, attachments as files ${rows}`,
}
