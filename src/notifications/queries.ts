import type { Actor } from '../access.ts'
import { type Database, empty, type Sql, sql } from '../db.ts'
import { isMember } from '../spaces/membership.ts'
import { dayRange, formatInstant, localDate } from '../time.ts'
import type { Notification, NotificationQuery } from './schema.ts'

/** The user's notifications of what they may read, newest first. */
export async function listNotifications(
  db: Database,
  actor: Actor,
  { filter, limit, offset }: NotificationQuery,
): Promise<{ rows: Notification[]; total: number }> {
  const mine = sql`n.user_id = ${actor.userId} and (${filter === 'all'} or n.read_at is null) and ${mayRead(actor)}`
  const found = await db.query<Notification & { total: number; id: number | null }>(
    // The count beside the page: a page beyond the end still tells the total.
    sql`select c.total, page.* from (select count(*)::int as total from notifications n where ${mine}) c
      left join lateral (
        select n.id, n.user_id, n.actor_user_id, n.account_id, n.space_id, n.table_id, n.record_id, n.task_id, n.event_type,
          n.message, n.url, n.summary, n.seen_at, n.read_at, n.created_at
        from notifications n where ${mine} order by n.id desc limit ${limit} offset ${offset}
      ) page on true
      order by page.id desc`,
    'notifications:list',
  )
  return { total: found[0]?.total ?? 0, rows: found.flatMap(({ total: _, ...row }) => (row.id === null ? [] : [row])) }
}

/** Of what they may read. */
export async function countUnread(db: Database, actor: Actor): Promise<number> {
  const [count] = await db.query<{ unread: number }>(
    sql`select count(*)::int as unread from notifications n where n.user_id = ${actor.userId} and n.read_at is null and ${mayRead(actor)}`,
    'notifications:unread',
  )
  return count?.unread ?? 0
}

/** Whether the caller may still read of what notification `n` tells of: it is kept for when they may again. */
export const mayRead = (actor: Actor): Sql => sql`(${inReach(sql`n`, actor)} and ${CONCERNS})`

/**
 * Whether notification `n` tells its user of a task that they can find: a standalone one shows itself to creator, assignee and
 * subscribers (contract.md §4, Read). What was told of a task that is deleted stays told.
 */
export const CONCERNS = sql`(n.space_id is not null or not exists (
  select 1 from tasks k where k.id = n.task_id and n.user_id not in (k.creator_user_id, k.assignee_user_id)
    and not exists (select 1 from task_subscribers f where f.task_id = k.id and f.user_id = n.user_id)))`

/**
 * Whether the user may still see where the task is: a standalone task is nowhere. It asks for all tables that they see, once a statement,
 * instead of for each task.
 * @param task alias of a row with space_id and table_id
 */
export const inReach = (task: Sql, { accountId, userId, isOwner }: Actor): Sql => {
  const theirs = isOwner ? empty : sql`and s.id in (select m.space_id from space_members m where m.user_id = ${userId})`
  return sql`(${task}.space_id is null or ${task}.table_id in (
    select t.id from tables t join spaces s on s.id = t.space_id
    where t.deleted_at is null and s.deleted_at is null and s.account_id = ${accountId} ${theirs}))`
}

/**
 * The same for anybody, of what is in a space; what is nowhere is left to the caller.
 * @param user alias of a row of users @param place alias of a row with space_id and table_id
 */
export const canSee = (user: Sql, place: Sql): Sql => sql`(${place}.space_id is null or exists (
  select 1 from tables t join spaces s on s.id = t.space_id and s.deleted_at is null
  where t.id = ${place}.table_id and t.deleted_at is null and ${isMember(user, sql`s.id`)}))`

/**
 * What a badge shows: the user's open tasks that are due today or overdue, and how many are past due. A task without
 * a time is compared with the local calendar date, one with a time is an instant (contract.md §4, badgeCount).
 */
export async function countDueTasks(db: Database, actor: Actor, now: Date): Promise<{ count: number; overdue: number }> {
  const today = localDate(now, actor.timeZone)
  const endOfToday = formatInstant(dayRange(today, actor.timeZone).to)
  // Up to here an index finds what may be due; dates of timed tasks are those of UTC.
  const latest = [today, endOfToday.slice(0, 10)].sort().at(-1)
  const [counts] = await db.lookUp<{ count: number; overdue: number }>(
    sql`select count(*)::int as count,
        count(*) filter (where case when k.due_time is null then k.due_date < ${today}::date
          else k.due_date + k.due_time < ${formatInstant(now)}::timestamp end)::int as overdue
      from tasks k
      where k.assignee_user_id = ${actor.userId} and k.status = 'open' and k.due_date <= ${latest}::date and ${inReach(sql`k`, actor)}
        and case when k.due_time is null then k.due_date <= ${today}::date
          else k.due_date + k.due_time < ${endOfToday}::timestamp end`,
    'tasks:due',
  )
  return counts ?? { count: 0, overdue: 0 }
}
