import type { PrincipalSelect } from '../platform/access/access-statement.ts'
import { PRINCIPAL } from '../platform/access/authenticate.ts'
import type { Actor } from '../platform/actor.ts'
import { type Database, empty, type Sql, sql } from '../platform/database/database.ts'
import { labelled } from '../platform/database/statements/statement.ts'
import { selectColumns } from '../platform/http/answers/columns.ts'
import { listWriter } from '../platform/http/answers/row-json.ts'
import type { WrittenList } from '../platform/http/answers/written-json.ts'
import { isMember } from '../spaces/membership.ts'
import { type Notification, type NotificationQuery, notificationColumns } from './schema.ts'

/** An actor, or the principal of the same statement. */
type NotificationReader = Pick<Actor, 'accountId' | 'userId' | 'isOwner'> | typeof PRINCIPAL

/** Returns the user's notifications about tasks and records that they may read, newest first. */
export async function listNotifications(
  db: Database,
  actor: Actor,
  { filter, limit, offset }: NotificationQuery,
): Promise<WrittenList<Notification>> {
  const mine = sql`n.user_id = ${actor.userId} and (${filter === 'all'} or n.read_at is null) and ${mayRead(actor)}`
  const found = await db.page(
    // The total is counted separately, so that a page beyond the end has it, too.
    labelled(
      'notifications:list',
      sql`select page.*, c.total from (select count(*) as total from notifications n where ${mine}) c
      left join lateral (
        select ${COLUMNS} from notifications n where ${mine} order by n.id desc limit ${limit} offset ${offset}
      ) page on true
      order by page.id desc`,
    ),
  )
  return writeNotifications(found)
}

const COLUMNS = selectColumns(notificationColumns, 'n')
const writeNotifications = listWriter<Notification>(notificationColumns)

/** Counts only notifications about tasks and records that the user may read. */
export async function countUnread(db: Database, actor: Actor): Promise<number> {
  const [count] = await db.read<{ unread: number }>(
    labelled(
      'notifications:unread',
      sql`select count(*)::int as unread from notifications n
        where n.user_id = ${actor.userId} and n.read_at is null and ${mayRead(actor)}`,
    ),
  )
  return count?.unread ?? 0
}

/** True if the caller may read the task or record of notification `n`. Others are kept, because the right may return. */
export const mayRead = (reader: NotificationReader): Sql => sql`(${notificationInReach(reader)} and ${MAY_READ_TASK})`

/**
 * True if the user of notification `n` can read its task: a standalone task is visible to creator, assignee and subscribers
 * (contract.md §4, Read). Notifications about deleted tasks stay visible.
 */
export const MAY_READ_TASK = sql`(n.space_id is not null or not exists (
  select 1 from tasks k where k.id = n.task_id and n.user_id not in (k.creator_user_id, k.assignee_user_id)
    and not exists (select 1 from task_subscribers f where f.task_id = k.id and f.user_id = n.user_id)))`

/** True if the notification is about a standalone task, or about a table that the user may see. The tables are read once per statement. */
const notificationInReach = (reader: NotificationReader): Sql => sql`(n.space_id is null or n.table_id in (
    select t.id from tables t where t.deleted_at is null and t.space_id in (${spacesOf(reader)})))`

/**
 * True if the user may see the table of the task, or the task is standalone. Each task is in the space of its table and is deleted with
 * it, so the condition needs the user's spaces and the tables that are deleted but can be restored. They are read once per statement.
 * @param task alias of a row with space_id and table_id
 */
export const taskInReach = (task: Sql, reader: NotificationReader): Sql => sql`(${task}.space_id is null or (
    ${task}.space_id in (${spacesOf(reader)})
    and ${task}.table_id not in (select t.id from tables t where t.account_id = ${reader.accountId} and t.deleted_at is not null)))`

/** Selects the ids of the spaces that the user may see. */
const spacesOf = ({ accountId, userId, isOwner }: NotificationReader): Sql => {
  const joined = sql`s.id in (select m.space_id from space_members m where m.user_id = ${userId})`
  const theirs = isOwner === true ? empty : isOwner === false ? sql`and ${joined}` : sql`and (${isOwner} or ${joined})`
  return sql`select s.id from spaces s where s.deleted_at is null and s.account_id = ${accountId} ${theirs}`
}

/**
 * True if any user may see the table, but only for places in a space. The caller handles standalone tasks.
 * @param user alias of a row of users @param place alias of a row with space_id and table_id
 */
export const canSee = (user: Sql, place: Sql): Sql => sql`(${place}.space_id is null or exists (
  select 1 from tables t join spaces s on s.id = t.space_id and s.deleted_at is null
  where t.id = ${place}.table_id and t.deleted_at is null and ${isMember(user, sql`s.id`)}))`

/** The open tasks of a user that are or may be due, depending on the time zone. */
export interface DueRow {
  /** The tasks that are past due in every zone. */
  past_due: number
  /** The other tasks. */
  near_due: [dueDate: string, dueTime: string | null][] | null
}

/**
 * Reads the tasks in the statement that authenticates the caller. Only then is their zone known, so `countDue` decides what is due.
 * A local date differs from that of UTC by at most a day, and a local day ends before the third day after it in UTC begins.
 */
export const dueOfPrincipal: PrincipalSelect<DueRow> = (date) => {
  const today = sql`${date}::date`
  return sql`
    select count(*) filter (where k.due_date < ${today} - 1)::int as past_due,
      json_agg(json_build_array(k.due_date, k.due_time)) filter (where k.due_date >= ${today} - 1) as near_due
    from tasks k
    where k.assignee_user_id = p.p_user_id and k.status = 'open' and k.due_date <= ${today} + 2 and ${taskInReach(sql`k`, PRINCIPAL)}`
}
