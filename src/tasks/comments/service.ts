/** What people write on a task (api.md, Task comments). */

import { authorOf } from '../../comments/authorship.ts'
import { mentionedIds } from '../../comments/mentions.ts'
import { emitting } from '../../events/log.ts'
import { actingUserId, type Notice, notificationEvents, notifying } from '../../notifications/notify.ts'
import type { Actor } from '../../platform/access/authorize.ts'
import type { Context } from '../../platform/context.ts'
import { type Sql, sql } from '../../platform/database/database.ts'
import { notFound } from '../../platform/http/errors.ts'
import { dropFiles, type FileEntry, holdFiles } from '../../platform/stored-files.ts'
import { formatInstant } from '../../platform/time.ts'
import { commentEvents } from '../events.ts'
import { pathsOf, taskEntries } from '../files/attachments.ts'
import { reachable } from '../people.ts'
import type { CommentRow, TaskRow } from '../procedure.ts'
import { commentColumns, listComments, type Page } from '../queries.ts'
import type { CommentContent, CommentQuery, NewComment, TaskComment } from '../schema.ts'
import { commented, mentioned } from '../sentences.ts'
import { followers, following } from '../subscribers.ts'

/** The comments of the task, newest first. */
export async function list({ db }: Context, { task_id }: TaskRow, query: CommentQuery): Promise<Page<TaskComment>> {
  return listComments(db, task_id, query)
}

/**
 * Writes a comment. Who is mentioned follows the task from now on and is told of the mention; the other followers are told of the
 * comment.
 * @throws AppError 400 for a file that was not uploaded for the task; 404 when the task has just been deleted
 */
export async function create(context: Context, task: TaskRow, { content, attachments }: NewComment): Promise<TaskComment> {
  if (!attachments?.length) return insert(context, task, content, [])
  return context.transaction(async () => {
    const files = await taskEntries(context, task.task_id, attachments)
    await holdFiles(context.db, pathsOf(files))
    return insert(context, task, content, files)
  })
}

/** Inserts the comment, in one statement with what follows from it. */
async function insert({ db, actor, now }: Context, task: TaskRow, content: string, files: readonly FileEntry[]): Promise<TaskComment> {
  const author = authorOf(actor)
  const others = sql`select f.* from (${followers(sql`live`, actor)}) f where f.user_id not in (select user_id from mentioned)`
  const [row] = await db.query<TaskComment>(
    sql`with live as (select * from tasks where id = ${task.task_id} for key share),
      mentioned as (${mentionable(mentionedIds(content), task, actor)}),
      added as (
        insert into task_comments (account_id, task_id, user_id, user_name, api_key_id, content, attachments, created_at)
        select account_id, id, ${author.user_id}, ${author.user_name}, ${author.api_key_id}::int, ${content},
          ${JSON.stringify(files)}::jsonb, ${formatInstant(now)}::timestamp
        from live returning *
      ),
      ${tellMentioned(mentioned(task.title, content, actor), actor, now)},
      told as (${notifying(others, commented(task.title, content, actor), actor, now)}),
      emitted as (${emitting(
        [commentEvents('comment.created', sql`added`, sql`live`), notificationEvents(sql`told_mentioned`), notificationEvents(sql`told`)],
        now,
      )})
      select ${commentColumns} from added`,
    'tasks:comment',
  )
  if (!row) throw notFound('Task')
  return row
}

/** Rewrites a comment. Only who was not mentioned before is told. @throws AppError 404 when it has just been deleted */
export async function update(
  { db, actor, now, transaction }: Context,
  comment: CommentRow,
  { content }: CommentContent,
): Promise<TaskComment> {
  return transaction(async () => {
    // Before the comment, as the deletion of the task does: else the two could wait for each other.
    await db.query(sql`select id from tasks where id = ${comment.task_id} for key share`)
    const [current] = await db.query<{ content: string }>(
      sql`select content from task_comments where id = ${comment.comment_id} and task_id = ${comment.task_id} for update`,
    )
    if (!current) throw notFound('Comment')
    const before = new Set(mentionedIds(current.content))
    const added = mentionedIds(content).filter((id) => !before.has(id))
    const [row] = await db.query<TaskComment>(sql`
      with live as (select * from tasks where id = ${comment.task_id}),
      mentioned as (${mentionable(added, comment, actor)}),
      changed as (
        update task_comments set content = ${content}, updated_at = ${formatInstant(now)}::timestamp where id = ${comment.comment_id} returning *
      ),
      ${tellMentioned(mentioned(comment.title, content, actor), actor, now)},
      emitted as (${emitting([commentEvents('comment.updated', sql`changed`, sql`live`), notificationEvents(sql`told_mentioned`)], now)})
      select ${commentColumns} from changed`)
    return row as TaskComment
  })
}

/** Deletes a comment and drops its files. @throws AppError 404 when another call was first */
export async function remove({ db, now, transaction }: Context, { comment_id, task_id }: CommentRow): Promise<void> {
  await transaction(async () => {
    const [gone] = await db.query<{ attachments: FileEntry[] }>(sql`
      with gone as (delete from task_comments where id = ${comment_id} and task_id = ${task_id} returning id, attachments),
      emitted as (${emitting([commentEvents('comment.deleted', sql`gone`, sql`(select * from tasks where id = ${task_id})`)], now)})
      select attachments from gone`)
    if (!gone) throw notFound('Comment')
    await dropFiles(db, pathsOf(gone.attachments), now)
  })
}

/** Selects those of the ids that are valid mentions: members of the space, or people who share one with the writer. */
const mentionable = (ids: number[], { space_id }: TaskRow, actor: Actor): Sql => sql`
  select u.id as user_id from users u
  where u.id = any(${ids}::int[]) and u.account_id = ${actor.accountId} and u.status <> 'deleted' and ${reachable(sql`u`, space_id, actor)}`

/** CTEs beside `live` (the task) and `mentioned`: they follow the task, and are told, except the one who acts. */
const tellMentioned = (notice: Notice, actor: Actor, now: Date): Sql => sql`
  subscribed as (${following(sql`select live.id as task_id, m.user_id from live, mentioned m`, now)}),
  told_mentioned as (${notifying(
    sql`select m.user_id, k.account_id, k.space_id, k.table_id, k.record_id, k.id as task_id
      from live k, mentioned m where m.user_id is distinct from ${actingUserId(actor)}::int`,
    notice,
    actor,
    now,
  )})`
