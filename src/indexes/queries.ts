/** Reads the existing indexes and the size of tables, and the stored uses and failures of indexes. */

import { type Database, recordsOf, sql } from '../platform/database/database.ts'
import { storageOf } from '../platform/database/nodes/shards.ts'
import { labelled } from '../platform/database/statements/statement.ts'
import { VACUUM_SHARES } from '../tables/index-builds.ts'
import { countUpTo, FEW_RECORDS } from '../tables/indexing.ts'
import { withStored } from './elsewhere.ts'
import type { QueryShape } from './shape.ts'

export interface PresentIndex {
  name: string
  isPrimary: boolean
  /** False while the index is built, and after a build that failed. */
  isValid: boolean
  /** True while the index is being built. */
  isBuilding: boolean
  bytes: number
  /** The keys that are plain columns. */
  columns: string[]
}

/** Returns the indexes by name, the primary key first. The index that a conversion uses (tables/ddl.ts) is left out. */
export async function presentIndexes(db: Database, tableId: number): Promise<PresentIndex[]> {
  const indexes = await db.read<PresentIndex>(
    labelled(
      'indexes-of-table',
      sql`select c.relname as name, i.indisprimary as "isPrimary", i.indisvalid as "isValid", pg_relation_size(c.oid) as bytes,
        exists (select from pg_stat_progress_create_index p where p.index_relid = c.oid) as "isBuilding",
        array(select a.attname::text from unnest(i.indkey) with ordinality k (attnum, at)
          join pg_attribute a on a.attrelid = i.indrelid and a.attnum = k.attnum and a.attnum > 0 order by k.at) as columns
      from pg_index i join pg_class c on c.oid = i.indexrelid
      where i.indrelid = to_regclass(${recordsOf(tableId).sql}) and c.relname not like '~%' order by i.indisprimary desc, c.relname`,
    ),
  )
  return withStored(db, tableId, indexes)
}

/**
 * The size of a table: `many` if it is large enough for indexes, `few` if it has less than half as many records. A table in between keeps
 * the indexes that it has.
 */
export type TableSize = 'few' | 'between' | 'many'

export async function tableSizeOf(db: Database, tableId: number): Promise<TableSize> {
  const n = await countUpTo(db, tableId, FEW_RECORDS + 1)
  return n > FEW_RECORDS ? 'many' : n > FEW_RECORDS / 2 ? 'between' : 'few'
}

/** Tables that are large enough for indexes by their statistics, and tables with indexes besides their primary key. */
export async function indexedTables(db: Database): Promise<number[]> {
  const tables = await db.read<{ id: number }>(sql`
    select t.id from tables t
    join pg_class c on c.oid = to_regclass(format('t%s.records', t.id))
    where t.deleted_at is null and (greatest(c.reltuples, pg_stat_get_live_tuples(c.oid)) > ${FEW_RECORDS / 2}
      or exists (select from pg_index i where i.indrelid = c.oid and not i.indisprimary))
    order by t.id`)
  return tables.map(({ id }) => id)
}

/** From this number of records on, which the statistics estimate, the map of visible pages is kept fresh. */
const MANY_TO_SKIP = 50_000

/** Whether the table is large and has the settings of autovacuum that all tables have. */
export async function isVacuumedSeldom(db: Database, tableId: number): Promise<boolean> {
  const large = await db.records(tableId).read(sql`
    select from pg_class c where c.oid = ${storageOf(db, tableId).records} and c.reltuples >= ${MANY_TO_SKIP}
      and not exists (select from pg_options_to_table(c.reloptions) o where o.option_name = any(${[...VACUUM_SHARES]}::text[]))`)
  return large.length > 0
}

/**
 * By field, how many records share the most frequent value or have no value, as Postgres estimates it. Fields without statistics are
 * absent.
 */
export async function groupsOf(db: Database, tableId: number): Promise<Map<string, number>> {
  const groups = await db.records(tableId).read<{ field: string; records: number }>(sql`
    select s.attname::text as field, c.reltuples * greatest(s.null_frac, s.most_common_freqs[1],
      case when s.n_distinct < 0 then 1 / (-s.n_distinct * greatest(c.reltuples, 1))
        when s.n_distinct > 0 then 1 / s.n_distinct end) as records
    from pg_class c join pg_stats s on s.schemaname = ${`t${tableId}`} and s.tablename = c.relname
    where c.oid = ${storageOf(db, tableId).records}`)
  return new Map(groups.map(({ field, records }) => [field, records]))
}

/** The stored shapes of queries outside of views, the oldest first. */
export async function usesOf(db: Database, tableId: number): Promise<QueryShape[]> {
  const uses = await db.read<{ shape: string }>(sql`select shape from index_uses where table_id = ${tableId} order by first_at, shape`)
  return uses.map(({ shape }) => JSON.parse(shape) as QueryShape)
}

/** The last error of each index that could not be built, by name. */
export async function failuresOf(db: Database, tableId: number): Promise<Map<string, string>> {
  const failures = await db.read<{ name: string; error: string }>(sql`select name, error from index_failures where table_id = ${tableId}`)
  return new Map(failures.map(({ name, error }) => [name, error]))
}
