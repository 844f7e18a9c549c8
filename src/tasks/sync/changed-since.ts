/** Lists with `updated_since`, for clients that keep copies of tasks (contract.md §7, Sync; docs/copies-of-tasks.md). */

import type { Context } from '../../platform/context.ts'
import { badInput } from '../../platform/errors.ts'
import { decodeCursor, encodeCursor } from '../../platform/http/answers/cursor.ts'
import type { RecordPath } from '../../platform/http/procedures/schemas.ts'
import { presenterInContext, SELECTED_CONTEXT } from '../lists/context.ts'
import { watchedByUser, watchedOnRecord } from '../lists/queries.ts'
import type { DeletedTask, RecordTaskQuery, TaskQuery } from '../lists/schema.ts'
import { type ChangeSource, listChanges, onWire } from '../queries.ts'
import type { Task } from '../schema.ts'

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
  query: Since<Omit<RecordTaskQuery, 'order' | 'offset'> & { offset: number }>,
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
  context: Context,
  watched: ChangeSource,
  { updated_since: since, cursor, include, limit, offset }: Since<Pick<TaskQuery, 'cursor' | 'include' | 'limit' | 'offset'>>,
  name: string,
): Promise<ChangedTasks> {
  const { db, settings } = context
  const position = decodeCursor(cursor ?? '', name, settings.secretKeys)
  const after = position && { at: position.keys[0] as string, id: position.id }
  // One row more than requested shows whether another page follows.
  const window = { since, after, limit: limit + 1, offset }
  const isInContext = include.has('context')
  const page = await listChanges(db, watched, window, isInContext ? SELECTED_CONTEXT : undefined)
  const rows = page.rows.slice(0, limit)
  const last = page.rows.length > limit ? rows.at(-1) : undefined
  const present = isInContext ? await presenterInContext(context, rows) : onWire
  return {
    ...page,
    rows: rows.map((row) => (row.is_deleted ? { id: row.id, deleted_at: row.at } : present(row))),
    ...(last && { next_cursor: encodeCursor({ keys: [last.at], id: last.id }, name, settings.secretKeys) }),
  }
}

/** @throws AppError 400 for a cursor, which only some lists take. @param needed what the query of such a list has */
export function refuseCursor(cursor: string | null | undefined, needed = 'updated_since'): void {
  if (cursor != null) throw badInput('cursor', `needs ${needed}`)
}
