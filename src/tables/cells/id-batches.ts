/** Looks at all records of a table in ranges of ids, so that no statement takes longer than others may. */

import type { Context } from '../../platform/context.ts'
import { recordsOf, type Sql, sql } from '../../platform/database/database.ts'

/** Records that are looked at in the first statement; then as many as take it about so long, well below what a statement may. */
const FIRST_STEP = 20_000
const MAX_STEP = 250_000
const GOAL_MS = 1_500

/** Ids beyond `from`, up to `to`. */
export interface Range {
  from: number
  to: number
}

/** Whether a record `r` lies in the range. */
export const within = ({ from, to }: Range): Sql => sql`r.id > ${from} and r.id <= ${to}`

/**
 * All records `r` in ranges, each long enough for Postgres to give it workers: how long the caller takes with one decides the next.
 * @throws AppError 503 once the caller has hung up
 */
export async function* ranges(context: Context, tableId: number): AsyncGenerator<Range> {
  const { db, signal } = context
  for (let from = 0, step = FIRST_STEP; ; ) {
    const some = sql`select id from ${recordsOf(tableId)} where id > ${from} order by id limit ${step}`
    const [last] = await db.query<{ id: number | null }>(sql`select max(id) as id from (${some}) s`, undefined, signal)
    if (!last?.id) return
    // A statement that is running is cancelled by the database; the caller may also hang up between two.
    signal.throwIfAborted()
    const startedAt = performance.now()
    yield { from, to: last.id }
    from = last.id
    const fits = (step * GOAL_MS) / Math.max(1, performance.now() - startedAt)
    step = Math.ceil(Math.min(fits, 4 * step, MAX_STEP))
  }
}
