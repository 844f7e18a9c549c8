/** How long the statements of a transaction wait for locks. */
import { type Database, raw, sql } from './database.ts'

/**
 * Sets it for the rest of the open transaction, on this server and on each node that takes part in the transaction.
 * @param timeout as PostgreSQL prints it: `200ms`
 */
export async function setLockTimeout(db: Database, timeout: string): Promise<void> {
  if (!db.hasNodes) return void (await db.query(sql`select set_config('lock_timeout', ${timeout}, true)`))
  // Citus repeats on the nodes what is set by SET LOCAL, and not what is set by the function.
  await db.execute(raw("set local citus.propagate_set_commands = 'local'"))
  await db.execute(raw(`set local lock_timeout = '${timeout}'`))
}
