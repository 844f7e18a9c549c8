/** Reads one task with everything that its page shows, if possible in the statement that authorises the request. */

import { type TableDef, titleField } from '../fields/definition.ts'
import { callers, type Resource } from '../platform/access/authorize.ts'
import type { Actor } from '../platform/actor.ts'
import type { Answer } from '../platform/answer.ts'
import { BoundedMap } from '../platform/collections/bounded-map.ts'
import { type Database, ident, recordsOf, type Sql, sql } from '../platform/database/database.ts'
import { constant } from '../platform/database/prepare.ts'
import { shortRead } from '../platform/database/statements/statement.ts'
import { selectForJson } from '../platform/http/answers/columns.ts'
import { resourceProcedure } from '../platform/http/procedures/trpc.ts'
import { memo } from '../platform/memo.ts'
import { definitionHere } from '../tables/elsewhere/definition-here.ts'
import { taskCommentColumns } from './comments/schema.ts'
import { selectTask, type TaskRow, taskResource } from './procedure.ts'
import { onWire, TASK_COLUMNS } from './queries.ts'
import type { StoredTask, Task, TaskDetail } from './schema.ts'

/**
 * The number of comments in a task's detail (api.md, Limits). It is a literal, because PostgreSQL supposes that a bound limit returns a
 * tenth of the rows: with many comments it would then plan the statement anew each time.
 */
const RECENT_COMMENTS = sql`20`

/** A task with everything that its page shows. */
export type DetailRow = StoredTask & Omit<TaskDetail, keyof Task>

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

/** The columns of a `DetailRow` of task `k`. */
const detailColumns = ({ taskId, userId, tableName, title }: DetailSources): Sql => sql`
  ${TASK_COLUMNS},
  (select count(*) from task_comments c where c.task_id = ${taskId}) as comment_count,
  f.subscribers, ${userId} = any(f.subscribers) as subscribed,
  ${tableName} as table_name, ${title} as record_title,
  (select coalesce(json_agg(c.* order by c.id desc), '[]') from (
    select ${COMMENT_COLUMNS} from task_comments c where c.task_id = ${taskId} order by c.id desc limit ${RECENT_COMMENTS}
  ) c) as recent_comments`

const COMMENT_COLUMNS = selectForJson(taskCommentColumns, 'c')

/** Selects the title of the record. */
const titleIn = (table: TableDef, recordId: Sql): Sql => {
  const field = titleField(table)
  return field ? sql`(select r.${ident(field.id)} from ${recordsOf(table.id)} r where r.id = ${recordId})` : NO_TITLE
}
const NO_TITLE = sql`null::text`

// ── in a statement of its own ───────────────────────────────────────────────

/**
 * The task with its counts, subscribers and comments. Returns undefined when the task has just been deleted.
 * @param table of the task's record; undefined for a standalone task
 */
export async function getTask(
  db: Database,
  { userId }: Actor,
  task: TaskRow,
  table: TableDef | undefined,
): Promise<Answer<TaskDetail> | undefined> {
  const { task_id: taskId, table_name: tableName, record_id: recordId } = task
  const columns = detailColumns({ taskId: OF_TASK, userId: sql`${userId}::int`, tableName: sql`${tableName}::text`, title: NO_TITLE })
  const [[row], title] = await Promise.all([
    db.read<DetailRow>(shortRead('tasks:get', sql`select ${columns} from tasks k ${subscribersOf(OF_TASK)} where k.id = ${taskId}`)),
    table ? readTitle(db, table, recordId) : null,
  ])
  tablesOfTasks(db).set(taskId, table?.id ?? null)
  return row && answerFrom({ ...row, record_title: title })
}

const OF_TASK = sql`k.id`

export function answerFrom(row: DetailRow): Answer<TaskDetail> {
  const { comment_count, subscribers, subscribed, table_name, record_title, recent_comments } = row
  const value = { ...onWire(row), comment_count, subscribers, subscribed, table_name, record_title, recent_comments }
  return { value, version: row.version }
}

/** By itself, because the record may be on another server. */
async function readTitle(db: Database, table: TableDef, recordId: number | null): Promise<string | null> {
  const field = titleField(table)
  if (!field) return null
  const statement = sql`select r.${ident(field.id)} as title from ${recordsOf(table.id)} r where r.id = ${recordId}`
  const [record] = await db.records(table.id).read<{ title: string | null }>(shortRead(`title:${table.version}`, statement))
  return record?.title ?? null
}

// ── in the statement of the access check ────────────────────────────────────

const MOST_SEEN = 20_000
/** The tables of the tasks that were read last, null for standalone ones: the statement needs to know which table has the record. */
const tablesOfTasks = memo((_: Database) => new BoundedMap<number, number | null>(MOST_SEEN))

/** What the text of the statement depends on: the table of the task's record, or one of these. */
const STANDALONE = 'standalone'
const UNSEEN = 'unseen'

function placeOf({ task_id: taskId = 0 }: Record<string, number>, db: Database): TableDef | typeof STANDALONE | typeof UNSEEN {
  const tableId = tablesOfTasks(db).get(taskId)
  if (tableId == null) return tableId === null ? STANDALONE : UNSEEN
  return definitionHere(db, tableId) ?? UNSEEN
}

/** With the columns of a `DetailRow`, if `is_shown`. */
type ShownTask = TaskRow & {
  /** Whether the place and the definition by which the task was read are the real ones. */
  is_shown?: boolean
}

const PRINCIPAL_ID = sql`p.p_user_id`
/** Comments and followers may be many, so they are not read for callers of another account. */
const OWN_TASK = sql`case when k.account_id = p.p_account_id then k.id end`

const shownTaskResource: Resource<ShownTask> = {
  ...taskResource,
  textOf: placeOf,
  select: ({ task_id: taskId }, place) => {
    if (place === UNSEEN) return selectTask(taskId)
    const table = place === STANDALONE ? undefined : (place as TableDef)
    const isShown = table ? sql`t.id = ${constant(table.id)} and t.version = ${constant(table.version)}` : sql`k.table_id is null`
    const title = table ? titleIn(table, sql`k.record_id`) : NO_TITLE
    return selectTask(taskId, {
      isSubscriber: sql`${PRINCIPAL_ID} = any(f.subscribers)`,
      more: sql`, ${isShown} as is_shown, ${detailColumns({ taskId: OWN_TASK, userId: PRINCIPAL_ID, tableName: sql`t.name`, title })}`,
      join: subscribersOf(OWN_TASK),
    })
  },
  fallback: taskResource as Resource<ShownTask>,
}

/** For a procedure that reads the task `task_id`; `shown` is the whole task, if the check has read it. */
export const shownTaskProcedure = () =>
  resourceProcedure(shownTaskResource, 'read', callers.any, {}, (task) => ({
    task: task as TaskRow,
    shown: task.is_shown ? (task as TaskRow & DetailRow) : undefined,
  }))
