/** Audits wrong passwords. Strangers can send any number of them, so the rows that they cause are bounded by a count of their own. */
import type { Context } from '../platform/context.ts'
import { type Database, sql } from '../platform/database/database.ts'
import { formatInstant } from '../platform/time/time.ts'
import { audit } from './log.ts'

/**
 * Counts a wrong password for a user, and audits it unless there were many in a row. An attempt with an unknown address is not audited,
 * because it belongs to no account whose owner could read the row.
 */
export async function auditFailedSignIn(context: Context, { id, accountId }: { id: number; accountId: number }): Promise<void> {
  const { db, now, transaction } = context
  const at = formatInstant(now)
  await transaction(async () => {
    const [row] = await db.write<{ failures: number }>(sql`
      insert into failed_sign_ins (user_id, failures, last_failed_at) values (${id}, 1, ${at}::timestamp)
      on conflict (user_id) do update set last_failed_at = excluded.last_failed_at, failures =
        case when failed_sign_ins.last_failed_at < ${forgottenAt(now)}::timestamp then 1 else failed_sign_ins.failures + 1 end
      returning failures`)
    const failures = row?.failures ?? 1
    if (isWorthAuditing(failures)) await audit(context, 'sign_in.failed', { id, accountId, detail: { failures } })
  })
}

/** Ends the count of a user who has signed in. @returns the failures in a row before, for `detail` */
export async function endFailedSignIns(db: Database, userId: number): Promise<{ failures?: number }> {
  const [row] = await db.write<{ failures: number }>(sql`delete from failed_sign_ins where user_id = ${userId} returning failures`)
  return { ...row }
}

/** The first failures in a row are written one by one, further ones each time that their number has doubled. */
export const isWorthAuditing = (failures: number): boolean => failures <= 5 || Number.isInteger(Math.log2(failures / 5))

/** The count starts again after a day without failures. */
const forgottenAt = (now: Date): string => formatInstant(new Date(now.getTime() - 86_400_000))

export async function deleteForgottenSignIns({ db, now }: Pick<Context, 'db' | 'now'>): Promise<void> {
  await db.write(sql`delete from failed_sign_ins where last_failed_at < ${forgottenAt(now)}::timestamp`)
}
