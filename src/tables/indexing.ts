/** Enqueues the job that adapts the indexes of a table (src/indexes), after a change of its definition or of its size. */

import { z } from 'zod'
import type { Context } from '../platform/context.ts'
import { type Database, recordsOf, sql } from '../platform/database/database.ts'
import { storageOf } from '../platform/database/nodes/shards.ts'
import { labelled } from '../platform/database/statements/statement.ts'
import { defineQueue } from '../platform/jobs/queue.ts'
import { isSizeKnown } from './elsewhere/counting.ts'

/** A build on a million records takes a minute, and waits up to five for locks. */
export const adaptIndexes = defineQueue({
  name: 'indexes.follow',
  schema: z.object({ table_id: z.int() }),
  options: { expireInSeconds: 3_600, retryLimit: 8, retryDelay: 5 },
})

/**
 * Up to this number of records a table has only its primary key and the indexes of calendar views: its pages and searches are quick
 * without others, each index makes every write dearer, and with many tables each connection knows many indexes.
 */
export const FEW_RECORDS = 5_000

/** The fields of a table with more records are changed in steps, so that readers and writers wait only for a moment. */
const CHANGED_AT_ONCE = 10_000

/** A row has a header of 24 bytes, a pointer of 4, and at least its id, version and times. */
const LEAST_BYTES_OF_RECORD = 50
/** A smaller table has few records. */
export const MIN_BYTES = FEW_RECORDS * LEAST_BYTES_OF_RECORD

/**
 * Enqueues the job after a change of the table, or after many records were created. In a transaction the job starts after the
 * commit. Tables that are too small for indexes are skipped at little cost.
 */
export async function enqueueIndexing({ db, jobs }: Pick<Context, 'db' | 'jobs'>, tableId: number): Promise<void> {
  if (await mayExceed(db, tableId, FEW_RECORDS)) await jobs.send(adaptIndexes, { table_id: tableId })
}

/** Whether a change of all cells of the table may take so long that it is made in steps. */
export const isChangedInSteps = (db: Database, tableId: number): Promise<boolean> => mayExceed(db, tableId, CHANGED_AT_ONCE)

/** False if the table has no more than so many records. It may be true for fewer, as the size of the table decides where it is known. */
async function mayExceed(db: Database, tableId: number, records: number): Promise<boolean> {
  if (!isSizeKnown(db, tableId)) return (await countUpTo(db, tableId, records + 1)) > records
  const [table] = await db
    .records(tableId)
    .read<{ bytes: number | null }>(labelled('bytes-of-records', sql`select pg_relation_size(${storageOf(db, tableId).records}) as bytes`))
  return (table?.bytes ?? 0) >= records * LEAST_BYTES_OF_RECORD
}

/** The number of records of the table, but at most `most`. */
export async function countUpTo(db: Database, tableId: number, most: number): Promise<number> {
  const [found] = await db
    .records(tableId)
    .read<{ n: number }>(sql`select count(*) as n from (select from ${recordsOf(tableId)} limit ${most}) r`)
  return found?.n ?? 0
}

/** Does the same after records were created. A failure is only logged, because a scheduled job enqueues it again within five minutes. */
export async function enqueueIndexingAfterGrowth(context: Pick<Context, 'db' | 'jobs' | 'log'>, tableId: number): Promise<void> {
  try {
    await enqueueIndexing(context, tableId)
  } catch (error) {
    context.log.error({ err: error, table_id: tableId }, 'index job not enqueued')
  }
}
