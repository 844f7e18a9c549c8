/** Tasks on records that are on another server. */
import type { Context } from '../platform/context.ts'
import type { Sql } from '../platform/database/database.ts'
import { notFound } from '../platform/errors.ts'
import { choose } from '../tables/elsewhere/choice.ts'

/**
 * Calls `insert` with the table whose record its statement has to lock. A record elsewhere is locked before, in the transaction of
 * `insert`, which gets null.
 * @param record its table, and the statement that locks it
 * @throws AppError 404 when the record has just been deleted
 */
export function whenLocked<T>(
  { db, transaction }: Pick<Context, 'db' | 'transaction'>,
  { tableId, lock }: { tableId: number; lock: Sql },
  insert: (lockIn: number | null) => Promise<T>,
): Promise<T> {
  const lockFirst = async () => {
    const [record] = await db.records(tableId).read(lock)
    if (!record) throw notFound('Record')
    return insert(null)
  }
  return choose(db, tableId, { here: () => insert(tableId), elsewhere: () => transaction(lockFirst) })()
}
