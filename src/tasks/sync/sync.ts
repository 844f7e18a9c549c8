/** Lists with `updated_since`, for those who keep copies of tasks (contract.md §7, Sync; docs/copies-of-tasks.md). */

import type { Context } from '../../platform/context.ts'
import { badInput } from '../../platform/http/errors.ts'
import type { RecordPath } from '../../platform/http/schemas.ts'
import { decodeCursor, encodeCursor } from '../../records/query/cursor.ts'
import { type Change, listChanges, onWire, type Watched, watchedByUser, watchedOnRecord } from '../queries.ts'
import type { DeletedTask, RecordTaskQuery, Task, TaskQuery } from '../schema.ts'

/** A page of tasks and of what is left of deleted ones; `next_cursor` is absent at the end, `total` on a page that continues another. */
export interface Changes {
  rows: (Task | DeletedTask)[]
  total?: number
  next_cursor?: string
}

type Since<Query> = Query & { updated_since: string }

/** The tasks of a record that changed since, oldest change first. */
export async function changesOnRecord(
  context: Context,
  { table_id, record_id }: RecordPath,
  query: Since<RecordTaskQuery>,
): Promise<Changes> {
  const { status, updated_since } = query
  const name = JSON.stringify(['record', table_id, record_id, status, updated_since])
  return walk(context, watchedOnRecord(table_id, record_id, status), query, name)
}

/** The caller's tasks that changed since, oldest change first. To become done is a change: done ones come unless they are not wanted. */
export async function changesOfUser(context: Context, query: Since<TaskQuery>): Promise<Changes> {
  const { tab, search, include_done = true, updated_since } = query
  const name = JSON.stringify(['user', context.actor.userId, tab, search, include_done, updated_since])
  return walk(context, watchedByUser(context.actor, { tab, search, include_done }), query, name)
}

/** @throws AppError 400 for a cursor of another list */
async function walk(
  { db, settings }: Context,
  watched: Watched,
  { updated_since: since, cursor, limit, offset }: Since<Pick<TaskQuery, 'cursor' | 'limit' | 'offset'>>,
  name: string,
): Promise<Changes> {
  const position = decodeCursor(cursor ?? '', name, settings.secretKey)
  const after = position && { at: position.key as string, id: position.id }
  // One more than asked for tells whether the list goes on.
  const page = await listChanges(db, watched, { since, after, limit: limit + 1, offset })
  const rows = page.rows.slice(0, limit)
  const last = page.rows.length > limit ? rows.at(-1) : undefined
  return {
    ...page,
    rows: rows.map(shown),
    ...(last && { next_cursor: encodeCursor({ key: last.at, id: last.id }, name, settings.secretKey) }),
  }
}

function shown({ at, is_gone, ...row }: Change): Task | DeletedTask {
  return is_gone ? { id: row.id, deleted_at: at } : onWire(row)
}

/** A cursor continues a list of changes only. @throws AppError 400 */
export function refuseCursor(cursor: string | null | undefined): void {
  if (cursor != null) throw badInput('cursor', 'needs updated_since')
}
