/** Writes lists of tasks and of their comments as JSON. */
import { listWriter } from '../platform/http/row-json.ts'
import { type Task, type TaskComment, taskColumns, taskCommentColumns } from './schema.ts'

export const writeTasks = listWriter<Task>(taskColumns)
export const writeTaskComments = listWriter<TaskComment>(taskCommentColumns)
