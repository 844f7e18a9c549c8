/** Stores the shapes of slow queries outside of saved views, so that an index is built for later ones. */

import type { TableDef } from '../fields/definition.ts'
import { BoundedMap } from '../platform/collections/bounded-map.ts'
import type { Context } from '../platform/context.ts'
import { type Database, type Sql, sql } from '../platform/database/database.ts'
import { planOf } from '../platform/database/query-plan.ts'
import { memo } from '../platform/memo.ts'
import { formatInstant } from '../platform/time/time.ts'
import { adaptIndexes } from '../tables/indexing.ts'
import type { Sort } from '../views/filters/order.ts'
import type { Tree } from '../views/filters/parse.ts'
import type { ResolvedCondition } from '../views/filters/resolve-conditions.ts'
import { isIndexable } from './plan.ts'
import { shapeOf } from './shape.ts'

/** Slower queries are examined. The machine may just have been busy, so the planner's cost decides whether the query is expensive. */
const SLOW_MS = 100
/** The planner's cost of reading and sorting about 50,000 records; a page along an index costs less than 1,000. */
const COSTLY = 3_000
/** A process examines the same shape once in this time. */
const AGAIN_MS = 3_600_000
const MAX_REMEMBERED = 10_000
/** The maximum number of stored shapes per table. Thousands of sorts by three fields are possible, but a table gets only six indexes. */
const MAX_SHAPES = 100

/** When each shape was last examined, by table and shape. */
const lastExaminedOf = memo((_: Database) => new BoundedMap<string, number>(MAX_REMEMBERED))

interface ExaminedQuery {
  table: TableDef
  where: Tree<ResolvedCondition>
  order: readonly Sort[]
  /** Prints the statement of the page. */
  page: () => Sql
  tookMs: number
}

/** Stores the shape of the query, if it was slow and an index can help. A failure is only logged. */
export async function recordUse(context: Context, { table, where, order, page, tookMs }: ExaminedQuery): Promise<void> {
  const { db, now } = context
  if (tookMs < SLOW_MS || db.inTransaction()) return
  const shape = shapeOf(where, order)
  if (!shape || !isIndexable(table, shape) || isRemembered(db, `${table.id} ${JSON.stringify(shape)}`, now)) return
  try {
    if (((await planOf(db.records(table.id), page()))?.['Total Cost'] ?? 0) >= COSTLY)
      await storeUse(context, table.id, JSON.stringify(shape))
  } catch (error) {
    context.log.warn({ err: error, tableId: table.id }, 'slow query not recorded')
  }
}

function isRemembered(db: Database, use: string, now: Date): boolean {
  const lastExamined = lastExaminedOf(db)
  if (now.getTime() - (lastExamined.get(use) ?? 0) < AGAIN_MS) return true
  lastExamined.set(use, now.getTime())
  return false
}

async function storeUse({ db, jobs, now, transaction }: Context, tableId: number, shape: string): Promise<void> {
  const at = formatInstant(now)
  await transaction(async () => {
    await db.write(sql`
      insert into index_uses (table_id, shape, hits, first_at, last_at)
      select id, ${shape}, 1, ${at}::timestamp, ${at}::timestamp from tables where id = ${tableId}
        and (select count(*) from index_uses where table_id = ${tableId} and shape <> ${shape}) < ${MAX_SHAPES}
      on conflict (table_id, shape) do update set hits = index_uses.hits + 1, last_at = excluded.last_at`)
    await jobs.send(adaptIndexes, { table_id: tableId })
  })
}
