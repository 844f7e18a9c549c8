/** The storage of records: the table itself, or on a node of a cluster its shard. */
import { type Database, raw, recordsOf, type Sql, sql } from '../database.ts'

/** How SQL names the relations that store a table and its indexes. A server that does not have the records has only their names. */
interface Storage {
  /** The relation that stores the records, as an expression; null on another server. */
  records: Sql
  /** The same of an index of the table. @param oid an expression */
  index(oid: string): Sql
}

/** For statements that `db.records(tableId)` runs. */
export function storageOf(db: Database, tableId: number): Storage {
  const table = sql`to_regclass(${recordsOf(tableId).sql})`
  if (!db.hasNodes || !db.isElsewhere(tableId)) return { records: table, index: raw }
  const shardOf = (relation: Sql) =>
    sql`(select to_regclass(shard_name(${relation}, d.shardid)) from pg_dist_shard d where d.logicalrelid = ${table})`
  return { records: shardOf(table), index: (oid) => shardOf(sql`${raw(oid)}::regclass`) }
}
