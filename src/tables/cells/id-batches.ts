/** Batches of records by id, whose size adapts to the time that the last one took. */

import type { Context } from '../../platform/context.ts'
import { recordsOf, type Sql, sql } from '../../platform/database/database.ts'

/** Other transactions may have to wait this long for a record that a batch updates. */
const UPDATE_GOAL_MS = 100
const MIN_STEP = 50
const MAX_STEP = 1_000

/** The size of the first update. It is small, because an update also writes to each index of the table. */
export const FIRST_STEP = 200

/** The size of the next update, after one of `step` records took `tookMs`. It at most doubles, because records differ. */
export function nextStep(step: number, tookMs: number): number {
  const fits = Math.floor((step * UPDATE_GOAL_MS) / Math.max(1, tookMs))
  return Math.max(MIN_STEP, Math.min(fits, 2 * step, MAX_STEP))
}

/** A read may take this long: well below the statement timeout, and long enough for Postgres to use parallel workers. */
const READ_GOAL_MS = 1_500
const FIRST_READ = 20_000
const MAX_READ = 250_000

/** Ids beyond `from`, up to `to`. */
export interface Range {
  from: number
  to: number
}

/** Whether a record `r` lies in the range. */
export const within = ({ from, to }: Range): Sql => sql`r.id > ${from} and r.id <= ${to}`

/**
 * Yields all records `r` of a table in ranges of ids. The time that the caller takes for a range decides the size of the next.
 * @throws AppError 503 once the caller has hung up
 */
export async function* ranges(context: Context, tableId: number): AsyncGenerator<Range> {
  const { db, signal } = context
  for (let from = 0, step = FIRST_READ; ; ) {
    const some = sql`select id from ${recordsOf(tableId)} where id > ${from} order by id limit ${step}`
    const [last] = await db.query<{ id: number | null }>(sql`select max(id) as id from (${some}) s`, undefined, signal)
    if (!last?.id) return
    // A statement that is running is cancelled by the database; the caller may also hang up between two.
    signal.throwIfAborted()
    const startedAt = performance.now()
    yield { from, to: last.id }
    from = last.id
    const fits = (step * READ_GOAL_MS) / Math.max(1, performance.now() - startedAt)
    step = Math.ceil(Math.min(fits, 4 * step, MAX_READ))
  }
}
