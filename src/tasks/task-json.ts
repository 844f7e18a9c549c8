/** Writes the rows of lists of tasks, and of their comments, as JSON text. */
import { z } from 'zod'
import { asJsonb, asNumber, asPlain, asText, listWriter } from '../platform/http/row-json.ts'
import { Attachment } from './files/schema.ts'
import type { Task, TaskComment } from './schema.ts'

/** The columns of `taskColumns`, in their order. */
export const writeTasks = listWriter<Task>({
  id: asNumber,
  creator_user_id: asNumber,
  assignee_user_id: asNumber,
  account_id: asNumber,
  space_id: asNumber,
  table_id: asNumber,
  record_id: asNumber,
  title: asText,
  details: asText,
  due_date: asPlain,
  due_time: asPlain,
  reminder_offset_mins: asNumber,
  reminder_time: asPlain,
  reminder_at: asPlain,
  reminder_sent_at: asPlain,
  status: asPlain,
  completed_at: asPlain,
  completed_by_user_id: asNumber,
  created_at: asPlain,
  updated_at: asPlain,
  attachments: asJsonb(z.array(Attachment)),
  external_id: { ifPresent: asText },
})

/** The columns of a comment on a task, in their order. */
export const writeTaskComments = listWriter<TaskComment>({
  id: asNumber,
  task_id: asNumber,
  content: asText,
  user_id: asNumber,
  user_name: asText,
  api_key_id: asNumber,
  attachments: asJsonb(z.array(Attachment)),
  created_at: asPlain,
  updated_at: asPlain,
})
