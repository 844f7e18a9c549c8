/** What notifications keep of a user who was erased (contract.md §9, People of an account): their own, and the name in others. */
import { erasedName, type UserRef } from '../accounts/user-status.ts'
import { type Database, ident, type Sql, sql } from '../platform/database/database.ts'
import { changeRowsAside, rowsAside } from '../tables/deleted/rows.ts'
import type { NotificationType } from './notify.ts'

const AT_ONCE = 1_000

/** Deletes notifications of an erased user. What a mail of the moment has locked is left out. @returns whether there may be more */
export async function deleteNotifications(db: Database, userId: number): Promise<boolean> {
  const { changed } = await db.write(sql`
    delete from notifications where id = any(array(
      select id from notifications where user_id = ${userId} order by id limit ${AT_ONCE} for update skip locked))`)
  return changed > 0
}

/** The notifications that quote a comment. */
const QUOTING: NotificationType[] = ['TASK_COMMENT', 'COMMENT', 'task.comment.mention', 'comment.mention']

/** How the messages of comments/notices.ts and tasks/notices.ts go on after the name of who has acted. */
const ACTED = '^.*?( (?:commented on|mentioned you on|assigned you|completed|reopened) )'

/**
 * Gives an erased user the new name in the notifications of others: as who has acted, and where a comment that is quoted mentions them.
 * @param names with which comments have mentioned the user
 * @param ids the first and the last notification to look at
 * @param waits whether to wait for notifications that another statement has locked
 * @returns how many are left
 */
export async function renameInNotifications(
  db: Database,
  { id, account_id }: UserRef,
  names: readonly string[],
  ids: { first: number; last: number },
  waits: boolean,
): Promise<number> {
  const among = sql`n.id between ${ids.first} and ${ids.last} and n.account_id = ${account_id}`
  let left = 0
  for (const { column, isOutdated, value } of renames(id, names))
    left += await renameAll(db, sql`${among} and ${isOutdated}`, sql`${ident(column)} = ${value}`, waits)
  return left
}

/** The same for notifications about deleted records. */
export async function renameInNotificationsAside(db: Database, { id, account_id }: UserRef, names: readonly string[]): Promise<void> {
  for (const { column, isOutdated, value } of renames(id, names))
    await changeRowsAside(db, sql`${rowsAside('notifications', account_id, 'n')} and ${isOutdated}`, { [column]: value })
}

/** What changes in notifications `n`: each with the condition on rows that still have another name. */
function renames(userId: number, names: readonly string[]): { column: string; isOutdated: Sql; value: Sql }[] {
  const name = erasedName(userId)
  const acted = {
    column: 'message',
    isOutdated: sql`(n.actor_user_id = ${userId} and not starts_with(n.message, ${`${name} `}::text) and n.message ~ ${ACTED}::text)`,
    value: sql`regexp_replace(n.message, ${ACTED}::text, ${`${name}\\1`}::text)`,
  }
  if (!names.length) return [acted]
  const mentions = `@(?:${quotedForms(names).join('|')})(?![[:alnum:]_])`
  const mentioned = {
    column: 'summary',
    isOutdated: sql`(n.event_type = any(${QUOTING}::text[]) and n.summary ~ ${mentions}::text)`,
    value: sql`regexp_replace(n.summary, ${mentions}::text, ${`@${name}`}::text, 'g')`,
  }
  return [acted, mentioned]
}

async function renameAll(db: Database, where: Sql, renamed: Sql, waits: boolean): Promise<number> {
  const rename = async (rows: Sql) => (await db.write(sql`update notifications n set ${renamed} where n.id = any(array(${rows}))`)).changed
  const outdated = sql`select n.id from notifications n where ${where}`
  while (await rename(sql`${outdated} order by n.id limit ${AT_ONCE} for update skip locked`)) {
    // One that is locked is left for the end, when nothing else is: so this cannot block a statement that blocks it.
  }
  const left = await db.read<{ id: number }>(outdated)
  if (waits) for (const { id } of left) await rename(sql`select ${id}::int`)
  return waits ? 0 : left.length
}

/** The names as excerpts of comments show them, for a regular expression of PostgreSQL; a long one before its beginnings. */
const quotedForms = (names: readonly string[]): string[] =>
  [...new Set(names.map((name) => name.replaceAll(/\s+/g, ' ').trim()))]
    .filter(Boolean)
    .sort((a, b) => b.length - a.length)
    .map((name) => name.replaceAll(/[\\^$.*+?()[\]{}|]/g, '\\$&'))
