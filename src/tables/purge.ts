/** Permanently removes tables and spaces some days after they were deleted. */
import { z } from 'zod'
import { audit } from '../audit/log.ts'
import type { Context } from '../platform/context.ts'
import { sql } from '../platform/database/database.ts'
import { defineQueue } from '../platform/jobs/queue.ts'
import { formatInstant } from '../platform/time/time.ts'
import { removeEmptied } from '../spaces/service.ts'
import { withShortLocks } from './alter-table.ts'
import { tablePurged } from './cascade.ts'
import { dropRecords } from './ddl.ts'
import { deleteRowCounts } from './row-counts.ts'

/** A deleted table or space can be restored for this long. */
const KEPT_DAYS = 7

export const purgeDeleted = defineQueue({ name: 'tables.purge', schema: z.object({}) })
export const purgeTable = defineQueue({ name: 'tables.purge-table', schema: z.object({ table_id: z.int() }) })

const isDue = ({ now }: Context) => {
  const before = formatInstant(new Date(now.getTime() - KEPT_DAYS * 86_400_000))
  // `least` ignores nulls, so this is the deletion of the table or of its space, whichever came first.
  return sql`least(t.deleted_at, s.deleted_at) < ${before}::timestamp`
}

/** Enqueues a job for each table that is due, and removes deleted spaces without tables. */
export async function purgeAll(context: Context): Promise<void> {
  const { db, jobs, transaction } = context
  await transaction(async () => {
    const due = await db.read<{ id: number }>(sql`
      select t.id from tables t join spaces s on s.id = t.space_id where ${isDue(context)}`)
    for (const { id } of due) await jobs.send(purgeTable, { table_id: id })
    await removeEmptied(context, KEPT_DAYS)
  })
}

/** Removes one table with its records and all that belongs to them. A transaction drops one schema, since that takes dozens of locks. */
export async function purge(context: Context, { table_id }: { table_id: number }): Promise<void> {
  await withShortLocks(context, async () => {
    // The table may have been restored or purged since the job was enqueued.
    const [table] = await context.db.read<{ name: string; space_id: number; account_id: number }>(sql`
      select t.name, t.space_id, t.account_id from tables t join spaces s on s.id = t.space_id
      where t.id = ${table_id} and ${isDue(context)} for update of t`)
    if (!table) return
    await tablePurged(context, table_id)
    await dropRecords(context.db, table_id)
    await deleteRowCounts(context.db, table_id)
    await context.db.prisma.table.delete({ where: { id: table_id } })
    const { name, space_id: spaceId, account_id: accountId } = table
    await audit(context, 'table.purged', { id: table_id, name, spaceId, tableId: table_id, accountId })
  })
}
