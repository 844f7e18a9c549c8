/** Changes a table's name, fields, options and views. Every such change goes through this file. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { TableDef } from '../fields/definition.ts'
import type { Context } from '../platform/context.ts'
import { sql } from '../platform/database/database.ts'
import { sqlState } from '../platform/database/database-errors.ts'
import { setLocal } from '../platform/database/local-settings.ts'
import { notFound } from '../platform/errors.ts'
import { formatInstant } from '../platform/time/time.ts'
import { tableDefinition } from './definition-cache.ts'
import { enqueueIndexing } from './indexing.ts'

/**
 * The lock timeout of each attempt, in milliseconds. New statements queue up behind a waiting change, so the first attempts are short:
 * most changes get the lock at once or a moment later.
 */
const WAITS_MS = [30, 30, 60, 60, 120, 200, 200, 200, 200, 200]
/** Lock timeout and deadlock. */
const LOCK_FAILURES = new Set(['55P03', '40P01'])

/**
 * Runs a change of a table's name, fields, options or views. It increments the version first: the row lock admits one change at a
 * time, so that deleting a field and saving a view that needs the field cannot both succeed. Tables whose lookups
 * point to this table get a new version as well, because their definitions contain the title field of this table.
 * @param fn gets the definition that it reads under the lock
 * @throws AppError 404 when the table does not exist; 503 when it stays locked by other transactions
 */
export function changeTable<T>(context: Context, table: { id: number }, fn: (definition: TableDef) => Promise<T>): Promise<T> {
  return withShortLocks(context, async () => {
    const bumped = (
      await context.db.write<{ id: number; version: number }>(sql`
        with changed as (
          select id from tables
          where deleted_at is null and (id = ${table.id} or id in (select table_id from fields where lookup_table_id = ${table.id}))
          order by id for no key update
        )
        update tables t set version = version + 1, updated_at = ${formatInstant(context.now)}::timestamp
        from changed c where t.id = c.id returning t.id, t.version`)
    ).find(({ id }) => id === table.id)
    if (!bumped) throw notFound('Table')
    const result = await fn(await tableDefinition(context.db, { id: table.id, version: bumped.version }))
    await enqueueIndexing(context, table.id)
    return result
  })
}

/**
 * Runs a transaction with DDL. It waits only a moment for each lock, since all readers of the table queue up behind it, and is
 * then repeated as a whole, for about 2 s in total.
 */
export async function withShortLocks<T>({ db, transaction }: Context, fn: () => Promise<T>): Promise<T> {
  // A transaction that the caller has begun cannot be repeated here: it fails, and the answer is 503.
  const waits = db.inTransaction() ? [200] : WAITS_MS
  for (let attempt = 0; ; attempt++) {
    try {
      return await transaction(async () => {
        await setLocal(db, 'lock_timeout', `${waits[attempt]}ms`)
        return fn()
      })
    } catch (error) {
      if (!LOCK_FAILURES.has(sqlState(error) ?? '') || attempt + 1 >= waits.length) throw error
      await sleep(Math.random() * 100)
    }
  }
}
