/**
 * Faults of an integration, as against those of a mail: the server refuses the connection or the sign-in, or its certificate is not valid.
 * Its mails then wait for up to two days, and one of them at a time tries the server again.
 */
import { emitting } from '../../events/log.ts'
import { notificationEvents, notifying } from '../../notifications/notify.ts'
import { systemActor } from '../../platform/actor.ts'
import type { Context } from '../../platform/context.ts'
import { type Database, type Sql, sql } from '../../platform/database/database.ts'
import { formatInstant } from '../../platform/time/time.ts'
import type { Failure } from '../smtp/failure.ts'

/** The integration of an email as the attempt has used it, and the record of the email. */
interface UsedIntegration {
  integration_id: number
  version: number | null
  account_id: number
  space_id: number
  table_id: number
  record_id: number
}

const PATIENCE_MS = 48 * 3_600_000

/** The mails that were queued before this instant have waited for their integration long enough. */
export const patienceEnd = (now: Date): Date => new Date(now.getTime() - PATIENCE_MS)

/** The pause doubles from a minute to an hour. Half of it is random, so that integrations of one server do not return together. */
const PAUSE = sql`least(60 * power(2, least(faults, 10)), 3600) * (0.5 + random() / 2) * interval '1 second'`

/** Marks an integration as failing, unless it was changed since the attempt, and tells the admins of its space when it was not before. */
export async function markFailing({ db, now }: Context, used: UsedIntegration, { message }: Failure): Promise<void> {
  const [failing] = await db.write<{ label: string; is_new: boolean }>(sql`
    update smtp_integrations set faults = faults + 1, failing_since = coalesce(failing_since, ${formatInstant(now)}::timestamp),
      failing_message = ${message}, paused_until = localtimestamp + ${PAUSE}
    where id = ${used.integration_id} and version = ${used.version} and (paused_until is null or paused_until <= localtimestamp)
    returning label, faults = 1 as is_new`)
  if (!failing?.is_new) return
  const notice = {
    event_type: 'SMTP_FAILING' as const,
    message: `Mail through “${failing.label}” is held back, because its server cannot be used.`,
    summary: message,
  }
  await db.write(sql`
    with notified as (${notifying(adminsOf(used), notice, systemActor, now)}),
    emitted as (${emitting([notificationEvents(sql`notified`)], now)})
    select 1`)
}

/** The admins of the space, with the account's owner, and the record of the email as the place of their notification. */
const adminsOf = ({ account_id, space_id, table_id, record_id }: UsedIntegration): Sql => sql`
  select u.user_id, ${account_id}::int as account_id, ${space_id}::int as space_id, ${table_id}::int as table_id,
    ${record_id}::int as record_id, null::int as task_id
  from (
    select user_id from space_members where space_id = ${space_id} and role = 'admin'
    union select owner_user_id from accounts where id = ${account_id} and owner_user_id is not null
  ) u`

/** Lets the mails of an integration go on at once: its server was reached, or an admin has changed or tested it. */
export async function resume(db: Pick<Database, 'write'>, integrationId: number): Promise<void> {
  await db.write(sql`
    update smtp_integrations set faults = 0, failing_since = null, failing_message = null, paused_until = null
    where id = ${integrationId} and failing_since is not null`)
}
