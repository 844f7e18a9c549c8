import type { File, StagedFile, Upload } from '../files/schema.ts'
import { operationDocs } from '../platform/http/procedures/operation-docs.ts'
import type { TaskComment } from './comments/schema.ts'
import type { TaskInContext } from './lists/schema.ts'
import type { NewTask, Reminder, Task, TaskDetail } from './schema.ts'

// The examples follow one task from its creation to its first comment.
const newTask = {
  title: 'Call back',
  details: 'They asked for the new price list.',
  assignee_email: 'max@example.com',
  due_date: '2026-03-31',
  due_time: '14:30',
  reminder_offset_mins: 30,
} satisfies NewTask

const task: Task = {
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
  version: 1,
  attachments: [],
}

const newTasks = { tasks: [newTask, { ...newTask, title: ' ' }] }

const created = {
  rows: [
    { ok: true, task },
    { ok: false, message: 'tasks[1].title: must not be empty', code: 'BAD_REQUEST' },
  ],
}

const reminder: Reminder = {
  fires_at: '2026-03-31 14:00:00',
  local: '2026-03-31 16:00:00',
  timezone: 'Europe/Berlin',
  to: { id: 8, name: 'Max Born', email: 'max@example.com' },
  state: 'scheduled',
}

const upload = { name: 'prices.pdf', type: 'application/pdf', data: 'JVBERi0xLjcK' } satisfies Upload

const file: File = {
  name: 'prices.pdf',
  path: 'task-55-Yk3vQ0aX7mPz4hTq-prices.pdf',
  size: 9,
  type: 'application/pdf',
  host: 'local',
}

const staged: StagedFile = {
  ...file,
  path: 'staged-Yk3vQ0aX7mPz4hTq-prices.pdf',
  staged_token: 'q1W7xV0c5uT2mJ8nB4rK6yL9sD3fG1hZ0aX7mPzYk3v',
}

