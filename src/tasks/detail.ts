/** Reads one task with everything that its page shows. */
import { type TableDef, titleField } from '../fields/definition.ts'
import type { Actor } from '../platform/access/authenticate.ts'
import { composedOnce } from '../platform/database/composed-once.ts'
import { type Database, ident, recordsOf, type Sql, sql } from '../platform/database/database.ts'
import { memo } from '../platform/memo.ts'
import type { TaskRow } from './procedure.ts'
import { type Stored, taskColumns } from './queries.ts'
import type { TaskDetail } from './schema.ts'

/** The number of comments in a task's detail (api.md, Limits). */
const RECENT_COMMENTS = 20

type StoredDetail = Stored<TaskDetail> & { version: number }

/**
 * The task with its counts, subscribers and comments, in one statement. Returns undefined when the task has just been deleted.
 * @param table of the task's record; undefined for a standalone task
 */
export async function getTask(
  db: Database,
  { userId }: Actor,
  task: TaskRow,
  table: TableDef | undefined,
): Promise<StoredDetail | undefined> {
  const isElsewhere = table !== undefined && db.isElsewhere(table.id)
  const detail = table && !isElsewhere ? detailInTable(table) : standaloneDetail
  const { task_id: taskId, table_name: tableName, record_id: recordId } = task
  const [row] = await db.readShort<StoredDetail>(detail({ userId, taskId, tableName, recordId }), 'tasks:get')
  return row && isElsewhere ? { ...row, record_title: await titleElsewhere(db, table, recordId) } : row
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
}

/** @param title selects the title of the record */
const detailWith = (title: (recordId: number | null) => Sql) =>
  composedOnce<DetailValues>(
    ['userId', 'taskId', 'tableName', 'recordId'],
    ({ userId, taskId, tableName, recordId }) => sql`select ${taskColumns(sql`k`)}, k.version,
      (select count(*)::int from task_comments c where c.task_id = k.id) as comment_count,
      f.subscribers, ${userId} = any(f.subscribers) as subscribed,
      ${tableName}::text as table_name, ${title(recordId)} as record_title,
      (select coalesce(json_agg(json_build_object('id', c.id, 'task_id', c.task_id, 'content', c.content, 'user_id', c.user_id,
          'user_name', c.user_name, 'api_key_id', c.api_key_id, 'attachments', c.attachments,
          'created_at', c.created_at::text, 'updated_at', c.updated_at::text) order by c.id desc), '[]')
        from (select * from task_comments c where c.task_id = k.id order by c.id desc limit ${RECENT_COMMENTS}) c) as recent_comments
    from tasks k,
      lateral (select coalesce(array_agg(user_id order by user_id), '{}') as subscribers from task_subscribers where task_id = k.id) f
    where k.id = ${taskId}`,
  )

const NO_TITLE = sql`null::text`
const standaloneDetail = detailWith(() => NO_TITLE)
const detailInTable = memo((table: TableDef) => {
  const field = titleField(table)
  return detailWith((recordId) =>
    field ? sql`(select r.${ident(field.id)} from ${recordsOf(table.id)} r where r.id = ${recordId})` : NO_TITLE,
  )
})
