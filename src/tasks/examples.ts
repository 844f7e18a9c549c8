/** What the document shows: one task from its creation to its first comment. */
import type { File, StagedFile, Upload } from '../files/schema.ts'
import type { NewTask, Reminder, Task, TaskComment, TaskDetail } from './schema.ts'

export const newTask = {
  title: 'Call back',
  details: 'They asked for the new price list.',
  assignee_email: 'max@example.com',
  due_date: '2026-03-31',
  due_time: '14:30',
  reminder_offset_mins: 30,
} satisfies NewTask

export const task: Task = {
  id: 55,
  creator_user_id: 7,
  assignee_user_id: 8,
  account_id: 1,
  space_id: 1,
  table_id: 101,
  record_id: 12,
  title: 'Call back',
  details: 'They asked for the new price list.',
  due_date: '2026-03-31',
  due_time: '14:30:00',
  reminder_offset_mins: 30,
  reminder_time: null,
  reminder_at: '2026-03-31 14:00:00',
  reminder_sent_at: null,
  status: 'open',
  completed_at: null,
  completed_by_user_id: null,
  created_at: '2026-03-30 09:30:00',
  updated_at: '2026-03-30 09:30:00',
  attachments: [],
}

export const newTasks = { tasks: [newTask, { ...newTask, title: ' ' }] }

export const made = {
  rows: [
    { ok: true, task },
    { ok: false, message: 'tasks[1].title: must not be empty', code: 'BAD_REQUEST' },
  ],
}

export const reminder: Reminder = {
  fires_at: '2026-03-31 14:00:00',
  local: '2026-03-31 16:00:00',
  timezone: 'Europe/Berlin',
  to: { id: 8, name: 'Max Born', email: 'max@example.com' },
  state: 'scheduled',
}

export const upload = { name: 'prices.pdf', type: 'application/pdf', data: 'JVBERi0xLjcK' } satisfies Upload

export const file: File = {
  name: 'prices.pdf',
  path: 'task-55-Yk3vQ0aX7mPz4hTq-prices.pdf',
  size: 9,
  type: 'application/pdf',
  host: 'local',
}

export const staged: StagedFile = {
  ...file,
  path: 'staged-Yk3vQ0aX7mPz4hTq-prices.pdf',
  staged_token: 'q1W7xV0c5uT2mJ8nB4rK6yL9sD3fG1hZ0aX7mPzYk3v',
}

export const comment: TaskComment = {
  id: 9,
  task_id: 55,
  content: '@{8:Max Born} the list is on the record now.',
  user_id: 7,
  user_name: 'Ada Byron',
  api_key_id: null,
  attachments: [],
  created_at: '2026-03-30 10:00:00',
  updated_at: null,
}

export const detail: TaskDetail = {
  ...task,
  comment_count: 1,
  subscribers: [7, 8],
  subscribed: true,
  table_name: 'Companies',
  record_title: 'Analytical Engines Ltd',
  recent_comments: [comment],
}
