/** Sending reminders. A sweep every minute claims those that are due, so that no reminder is lost in a downtime or sent twice. */

import { emitting } from '../../events/log.ts'
import { mailWaiting } from '../../notifications/mail.ts'
import { notificationEvents, notifyingEach } from '../../notifications/notify.ts'
import type { Context } from '../../platform/context.ts'
import { type Sql, sql } from '../../platform/database/database.ts'
import { labelled } from '../../platform/database/statements/statement.ts'
import { formatInstant } from '../../platform/time/time.ts'
import { taskEvents } from '../events.ts'
import { type DueTask, reminded } from '../notices.ts'
import { assigneeSees } from '../queries.ts'

/** Reminders per transaction. A request that updates one of these tasks waits for the whole batch. */
const BATCH = 500

/** The delay before the next sweep when another transaction had locked a due task. */
const RETRY_AFTER_MS = 5_000

interface DueReminder extends DueTask {
  id: number
  reminder_at: string
  /** Whether the assignee exists and may see the task. */
  can_see: boolean
}

/**
 * Sends all due reminders, in the order of their instants: stamps each task and notifies its assignee. Any number of sweeps may run
 * concurrently, and each may die at any point.
 * @param retry queues another sweep, because due tasks were locked
 */
export async function sweepReminders(context: Context, retry: (at: Date) => Promise<void>): Promise<void> {
  if (!(await isAnyDue(context))) return
  let count = 0
  for (let batch = await sendBatch(context); batch; batch = await sendBatch(context)) count += batch
  // Reminders are mailed without delay. If this job is lost, that of the next minute finds them.
  if (count) await context.jobs.send(mailWaiting, {})
  if (await isAnyDue(context)) await retry(new Date(context.now.getTime() + RETRY_AFTER_MS))
}

async function isAnyDue({ db, now }: Context): Promise<boolean> {
  const due = await db.read(labelled('some-reminder-due', sql`select from tasks k where ${isDue(now)} limit 1`))
  return due.length > 0
}

/** @returns the number of reminders that were sent or marked as missed */
async function sendBatch({ db, now, transaction }: Context): Promise<number> {
  return transaction(async () => {
    // PostgreSQL tests the condition again once a row is locked, so a concurrent completion or deletion counts. The lock allows comments.
    const due = await db.read<DueReminder>(sql`
      select k.id, k.title, k.due_date, k.due_time, k.reminder_at,
        exists (select 1 from users u where u.id = k.assignee_user_id and ${assigneeSees(sql`k`, sql`u`)}) as can_see
      from tasks k where ${isDue(now)} order by k.reminder_at, k.id limit ${BATCH} for no key update of k skip locked`)
    if (!due.length) return 0
    await db.write(sending(due, now))
    return due.length
  })
}

const isDue = (now: Date): Sql => sql`k.reminder_at <= ${formatInstant(now)}::timestamp
  and k.reminder_at is not null and k.reminder_sent_at is null and not k.reminder_missed and k.status = 'open'`

/** The statement that stamps the tasks and notifies their assignees. The version stays, because the task was not edited. */
function sending(due: DueReminder[], now: Date): Sql {
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
