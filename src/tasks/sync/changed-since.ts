/** Lists with `updated_since`, for clients that keep copies of tasks (contract.md §7, Sync; docs/copies-of-tasks.md). */

import type { Context } from '../../platform/context.ts'
import { badInput } from '../../platform/errors.ts'
import { decodeCursor, encodeCursor } from '../../platform/http/answers/cursor.ts'
import type { RecordPath } from '../../platform/http/procedures/schemas.ts'
import { watchedByUser, watchedOnRecord } from '../lists/queries.ts'
import { type ChangedTask, type ChangeSource, listChanges, onWire } from '../queries.ts'
import type { DeletedTask, RecordTaskQuery, Task, TaskQuery } from '../schema.ts'

/** A page of tasks and deleted tasks. The last page has no `next_cursor`, and a page that continues another has no `total`. */
export interface ChangedTasks {
  rows: (Task | DeletedTask)[]
  total?: number
  next_cursor?: string
}

type Since<Query> = Query & { updated_since: string }

/** The tasks of a record that have changed since the instant, oldest change first. */
export async function changesOnRecord(
  context: Context,
  { table_id, record_id }: RecordPath,
  query: Since<RecordTaskQuery>,
): Promise<ChangedTasks> {
  const { status, updated_since } = query
  const name = JSON.stringify(['record', table_id, record_id, status, updated_since])
  return walk(context, watchedOnRecord(table_id, record_id, status), query, name)
}

/**
 * The caller's tasks that have changed since the instant, oldest change first. Done tasks are included by default, because completion is a
 * change.
 */
export async function changesOfUser(context: Context, query: Since<TaskQuery>): Promise<ChangedTasks> {
  const { tab, search, include_done = true, updated_since } = query
  const name = JSON.stringify(['user', context.actor.userId, tab, search, include_done, updated_since])
  return walk(context, watchedByUser(context.actor, { tab, search, include_done }), query, name)
}

/** @throws AppError 400 for a cursor of another list */
async function walk(
  { db, settings }: Context,
  watched: ChangeSource,
  { updated_since: since, cursor, limit, offset }: Since<Pick<TaskQuery, 'cursor' | 'limit' | 'offset'>>,
  name: string,
): Promise<ChangedTasks> {
  const position = decodeCursor(cursor ?? '', name, settings.secretKeys)
  const after = position && { at: position.key as string, id: position.id }
  // One row more than requested shows whether another page follows.
  const page = await listChanges(db, watched, { since, after, limit: limit + 1, offset })
  const rows = page.rows.slice(0, limit)
  const last = page.rows.length > limit ? rows.at(-1) : undefined
  return {
    ...page,
    rows: rows.map(presented),
    ...(last && { next_cursor: encodeCursor({ key: last.at, id: last.id }, name, settings.secretKeys) }),
  }
}

function presented({ at, is_deleted, ...row }: ChangedTask): Task | DeletedTask {
  return is_deleted ? { id: row.id, deleted_at: at } : onWire(row)
}

/** @throws AppError 400 for a cursor, which only lists with `updated_since` take */
export function refuseCursor(cursor: string | null | undefined): void {
  if (cursor != null) throw badInput('cursor', 'needs updated_since')
}
