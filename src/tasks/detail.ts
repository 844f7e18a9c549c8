/** Reads one task with everything that its page shows, if possible in the statement that authorises the request. */
import { type TableDef, titleField } from '../fields/definition.ts'
import type { Actor } from '../platform/access/authenticate.ts'
import { callers, type Resource } from '../platform/access/authorize.ts'
import type { Answer } from '../platform/answer.ts'
import { BoundedMap } from '../platform/collections/bounded-map.ts'
import { composedOnce } from '../platform/database/composed-once.ts'
import { type Database, ident, recordsOf, type Sql, sql } from '../platform/database/database.ts'
import type { PrintedCell } from '../platform/database/printed-rows.ts'
import { PRINTED } from '../platform/database/row-reader.ts'
import { resourceProcedure } from '../platform/http/trpc.ts'
import type { WrittenJson } from '../platform/http/written-json.ts'
import { memo } from '../platform/memo.ts'
import { guessedDefinition } from '../tables/definition-cache.ts'
import { ofTask, type TaskRow, taskResource } from './procedure.ts'
import { taskColumns } from './queries.ts'
import type { TaskDetail } from './schema.ts'
import { writeTaskDetail } from './task-json.ts'

/**
 * The number of comments in a task's detail (api.md, Limits). It is a literal, because PostgreSQL supposes that a bound limit returns a tenth of the
 * rows: with many comments it would then plan the statement anew each time.
 */
const RECENT_COMMENTS = sql`20`

export type WrittenDetail = Answer<WrittenJson<TaskDetail>>

// ── what is read ────────────────────────────────────────────────────────────

/** The users who follow the task, read once for all columns (`offset 0` keeps PostgreSQL from reading them for each). */
const subscribersOf = (taskId: Sql) => sql`cross join lateral (
  select array(select user_id from task_subscribers where task_id = ${taskId} order by user_id) as subscribers offset 0) f`

interface DetailSources {
  /** The task of which comments and followers are read. */
  taskId: Sql
  userId: Sql
  tableName: Sql
  title: Sql
}

/**
 * The version of task `k`, and the columns that `writeTaskDetail` writes. What is a list there is printed as finished JSON: `row_to_json` prints no
 * blanks, and escapes as JSON.stringify does.
 */
const detailColumns = ({ taskId, userId, tableName, title }: DetailSources): Sql => sql`
  k.version as ${ident(PRINTED)}, ${taskColumns(sql`k`)},
  (select count(*) from task_comments c where c.task_id = ${taskId}) as comment_count,
  array_to_json(f.subscribers) as subscribers, (${userId} = any(f.subscribers))::text as subscribed,
  ${tableName} as table_name, ${title} as record_title,
  (select coalesce('[' || string_agg(row_to_json(c.*)::text, ',' order by c.id desc) || ']', '[]') from (
    select c.id, c.task_id, c.content, c.user_id, c.user_name, c.api_key_id, c.attachments, c.created_at::text as created_at,
      c.updated_at::text as updated_at
    from task_comments c where c.task_id = ${taskId} order by c.id desc limit ${RECENT_COMMENTS}) c) as recent_comments`

/** Selects the title of the record. */
const titleIn = (table: TableDef, recordId: Sql): Sql => {
  const field = titleField(table)
  return field ? sql`(select r.${ident(field.id)} from ${recordsOf(table.id)} r where r.id = ${recordId})` : NO_TITLE
}
const NO_TITLE = sql`null::text`

// ── in a statement of its own ───────────────────────────────────────────────

/**
 * The task with its counts, subscribers and comments, in one statement. Returns undefined when the task has just been deleted.
 * @param table of the task's record; undefined for a standalone task
 */
export async function getTask(
  db: Database,
  { userId }: Actor,
  task: TaskRow,
  table: TableDef | undefined,
): Promise<WrittenDetail | undefined> {
  const { task_id: taskId, table_name: tableName, record_id: recordId } = task
  const isElsewhere = table !== undefined && db.isElsewhere(table.id)
  const title = isElsewhere ? await titleElsewhere(db, table, recordId) : null
  const detail = table && !isElsewhere ? detailInTable(table) : detailWithTitle
  const rows = await db.readShortPrinted(detail({ userId, taskId, tableName, recordId, title }), 'tasks:get')
  tablesOfTasks(db).set(taskId, table?.id ?? null)
  return rows.length ? answerFrom(rows.firstCell()) : undefined
}

