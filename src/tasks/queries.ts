import { canSee } from '../notifications/queries.ts'
import { type Database, empty, join, type Sql, sql } from '../platform/database/database.ts'
import { labelled, shortRead } from '../platform/database/statements/statement.ts'
import { type StoredRow, selectColumns, wireOf } from '../platform/http/answers/columns.ts'
import type { ReminderFacts } from './reminders/reminder.ts'
import { type TaskCount, taskColumns } from './schema.ts'

/** The columns of a task `k` on the wire. */
export const TASK_COLUMNS = selectColumns(taskColumns, 'k')

export const onWire = wireOf(taskColumns)

/** The tasks of a list with `updated_since`, and their tombstones. */
export interface ChangeSource {
  /** As for `pageOf` (lists/queries.ts). */
  parts: readonly Sql[]
  /** A condition on rows of deleted_tasks, `d`. */
  tombstones: Sql
}

/** A changed or deleted task, with the instant of the change; with further columns, if they were selected. */
export type ChangedTask = { at: string; is_deleted: boolean; id: number } & StoredRow<typeof taskColumns>

/** A page of changed tasks. Only the first page has a total, because counting reads all changes. */
export interface ChangesPage {
  rows: ChangedTask[]
  total?: number
}

/**
 * The tasks that have changed since the instant, that second included, oldest change first. A page that continues another reads little
 * more than its own rows, in the order of an index.
 * @param since `YYYY-MM-DD HH:MM:SS`, UTC
 * @param after the last row of the previous page
 * @param more further columns of each task `k`, and what they join
 */
export async function listChanges(
  db: Database,
  { parts, tombstones }: ChangeSource,
  { since, after, limit, offset }: { since: string; after: { at: string; id: number } | null; limit: number; offset: number },
  more?: { columns: Sql; joined: Sql },
): Promise<ChangesPage> {
  const from = (at: Sql, id: Sql) =>
    after ? sql`(${at}, ${id}) > (${after.at}::timestamp, ${after.id}::int)` : sql`${at} >= ${since}::timestamp`
  const found = [
    ...parts.map(
      (part) => sql`select k.id, k.updated_at as at, false as is_deleted from ${part} and ${from(sql`k.updated_at`, sql`k.id`)}`,
    ),
    sql`select d.id, d.deleted_at as at, true as is_deleted from deleted_tasks d
      where ${tombstones} and ${from(sql`d.deleted_at`, sql`d.id`)}`,
  ]
  // Each part is limited to the size of the page, so that its scan stops early.
  const firsts = found.map((part) => sql`(${part} order by at, id limit ${limit + offset})`)
  const total = after ? sql`null::int` : sql`(select count(*)::int from (${join(found, ' union all ')}) c)`
  const rows = await db.read<ChangedTask & { total: number | null; id: number | null }>(
    labelled(
      'tasks:changes',
      sql`select n.total, c.at, c.is_deleted, ${TASK_COLUMNS}, ${more ? sql`${more.columns},` : empty} c.id
      from (select ${total} as total) n
      left join lateral (
        select * from (${join(firsts, ' union all ')}) c order by c.at, c.id limit ${limit} offset ${offset}
      ) c on true
      left join tasks k on k.id = c.id ${more?.joined ?? empty}
      order by c.at, c.id`,
    ),
  )
  const counted = rows[0]?.total ?? null
  return {
    rows: rows.flatMap(({ total: _, ...row }) => (row.id === null ? [] : [row])),
    ...(counted !== null && { total: counted }),
  }
}

export async function countOnRecord(db: Database, tableId: number, recordId: number): Promise<TaskCount> {
  const [count] = await db.read<TaskCount>(
    shortRead(
      'tasks:count',
      sql`select count(*) filter (where status = 'open')::int as open, count(*)::int as total
      from tasks where table_id = ${tableId} and record_id = ${recordId}`,
    ),
  )
  return count ?? { open: 0, total: 0 }
}

/** True while the assignee exists and may read the task. @param task alias of the task's row @param user alias of the assignee's row */
export const assigneeSees = (task: Sql, user: Sql): Sql => sql`(${user}.status <> 'deleted' and ${canSee(user, task)})`

/** The facts about a task's reminder, and its assignee. */
export interface ReminderRow extends ReminderFacts {
  user_id: number
  name: string
  email: string
  timezone: string
}

/** Returns undefined when the task has just been deleted. */
export async function getReminder(db: Database, taskId: number): Promise<ReminderRow | undefined> {
  const [row] = await db.read<ReminderRow>(
    labelled(
      'tasks:reminder',
      sql`select k.reminder_at, k.reminder_sent_at, k.reminder_missed, k.status, u.id as user_id, u.name, u.email, u.timezone,
        ${assigneeSees(sql`k`, sql`u`)} as can_see
      from tasks k join users u on u.id = k.assignee_user_id where k.id = ${taskId}`,
    ),
  )
  return row
}
