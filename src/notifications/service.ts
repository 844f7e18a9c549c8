import type { Resource } from '../platform/access/authorize.ts'
import type { Context } from '../platform/context.ts'
import { sql } from '../platform/database/database.ts'
import type { WrittenList } from '../platform/http/answers/written-json.ts'
import type { RecordPath } from '../platform/http/procedures/schemas.ts'
import { formatInstant } from '../platform/time/time.ts'
import type { Cascade } from '../tables/cascade.ts'
import { countDue } from './due.ts'
import { canSee, countUnread, type DueRow, listNotifications, MAY_READ_TASK, mayRead } from './queries.ts'
import type { MarkedRead, Notification, NotificationQuery, ReadState, UnreadCount } from './schema.ts'

/** Notifications about a record and its tasks go and come back with it. */
export const notificationCascade: Cascade = { rows: [{ table: 'notifications' }] }

/** The caller's own notification in the path. One about a task or record that the caller may no longer read is not found. */
export const notificationResource: Resource<{ notification_id: number }> = {
  ids: [{ name: 'id', thing: 'Notification', found: 'notification_id' }],
  select: ({ id }) => sql`
    select n.id as notification_id from notifications n join users u on u.id = n.user_id
    where n.id = ${id} and n.user_id = p.p_user_id and ${canSee(sql`u`, sql`n`)} and ${MAY_READ_TASK}`,
  check: () => {},
}

/** Returns the caller's notifications about tasks and records that they may read, newest first. */
export async function list({ db, actor }: Context, query: NotificationQuery): Promise<WrittenList<Notification>> {
  return listNotifications(db, actor, query)
}

/** Returns the counts of the caller's badge. @param due the tasks that were read with the caller's credentials */
export async function unreadCount({ db, actor, now }: Context, due: DueRow): Promise<UnreadCount> {
  return { unread: await countUnread(db, actor), tasksDue: countDue(due, actor, now).count }
}

/** Marks one notification. Marking it again keeps the first instant. A read notification is also seen. */
export async function mark({ db, now }: Context, { notification_id: id }: { notification_id: number }, read: boolean): Promise<ReadState> {
  const at = formatInstant(now)
  await db.write(
    read
      ? sql`
        update notifications set read_at = coalesce(read_at, ${at}::timestamp), seen_at = coalesce(seen_at, ${at}::timestamp)
        where id = ${id}`
      : sql`update notifications set read_at = null where id = ${id}`,
  )
  return { id, read }
}

/** Marks the caller's unread notifications about a record and its tasks. */
export async function markRecordRead({ db, actor, now }: Context, { table_id, record_id }: RecordPath): Promise<MarkedRead> {
  const at = formatInstant(now)
  const marked = await db.write(
    sql`update notifications n set read_at = ${at}::timestamp, seen_at = coalesce(seen_at, ${at}::timestamp)
      where n.user_id = ${actor.userId} and n.table_id = ${table_id} and n.record_id = ${record_id} and n.read_at is null
      returning n.id`,
  )
  return { read: marked.length }
}

/** Marks all notifications that the caller may read. */
export async function markAllRead({ db, actor, now }: Context): Promise<void> {
  const at = formatInstant(now)
  await db.write(
    sql`update notifications n set read_at = ${at}::timestamp, seen_at = coalesce(seen_at, ${at}::timestamp)
      where n.user_id = ${actor.userId} and n.read_at is null and ${mayRead(actor)}`,
  )
}
