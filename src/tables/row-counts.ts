/**
 * The exact number of records of a large table, without counting them (docs/decisions/0014-row-counts.md). Triggers write how many
 * records each statement adds or removes; the sum of these changes is the count, in the snapshot of each reader.
 */
import type pg from 'pg'
import { z } from 'zod'
import type { Context } from '../platform/context.ts'
import { type Database, join, raw, recordsOf, type Sql, sql } from '../platform/database/database.ts'
import { sqlState } from '../platform/database/database-errors.ts'
import { defineQueue } from '../platform/jobs/queue.ts'
import { mayHaveTriggers, readTogether } from './elsewhere/counting.ts'
import { withBuildLock } from './index-builds.ts'

export const sweepRowCounts = defineQueue({ name: 'tables.sweep-tallies', schema: z.object({}) })
export const recountRows = defineQueue({ name: 'tables.recount-tallies', schema: z.object({}) })
export const countRows = defineQueue({ name: 'tables.tally', schema: z.object({ table_id: z.int(), recount: z.boolean() }) })

/** A smaller table is counted in a millisecond, so its writers are spared the triggers. */
export const MANY_RECORDS = 20_000
/** Beyond this the changes are replaced by their sum; reading fewer takes less than a millisecond. */
const MANY_CHANGES = 200

/** The number of records of a table, as SQL for a statement of `db.records`. It counts the records of a table without triggers. */
export function totalOf(db: Database, tableId: number): Sql {
  const counted = sql`(select count(*) from ${recordsOf(tableId)})`
  if (!mayHaveTriggers(db, tableId)) return counted
  return sql`coalesce((
    select sum(change)::int8 from public.record_tallies where table_id = ${tableId} having bool_or(is_base)), ${counted})`
}

/** The tables whose records one statement counts. */
const TABLES_AT_ONCE = 200

/** The number of records of each table. One statement counts those of all tables on the main server. */
export async function totalsOf(db: Database, tableIds: readonly number[], signal?: AbortSignal): Promise<Map<number, number>> {
  const totals = new Map<number, number>()
  for (const ids of readTogether(db, tableIds, TABLES_AT_ONCE)) {
    const counts = ids.map((id) => sql`select ${id}::int as id, ${totalOf(db, id)} as n`)
    const counted = join(counts, ' union all ')
    for (const { id, n } of await db.records(ids[0] as number).read<{ id: number; n: number }>(counted, { signal })) totals.set(id, n)
  }
  return totals
}

/** The number of records of all the tables. */
export async function totalOfAll(db: Database, tableIds: readonly number[], signal?: AbortSignal): Promise<number> {
  let records = 0
  for (const total of (await totalsOf(db, tableIds, signal)).values()) records += total
  return records
}

/** Runs every minute: enqueues tables that have become large according to their statistics, and tables with many changes. */
export async function countDueTables({ db, jobs }: Context): Promise<void> {
  const due = await db.read<{ id: number }>(sql`
    select t.id from tables t
    left join (select table_id, count(*) as n from record_tallies group by table_id having bool_or(is_base)) k on k.table_id = t.id
    left join pg_class c on k.n is null and c.oid = to_regclass(format('t%s.records', t.id))
    where t.deleted_at is null and (k.n > ${MANY_CHANGES} or greatest(c.reltuples, pg_stat_get_live_tuples(c.oid)) > ${MANY_RECORDS})
    order by t.id`)
  for (const { id } of due) if (mayHaveTriggers(db, id)) await jobs.send(countRows, { table_id: id, recount: false })
}

/** Runs every night: corrects changes that bypassed the triggers, such as a restored backup or a script that disabled them. */
export async function recountAllTables({ db, jobs }: Context): Promise<void> {
  const counted = await db.read<{ id: number }>(sql`
    select t.id from tables t
    where t.deleted_at is null and exists (select from record_tallies k where k.table_id = t.id and k.is_base) order by t.id`)
  for (const { id } of counted) await jobs.send(countRows, { table_id: id, recount: true })
}

/** Creates the triggers and counts the table, recounts it, or sums up its changes. The job may be killed at any point and run twice. */
export async function countTable(
  context: Context,
  { table_id, recount: isRecount }: { table_id: number; recount: boolean },
): Promise<void> {
  if (!mayHaveTriggers(context.db, table_id)) return
  const isCounted = (await context.db.read(sql`select from record_tallies where table_id = ${table_id} and is_base`)).length > 0
  if (isCounted && !isRecount) return sumUp(context, table_id)
  try {
    await withBuildLock(context.db, table_id, async (client) => {
      await createTriggers(client, table_id)
      await recount(client, table_id)
    })
  } catch (error) {
    // The table was deleted, or another transaction held a lock. The scheduled job enqueues the table again if it is still due.
    if (!GIVEN_UP.has(sqlState(error) ?? '')) throw error
  }
}

/** The schema or table does not exist, a lock timeout, a deadlock, or a cancellation by a change of the table. */
const GIVEN_UP = new Set(['3F000', '42P01', '55P03', '40P01', '57014'])

/** Deletes the counts of a table that is purged. */
export const deleteRowCounts = (db: Database, tableId: number) => db.write(sql`delete from record_tallies where table_id = ${tableId}`)

/** The statements that let a table be counted by reading it again. They run in one transaction. */
export const forgetRowCounts = (tableId: number): Sql[] => [
  ...Object.keys(TRIGGERS).map((event) => sql`drop trigger if exists ${raw(`tally_${event}`)} on ${recordsOf(tableId)}`),
  sql`delete from record_tallies where table_id = ${tableId}`,
]

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

/** Waits for the writers of the table. The triggers record later writes; earlier ones are committed before the records are counted. */
async function createTriggers(client: pg.Client, tableId: number): Promise<void> {
  const records = recordsOf(tableId).sql
  const { rowCount } = await client.query(`select from pg_trigger where tgrelid = $1::regclass and tgname like 'tally\\_%'`, [records])
  if (rowCount) return
  const create = Object.entries(TRIGGERS).map(([event, rest]) =>
    raw(`create trigger tally_${event} ${rest.replace('%s', records)}('${tableId}')`),
  )
  await inTransaction(client, [sql`set local lock_timeout = '100ms'`, ...create])
}

/** The changes that this statement sees are part of the records that it counts; changes that it does not see remain. */
const recount = (client: pg.Client, tableId: number) =>
  inTransaction(client, [
    lockCounts(tableId),
    sql`
      with summed as (delete from record_tallies where table_id = ${tableId})
      insert into record_tallies (table_id, change, is_base) select ${tableId}, count(*), true from ${recordsOf(tableId)}`,
  ])

async function sumUp({ db, transaction }: Context, tableId: number): Promise<void> {
  await transaction(async () => {
    await db.read(lockCounts(tableId))
    await db.write(sql`
      with summed as (delete from record_tallies where table_id = ${tableId} returning change, is_base)
      insert into record_tallies (table_id, change, is_base)
      select ${tableId}, sum(change), bool_or(is_base) from summed having count(*) > 0`)
  })
}

/** First key of the advisory lock that replacing counts takes. The next holder's statement begins after the commit and sees its rows. */
const REPLACING = 7_202

const lockCounts = (tableId: number): Sql => sql`select pg_advisory_xact_lock(${REPLACING}::int, ${tableId}::int)`
