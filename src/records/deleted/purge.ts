/** Deletes records for good that were deleted some days ago, with what belonged to them (contract.md §10, Deleted records). */
import { z } from 'zod'
import type { Context } from '../../platform/context.ts'
import { historyOf, sql } from '../../platform/database/database.ts'
import { defineQueue } from '../../platform/jobs/queue.ts'
import { formatInstant } from '../../platform/time/time.ts'
import { type Cascade, recordsPurged } from '../../tables/cascade.ts'
import { forgetRowsOfGoneTables } from '../../tables/deleted/rows.ts'

export const purgeRecords = defineQueue({ name: 'records.purge-deleted', schema: z.object({}) })

const DAY_MS = 86_400_000
const AT_ONCE = 500

/** Records that were deleted before this instant cannot be restored any more. */
export const keptSince = ({ settings, now }: Pick<Context, 'settings' | 'now'>): Date =>
  new Date(now.getTime() - settings.keepDeletedRecordsDays * DAY_MS)

/** Purges what is due, in short transactions. It may be killed at any point and run twice. */
export async function purgeDue(context: Context): Promise<void> {
  while (await purgeSome(context)) {}
  await context.db.write(sql`
    delete from deleted_records where table_id in (select distinct d.table_id from deleted_records d except select t.id from tables t)`)
  await forgetRowsOfGoneTables(context.db)
}

/** @returns whether there may be more */
async function purgeSome(context: Context): Promise<boolean> {
  const { db, transaction } = context
  return transaction(async () => {
    // Those of a deleted table go with it. The lock keeps the table from being deleted now, because its cells are searched for files.
    const [table] = await db.read<{ id: number; has_history: boolean }>(sql`
      select t.id, t.has_history from tables t join spaces s on s.id = t.space_id
      where t.id = (
        select d.table_id from deleted_records d
          join tables k on k.id = d.table_id and k.deleted_at is null join spaces o on o.id = k.space_id and o.deleted_at is null
        where d.deleted_at <= ${formatInstant(keptSince(context))}::timestamp order by d.deleted_at limit 1)
        and t.deleted_at is null and s.deleted_at is null
      for share`)
    if (!table) return false
    const due = await db.read<{ record_id: number }>(sql`
      select d.record_id from deleted_records d
      where d.table_id = ${table.id} and d.deleted_at <= ${formatInstant(keptSince(context))}::timestamp
      order by d.record_id limit ${AT_ONCE} for update`)
    const ids = due.map(({ record_id }) => record_id)
    await recordsPurged(context, table.id, ids)
    if (table.has_history)
      await db.records(table.id).write(sql`delete from ${historyOf(table.id)} h where h.record_id = any(${ids}::int[])`)
    await db.write(sql`delete from deleted_records where table_id = ${table.id} and record_id = any(${ids}::int[])`)
    return true
  })
}

/** With a table go its deleted records. */
export const recordCascade: Cascade = {
  async onTablePurged({ db }, tableId) {
    await db.write(sql`delete from deleted_records where table_id = ${tableId}`)
  },
}
