/** Forgets changes that were kept long enough (contract.md §10, History). Those of deleted records go with them (deleted/purge.ts). */
import { z } from 'zod'
import type { Context } from '../../platform/context.ts'
import { type Database, historyOf, join, type Sql, sql } from '../../platform/database/database.ts'
import { defineQueue } from '../../platform/jobs/queue.ts'
import { formatInstant } from '../../platform/time/time.ts'
import { readTogether } from '../../tables/elsewhere/counting.ts'

export const forgetHistories = defineQueue({ name: 'records.forget-histories', schema: z.object({}) })
export const forgetHistory = defineQueue({ name: 'records.forget-history', schema: z.object({ table_id: z.int() }) })

const DAY_MS = 86_400_000

/** Changes before this instant are forgotten. */
const limitOf = ({ now, settings }: Context): Sql =>
  sql`${formatInstant(new Date(now.getTime() - settings.keepHistoryDays * DAY_MS))}::timestamp`

/** A change that is later in time has a greater id, but for those that run at the same time. */
const oldest = (tableId: number): Sql => sql`select h.record_id, h.version, h.at from ${historyOf(tableId)} h order by h.change_id`

/** The tables that one statement looks at. */
const TABLES_AT_ONCE = 50

/** Enqueues a job for each table that has something to forget. An entry of an index tells. */
export async function forgetChanges(context: Context): Promise<void> {
  const { db, jobs } = context
  const limit = limitOf(context)
  const tables = await db.read<{ id: number }>(sql`select id from tables where has_history and deleted_at is null order by id`)
  const groups = readTogether(
    db,
    tables.map(({ id }) => id),
    TABLES_AT_ONCE,
  )
  const isDue = (id: number) => sql`select ${id}::int as id where (select o.at from (${oldest(id)} limit 1) o) < ${limit}`
  for (const [first = 0, ...others] of groups) {
    const due = await db.records(first).read<{ id: number }>(join([first, ...others].map(isDue), ' union all '))
    for (const { id } of due) await jobs.send(forgetHistory, { table_id: id })
  }
}

const DELETED_AT_ONCE = 1_000

/** Forgets the changes of one table in short statements. It may be killed at any point and run twice. */
export async function forgetOf(context: Context, { table_id: id }: { table_id: number }): Promise<void> {
  const { db } = context
  // The table may have been purged since the job was enqueued.
  if (!(await db.read(sql`select from tables where id = ${id} and has_history`)).length) return
  const old = sql`select o.record_id, o.version from (${oldest(id)} limit ${DELETED_AT_ONCE}) o where o.at < ${limitOf(context)}`
  while (await remove(db, id, old)) {}
}

/** @returns the number of entries that were deleted */
const remove = async (db: Database, tableId: number, entries: Sql): Promise<number> =>
  (
    await db.records(tableId).write(sql`
      delete from ${historyOf(tableId)} h using (${entries}) k where h.record_id = k.record_id and h.version = k.version`)
  ).changed
