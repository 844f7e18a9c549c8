/** Settings of PostgreSQL for one transaction. */
import { type Database, raw, sql } from './database.ts'

/**
 * Sets it for the rest of the open transaction, on this server and on each node that takes part in the transaction.
 * @param setting `lock_timeout`, for how long statements wait for locks, or `enable_seqscan`
 * @param value as PostgreSQL prints it: `200ms`
 */
export async function setLocal(db: Database, setting: 'lock_timeout' | 'enable_seqscan', value: string): Promise<void> {
  if (!db.hasNodes) return void (await db.write(sql`select set_config(${setting}, ${value}, true)`))
  // Citus repeats on the nodes what is set by SET LOCAL, and not what is set by the function.
  await db.write(raw("set local citus.propagate_set_commands = 'local'"))
  await db.write(raw(`set local ${setting} = '${value}'`))
}
