/** What an account stores, and its limit. */

import type { Context } from '../../platform/context.ts'
import { type Database, sql } from '../../platform/database/database.ts'
import { labelled } from '../../platform/database/statements/statement.ts'
import { AppError } from '../../platform/errors.ts'
import { totalOfAll } from '../../tables/row-counts.ts'
import type { Usage } from './schema.ts'

const MB = 1_048_576

/** The counts of the acting user's account. Large tables have tallies, so that their records are not counted one by one. */
export async function usage(context: Context): Promise<Usage> {
  const { db, actor, settings } = context
  const { files, bytes } = await storedBy(db, actor.accountId)
  const [counts] = await db.read<{ tasks: number; mails: number }>(sql`
    select (select count(*) from tasks where account_id = ${actor.accountId}) as tasks,
      (select count(*) from record_comments where account_id = ${actor.accountId} and type <> 'comment') as mails`)
  const limit = settings.storageLimitMb === undefined ? null : settings.storageLimitMb * MB
  return { files, bytes, limit, records: await recordsOfAccount(context), tasks: counts?.tasks ?? 0, mails: counts?.mails ?? 0 }
}

/** The stored files of the account, dropped ones and uploads included, because they take room until they are deleted. */
async function storedBy(db: Database, accountId: number): Promise<{ files: number; bytes: number }> {
  const [stored] = await db.read<{ files: number; bytes: number }>(
    labelled(
      'files:stored-by',
      sql`select coalesce(sum(files), 0)::int8 as files, coalesce(sum(bytes), 0)::int8 as bytes
      from file_tallies where account_id = ${accountId}`,
    ),
  )
  return stored ?? { files: 0, bytes: 0 }
}

async function recordsOfAccount({ db, actor, signal }: Context): Promise<number> {
  const tables = await db.read<{ id: number }>(sql`
    select t.id from tables t join spaces s on s.id = t.space_id
    where t.account_id = ${actor.accountId} and t.deleted_at is null and s.deleted_at is null order by t.id`)
  const ids = tables.map(({ id }) => id)
  return totalOfAll(db, ids, signal)
}

/** First key of the advisory lock that an upload takes while it is checked against the limit. */
const STORING = 7_301

/**
 * Runs `insert`, which inserts the row of a file, if the account has room for it. Uploads of an account wait for each other from here to
 * the end of the transaction, so two at once cannot both take the last room. Received mail is stored even above the limit.
 * @throws AppError 413
 */
export async function withinLimit(context: Context, accountId: number, size: number, insert: () => Promise<void>): Promise<void> {
  const { db, actor, settings } = context
  const limitMb = settings.storageLimitMb
  if (limitMb === undefined || actor.kind === 'system') return insert()
  await db.transaction(async () => {
    await db.write(sql`select pg_advisory_xact_lock(${STORING}::int, ${accountId}::int)`)
    await requireSpace(db, accountId, size, limitMb)
    await insert()
  })
}

/**
 * Refuses an upload of at least `size` bytes to the acting user's account before they are received. `withinLimit` decides afterwards.
 * @throws AppError 413
 */
export async function requireRoom({ db, actor, settings }: Context, size: number): Promise<void> {
  const limitMb = settings.storageLimitMb
  if (limitMb !== undefined && size > 0) await requireSpace(db, actor.accountId, size, limitMb)
}

async function requireSpace(db: Database, accountId: number, size: number, limitMb: number): Promise<void> {
  const { bytes } = await storedBy(db, accountId)
  if (bytes + size > limitMb * MB)
    throw new AppError('PAYLOAD_TOO_LARGE', `The account may store at most ${limitMb} MB, and ${(bytes / MB).toFixed(1)} MB are in use`)
}

/** Beyond this number the tallies of an account are replaced by their sum. */
const MANY_TALLIES = 200

/** Replaces many tallies of an account by one. Only the rows that the statement sees are replaced, so that no upload waits. */
export async function sumUpTallies({ db, transaction }: Context): Promise<void> {
  const due = await db.read<{ account_id: number }>(
    sql`select account_id from file_tallies group by account_id having count(*) > ${MANY_TALLIES} order by account_id`,
  )
  for (const { account_id } of due) {
    await transaction(async () => {
      await db.write(sql`select pg_advisory_xact_lock(${STORING}::int, ${account_id}::int)`)
      await db.write(sql`
        with summed as (delete from file_tallies where account_id = ${account_id} returning files, bytes)
        insert into file_tallies (account_id, files, bytes) select ${account_id}, sum(files), sum(bytes) from summed having count(*) > 0`)
    })
  }
}
