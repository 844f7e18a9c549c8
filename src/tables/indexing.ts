/** Asks for the job that lets the indexes of a table follow its use (src/indexes). Whoever changes what a table is, or how much is in it, asks here. */
import { z } from 'zod'
import type { Context } from '../platform/context.ts'
import { type Database, recordsOf, sql } from '../platform/database/database.ts'
import { defineQueue } from '../platform/jobs/queue.ts'

/** A build on a million records takes a minute; it waits five at most for others to let go of the table. */
export const followIndexes = defineQueue({
  name: 'indexes.follow',
  schema: z.object({ table_id: z.int() }),
  options: { expireInSeconds: 3_600, retryLimit: 8, retryDelay: 5 },
})

/** A record takes 60 bytes at the very least: in less there are no 10,000 of them. */
const MIN_BYTES = 500_000

/**
 * Lets the indexes follow after a change of the table, or after many records were added. In a transaction the job starts when
 * that commits. Cheap on tables that are too small for indexes: they are passed over.
 */
export async function indexesFollow({ db, jobs }: Pick<Context, 'db' | 'jobs'>, tableId: number): Promise<void> {
  if (await isWorthIndexing(db, tableId)) await jobs.send(followIndexes, { table_id: tableId })
}

/** Whether the table could have so many records that more than its primary key pays. */
export async function isWorthIndexing(db: Database, tableId: number): Promise<boolean> {
  const [table] = await db.query<{ bytes: number | null }>(
    sql`select pg_relation_size(to_regclass(${recordsOf(tableId).sql})) as bytes`,
    'bytes-of-records',
  )
  return (table?.bytes ?? 0) >= MIN_BYTES
}

/** The same after records were made, which is not undone because this failed: the sweep of every five minutes asks again. */
export async function indexesFollowGrowth(context: Pick<Context, 'db' | 'jobs' | 'log'>, tableId: number): Promise<void> {
  try {
    await indexesFollow(context, tableId)
  } catch (error) {
    context.log.error({ err: error, table_id: tableId }, 'indexes not asked for')
  }
}
