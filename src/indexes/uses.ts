/** Queries outside of saved views that were slow for want of an index: they are noted, and the next ones find it. */

import type { TableDef } from '../fields/definition.ts'
import { BoundedMap } from '../platform/bounded-map.ts'
import type { Context } from '../platform/context.ts'
import { type Database, type Sql, sql } from '../platform/database/database.ts'
import { memo } from '../platform/memo.ts'
import { formatInstant } from '../platform/time.ts'
import { followIndexes } from '../tables/indexing.ts'
import type { Tree } from '../views/filters/parse.ts'
import type { ResolvedCondition } from '../views/filters/resolve.ts'
import type { Sort } from '../views/filters/sort.ts'
import { isIndexable } from './plan.ts'
import { shapeOf } from './shape.ts'

/** A query that takes longer is looked at. It may only have waited for a busy machine: so then Postgres is asked. */
const SLOW_MS = 100
/** What Postgres estimates for reading and sorting some 50,000 records; along an index a page costs less than a thousand. */
const COSTLY = 3_000
/** The same need is noted once in so long by a process. */
const AGAIN_MS = 3_600_000
const MAX_REMEMBERED = 10_000
/** Needs that are noted of a table. Orders of three keys of any fields are many thousands, and the budget is for six indexes. */
const MAX_NOTED = 100

/** When each need was last looked at, by table and shape. */
const lookedAtIn = memo((_: Database) => new BoundedMap<string, number>(MAX_REMEMBERED))

interface Asked {
  table: TableDef
  where: Tree<ResolvedCondition>
  order: readonly Sort[]
  /** The statement that was run. */
  page: Sql
  tookMs: number
}

/** Notes what the query compares and sorts by, if it was slow and an index can help. The answer does not depend on it. */
export async function noteUse(context: Context, { table, where, order, page, tookMs }: Asked): Promise<void> {
  const { db, now } = context
  if (tookMs < SLOW_MS || db.inTransaction()) return
  const shape = shapeOf(where, order)
  if (!shape || !isIndexable(table, shape) || isRemembered(db, `${table.id} ${JSON.stringify(shape)}`, now)) return
  try {
    if ((await costOf(db, page)) >= COSTLY) await note(context, table.id, JSON.stringify(shape))
  } catch (error) {
    context.log.warn({ err: error, tableId: table.id }, 'slow query not noted')
  }
}

function isRemembered(db: Database, need: string, now: Date): boolean {
  const lookedAt = lookedAtIn(db)
  if (now.getTime() - (lookedAt.get(need) ?? 0) < AGAIN_MS) return true
  lookedAt.set(need, now.getTime())
  return false
}

async function costOf(db: Database, page: Sql): Promise<number> {
  const [plan] = await db.query<{ 'QUERY PLAN': [{ Plan: { 'Total Cost': number } }] }>(sql`explain (format json) ${page}`)
  return plan?.['QUERY PLAN'][0].Plan['Total Cost'] ?? 0
}

async function note({ db, jobs, now, transaction }: Context, tableId: number, shape: string): Promise<void> {
  const at = formatInstant(now)
  await transaction(async () => {
    await db.execute(sql`
      insert into index_uses (table_id, shape, hits, first_at, last_at)
      select id, ${shape}, 1, ${at}::timestamp, ${at}::timestamp from tables where id = ${tableId}
        and (select count(*) from index_uses where table_id = ${tableId} and shape <> ${shape}) < ${MAX_NOTED}
      on conflict (table_id, shape) do update set hits = index_uses.hits + 1, last_at = excluded.last_at`)
    await jobs.send(followIndexes, { table_id: tableId })
  })
}