/** The answer. @param cell the first of `detailColumns` */
export function answerFrom(cell: PrintedCell): WrittenDetail {
  const version = cell.int()
  cell.next()
  return { value: writeTaskDetail(cell), version }
}

async function titleElsewhere(db: Database, table: TableDef, recordId: number | null): Promise<string | null> {
  const field = titleField(table)
  if (!field) return null
  const statement = sql`select r.${ident(field.id)} as title from ${recordsOf(table.id)} r where r.id = ${recordId}`
  const [record] = await db.records(table.id).readShort<{ title: string | null }>(statement, `title:${table.version}`)
  return record?.title ?? null
}

interface DetailValues {
  userId: number
  taskId: number
  tableName: string | null
  recordId: number | null
  /** Of a record on another server. */
  title: string | null
}

const OF_TASK = { taskId: sql`k.id` }

const detailWith = (title: (values: DetailValues) => Sql) =>
  composedOnce<DetailValues>(['userId', 'taskId', 'tableName', 'recordId', 'title'], (values) => {
    const { userId, tableName } = values
    const columns = detailColumns({ ...OF_TASK, userId: sql`${userId}::int`, tableName: sql`${tableName}::text`, title: title(values) })
    return sql`select ${columns} from tasks k ${subscribersOf(OF_TASK.taskId)} where k.id = ${values.taskId}`
  })

const detailWithTitle = detailWith(({ title }) => sql`${title}::text`)
const detailInTable = memo((table: TableDef) => detailWith(({ recordId }) => titleIn(table, sql`${recordId}`)))

// ── in the statement of the access check ────────────────────────────────────

const MOST_SEEN = 20_000
/** The tables of the tasks that were read last, null for standalone ones: the statement needs to know which table has the record. */
const tablesOfTasks = memo((_: Database) => new BoundedMap<number, number | null>(MOST_SEEN))

/** What the text of the statement depends on: the table of the task's record, or one of these. */
const STANDALONE = {}
const UNSEEN = {}

function placeOf({ task_id: taskId = 0 }: Record<string, number>, db: Database): object {
  const tableId = tablesOfTasks(db).get(taskId)
  if (tableId == null) return tableId === null ? STANDALONE : UNSEEN
  return (db.isElsewhere(tableId) ? undefined : guessedDefinition(db, tableId)) ?? UNSEEN
}

interface ShownTask extends TaskRow {
  /** Whether the place and the definition by which the task was read are the real ones. */
  is_shown?: boolean
  /** The first of `detailColumns`. */
  [PRINTED]?: PrintedCell
}

const PRINCIPAL_ID = sql`p.p_user_id`
/** Comments and followers may be many, so they are not read for callers of another account. */
const OWN_TASK = sql`case when k.account_id = p.p_account_id then k.id end`

const shownTaskResource: Resource<ShownTask> = {
  ...taskResource,
  select: ({ task_id: taskId }, _, place = UNSEEN) => {
    if (place === UNSEEN) return ofTask(taskId)
    const table = place === STANDALONE ? undefined : (place as TableDef)
    const isShown = table ? sql`t.id = ${table.id} and t.version = ${table.version}` : sql`k.table_id is null`
    const title = table ? titleIn(table, sql`k.record_id`) : NO_TITLE
    return ofTask(taskId, {
      isSubscriber: sql`${PRINCIPAL_ID} = any(f.subscribers)`,
      more: sql`, ${isShown} as is_shown, ${detailColumns({ taskId: OWN_TASK, userId: PRINCIPAL_ID, tableName: sql`t.name`, title })}`,
      join: subscribersOf(OWN_TASK),
    })
  },
  composedFor: placeOf,
  fallback: taskResource as Resource<ShownTask>,
}

/** For a procedure that reads the task `task_id`; `shown` are its columns for `answerFrom`, if the check has read them. */
export const shownTaskProcedure = () =>
  resourceProcedure(shownTaskResource, 'read', callers.any, {}, (task) => ({
    task: task as TaskRow,
    shown: task.is_shown ? task[PRINTED] : undefined,
  }))
