/** A job drops the files of a deleted field. There may be a million: too many for the transaction that locks the table and deletes the field. */
import { z } from 'zod'
import type { Context } from '../../platform/context.ts'
import { type Database, type Sql, sql } from '../../platform/database/database.ts'
import { defineQueue } from '../../platform/jobs/queue.ts'
import { dropFiles, lockHeld } from '../../platform/stored-files/held.ts'
import { holdersOf, references } from '../../tables/file-references.ts'

export const dropUnused = defineQueue({
  name: 'files.drop-unused',
  schema: z.object({ table_id: z.int(), field_id: z.string() }),
  options: { expireInSeconds: 3_600, retryLimit: 8, retryDelay: 5 },
})

const AT_ONCE = 5_000

/** Drops the files that a deleted field has left without a reference. It may be killed anywhere and run twice. */
export async function dropOfField(context: Context, { table_id, field_id }: { table_id: number; field_id: string }): Promise<void> {
  for (let after: string | undefined = ''; after !== undefined; ) after = await dropSome(context, table_id, field_id, after)
}

/** Drops some of the files whose paths follow `after`. @returns the last path that was examined; undefined if there are no more */
async function dropSome({ db, now, transaction }: Context, tableId: number, fieldId: string, after: string): Promise<string | undefined> {
  return transaction(async () => {
    // `references` does not read the cells of a deleted table, which may be restored with its files. The lock keeps the table from being deleted now.
    const [table] = await db.query(sql`
      select from tables t join spaces s on s.id = t.space_id
      where t.id = ${tableId} and t.deleted_at is null and s.deleted_at is null for share`)
    if (!table) return undefined
    await db.execute(sql`set local statement_timeout = '120s'`)
    const { unused, last } = await (db.isElsewhere(tableId) ? lockUnusedElsewhere : lockUnused)(db, tableId, after)
    // Another transaction may have referred to a file while the statement waited for its lock.
    const used = await holdersOf(db, unused)
    const paths = unused.flatMap(({ path }) => (used.has(path) ? [] : path))
    await dropFiles(db, paths, now, { field_id: fieldId })
    return last
  })
}

interface UnusedFiles {
  /** Locked by this transaction. */
  unused: { path: string; table_id: number | null; task_id: number | null }[]
  /** The last path that was examined; undefined if no more files follow. */
  last: string | undefined
}

const ofTable = (tableId: number, after: string): Sql =>
  sql`f.table_id = ${tableId} and f.task_id is null and f.dropped_at is null and f.path > ${after}`

async function lockUnused(db: Database, tableId: number, after: string): Promise<UnusedFiles> {
  const { here } = await references(db, [tableId], [])
  const unused = await db.query<{ path: string; table_id: number; task_id: null }>(sql`
    with used as materialized (${here})
    select f.path, f.table_id, f.task_id from stored_files f
    where ${ofTable(tableId, after)} and not exists (select from used u where u.path = f.path)
    order by f.path limit ${AT_ONCE} for update of f`)
  return { unused, last: unused[AT_ONCE - 1]?.path }
}

async function lockUnusedElsewhere(db: Database, tableId: number, after: string): Promise<UnusedFiles> {
  const files = await db.query<{ path: string; table_id: number; task_id: null }>(sql`
    select f.path, f.table_id, f.task_id from stored_files f where ${ofTable(tableId, after)} order by f.path limit ${AT_ONCE}`)
  const used = await holdersOf(db, files)
  const paths = files.flatMap(({ path }) => (used.has(path) ? [] : path))
  return { unused: await lockHeld(db, paths), last: files[AT_ONCE - 1]?.path }
}
