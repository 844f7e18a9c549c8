/** Who wrote a comment: a user, an API key, or the sender of an email. */
import { erasedName, type UserRef } from '../accounts/user-status.ts'
import type { Actor } from '../platform/actor.ts'
import { type Database, raw, type Sql, sql } from '../platform/database/database.ts'
import { changeRowsAside, rowsAside } from '../tables/deleted/rows.ts'
import type { CommentTable } from './subject.ts'

/** The author as the columns of a comment name them. */
export interface Author {
  /** 0 for an API key and for the sender of an email. */
  user_id: number
  user_name: string
  api_key_id: number | null
}

/** The author's columns of a comment that was found through its subject. */
export interface Authorship {
  comment_user_id: number
  comment_api_key_id: number | null
}

/** An API key signs with its own name, even a personal one (api.md, Task comment). */
export const authorOf = ({ keyId, keyName, userId, name }: Actor): Author =>
  keyId === null ? { user_id: userId, user_name: name, api_key_id: null } : { user_id: 0, user_name: `API: ${keyName}`, api_key_id: keyId }

/** The author of an email that was received. */
export const senderAsAuthor = (name: string): Author => ({ user_id: 0, user_name: name, api_key_id: null })

/** A comment that was written with an API key belongs to that key, not to the key's user (contract.md §4, Comments). */
export function isAuthor({ comment_user_id, comment_api_key_id }: Authorship, actor: Actor): boolean {
  if (comment_api_key_id !== null) return comment_api_key_id === actor.keyId
  return actor.kind !== 'account' && comment_user_id === actor.userId
}

/** How many comments one statement changes. */
const MOST_RENAMED = 500

/** The first and the last comment to look at. */
interface Ids {
  first: number
  last: number
}

/** The names with which comments of the account mention an erased user until they are renamed. */
export const namesIn = (db: Database, table: CommentTable['name'], user: UserRef, ids: Ids): Promise<string[]> =>
  mentionedNames(db, table, user, outdated(table, user, ids))

/** The same of comments of deleted records. */
export const namesAside = (db: Database, table: CommentTable['name'], user: UserRef): Promise<string[]> =>
  mentionedNames(db, table, user, outdatedAside(table, user))

async function mentionedNames(db: Database, table: CommentTable['name'], user: UserRef, rows: Sql): Promise<string[]> {
  const { named, mention } = namesOf(table, user)
  const mentions = await db.read<{ name: string }>(
    sql`select distinct (regexp_matches(c.content, ${mention}::text, 'g'))[1] as name from ${rows} and ${named}`,
  )
  return mentions.map(({ name }) => name)
}

const outdated = (table: CommentTable['name'], user: UserRef, { first, last }: Ids): Sql => sql`${raw(table)} c
  where c.id between ${first} and ${last} and c.account_id = ${user.account_id} and ${namesOf(table, user).isOutdated}`

const outdatedAside = (table: CommentTable['name'], user: UserRef): Sql =>
  sql`${rowsAside(table, user.account_id, 'c')} and ${namesOf(table, user).isOutdated}`

/**
 * Gives an erased user the new name in the comments of the account, as their author and where they are mentioned. Mails keep their text.
 * @param waits whether to wait for comments that another statement has locked
 * @returns how many are left
 */
export async function renameErased(db: Database, table: CommentTable['name'], user: UserRef, ids: Ids, waits: boolean): Promise<number> {
  const among = sql`from ${outdated(table, user, ids)}`
  const rename = async (rows: Sql) => (await db.write(renaming(table, user, rows))).changed
  while (await rename(sql`select c.id ${among} order by c.id limit ${MOST_RENAMED} for update of c skip locked`)) {
    // A comment that is locked is left for the end, when nothing else is: so this cannot block a statement that blocks it.
  }
  const left = await db.read<{ id: number }>(sql`select c.id ${among}`)
  if (waits) for (const { id } of left) await rename(sql`select ${id}::int as id`)
  return waits ? 0 : left.length
}

/** A row of the comments `c` that still has another name. A mention is written as in mentions.ts. */
function namesOf(table: CommentTable['name'], { id }: UserRef) {
  const mention = `@\\{0*${id}:(?!${erasedName(id)}\\})([^{}\\r\\n]{1,200})\\}`
  const isWritten = table === 'record_comments' ? sql`c.type = 'comment'` : sql`true`
  const named = sql`(${isWritten} and c.content ~ ${mention}::text)`
  return { mention, named, isOutdated: sql`(c.user_id = ${id} and c.user_name <> ${erasedName(id)} or ${named})` }
}

function renaming(table: CommentTable['name'], user: UserRef, rows: Sql): Sql {
  const { user_name, content } = renamedColumns(table, user)
  return sql`
    with found as (${rows})
    update ${raw(table)} c set user_name = ${user_name}, content = ${content} from found f where c.id = f.id`
}

/** The new values of a row `c`. */
function renamedColumns(table: CommentTable['name'], user: UserRef): Record<'user_name' | 'content', Sql> {
  const { mention, named } = namesOf(table, user)
  const name = erasedName(user.id)
  const replacement = `@{${user.id}:${name}}`
  return {
    user_name: sql`case when c.user_id = ${user.id} then ${name} else c.user_name end`,
    content: sql`case when ${named} then regexp_replace(c.content, ${mention}::text, ${replacement}::text, 'g') else c.content end`,
  }
}

/** The same for comments of deleted records. */
export async function renameErasedAside(db: Database, table: CommentTable['name'], user: UserRef): Promise<void> {
  await changeRowsAside(db, outdatedAside(table, user), renamedColumns(table, user))
}