const comment: TaskComment = {
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

const inContext: TaskInContext = {
  ...task,
  assignee_name: 'Max Born',
  creator_name: 'Ada Byron',
  table_name: 'Companies',
  record_title: 'Analytical Engines Ltd',
  comment_count: 1,
}

const detail: TaskDetail = {
  ...task,
  comment_count: 1,
  subscribers: [7, 8],
  subscribed: true,
  table_name: 'Companies',
  record_title: 'Analytical Engines Ltd',
  recent_comments: [comment],
}

const CHANGES_SINCE =
  'With `updated_since` it returns what has changed since, oldest change first, deleted tasks included, for clients that keep copies.'
const MANY =
  'Up to 100 tasks, in order. Each is created or refused on its own, with a message that names it, such as `tasks[3].title: is ' +
  'required`. An Idempotency-Key covers the whole request.'
const STAGED =
  'Pass the answer in `attachments` when you create the task, from the same session and within a day. The task then has the file ' +
  'under its final path.'

export const docs = operationDocs('Tasks', {
  createOnRecord: {
    summary: 'Create a task on a record',
    description:
      'Any caller who can read the table may create one. The assignee, by default the acting user, must be a member of the space; they ' +
      'follow the task and are notified.',
    example: { input: newTask, output: task },
    errors: { 409: 'The external_id is taken' },
  },

  createManyOnRecord: {
    summary: 'Create many tasks on a record',
    description: MANY,
    example: { input: newTasks, output: created },
  },

  listOnRecord: {
    summary: 'List the tasks of a record',
    description:
      'Open tasks come first, sorted by due date with undated tasks last; then the completed ones, most recently completed first. ' +
      'With `order=created` the newest comes first, and with `cursor` in place of `offset` each task that exists throughout comes once. ' +
      CHANGES_SINCE,
    example: { input: { status: 'open' }, output: { rows: [task], total: 1 } },
  },

  countOnRecord: {
    summary: 'Count the tasks of a record',
    description: 'Counts the open tasks and all tasks.',
    example: { output: { open: 2, total: 5 } },
  },

  get: {
    summary: 'Get a task',
    description: 'Includes its subscribers, its latest 20 comments, and the names of its table and record.',
    example: { output: detail },
  },

  update: {
    summary: 'Update a task',
    description:
      'Requires its creator or assignee. Fields that are absent stay unchanged; null clears a field. A new assignee follows the task ' +
      'and is notified.',
    example: { input: { due_date: '2026-03-31', assignee_user_id: 8 }, output: task },
    errors: { 409: 'The task has changed since, or the external_id is taken' },
  },

  delete: {
    summary: 'Delete a task',
    description: 'Requires its creator or assignee, or on a record an admin of the space. Deletes its comments, too.',
    example: { output: { ok: true } },
  },

  markDone: {
    summary: 'Mark a task as done',
    description: 'Requires its creator or assignee. `ok` is false if it was already done; of two concurrent calls, one gets true.',
    example: { output: { ok: true, status: 'done' } },
  },

  markUndone: {
    summary: 'Reopen a task',
    description: 'Requires its creator or assignee. `ok` is false if it was already open.',
    example: { output: { ok: true, status: 'open' } },
  },

  reminder: {
    summary: 'Preview the reminder of a task',
    description: 'Returns when the reminder is sent, in which time zone and to whom; or that it was sent, or will not be.',
    example: { output: reminder },
  },

  subscribe: {
    summary: 'Follow a task',
    description: 'Subscribers are notified of its comments, and when it is completed or reopened.',
    example: { output: { ok: true, subscribed: true } },
    errors: { 409: 'Already subscribed' },
  },

  unsubscribe: {
    summary: 'Stop following a task',
    description: 'Ends the notifications of its comments, and of it being completed or reopened.',
    example: { output: { ok: true, subscribed: false } },
    errors: { 409: 'Not subscribed' },
  },

  list: {
    summary: "List the caller's tasks",
    description: `Includes standalone tasks and tasks on records, except in tables that the caller can no longer read. ${CHANGES_SINCE}`,
    example: { input: { tab: 'my', search: 'call', include: ['context'] }, output: { rows: [inContext], total: 1 } },
  },

  create: {
    summary: 'Create a standalone task',
    description:
      'The task is on no record. Its creator, assignee and subscribers can see it. The assignee is the caller or a user who shares a ' +
      'space with the caller.',
    example: { input: newTask, output: { ...task, space_id: null, table_id: null, record_id: null } },
    errors: { 409: 'The external_id is taken' },
  },

  createMany: {
    summary: 'Create many standalone tasks',
    description: MANY,
    example: { input: newTasks, output: created },
  },

  badgeCount: {
    summary: 'Count the due tasks',
    description:
      "Counts the caller's open tasks that are due today, in the caller's time zone, or overdue; and separately the overdue ones.",
    example: { output: { count: 3, overdue: 1 } },
  },
})

export const uploadDocs = operationDocs('Tasks', {
  upload: {
    summary: 'Upload a file for a task',
    description: 'Pass the answer in `attachments` when you update the task. A file that no task uses is deleted after a day.',
    example: { input: upload, output: file },
  },

  stage: {
    summary: 'Upload a file for a new standalone task',
    description: STAGED,
    example: { input: upload, output: staged },
  },

  stageOnRecord: {
    summary: 'Upload a file for a new task on a record',
    description: STAGED,
    example: { input: upload, output: staged },
  },
})

export const taskCommentDocs = operationDocs('Tasks', {
  list: {
    summary: 'List the comments of a task',
    description: 'Newest first.',
    example: { output: { rows: [comment], total: 1 } },
  },

  create: {
    summary: 'Comment on a task',
    description:
      'Any caller who can read the task may comment. Mentioned users follow the task and are notified; the other subscribers are ' +
      'notified of the comment. A browser session may attach files that it uploaded for a comment on the task; they are deleted with the ' +
      'comment. A comment may consist of files alone.',
    example: { input: { content: comment.content }, output: comment },
  },

  upload: {
    summary: 'Upload a file for a comment on a task',
    description: 'Pass the answer in `attachments`. A file that no comment uses is deleted after a day. A file has at most 50 MB.',
    example: { input: upload, output: file },
  },

  update: {
    summary: 'Update a comment',
    description:
      'Requires its author, within 15 minutes; a comment that a key wrote can be updated by that key. Only users who were not mentioned ' +
      'before are notified.',
    example: { input: { content: comment.content }, output: { ...comment, updated_at: '2026-03-30 10:05:00' } },
    errors: { 403: 'Comment can no longer be edited' },
  },

  delete: {
    summary: 'Delete a comment',
    description: "Requires its author, the task's creator, or on a record an admin of the space.",
    example: { output: { ok: true } },
  },
})
