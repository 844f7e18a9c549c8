/** Changes a table's name, fields, options and views. Every such change goes through this file. */
import { setTimeout as sleep } from 'node:timers/promises'
import { placeOf, type TableEvent, type TableOfEvents, tellTables } from '../events/table-events.ts'
import type { TableDef } from '../fields/definition.ts'
import type { Context } from '../platform/context.ts'
import { type Database, sql } from '../platform/database/database.ts'
import { sqlState } from '../platform/database/database-errors.ts'
import { setLocal } from '../platform/database/local-settings.ts'
import { notFound } from '../platform/errors.ts'
import { formatInstant } from '../platform/time/time.ts'
import { createHistory } from './ddl.ts'
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
 * point to this table get a new version as well, because their definitions contain the title field of this table. What the change has
 * altered in all of them, and nothing else, is told to live tables.
 * @param fn gets the definition that it reads under the lock
 * @throws AppError 404 when the table does not exist; 503 when it stays locked by other transactions
 */
export function changeTable<T>(context: Context, table: { id: number }, fn: (definition: TableDef) => Promise<T>): Promise<T> {
  return withShortLocks(context, async () => {
    const { db } = context
    const bumped = await db.write<{ id: number; version: number }>(sql`
      with changed as (
        select id from tables
        where deleted_at is null and (id = ${table.id} or id in (select table_id from fields where lookup_table_id = ${table.id}))
        order by id for no key update
      )
      update tables t set version = version + 1, updated_at = ${formatInstant(context.now)}::timestamp
      from changed c where t.id = c.id returning t.id, t.version`)
    const own = bumped.find(({ id }) => id === table.id)
    if (!own) throw notFound('Table')
    const ids = bumped.map(({ id }) => id)
    const before = await shapesOf(db, ids)
    const result = await fn(await tableDefinition(db, own))
    await enqueueIndexing(context, table.id)
    await tellTables(context, differencesOf(before, await shapesOf(db, ids)))
    return result
  })
}

/** What callers see of a table, as far as its records do not matter. */
interface Shape extends TableOfEvents {
  /** Of its name, its fields and the view that is its default. */
  digest: string
  /** The versions of its views, by their ids. */
  views: Record<string, number>
}

/** The properties of fields that are not shown: what pends is shown as done. */
const HIDDEN = ['narrowing', 'removed_options', 'is_rounding', 'since_change']

/** The shapes of those of the tables that are not deleted. */
const shapesOf = (db: Database, ids: readonly number[]): Promise<Shape[]> =>
  db.read<Shape>(sql`
    select t.id, t.account_id, t.space_id,
      md5(jsonb_build_array(
        t.name,
        (select v.id from views v where v.table_id = t.id and v.is_table_default),
        (select jsonb_agg(to_jsonb(f) - ${HIDDEN}::text[] order by f.position, f.id) from fields f where f.table_id = t.id)
      )::text) as digest,
      (select coalesce(jsonb_object_agg(v.id, v.version), '{}') from views v where v.table_id = t.id) as views
    from tables t where t.id = any(${ids}::int[]) and t.deleted_at is null order by t.id`)

function differencesOf(before: readonly Shape[], after: readonly Shape[]): TableEvent[] {
  const present = new Map(after.map((shape) => [shape.id, shape]))
  return before.flatMap((old): TableEvent[] => {
    const [of, now] = [placeOf(old), present.get(old.id)]
    if (!now) return [{ ...of, type: 'table.deleted' }]
    const views = [...new Set([...Object.keys(old.views), ...Object.keys(now.views)])].flatMap((id): TableEvent[] => {
      const [was, is] = [old.views[id], now.views[id]]
      if (was === is) return []
      const type = was === undefined ? 'view.created' : is === undefined ? 'view.deleted' : 'view.updated'
      return [{ ...of, type, view_id: Number(id) }]
    })
    return [...(now.digest === old.digest ? [] : [{ ...of, type: 'table.updated' as const }]), ...views]
  })
}

/**
 * Lets a table of the previous release keep the history of its records, before the first write of this release to them. The table gets a
 * new version, so that every process learns of it.
 * @returns whether the definition is outdated, because the table had no history by it
 */
export async function addHistory(context: Context, { id, space_id, hasHistory }: TableDef): Promise<boolean> {
  if (hasHistory) return false
  const { db } = context
  await withShortLocks(context, async () => {
    // While a space is placed on a node (elsewhere/placement.ts), its row is locked before those of its tables.
    await db.read(sql`select from spaces where id = ${space_id} for key share`)
    const { changed } = await db.write(sql`
      update tables set has_history = true, version = version + 1 where id = ${id} and not has_history and deleted_at is null`)
    if (changed) await createHistory(db, id)
  })
  return true
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
