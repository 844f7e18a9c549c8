/** What a list shows of its tasks beside their rows: names, titles and the number of comments (contract.md §9, Task lists). */
import { placeKey, type RecordPlace, recordTitles } from '../../notifications/record-titles.ts'
import type { Context } from '../../platform/context.ts'
import { type Sql, sql } from '../../platform/database/database.ts'
import { type StoredRow, wireOf } from '../../platform/http/answers/columns.ts'
import { referringListWriter } from '../../platform/http/answers/row-json.ts'
import { taskColumns } from '../schema.ts'
import { contextColumns, type TaskInContext } from './schema.ts'

const columns = { ...taskColumns, ...contextColumns }

/**
 * The columns of the context of a task `k`, for a statement with `JOIN_TABLE`. In place of the record's title it selects where the record
 * is, because the title may be on another server, and its column depends on the table.
 */
export const CONTEXT_COLUMNS: Sql = sql`
  (select u.name from users u where u.id = k.assignee_user_id) as assignee_name,
  (select u.name from users u where u.id = k.creator_user_id) as creator_name,
  t.name as table_name, t.id || '/' || t.version || '/' || k.record_id as record_title,
  (select count(*) from task_comments c where c.task_id = k.id) as comment_count`

/** Joins the table `t` of each task `k`, by its id (`offset 0` keeps PostgreSQL from reading all tables). */
export const JOIN_TABLE: Sql = sql`left join lateral (
  select t.id, t.version, t.name from tables t where t.id = k.table_id offset 0) t on true`

/** The same for a statement that adds them to others. */
export const SELECTED_CONTEXT = { columns: CONTEXT_COLUMNS, joined: JOIN_TABLE }

/** Writes a page of tasks, which has `CONTEXT_COLUMNS` after theirs. The titles are read by `titlesAt`. */
export const writeInContext = referringListWriter<TaskInContext>(columns, 'record_title')

const onWire = wireOf(columns)

/**
 * Reads the titles of the tasks' records. @returns the function that makes of such a task, which has `CONTEXT_COLUMNS`, the one on the wire
 */
export async function presenterInContext(
  context: Pick<Context, 'db'>,
  tasks: readonly StoredRow<typeof taskColumns>[],
): Promise<(task: StoredRow<typeof taskColumns>) => TaskInContext> {
  // The statement has selected the further columns.
  const placed = tasks as readonly StoredRow<typeof columns>[]
  const titleAt = await titlesAt(
    context,
    placed.flatMap(({ record_title }) => record_title ?? []),
  )
  return (task) => {
    const { record_title: place, ...others } = task as StoredRow<typeof columns>
    return onWire({ ...others, record_title: place === null ? null : titleAt(place) })
  }
}

/** Reads the titles of the records at these places, with one statement. */
export async function titlesAt(context: Pick<Context, 'db'>, places: readonly string[]): Promise<(place: string) => string | null> {
  const titles = await recordTitles(context, places.map(placeIn))
  return (place) => titles.get(placeKey(placeIn(place))) ?? null
}

function placeIn(text: string): RecordPlace {
  const [table_id = 0, table_version = 0, record_id = 0] = text.split('/').map(Number)
  return { table_id, table_version, record_id }
}
