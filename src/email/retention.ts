/** Deletes raw messages and opens after the time that the operator has set (docs/operations.md, Settings). */
import { z } from 'zod'
import type { Context } from '../platform/context.ts'
import { type Sql, sql } from '../platform/database/database.ts'
import { defineQueue } from '../platform/jobs/queue.ts'
import { formatInstant } from '../platform/time/time.ts'
import { verdictsAside } from './inbound/parked.ts'

export const forgetMail = defineQueue({ name: 'email.forget-mail', schema: z.object({}) })

/** Rows per statement, because raw messages are large. */
const BATCH = 500
const DAY_MS = 86_400_000

/** Deletes raw inbound messages and opens that are too old. The comments stay. */
export async function removeOldMail({ db, now, settings: { keepRawMailDays, keepOpensDays } }: Context): Promise<void> {
  const before = (days: number) => sql`${formatInstant(new Date(now.getTime() - days * DAY_MS))}::timestamp`
  const inBatches = async (statement: Sql) => {
    while ((await db.write(statement)).changed === BATCH);
  }
  await inBatches(sql`
    delete from email_opens where id in (select id from email_opens where opened_at < ${before(keepOpensDays)} order by id limit ${BATCH})`)
  // A message that is not processed yet is kept, because a job still needs it, and one for a record that may be restored, too.
  if (keepRawMailDays !== undefined)
    await inBatches(sql`
      with old as (
        delete from inbound_emails where id in (
          select e.id from inbound_emails e
          where e.received_at < ${before(keepRawMailDays)} and e.processed_at is not null
            and not exists (${verdictsAside(sql`e.id`)} and d.content->>'verdict' is null) order by e.id limit ${BATCH})
        returning id
      ), verdicts as (delete from inbound_verdicts v using old where v.inbound_email_id = old.id)
      select id from old`)
}
