/**
 * Transactions on a node and on the coordinator commit in two phases, so that a crash leaves all of it or nothing. Citus commits that way
 * only where it runs statements on both itself, and it does not see those on system tables. So such a transaction also names an empty
 * table that Citus knows to be on the coordinator (docs/decisions/0032-spaces-on-nodes.md).
 */
import type { NamedStatement } from '../statements/prepared-statements.ts'

/** The schema of what the service keeps for its nodes. */
export const NODES_SCHEMA = 'gridpost_spaces'
const TABLE = `${NODES_SCHEMA}.two_phases`

/** Prepares the cluster, once. */
export const TWO_PHASES_TABLE = [
  `create schema if not exists ${NODES_SCHEMA}`,
  `create table if not exists ${TABLE} (id int primary key)`,
  `select citus_add_local_table_to_metadata('${TABLE}')
   where not exists (select from pg_dist_partition where logicalrelid = '${TABLE}'::regclass)`,
]

/** Whether the cluster is prepared, as an expression. */
export const HAS_TWO_PHASES = `to_regclass('${TABLE}') is not null`

/** Changes nothing, and makes the transaction that runs it commit in two phases. */
export const IN_TWO_PHASES: NamedStatement = { name: 'two-phases', text: `delete from ${TABLE} where id = 0`, values: [] }
