/** What only the servers of records know about tables and indexes, where it is not the main server. */

import { withinTime } from '../platform/concurrency/time-limit.ts'
import type { Context } from '../platform/context.ts'
import { type Database, recordsOf, sql } from '../platform/database/database.ts'
import { isOutage } from '../platform/database/database-errors.ts'
import { storageOf } from '../platform/database/nodes/shards.ts'
import type { RecordsNode } from '../platform/database/records-plane.ts'
import { labelled } from '../platform/database/statements/statement.ts'
import { choose } from '../tables/elsewhere/choice.ts'
import { MIN_BYTES } from '../tables/indexing.ts'

/** What the server of the records knows of an index. */
interface StoredIndex {
  name: string
  bytes: number
  isBuilding: boolean
}

/** The size and the build state of the indexes as the server of the records knows them. The main server knows whether an index is valid. */
export const withStored = <Index extends StoredIndex>(db: Database, tableId: number, indexes: Index[]): Promise<Index[]> =>
  choose(db, tableId, { here: async () => indexes, elsewhere: () => readStored(db, tableId, indexes) })()

async function readStored<Index extends StoredIndex>(db: Database, tableId: number, indexes: readonly Index[]): Promise<Index[]> {
  const stored = await db.records(tableId).read<StoredIndex>(
    labelled(
      'stored-indexes-of-table',
      sql`select n.name, coalesce(pg_relation_size(n.oid), 0) as bytes,
        exists (select from pg_stat_progress_create_index p where p.index_relid = n.oid) as "isBuilding"
      from (select c.relname as name, ${storageOf(db, tableId).index('c.oid')} as oid
        from pg_index i join pg_class c on c.oid = i.indexrelid
        where i.indrelid = to_regclass(${recordsOf(tableId).sql})) n`,
    ),
  )
  const byName = new Map(stored.map((index) => [index.name, index]))
  return indexes.map((index) => ({ ...index, bytes: 0, ...byName.get(index.name) }))
}

/** Tables on nodes that are large enough for indexes by their size. Nodes that do not answer are left out. */
export async function largeTablesOnNodes({ db, nodes }: Pick<Context, 'db' | 'nodes'>): Promise<number[]> {
  const answering = (nodes?.all ?? []).filter(({ isAway }) => !isAway)
  if (!answering.length) return []
  const found = await Promise.all(answering.map(({ database }) => withinTime(largeShards(database), NODE_ANSWERS_WITHIN_MS, [])))
  const tables = await db.read<{ id: number }>(
    sql`select id from tables where id = any(${found.flat()}::int[]) and deleted_at is null order by id`,
  )
  return tables.map(({ id }) => id)
}

/** The service notices in three seconds that a node does not answer. */
const NODE_ANSWERS_WITHIN_MS = 3_000

/** The tables of which the node has large shards. Citus adds the number of the shard to the name of the table. */
async function largeShards(node: RecordsNode): Promise<number[]> {
  try {
    const shards = await node.read<{ id: number }>(sql`
      select substr(n.nspname, 2)::int as id from pg_class c join pg_namespace n on n.oid = c.relnamespace
      where n.nspname ~ '^t[1-9][0-9]{0,8}$' and c.relname ~ '^records_[0-9]+$' and c.relkind = 'r'
        and pg_table_size(c.oid) >= ${MIN_BYTES}`)
    return shards.map(({ id }) => id)
  } catch (error) {
    if (isOutage(error)) return []
    throw error
  }
}
