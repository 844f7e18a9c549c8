/** Writes tasks and their comments as JSON. */
import { z } from 'zod'
import { asJson, asJsonb, asNumber, asText, listWriter, type RowShape, rowWriter, type WriteValue } from '../platform/http/row-json.ts'
import { Attachment } from './files/schema.ts'
import { type Task, TaskComment, type TaskDetail } from './schema.ts'

/** The columns of `taskColumns`, in their order. */
const TASK: RowShape<Task> = {
  id: asNumber,
  creator_user_id: asNumber,
  assignee_user_id: asNumber,
  account_id: asNumber,
  space_id: asNumber,
  table_id: asNumber,
  record_id: asNumber,
  title: asText,
  details: asText,
  due_date: asText,
  due_time: asText,
  reminder_offset_mins: asNumber,
  reminder_time: asText,
  reminder_at: asText,
  reminder_sent_at: asText,
  status: asText,
  completed_at: asText,
  completed_by_user_id: asNumber,
  created_at: asText,
  updated_at: asText,
  attachments: asJsonb(z.array(Attachment)),
  external_id: { ifPresent: asText },
}

export const writeTask = rowWriter(TASK)
export const writeTasks = listWriter(TASK)

/** The columns of a comment on a task, in their order. */
const COMMENT: RowShape<TaskComment> = {
  id: asNumber,
  task_id: asNumber,
  content: asText,
  user_id: asNumber,
  user_name: asText,
  api_key_id: asNumber,
  attachments: asJsonb(z.array(Attachment)),
  created_at: asText,
  updated_at: asText,
}

export const writeTaskComment = rowWriter(COMMENT)
export const writeTaskComments = listWriter(COMMENT)

/** Before the first attachment of a comment, and nowhere else in its JSON, because a quote inside of a text is escaped. */
const ATTACHMENTS_BEGIN = '"attachments":[{'
const Comments = z.array(TaskComment)

/** Comments that the statement has printed as JSON. Only attachments are printed otherwise than JSON.stringify would. */
const asComments: WriteValue = (cell, json) => {
  if (!cell.includes(ATTACHMENTS_BEGIN)) json.printed(cell)
  else json.text(JSON.stringify(Comments.parse(JSON.parse(cell.text()))))
}

/** The columns of `TASK`, and then those of a task's detail. */
export const writeTaskDetail = rowWriter<TaskDetail>({
  ...TASK,
  comment_count: asNumber,
  subscribers: asJson,
  subscribed: asJson,
  table_name: asText,
  record_title: asText,
  recent_comments: asComments,
})
