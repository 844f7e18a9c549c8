/** Asks the servers of a test file's database about themselves. On a cluster (global-setup.ts) locks and builds may be on a node. */
import pg from 'pg'
import { inject } from 'vitest'
import { sql } from '../../src/platform/database/database.ts'
import type { Statement } from '../../src/platform/database/statements/statement.ts'
import { testDatabase } from './database.ts'

/** Runs the statement on each server. @returns the rows of all */
export async function onEveryServer<Row extends object = object>({ text, values }: Statement): Promise<Row[]> {
  const { connection } = await testDatabase()
  // Citus hides the relations of records, the shards, unless it is told not to.
  const nodes = (inject('nodes') ?? []).map((node) => ({ ...connection, ...node, options: '-c citus.override_table_visibility=off' }))
  const rows = await Promise.all(
    [connection, ...nodes].map(async (server) => {
      const client = new pg.Client(server)
      await client.connect()
      try {
        return (await client.query<Row>({ text, values: [...values] })).rows
      } finally {
        await client.end()
      }
    }),
  )
  return rows.flat()
}

/** The statements that wait for a lock. */
export const lockWaits = () =>
  onEveryServer<{ query: string }>(sql`select query from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`)
