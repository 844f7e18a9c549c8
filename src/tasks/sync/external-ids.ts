/** What integrations call their tasks (contract.md §7): one task of the account has each. */

import type { Context } from '../../platform/context.ts'
import { type Sql, sql } from '../../platform/database/database.ts'
import { conflict } from '../../platform/http/errors.ts'

/** First half of the advisory lock on an external_id; the second is a hash of it. */
const GIVING = 0x7461736b

/**
 * Lets the transaction alone give the ids away or look for those who have them, until it ends, whether or not a task has them yet. All
 * that it needs are asked for at once, before any row is locked, and in one order for everybody: two that need the same ids in
 * opposite orders would otherwise wait for each other.
 */
export async function lockExternalIds({ db, actor }: Context, ids: readonly string[]): Promise<void> {
  if (!ids.length) return
  // In the order of what is locked: two ids may have one hash.
  await db.query(sql`
    select pg_advisory_xact_lock(${GIVING}::int, k.hash)
    from (select distinct hashtext(${actor.accountId}::int || ':' || id) as hash from unnest(${ids}::text[]) as given (id) order by 1) k`)
}

/** Locks the tasks that have the ids, in the order in which the deletion of many locks them. */
export async function lockTasks({ db, actor }: Context, ids: readonly string[]): Promise<void> {
  if (!ids.length) return
  await db.query(sql`
    select id from tasks where account_id = ${actor.accountId} and external_id = any(${ids}::text[]) order by id for update`)
}

/** Whether task `k` is where nobody can find it any more: in a table or space that is deleted. */
export const isGone: Sql = sql`exists (
  select 1 from tables t join spaces s on s.id = t.space_id
  where t.id = k.table_id and (t.deleted_at is not null or s.deleted_at is not null))`

/** Takes the id away from a task that is gone; should it be restored, it comes back without. @returns whether one had it */
export async function takeFromGone({ db, actor }: Context, id: string): Promise<boolean> {
  const taken = await db.execute(sql`
    update tasks k set external_id = null, version = version + 1
    where k.account_id = ${actor.accountId} and k.external_id = ${id} and ${isGone}`)
  return taken > 0
}

/** 409 for an external_id that another task of the account has: which one, and where, is nobody's business here. */
export const taken = () => conflict('external_id: is taken', { issues: [{ path: ['external_id'], message: 'is taken' }] })
