/** New tables follow their space: a space that is on a node of a Citus cluster has an anchor there, an empty table (placement.ts). */
import { type Database, type Sql, sql } from '../../platform/database/database.ts'
import { NODES_SCHEMA } from '../../platform/database/nodes/two-phases.ts'

export const anchorOf = (spaceId: number): string => `${NODES_SCHEMA}.s${spaceId}`

/** Puts a relation, such as the records of a table, on the node of the anchor. */
export const distribute = (relation: Sql, anchor: string): Sql =>
  sql`select create_distributed_table(${relation.sql}::text::regclass, null, colocate_with => ${anchor}::text)`

/**
 * Runs `create`, which creates relations of the table, and puts them on the node of its space. A table of a space that is on none needs
 * no node, because its schema is created on the main server alone; Citus creates that of a placed table on the node with the table.
 */
export async function createAtAnchor(db: Database, tableId: number, relations: readonly Sql[], create: () => Promise<void>): Promise<void> {
  if (!db.hasNodes) return create()
  await db.write(sql`select set_config('citus.enable_ddl_propagation', 'off', true)`)
  await create()
  const [space] = await db.read<{ anchor: string }>(sql`
    select a.name as anchor from tables t cross join lateral format(${`${NODES_SCHEMA}.s%s`}::text, t.space_id) as a (name)
    where t.id = ${tableId} and to_regclass(a.name) is not null`)
  if (!space) return
  await db.write(sql`select set_config('citus.enable_ddl_propagation', 'on', true)`)
  for (const relation of relations) await db.write(distribute(relation, space.anchor))
}
