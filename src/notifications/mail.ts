/** Mails notifications at once, as an hourly digest, or not at all (contract.md §4; docs/decisions/0011-reminders-and-mail.md). */
import { z } from 'zod'
import type { Context } from '../platform/context.ts'
import { type Database, type Sql, sql } from '../platform/database/database.ts'
import { defineQueue } from '../platform/jobs/queue.ts'
import { tokenHash } from '../platform/secrets/secrets.ts'
import { formatInstant } from '../platform/time/time.ts'
import { startOfHour } from '../platform/time/time-zones.ts'
import { composeLetter, type LetterItem } from './letter.ts'
import { canSee, MAY_READ_TASK } from './queries.ts'
import { placeKey, type RecordPlace, recordTitles } from './record-titles.ts'
import { unsubscribePath } from './unsubscribe.ts'

/** Takes the notifications that are due for mail: each minute, and at once after reminders. */
export const mailWaiting = defineQueue({ name: 'notifications.mail', schema: z.object({}) })

/** Sends one mail to one person, with retries for about five hours. */
export const sendLetter = defineQueue({
  name: 'notifications.letter',
  schema: z.object({ user_id: z.int(), notification_ids: z.array(z.int()) }),
  options: { retryLimit: 12, retryDelay: 15, retryBackoff: true, retryDelayMax: 3_600 },
})
type LetterJob = z.infer<typeof sendLetter.schema>

/** The number of notifications per transaction: an import can create many. */
const BATCH = 5_000

/** A letter refers to the newest of an hour, lists some of them and counts the rest. */
const MAX_PER_LETTER = 1_000

/** Two simultaneous runs could split notifications that belong into one letter, so they exclude each other. */
const MAIL_LOCK = 7_405_011

/**
 * Takes the notifications that are due for mail, and enqueues one letter per person. Each is stamped and enqueued in one transaction,
 * so that it is mailed once. Notifications that were read, or whose user wants no mail, are only stamped.
 */
export async function decideMail(context: Context): Promise<void> {
  while (await decideBatch(context)) {
    // Each batch has its own transaction.
  }
}

/** @returns true if there was any due notification */
async function decideBatch({ db, jobs, mailer, now, transaction }: Context): Promise<boolean> {
  const zones = await db.read<{ timezone: string }>(sql`
    select distinct timezone from users where id in (select user_id from notifications where mailed_at is null)`)
  if (!zones.length) return false
  const hours = zones.map(({ timezone }) => ({ timezone, hour: startOfHour(now, timezone) }))
  const some = await db.read(sql`with ${startingAt(hours)} select ${DUE} limit 1`)
  if (!some.length) return false
  return transaction(async () => {
    await db.write(sql`select pg_advisory_xact_lock(${MAIL_LOCK}::bigint)`)
    const decided = await db.write<LetterJob & { is_wanted: boolean }>(deciding(hours, now))
    const letters = decided.flatMap(({ is_wanted, user_id, notification_ids }) => (is_wanted ? [{ user_id, notification_ids }] : []))
    if (mailer.isConfigured && letters.length) await jobs.sendMany(sendLetter, letters)
    return decided.length > 0
  })
}

interface ZoneHour {
  timezone: string
  /** The start of the current hour there: a digest contains the notifications before it. */
  hour: Date
}

const startingAt = (hours: ZoneHour[]): Sql => sql`
  hours as (
    select * from unnest(${hours.map(({ timezone }) => timezone)}::text[], ${hours.map(({ hour }) => formatInstant(hour))}::timestamp[])
      as h (timezone, hour)
  )`

const deciding = (hours: ZoneHour[], now: Date): Sql => sql`
  with ${startingAt(hours)},
  due as (select ${DUE} order by n.user_id limit ${BATCH}),
  extent as materialized (select count(*) as rows, min(user_id) as first, max(user_id) as last from due),
  decided as (
    update notifications n set mailed_at = ${formatInstant(now)}::timestamp
    -- By an array, so that each is found by its id, whatever the planner believes after an import.
    where n.id = any(array(
      -- The next batch takes the last person, whose notifications may go on there: they are for one letter.
      select d.id from due d, extent e where e.rows < ${BATCH} or d.user_id < e.last or e.first = e.last))
    returning n.id, n.user_id, n.read_at is null as is_unread
  )
  select d.user_id, d.is_unread and u.status = 'active' and u.mail_preference <> 'none' as is_wanted,
    (array_agg(d.id order by d.id desc))[1:${MAX_PER_LETTER}] as notification_ids
  from decided d join users u on u.id = d.user_id group by 1, 2`

/** A condition on notification `n`, user `u` and the hour `h` of their zone. Reminders do not wait for a digest (contract.md §4). */
const IS_DUE = sql`(u.mail_preference = 'at_once' or n.event_type = 'TASK_REMINDER' or n.created_at < h.hour)`

/** What follows `select` for the notifications that are due for mail. */
const DUE = sql`n.id, n.user_id
    from notifications n join users u on u.id = n.user_id join hours h on h.timezone = u.timezone
    where n.mailed_at is null and ${IS_DUE}`

interface Addressee {
  id: number
  email: string
  name: string
  timezone: string
}

/**
 * Sends the letter about the notifications that are still unread and that the user may still see. If the server refuses it, the job
 * is retried. A letter that is sent twice after a crash has the same Message-ID.
 */
export async function mailLetter(
  { db, mailer, settings, now, publicUrl }: Context,
  { user_id, notification_ids }: LetterJob,
): Promise<void> {
  const [reader] = await db.read<Addressee>(sql`
    select id, email, name, timezone from users where id = ${user_id} and status = 'active' and mail_preference <> 'none'`)
  const items = reader ? await readableItems(db, reader.id, notification_ids) : []
  if (!reader || !items.length) return
  const base = publicUrl()
  const unsubscribe = base + unsubscribePath(settings.secretKeys, reader.id)
  await mailer.send({
    to: reader.email,
    ...composeLetter(items, reader, now, { publicUrl: base, unsubscribe }),
    headers: {
      'Message-ID': `<notifications.${tokenHash(`${user_id}:${notification_ids}`).toString('hex').slice(0, 32)}@${new URL(base).hostname}>`,
      'Auto-Submitted': 'auto-generated',
      'List-Unsubscribe': `<${unsubscribe}>`,
      // One-click unsubscribing requires https (RFC 8058). With http the link still opens the page.
      ...(base.startsWith('https:') && { 'List-Unsubscribe-Post': 'List-Unsubscribe=One-Click' }),
    },
  })
}

/** Checks membership again: tasks and records that the user may no longer see, or that were deleted, are left out. */
async function readableItems(db: Database, userId: number, ids: readonly number[]): Promise<LetterItem[]> {
  const found = await db.read<Omit<LetterItem, 'record_title'> & RecordPlace>(sql`
    select n.id, n.event_type, n.message, n.summary, n.url, n.created_at, k.title as task_title, k.due_date, k.due_time,
      t.id as table_id, t.version as table_version, t.name as table_name, n.record_id
    from notifications n
    join users u on u.id = n.user_id
    left join tasks k on k.id = n.task_id
    left join tables t on t.id = n.table_id
    where n.user_id = ${userId} and n.id = any(${ids}::int[]) and n.read_at is null
      and (n.task_id is null or k.id is not null)
      and ${canSee(sql`u`, sql`n`)} and ${MAY_READ_TASK}`)
  const titles = await recordTitles({ db }, found)
  return found
    .filter((item) => item.table_id === null || titles.has(placeKey(item)))
    .map((item) => ({ ...item, record_title: titles.get(placeKey(item)) ?? null }))
}
