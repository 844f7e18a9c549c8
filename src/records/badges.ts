/** What there is about the records of a page beside their fields: tasks, comments and notifications (contract.md §9). */
import type { Context } from '../platform/context.ts'
import { sql } from '../platform/database/database.ts'
import { labelled } from '../platform/database/statements/statement.ts'
import { formatInstant } from '../platform/time/time.ts'
import { localDate } from '../platform/time/time-zones.ts'
import type { Badges } from './schema.ts'

/**
 * Reads the badges of the records with one statement. A task without a time is overdue once its day is over where the caller is, a task
 * with a time at its instant (contract.md §4, badgeCount). An account key is nobody, so it has no unread notifications.
 */
export async function readBadges(
  { db, actor, now, signal }: Pick<Context, 'db' | 'actor' | 'now' | 'signal'>,
  tableId: number,
  recordIds: readonly number[],
): Promise<Map<number, Badges>> {
  if (!recordIds.length) return new Map()
  const userId = actor.kind === 'account' ? null : actor.userId
  const isOverdue = sql`case when k.due_time is null then k.due_date < ${localDate(now, actor.timeZone)}::date
    else k.due_date + k.due_time < ${formatInstant(now)}::timestamp end`
  const rows = await db.read<Badges & { id: number }>(
    labelled(
      'record-badges',
      sql`select o.id, k.open_tasks, k.overdue_tasks, c.comments, u.unread from unnest(${recordIds}::int[]) o (id)
        cross join lateral (select count(*)::int as open_tasks, count(*) filter (where ${isOverdue})::int as overdue_tasks from tasks k
          where k.table_id = ${tableId} and k.record_id = o.id and k.status = 'open') k
        cross join lateral (select count(*)::int as comments from record_comments c
          where c.table_id = ${tableId} and c.record_id = o.id) c
        cross join lateral (select case when ${userId}::int is not null then count(*)::int end as unread from notifications n
          where n.user_id = ${userId} and n.table_id = ${tableId} and n.record_id = o.id and n.read_at is null) u`,
    ),
    { signal },
  )
  return new Map(rows.map(({ id, ...badges }) => [id, badges]))
}
