/** Tasks as something to follow and comment on; the rules of both are in src/comments/. */
import type { CommentTable, Subject, SubjectResource, SubscriptionTable } from '../../comments/subject.ts'
import type { Actor } from '../../platform/actor.ts'
import { sql } from '../../platform/database/database.ts'
import { writesOfAccount, writesOfTable } from '../../platform/database/statements/statement.ts'
import { selectColumns } from '../../platform/http/answers/columns.ts'
import { listWriter } from '../../platform/http/answers/row-json.ts'
import { taskEntries } from '../files/attachments.ts'
import type { AttachmentEntry } from '../files/schema.ts'
import { taskTitle } from '../notices.ts'
import { isReachable } from '../people.ts'
import { isCommentModerator } from '../policy.ts'
import { type TaskRow, taskResource } from '../procedure.ts'
import { type TaskComment, taskCommentColumns } from './schema.ts'

export const taskSubscriptions: SubscriptionTable = { name: 'task_subscribers', place: ['task_id'] }

const comments: CommentTable = {
  name: 'task_comments',
  place: ['account_id', 'task_id'],
  columns: selectColumns(taskCommentColumns, 'c'),
  type: sql`'comment'`,
}

const writeTaskComments = listWriter<TaskComment>(taskCommentColumns)

/** The group (`shortWrite`) of the writes of a task. */
export const writesOn = ({ table_id }: Pick<TaskRow, 'table_id'>, { accountId }: Actor): string =>
  table_id === null ? writesOfAccount(accountId) : writesOfTable(table_id)

/** The users who are subscribed to the task. */
export const taskFollowers = ({ task_id }: Pick<TaskRow, 'task_id'>): Pick<Subject, 'followers'> => ({
  followers: sql`select user_id from task_subscribers where task_id = ${task_id}`,
})

export const onTask = (
  task: Pick<TaskRow, 'task_id' | 'title' | 'space_id' | 'table_id'>,
  actor: Actor,
): Subject<TaskComment, AttachmentEntry> => ({
  noun: 'Task',
  subscriptions: taskSubscriptions,
  comments,
  recordId: null,
  writes: writesOn(task, actor),
  row: sql`select account_id, space_id, table_id, record_id, id as task_id from tasks where id = ${task.task_id}`,
  ...taskFollowers(task),
  belongs: sql`task_id = ${task.task_id}`,
  title: taskTitle(task.title),
  notices: { comment: 'TASK_COMMENT', mention: 'task.comment.mention' },
  canBeMentioned: (user) => isReachable(user, task.space_id, actor),
  findAttachments: (context, given) => taskEntries(context, task.task_id, given),
  writeCommentsFor: () => writeTaskComments,
})

/** A comment on a task is deleted by its author, the task's creator, or an admin of the space (contract.md §4, Comments). */
export const commentedTask: SubjectResource<TaskRow, TaskComment, AttachmentEntry> = {
  resource: taskResource,
  right: 'read',
  comments,
  ids: ['task_id'],
  isModerator: isCommentModerator,
  subjectOf: onTask,
}
