/**
 * How many records a large table has, exactly and without counting them (docs/decisions/0014-row-counts.md). Triggers of the table note what
 * each statement adds or takes away; the sum is the number, for every reader by the snapshot that they read with.
 */
import type pg from 'pg'
import { z } from 'zod'
import type { Context } from '../platform/context.ts'
import { type Database, raw, recordsOf, type Sql, sql } from '../platform/database/database.ts'
import { sqlState } from '../platform/http/errors.ts'
import { defineQueue } from '../platform/jobs/queue.ts'
import { asBuilder } from './index-builds.ts'

export const sweepTallies = defineQueue({ name: 'tables.sweep-tallies', schema: z.object({}) })
export const recountTallies = defineQueue({ name: 'tables.recount-tallies', schema: z.object({}) })
export const tallyTable = defineQueue({ name: 'tables.tally', schema: z.object({ table_id: z.int(), recount: z.boolean() }) })

/** Fewer are counted in a millisecond, and their writers are not burdened. */
const MANY_RECORDS = 20_000
/** More changes are summed up; until then reading them costs less than a millisecond. */
const MANY_CHANGES = 200

/** The number of records of a table, as an expression: of those that nobody has tallied, by counting them. */
export const totalOf = (tableId: number): Sql => sql`coalesce(
  (select sum(change)::int8 from public.record_tallies where table_id = ${tableId} having bool_or(is_base)),
  (select count(*) from ${recordsOf(tableId)}))`

/** The clock: tables that have become large, and those with many changes. By the statistics, which cost next to nothing. */
export async function tallyAll({ db, jobs }: Context): Promise<void> {
  const due = await db.query<{ id: number }>(sql`
    select t.id from tables t
    left join (select table_id, count(*) as n from record_tallies group by table_id having bool_or(is_base)) k on k.table_id = t.id
    left join pg_class c on k.n is null and c.oid = to_regclass(format('t%s.records', t.id))
    where t.deleted_at is null and (k.n > ${MANY_CHANGES} or greatest(c.reltuples, pg_stat_get_live_tuples(c.oid)) > ${MANY_RECORDS})
    order by t.id`)
  for (const { id } of due) await jobs.send(tallyTable, { table_id: id, recount: false })
}

/** Every night, so that nothing that went past the triggers (a restored backup, a script that turned them off) lasts for longer. */
export async function recountAll({ db, jobs }: Context): Promise<void> {
  const tallied = await db.query<{ id: number }>(sql`
    select t.id from tables t where t.deleted_at is null and exists (select from record_tallies k where k.table_id = t.id and k.is_base) order by t.id`)
  for (const { id } of tallied) await jobs.send(tallyTable, { table_id: id, recount: true })
}

/** The job: begins to tally a table, counts it anew, or sums its changes up. It may be killed anywhere and run twice. */
export async function tally(context: Context, { table_id, recount }: { table_id: number; recount: boolean }): Promise<void> {
  const isTallied = (await context.db.query(sql`select from record_tallies where table_id = ${table_id} and is_base`)).length > 0
  if (isTallied && !recount) return sumUp(context, table_id)
  try {
    await asBuilder(context.db, table_id, async (client) => {
      await noteChanges(client, table_id)
      await countAnew(client, table_id)
    })
  } catch (error) {
    // The table is gone, or somebody was in the way; the sweep comes back to what is still to be done.
    if (!GIVEN_UP.has(sqlState(error) ?? '')) throw error
  }
}

/** No such schema or table; a lock that was not to be had, or a change of the table that was in a hurry. */
const GIVEN_UP = new Set(['3F000', '42P01', '55P03', '40P01', '57014'])

/** Of a table that goes for good. */
export const forgetTallies = (db: Database, tableId: number) => db.execute(sql`delete from record_tallies where table_id = ${tableId}`)

const inTransaction = async (client: pg.Client, statements: readonly Sql[]) => {
  await client.query('begin')
  try {
    for (const { text, values } of statements) await client.query({ text, values })
    await client.query('commit')
  } catch (error) {
    await client.query('rollback')
    throw error
  }
}

const TRIGGERS = {
  insert: 'after insert on %s referencing new table as added for each statement execute function public.tally_inserts',
  delete: 'after delete on %s referencing old table as gone for each statement execute function public.tally_deletes',
  truncate: 'after truncate on %s for each statement execute function public.tally_truncate',
}

/** Writers are held up for a moment: who writes meanwhile is noted, who wrote before is there when the records are counted. */
async function noteChanges(client: pg.Client, tableId: number): Promise<void> {
  const records = recordsOf(tableId).sql
  const { rowCount } = await client.query(`select from pg_trigger where tgrelid = $1::regclass and tgname like 'tally\\_%'`, [records])
  if (rowCount) return
  const create = Object.entries(TRIGGERS).map(([event, rest]) =>
    raw(`create trigger tally_${event} ${rest.replace('%s', records)}('${tableId}')`),
  )
  await inTransaction(client, [sql`set local lock_timeout = '100ms'`, ...create])
}

/** Changes that this statement sees are part of the number that it counts; those that it does not see stay. */
const countAnew = (client: pg.Client, tableId: number) =>
  inTransaction(client, [
    alone(tableId),
    sql`
      with summed as (delete from record_tallies where table_id = ${tableId})
      insert into record_tallies (table_id, change, is_base) select ${tableId}, count(*), true from ${recordsOf(tableId)}`,
  ])

async function sumUp({ db, transaction }: Context, tableId: number): Promise<void> {
  await transaction(async () => {
    await db.query(alone(tableId))
    await db.execute(sql`
      with summed as (delete from record_tallies where table_id = ${tableId} returning change, is_base)
      insert into record_tallies (table_id, change, is_base) select ${tableId}, sum(change), bool_or(is_base) from summed having count(*) > 0`)
  })
}

/** First half of the advisory lock of whoever replaces tallies: a statement later, the next one sees what they have made. */
const REPLACING = 7_202

const alone = (tableId: number): Sql => sql`select pg_advisory_xact_lock(${REPLACING}::int, ${tableId}::int)`
