/** Enqueues the job that adapts the indexes of a table (src/indexes), after a change of its definition or of its size. */
import { z } from 'zod'
import type { Context } from '../platform/context.ts'
import { type Database, recordsOf, sql } from '../platform/database/database.ts'
import { isOnNode, storageOf } from '../platform/database/nodes/shards.ts'
import { defineQueue } from '../platform/jobs/queue.ts'

/** A build on a million records takes a minute, and waits up to five for locks. */
export const adaptIndexes = defineQueue({
  name: 'indexes.follow',
  schema: z.object({ table_id: z.int() }),
  options: { expireInSeconds: 3_600, retryLimit: 8, retryDelay: 5 },
})

/** A record takes at least 60 bytes, so a smaller table has fewer than 10,000 records. */
export const MIN_BYTES = 500_000
const MIN_RECORDS = 10_000

/**
 * Enqueues the job after a change of the table, or after many records were created. In a transaction the job starts after the
 * commit. Tables that are too small for indexes are skipped at little cost.
 */
export async function enqueueIndexing({ db, jobs }: Pick<Context, 'db' | 'jobs'>, tableId: number): Promise<void> {
  if (await isWorthIndexing(db, tableId)) await jobs.send(adaptIndexes, { table_id: tableId })
}

/** True if the table may have enough records for indexes besides its primary key. */
export async function isWorthIndexing(db: Database, tableId: number): Promise<boolean> {
  if (isOnNode(db, tableId) && db.inTransaction()) return hasManyRecords(db, tableId)
  const [table] = await db
    .records(tableId)
    .query<{ bytes: number | null }>(sql`select pg_relation_size(${storageOf(db, tableId).records}) as bytes`, 'bytes-of-records')
  return (table?.bytes ?? 0) >= MIN_BYTES
}

/** Counts records, because the coordinator does not know the size of a table on a node, and Citus does not report it after DDL. */
async function hasManyRecords(db: Database, tableId: number): Promise<boolean> {
  const [found] = await db.query<{ n: number }>(sql`select count(*) as n from (select from ${recordsOf(tableId)} limit ${MIN_RECORDS}) r`)
  return found?.n === MIN_RECORDS
}

/** Does the same after records were created. A failure is only logged, because a scheduled job enqueues it again within five minutes. */
export async function enqueueIndexingAfterGrowth(context: Pick<Context, 'db' | 'jobs' | 'log'>, tableId: number): Promise<void> {
  try {
    await enqueueIndexing(context, tableId)
  } catch (error) {
    context.log.error({ err: error, table_id: tableId }, 'index job not enqueued')
  }
}
