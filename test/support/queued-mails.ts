import { expect } from 'vitest'
import { sql } from '../../src/platform/database/database.ts'
import type { TestApp } from './app.ts'

/** Takes the mails of earlier tests out of the queue. Those that are on their way go on. */
export async function forgetQueuedMails({ db }: TestApp): Promise<void> {
  await db.transaction(async () => {
    // The worker changes many mails in one statement, too, and in an order of its own: without the lock the two can deadlock.
    await db.write(sql`lock table outbound_emails in exclusive mode`)
    await db.write(sql`update outbound_emails set due_at = null`)
  })
}

/** Waits until no mail is on its way any more: one that an earlier test has left behind would arrive during the next one. */
export async function untilNoneIsOnItsWay({ db }: TestApp): Promise<void> {
  await expect.poll(() => db.read(sql`select comment_id from outbound_emails where leased_until > localtimestamp`)).toEqual([])
}
