/** Sending reminders: a sweep every minute claims those that are due, so that none is lost in a downtime and none sent twice (design.md §5). */

import { emitting } from '../../events/log.ts'
import { mailWaiting } from '../../notifications/mail.ts'
import { notificationEvents, notifyingEach } from '../../notifications/notify.ts'
import type { Context } from '../../platform/context.ts'
import { type Sql, sql } from '../../platform/database/database.ts'
import { formatInstant } from '../../platform/time.ts'
import { taskEvents } from '../events.ts'
import { type DueTask, reminded } from '../notices.ts'
import { assigneeSees } from '../queries.ts'

/** Claimed in one transaction: so long a writer may wait who wants one of these rows. */
const BATCH = 500

/** Somebody else held a row that is due: the sweep looks again this much later. */
const AGAIN_AFTER_MS = 5_000

interface DueReminder extends DueTask {
  id: number
  reminder_at: string
  /** Whether the assignee exists and may see the task. */
  can_see: boolean
}

/**
 * Sends all reminders that are due, in the order in which they fell due: stamps each task and notifies its assignee. Any number of
 * sweeps may run at once, and one may die at any point.
 * @param again runs the sweep once more at that time, because rows that are due were locked
 */
export async function sweepReminders(context: Context, again: (at: Date) => Promise<void>): Promise<void> {
  let count = 0
  for (let batch = await sendBatch(context); batch; batch = await sendBatch(context)) count += batch
  // Reminders are mailed at once; should this be lost, the next minute's run finds them.
  if (count) await context.jobs.send(mailWaiting, {})
  const [left] = await context.db.query<{ exists: boolean }>(
    sql`select exists (select 1 from tasks k where ${isDue(context.now)}) as exists`,
  )
  if (left?.exists) await again(new Date(context.now.getTime() + AGAIN_AFTER_MS))
}

/** @returns how many reminders were decided */
async function sendBatch({ db, now, transaction }: Context): Promise<number> {
  return transaction(async () => {
    // Judged again once a row is locked: what was done, deleted or moved at this moment is left alone. Comments do not wait for it.
    const due = await db.query<DueReminder>(sql`
      select k.id, k.title, k.due_date, k.due_time, k.reminder_at,
        exists (select 1 from users u where u.id = k.assignee_user_id and ${assigneeSees(sql`k`, sql`u`)}) as can_see
      from tasks k where ${isDue(now)} order by k.reminder_at, k.id limit ${BATCH} for no key update of k skip locked`)
    if (!due.length) return 0
    await db.execute(deciding(due, now))
    return due.length
  })
}

const isDue = (now: Date): Sql => sql`k.reminder_at <= ${formatInstant(now)}::timestamp
  and k.reminder_at is not null and k.reminder_sent_at is null and not k.reminder_missed and k.status = 'open'`

/** Stamps all of them and tells of it: one statement. The version stays, because nobody has edited the task. */
function deciding(due: DueReminder[], now: Date): Sql {
  const at = sql`${formatInstant(now)}::timestamp`
  const notices = due.map((task) => reminded(task, now))
  return sql`
    with due as (
      select * from unnest(${due.map(({ id }) => id)}::int[], ${due.map(({ can_see }) => can_see)}::bool[],
        ${notices.map(({ message }) => message)}::text[], ${notices.map(({ summary }) => summary)}::text[])
        with ordinality as d (id, is_sent, message, summary, position)
    ),
    stamped as (
      update tasks k set reminder_sent_at = case when d.is_sent then ${at} end, reminder_missed = not d.is_sent, updated_at = ${at}
      from due d where d.id = k.id
      returning k.*, d.is_sent, d.message, d.summary, d.position
    ),
    notified as (${notifyingEach(
      sql`select assignee_user_id as user_id, account_id, space_id, table_id, record_id, id as task_id, message, summary
        from stamped where is_sent order by position`,
      'TASK_REMINDER',
      now,
    )})
    ${emitting([taskEvents('task.updated', sql`stamped`), notificationEvents(sql`notified`)], now)}`
}
