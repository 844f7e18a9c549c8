/** The ids that integrations give to tasks (contract.md §7), unique in the account. */

import type { Context } from '../../platform/context.ts'
import { type Sql, sql } from '../../platform/database/database.ts'
import { conflict } from '../../platform/errors.ts'

/** The first key of the advisory lock on an external_id; the second is a hash of it. */
const LOCK_CLASS = 0x7461736b

/**
 * Locks the ids until the transaction ends, whether or not a task has them. Call it once, before any row is locked: all requests take
 * these locks in one order, so that two with the same ids cannot deadlock.
 */
export async function lockExternalIds({ db, actor }: Context, ids: readonly string[]): Promise<void> {
  if (!ids.length) return
  // The order is that of the hashes, because two ids may share one.
  await db.write(sql`
    select pg_advisory_xact_lock(${LOCK_CLASS}::int, k.hash)
    from (select distinct hashtext(${actor.accountId}::int || ':' || id) as hash from unnest(${ids}::text[]) as given (id) order by 1) k`)
}

/** Locks the tasks that have the ids, in the same order as the deletion of many tasks. */
export async function lockTasks({ db, actor }: Context, ids: readonly string[]): Promise<void> {
  if (!ids.length) return
  await db.read(sql`
    select id from tasks where account_id = ${actor.accountId} and external_id = any(${ids}::text[]) order by id for update`)
}

/** True for a task `k` in a deleted table or space, which nobody can find. */
export const isInDeletedTable: Sql = sql`exists (
  select 1 from tables t join spaces s on s.id = t.space_id
  where t.id = k.table_id and (t.deleted_at is not null or s.deleted_at is not null))`

/** Takes the id away from a task in a deleted table; a restored task has none. @returns false when no such task had it */
export async function releaseFromDeleted({ db, actor }: Context, id: string): Promise<boolean> {
  const { changed: taken } = await db.write(sql`
    update tasks k set external_id = null, version = version + 1
    where k.account_id = ${actor.accountId} and k.external_id = ${id} and ${isInDeletedTable}`)
  return taken > 0
}

/** 409 for an external_id that another task of the account has. The task is not named, because the caller may not be able to read it. */
export const externalIdTaken = () => conflict('external_id: is taken', { issues: [{ path: ['external_id'], message: 'is taken' }] })
