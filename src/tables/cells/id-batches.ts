/** Batches of records by id, whose size adapts to the time that the last one took. */
import { type Database, recordsOf, type Sql, sql } from '../../platform/database/database.ts'

/** Other transactions may have to wait this long for a record that a batch updates. */
const GOAL_MS = 100
const MIN_STEP = 50
const MAX_STEP = 1_000

/** The size of the first batch. It is small, because an update also writes to each index of the table. */
export const FIRST_STEP = 200

/** The size of the next batch, after one of `step` records took `tookMs`. It at most doubles, because records differ. */
export function nextStep(step: number, tookMs: number, maxStep = MAX_STEP): number {
  const fits = Math.floor((step * GOAL_MS) / Math.max(1, tookMs))
  return Math.max(MIN_STEP, Math.min(fits, 2 * step, maxStep))
}

/** Ids above `after`, up to and including `to`. */
interface IdBatch {
  after: number
  to: number
}

/** The condition that a record `r` is in the batch. */
export const inBatch = ({ after, to }: IdBatch): Sql => sql`r.id > ${after} and r.id <= ${to}`

/**
 * Yields batches of all records with ids above `after`, including records that are created during the iteration. The time that the caller
 * takes for a batch determines the size of the next one.
 * @param maxStep may be larger than usual where records are only read
 */
export async function* idBatches(
  db: Database,
  tableId: number,
  { after = 0, maxStep = MAX_STEP }: { after?: number; maxStep?: number } = {},
): AsyncGenerator<IdBatch> {
  for (let last = after, step = FIRST_STEP; ; ) {
    const [batch] = await db
      .records(tableId)
      .read<{ to: number | null }>(
        sql`select max(id) as "to" from (select id from ${recordsOf(tableId)} where id > ${last} order by id limit ${step}) r`,
      )
    if (!batch?.to) return
    const startedAt = performance.now()
    yield { after: last, to: batch.to }
    last = batch.to
    step = nextStep(step, performance.now() - startedAt, maxStep)
  }
}
