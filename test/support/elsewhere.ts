/**
 * Every space placed elsewhere: on a node that is the same database, seen by a role without any right on a system table. PostgreSQL refuses
 * a statement that names one (42501).
 */
import pg from 'pg'
import { openDatabase } from '../../src/platform/database/database.ts'
import type { Placement } from '../../src/platform/database/records-plane.ts'
import { NODE_ROLE } from './node-role.ts'

/** Tables that are made from now on are open to the role, and the present ones, those of the system, are not. */
const RIGHTS = [
  `alter default privileges grant usage on schemas to ${NODE_ROLE}`,
  `alter default privileges grant select on tables to ${NODE_ROLE}`,
]

export async function everySpaceElsewhere(connection: pg.PoolConfig): Promise<{ placement: Placement; close(): Promise<void> }> {
  const client = new pg.Client(connection)
  await client.connect()
  for (const right of RIGHTS) await client.query(right)
  await client.end()
  const node = openDatabase({ ...connection, user: NODE_ROLE }, { size: 4 })
  return { placement: { nodeOf: () => node }, close: () => node.close() }
}
