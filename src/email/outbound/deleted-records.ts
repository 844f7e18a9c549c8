/** What becomes of the emails of deleted records, and of the messages that answer them. */
import { type Database, type Sql, sql } from '../../platform/database/database.ts'
import { labelled } from '../../platform/database/statements/statement.ts'
import type { Cascade } from '../../tables/cascade.ts'
import { belongingTo } from '../../tables/deleted/rows.ts'
import { queueReturned } from '../inbound/store.ts'
import { forgetMessages } from '../inbound/verdicts.ts'
import { mails } from '../metrics.ts'
import { DROPPED_AT_ONCE, dropWaiting } from './dropping.ts'
import { failedForAll } from './outcome.ts'

const RECORD_DELETED = failedForAll({
  kind: 'permanent',
  code: 'RECORD_DELETED',
  enhanced: null,
  message: 'The record was deleted before the mail was sent',
})

/**
 * The emails of a record go and come back with it, with their opens, their reply addresses, and what was received for these. Emails that
 * wait are dropped; one that is being handed over is not, and its outcome may stay unknown.
 */
export const mailCascade: Cascade = {
  rows: [
    { table: 'email_opens', through: { owner: 'outbound_emails', owns: sql`o.comment_id = x.comment_id` } },
    { table: 'outbound_emails' },
    { table: 'inbound_deliveries', through: { owner: 'reply_tokens', owns: sql`o.token_hash = x.token_hash` } },
    { table: 'inbound_verdicts', through: { owner: 'reply_tokens', owns: sql`o.token_hash = x.token_hash` } },
    { table: 'reply_tokens' },
  ],

  // A message that answers an email locks the reply address first, and the record when it becomes a comment (queries.ts, lockedThread).
  async lockBeforeRecords({ db }, tableId, recordIds) {
    const addresses = sql`
      select from reply_tokens r where ${belongingTo(sql`r`, tableId, recordIds)} order by r.token_hash for update`
    await db.read(labelled('lock-reply-addresses', addresses))
  },

  async onRecordsDeleted(context, tableId, recordIds) {
    const waiting = labelled(
      'mails-of-records',
      sql`
      select o.comment_id, c.metadata from outbound_emails o join record_comments c on c.id = o.comment_id
      where ${belongingTo(sql`o`, tableId, recordIds)} and o.due_at is not null and o.attempted_at is null
      order by o.comment_id limit ${DROPPED_AT_ONCE} for update of o, c`,
    )
    const dropped = await dropWaiting(context, waiting, RECORD_DELETED, { isReported: false })
    if (dropped) context.metrics.count(mails, { state: 'dropped' }, dropped)
  },

  onRecordsRestored: queueReturned,
  async onRecordsPurged({ db }, tableId, recordIds) {
    const going = belongingTo(sql`d`, tableId, recordIds)
    await forgetMessages(db, await messagesAside(db, going), going)
  },

  async onTablePurged({ db }, tableId) {
    const going = belongingTo(sql`d`, tableId, null)
    const received = await db.write<{ id: number }>(sql`
      delete from inbound_verdicts v using reply_tokens r
      where r.token_hash = v.token_hash and r.table_id = ${tableId} returning v.inbound_email_id as id`)
    await forgetMessages(db, [...idsOf(received), ...(await messagesAside(db, going))], going)
  },
}

/** The messages whose verdicts lie aside. @param which the condition on their rows `d` */
async function messagesAside(db: Database, which: Sql): Promise<number[]> {
  const received = await db.read<{ id: number }>(sql`
    select distinct (d.content->>'inbound_email_id')::int as id from deleted_rows d where d.source = 'inbound_verdicts' and ${which}`)
  return idsOf(received)
}

const idsOf = (rows: readonly { id: number }[]) => rows.map(({ id }) => id)
