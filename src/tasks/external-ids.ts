/** What integrations call their tasks (contract.md §7): one task of the account has each. */
import { sql } from '../db.ts'
import { conflict } from '../errors.ts'
import type { Scope } from '../scope.ts'

/** First half of the advisory lock on an external_id; the second is a hash of it. */
const GIVING = 0x7461736b

/**
 * Lets the transaction alone give the ids away or look for those who have them, until it ends, whether or not a task has them yet. All
 * that it needs are asked for at once, before any row is locked, and in one order for everybody: two that need the same ids in
 * opposite orders would otherwise wait for each other.
 */
export async function lockExternalIds({ db, actor }: Scope, ids: readonly string[]): Promise<void> {
  if (!ids.length) return
  // In the order of what is locked: two ids may have one hash.
  await db.query(sql`
    select pg_advisory_xact_lock(${GIVING}::int, k.hash)
    from (select distinct hashtext(${actor.accountId}::int || ':' || id) as hash from unnest(${ids}::text[]) as given (id) order by 1) k`)
}

/** Locks the tasks that have the ids, in the order in which the deletion of many locks them. */
export async function lockTasks({ db, actor }: Scope, ids: readonly string[]): Promise<void> {
  if (!ids.length) return
  await db.query(sql`
    select id from tasks where account_id = ${actor.accountId} and external_id = any(${ids}::text[]) order by id for update`)
}

/** 409 for an external_id that another task of the account has: which one, and where, is nobody's business here. */
export const taken = () => conflict('external_id: is taken', { issues: [{ path: ['external_id'], message: 'is taken' }] })
