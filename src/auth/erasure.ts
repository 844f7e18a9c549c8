/** What signing in keeps about a user beyond sessions and links, when the user is erased (contract.md §9, People of an account). */
import type { Database } from '../platform/database/database.ts'
import { sql } from '../platform/database/database.ts'
import { DEAD_LETTERS } from '../platform/jobs/queue.ts'
import { sendReset } from './password-reset.ts'

/**
 * Deletes all changes of the address, in the transaction that erases the user.
 * @returns the addresses that the user had before
 */
export async function deleteAddressChanges(db: Database, userId: number): Promise<string[]> {
  const changes = await db.write<{ former_email: string | null }>(
    sql`delete from address_changes where user_id = ${userId} returning former_email`,
  )
  return changes.flatMap(({ former_email }) => former_email ?? [])
}

/** Deletes the rest. It is no part of that transaction, because a sign-in locks these rows before it looks at the user. */
export async function forgetSignIns(db: Database, userId: number, emails: readonly string[]): Promise<void> {
  await db.write(sql`delete from last_seen where user_id = ${userId}`)
  await db.write(sql`delete from login_failures where email = any(${emails}::text[])`)
  // The jobs that mail links for a new password name the address. One that is running finds no user.
  await db.write(sql`
    delete from pgboss.job
    where name in (${sendReset.name}, ${DEAD_LETTERS}) and state <> 'active' and data->>'email' = any(${emails}::text[])`)
}
