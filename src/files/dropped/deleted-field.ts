/** A job drops the files of a deleted field. There may be a million: too many for the transaction that locks the table and deletes the field. */
import { z } from 'zod'
import type { Context } from '../../platform/context.ts'
import { sql } from '../../platform/database/database.ts'
import { defineQueue } from '../../platform/jobs/queue.ts'
import { dropFiles } from '../../platform/stored-files/held.ts'
import { holdersOf, references } from '../../tables/file-references.ts'

export const dropUnused = defineQueue({
  name: 'files.drop-unused',
  schema: z.object({ table_id: z.int(), field_id: z.string() }),
  options: { expireInSeconds: 3_600, retryLimit: 8, retryDelay: 5 },
})

const AT_ONCE = 5_000

/** Drops the files that a deleted field has left without a reference. It may be killed anywhere and run twice. */
export async function dropOfField(context: Context, { table_id, field_id }: { table_id: number; field_id: string }): Promise<void> {
  while (await dropSome(context, table_id, field_id)) {}
}

/** @returns true if there may be more */
async function dropSome({ db, now, transaction }: Context, tableId: number, fieldId: string): Promise<boolean> {
  return transaction(async () => {
    // `references` does not read the cells of a deleted table, which may be restored with its files. The lock keeps the table from being deleted now.
    const [table] = await db.query(sql`
      select from tables t join spaces s on s.id = t.space_id
      where t.id = ${tableId} and t.deleted_at is null and s.deleted_at is null for share`)
    if (!table) return false
    await db.execute(sql`set local statement_timeout = '120s'`)
    const unused = await db.query<{ path: string; table_id: number; task_id: null }>(sql`
      with used as materialized (${await references(db, [tableId], [])})
      select f.path, f.table_id, f.task_id from stored_files f
      where f.table_id = ${tableId} and f.task_id is null and f.dropped_at is null and not exists (select from used u where u.path = f.path)
      order by f.path limit ${AT_ONCE} for update of f`)
    // Another transaction may have referred to a file while the statement waited for its lock.
    const used = await holdersOf(db, unused)
    const paths = unused.flatMap(({ path }) => (used.has(path) ? [] : path))
    await dropFiles(db, paths, now, { field_id: fieldId })
    return paths.length > 0 && unused.length === AT_ONCE
  })
}
