/** The one way to change what a table is. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { TableDef } from '../fields/definition.ts'
import type { Context } from '../platform/context.ts'
import { sql } from '../platform/database/database.ts'
import { notFound, sqlState } from '../platform/http/errors.ts'
import { formatInstant } from '../platform/time.ts'
import { tableDefinition } from './definitions.ts'
import { indexesFollow } from './indexing.ts'

/**
 * How long a change waits for others to let go of the table, each time, in milliseconds. Whoever comes meanwhile waits behind it, so
 * the first attempts are short: most find the table free, or free a moment later.
 */
const WAITS_MS = [30, 30, 60, 60, 120, 200, 200, 200, 200, 200]
/** Waited in vain, or chosen to give way where two waited for each other. */
const IN_THE_WAY = new Set(['55P03', '40P01'])

/**
 * Runs a change of a table's name, fields, options or views. The version goes up first: its row lock lets one change in at a
 * time, so that a field delete and the save of a view that needs the field cannot both pass (design.md §3). Tables whose lookups
 * point here get a new version, too: their definitions say what a lookup shows.
 * @param fn gets the definition as it stands under the lock
 * @throws AppError 404 when the table is gone; 503 when other work holds it for too long
 */
export function changeTable<T>(context: Context, table: { id: number }, fn: (definition: TableDef) => Promise<T>): Promise<T> {
  return withShortLocks(context, async () => {
    const bumped = (
      await context.db.query<{ id: number; version: number }>(sql`
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
    await indexesFollow(context, table.id)
    return result
  })
}

/**
 * A transaction for DDL: it waits only a moment for a lock, since everything that reads the table queues up behind it, and is then
 * repeated as a whole; about 2 s in all.
 */
export async function withShortLocks<T>({ db, transaction }: Context, fn: () => Promise<T>): Promise<T> {
  // Inside a transaction that is somebody else's there is nothing to repeat: the caller is told to try again.
  const waits = db.inTransaction() ? [200] : WAITS_MS
  for (let attempt = 0; ; attempt++) {
    try {
      return await transaction(async () => {
        await db.query(sql`select set_config('lock_timeout', ${`${waits[attempt]}ms`}, true)`)
        return fn()
      })
    } catch (error) {
      if (!IN_THE_WAY.has(sqlState(error) ?? '') || attempt + 1 >= waits.length) throw error
      await sleep(Math.random() * 100)
    }
  }
}
