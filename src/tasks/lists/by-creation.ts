/** The tasks of a record, the newest first, for a timeline that is loaded as one scrolls (contract.md §11, Timeline). */
import type { Context } from '../../platform/context.ts'
import { sql } from '../../platform/database/database.ts'
import { labelled } from '../../platform/database/statements/statement.ts'
import { decodeCursor, encodeCursor, refuseOffset } from '../../platform/http/answers/cursor.ts'
import { endOfPage } from '../../platform/http/answers/row-json.ts'
import { WrittenList } from '../../platform/http/answers/written-json.ts'
import type { RecordPath } from '../../platform/http/procedures/schemas.ts'
import { TASK_COLUMNS } from '../queries.ts'
import { type Task, taskColumns } from '../schema.ts'
import { onRecord, totalOf, withContext, writerOf } from './queries.ts'
import { contextColumns, type RecordTaskQuery } from './schema.ts'

/**
 * A page of the tasks. Without an offset it has a cursor, as long as others follow. The instant of the creation and the id of a task never
 * change, so each task comes once, whatever is created, changed or deleted meanwhile.
 * @throws AppError 400 for an offset beside a cursor, and for a cursor of another list
 */
export async function listByCreation(
  context: Context,
  { table_id, record_id }: RecordPath,
  { status, include, limit, offset, cursor }: Omit<RecordTaskQuery, 'order' | 'updated_since'>,
): Promise<WrittenList<Task>> {
  const { db, settings } = context
  refuseOffset({ cursor, offset })
  const walk = JSON.stringify(['created', table_id, record_id, status])
  const end = decodeCursor(cursor ?? '', walk, settings.secretKeys)
  const parts = onRecord(table_id, record_id, status)
  const [all] = parts
  const left = end ? sql`${all} and (k.created_at, k.id) < (${end.keys[0] ?? null}::timestamp, ${end.id}::int)` : all
  const statement = sql`
    select ${TASK_COLUMNS}, (select count(*) from ${all}) as total, (select count(*) from ${left}) as left_over
    from ${left} order by ${ORDER} limit ${limit} offset ${offset ?? 0}`
  const isInContext = include.has('context')
  const counts = sql`k.total, k.left_over`
  const rows = await db.page(labelled('tasks:by-creation', isInContext ? withContext(statement, ORDER, counts) : statement))
  if (!rows.length) return new WrittenList('[]', { total: await totalOf(db, parts) })
  const columns = isInContext ? { ...taskColumns, ...contextColumns } : taskColumns
  const last = offset == null ? endOfPage(rows, columns, ['created_at']) : undefined
  const { text, total } = await writerOf(context, isInContext)(rows)
  return new WrittenList(text, { total, next_cursor: last && encodeCursor(last, walk, settings.secretKeys) })
}

const ORDER = sql`k.created_at desc, k.id desc`
