/** A job drops the files of a deleted field: they may be too many for the transaction that locks the table and deletes the field. */
import { z } from 'zod'
import type { Context } from '../../platform/context.ts'
import { type Database, sql } from '../../platform/database/database.ts'
import { defineQueue } from '../../platform/jobs/queue.ts'
import { dropFiles, lockHeld } from '../../platform/stored-files/held.ts'
import { holdersOf, type OwnedFile } from '../../tables/file-references.ts'

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
    // The lock keeps the table from being deleted now: `holdersOf` does not read the cells of a deleted one, which may be restored.
    const [table] = await db.read(sql`
      select from tables t join spaces s on s.id = t.space_id
      where t.id = ${tableId} and t.deleted_at is null and s.deleted_at is null for share`)
    if (!table) return undefined
    await db.write(sql`set local statement_timeout = '120s'`)
    const files = await db.read<OwnedFile>(sql`
      select f.path, f.table_id, f.task_id from stored_files f
      where f.table_id = ${tableId} and f.task_id is null and f.dropped_at is null and f.path > ${after} order by f.path limit ${AT_ONCE}`)
    // Files in use are not locked, because callers who write their records would wait for this transaction.
    const unused = await lockHeld(db, await unusedPaths(db, files))
    // Another transaction may have referred to a file before it was locked.
    await dropFiles(db, await unusedPaths(db, unused), now, { field_id: fieldId })
    return files[AT_ONCE - 1]?.path
  })
}

async function unusedPaths(db: Database, files: readonly OwnedFile[]): Promise<string[]> {
  const used = await holdersOf(db, files)
  return files.flatMap(({ path }) => (used.has(path) ? [] : path))
}
