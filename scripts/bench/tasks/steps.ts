/** Measures of tasks besides requests: the sweep of due reminders, and a comment that mentions many users. */
import { setTimeout as sleep } from 'node:timers/promises'
import { type Sql, sql } from '../../../src/platform/database/database.ts'
import { api } from '../api.ts'
import type { Bench } from '../case.ts'
import { median } from '../measure.ts'
import type { Filled } from './data.ts'

const REMINDERS = 10_000
const SWEEP_GOAL_S = 2
/** The service sweeps every minute. */
const SWEPT_WITHIN_MS = 90_000
const POLL_MS = 20

/** Makes reminders due and waits for the service's own sweep, while another session goes on editing the same tasks. */
export async function sweepReminders(bench: Bench, { secret, userId }: Filled): Promise<void> {
  const { db, url, account } = bench
  await db.write(sql`update users set mail_preference = 'none' where account_id = ${account.accountId}`)
  const marked: Sql = sql`account_id = ${account.accountId} and reminder_at <= localtimestamp and reminder_sent_at is null and not reminder_missed and status = 'open'`
  await db.write(sql`
    update tasks set reminder_time = '09:00', reminder_at = now()::timestamp(0) - interval '1 minute', reminder_sent_at = null, reminder_missed = false
    where id in (select id from tasks where account_id = ${account.accountId} and status = 'open' and due_time is null and due_date is not null
      order by (assignee_user_id = ${userId}) desc, id limit ${REMINDERS})`)
  const left = async () => (await db.read<{ n: number }>(sql`select count(*) as n from tasks where ${marked}`))[0]?.n ?? 0
  const [own] = await db.read<{ id: number }>(
    sql`select id from tasks where ${marked} and assignee_user_id = ${userId} order by id desc limit 1`,
  )

  const writer = api(url, { authorization: `Bearer ${secret}` })
  const waits: number[] = []
  let [first, last] = [Number.NaN, Number.NaN]
  const deadline = performance.now() + SWEPT_WITHIN_MS
  for (let n = REMINDERS; n > 0; n = await left()) {
    if (performance.now() > deadline) throw new Error(`${n} reminders are still waiting`)
    if (n === REMINDERS) first = performance.now()
    const from = performance.now()
    await writer('POST', `/api/task/${own?.id}/update`, { details: `Edited at ${from}` })
    waits.push(performance.now() - from)
    await sleep(POLL_MS)
    last = performance.now()
  }
  const seconds = (last - first) / 1_000
  console.log(
    `\nA sweep of ${REMINDERS} due reminders: ${seconds.toFixed(1)} s (goal ${SWEEP_GOAL_S}${seconds < SWEEP_GOAL_S ? '' : ', missed'}); ` +
      `during the sweep an edit of such a task took ${median(waits).toFixed(0)} ms at the median, ${Math.max(...waits).toFixed(0)} ms at most.`,
  )
}

const COMMENTS = 20

/** Times a comment that mentions fifty users, and one that mentions none. */
export async function mentionMany({ url, db }: Bench, { secret, taskIds, memberIds }: Filled): Promise<void> {
  const writer = api(url, { authorization: `Bearer ${secret}` })
  const names = await db.read<{ id: number; name: string }>(sql`select id, name from users where id = any(${memberIds}::int[])`)
  const mentions = names.map(({ id, name }) => `@{${id}:${name}}`).join(' ')
  const times = { none: [] as number[], many: [] as number[] }
  for (const taskId of taskIds.slice(0, COMMENTS)) {
    for (const [kind, content] of [
      ['none', 'Please look'],
      ['many', `Please look, ${mentions}`],
    ] as const) {
      const from = performance.now()
      await writer('POST', `/api/task/${taskId}/comments/create`, { content })
      times[kind].push(performance.now() - from)
    }
  }
  console.log(
    `\nA comment: ${median(times.none).toFixed(1)} ms; one that mentions ${memberIds.length} people, who follow the task and are told: ${median(times.many).toFixed(1)} ms.`,
  )
}
