/** What indexes the records of tables really have, how much there is in them, and what was slow or failed. */
import { type Database, recordsOf, sql } from '../platform/database/database.ts'
import { SMALL_TABLE } from '../views/ddl.ts'
import type { Shape } from './shape.ts'

export interface PresentIndex {
  name: string
  isPrimary: boolean
  /** False while it is built, and for what a build left behind that did not end well. */
  isValid: boolean
  /** Whether a build of it is under way. */
  isBuilding: boolean
  bytes: number
  /** Plain columns among its keys. */
  columns: string[]
}

/** By name, the primary key first; without the one that a field has while its type is changed (tables/ddl.ts). */
export function presentIndexes(db: Database, tableId: number): Promise<PresentIndex[]> {
  return db.query<PresentIndex>(
    sql`select c.relname as name, i.indisprimary as "isPrimary", i.indisvalid as "isValid", pg_relation_size(c.oid) as bytes,
        exists (select from pg_stat_progress_create_index p where p.index_relid = c.oid) as "isBuilding",
        array(select a.attname::text from unnest(i.indkey) with ordinality k (attnum, at)
          join pg_attribute a on a.attrelid = i.indrelid and a.attnum = k.attnum and a.attnum > 0 order by k.at) as columns
      from pg_index i join pg_class c on c.oid = i.indexrelid
      where i.indrelid = to_regclass(${recordsOf(tableId).sql}) and c.relname not like '~%' order by i.indisprimary desc, c.relname`,
    'indexes-of-table',
  )
}

/** Under half of the size from which indexes are made, on the way there, or past it: what is between keeps what it has. */
export type Fill = 'few' | 'between' | 'many'

export async function fillOf(db: Database, tableId: number): Promise<Fill> {
  const [found] = await db.query<{ n: number }>(
    sql`select count(*) as n from (select from ${recordsOf(tableId)} limit ${SMALL_TABLE + 1}) r`,
  )
  const n = found?.n ?? 0
  return n > SMALL_TABLE ? 'many' : n > SMALL_TABLE / 2 ? 'between' : 'few'
}

/** Tables that are large enough for indexes, or have any beside their primary key. By the statistics, which cost next to nothing. */
export async function indexedTables(db: Database): Promise<number[]> {
  const tables = await db.query<{ id: number }>(sql`
    select t.id from tables t
    join pg_class c on c.oid = to_regclass(format('t%s.records', t.id))
    where t.deleted_at is null and (greatest(c.reltuples, pg_stat_get_live_tuples(c.oid)) > ${SMALL_TABLE / 2}
      or exists (select from pg_index i where i.indrelid = c.oid and not i.indisprimary))
    order by t.id`)
  return tables.map(({ id }) => id)
}

/**
 * How many records share the most frequent value of each field, or have none: what Postgres estimates. Fields are missing of which it
 * has no statistics yet.
 */
export async function groupsOf(db: Database, tableId: number): Promise<Map<string, number>> {
  const groups = await db.query<{ field: string; records: number }>(sql`
    select s.attname::text as field, c.reltuples * greatest(s.null_frac, s.most_common_freqs[1],
      case when s.n_distinct < 0 then 1 / (-s.n_distinct * greatest(c.reltuples, 1)) when s.n_distinct > 0 then 1 / s.n_distinct end) as records
    from pg_class c join pg_stats s on s.schemaname = ${`t${tableId}`} and s.tablename = 'records'
    where c.oid = to_regclass(${recordsOf(tableId).sql})`)
  return new Map(groups.map(({ field, records }) => [field, records]))
}

/** What queries outside of views have asked for, from the oldest on. */
export async function usesOf(db: Database, tableId: number): Promise<Shape[]> {
  const uses = await db.query<{ shape: string }>(sql`select shape from index_uses where table_id = ${tableId} order by first_at, shape`)
  return uses.map(({ shape }) => JSON.parse(shape) as Shape)
}

/** The last error of each index that could not be built, by name. */
export async function failuresOf(db: Database, tableId: number): Promise<Map<string, string>> {
  const failures = await db.query<{ name: string; error: string }>(sql`select name, error from index_failures where table_id = ${tableId}`)
  return new Map(failures.map(({ name, error }) => [name, error]))
}
