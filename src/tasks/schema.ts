import { z } from 'zod'
import { FixedAttachments } from '../comments/schema.ts'
import { CalendarDate, EmailAddress, Id, Instant, limit, Offset, Time } from '../platform/http/schemas.ts'
import { absentOr, changesOf } from '../platform/http/validation-messages.ts'
import { instantText } from '../platform/time.ts'
import { Attachment, AttachmentEntry, attachments, StagedEntry } from './files/schema.ts'
import { dueIssues } from './reminders/reminder.ts'

const MAX_TITLE = 500
const MAX_DETAILS = 100_000
const MAX_COMMENT = 50_000
const MAX_EXTERNAL_ID = 200
/** A year. */
const MAX_REMINDER_OFFSET_MINS = 525_600

// ── what answers hold ───────────────────────────────────────────────────────

export const Status = z.enum(['open', 'done'])
export type Status = z.infer<typeof Status>

export const DeletedTask = z
  .strictObject({ id: Id, deleted_at: Instant })
  .meta({ id: 'DeletedTask', description: 'What is left of a task, in lists with updated_since.' })
export type DeletedTask = z.infer<typeof DeletedTask>

const UtcTime = z.string().meta({ description: 'UTC, HH:MM:SS', example: '14:30:00' })

export const Task = z
  .strictObject({
    id: Id,
    creator_user_id: Id.meta({ description: 'Who owns the task: whom it shows as coming from.' }),
    assignee_user_id: Id,
    account_id: Id,
    space_id: Id.nullable().meta({ description: 'Null on a standalone task, like table_id and record_id.' }),
    table_id: Id.nullable(),
    record_id: Id.nullable(),
    title: z.string(),
    details: z.string().nullable(),
    due_date: z.string().nullable().meta({ description: 'A calendar date; together with due_time one instant in UTC.', format: 'date' }),
    due_time: UtcTime.nullable(),
    reminder_offset_mins: z.int().nullable().meta({ description: 'Minutes before the due instant.' }),
    reminder_time: UtcTime.nullable().meta({ description: 'On due_date, for a task without due_time.' }),
    reminder_at: Instant.nullable().meta({ description: 'When the reminder is due, computed.' }),
    reminder_sent_at: Instant.nullable(),
    status: Status,
    completed_at: Instant.nullable(),
    completed_by_user_id: Id.nullable(),
    created_at: Instant,
    updated_at: Instant,
    attachments: z.array(Attachment),
    external_id: z.string().optional().meta({ description: 'What an integration calls it; absent when nobody has named it so.' }),
  })
  .meta({ id: 'Task', description: 'A to-do with one assignee, on a record or standalone.' })
export type Task = z.infer<typeof Task>

/**
 * A row of a list: a task, or with updated_since what is left of one. In TypeScript a task whose `deleted_at` tells, so that those who
 * do not ask for changes need not tell the two apart.
 */
export const ListedTask = z.union([Task, DeletedTask]) as unknown as z.ZodType<Task & Partial<DeletedTask>, Task | DeletedTask>

export const TaskComment = z
  .strictObject({
    id: Id,
    task_id: Id,
    content: z.string(),
    user_id: z.int().meta({ description: '0 when written through an API key.' }),
    user_name: z.string().meta({ description: "'API: <key name>' when written through an API key." }),
    api_key_id: Id.nullable(),
    attachments: z.array(Attachment),
    created_at: Instant,
    updated_at: Instant.nullable().meta({ description: 'Null until edited.' }),
  })
  .meta({ id: 'TaskComment', description: 'What somebody wrote on a task.' })
export type TaskComment = z.infer<typeof TaskComment>

export const TaskDetail = Task.extend({
  comment_count: z.int(),
  subscribers: z.array(Id).meta({ description: 'Ids of the users who follow the task, ascending.' }),
  subscribed: z.boolean().meta({ description: 'Whether the acting user follows the task.' }),
  table_name: z.string().nullable(),
  record_title: z.string().nullable(),
  recent_comments: z.array(TaskComment).meta({ description: 'The latest 20, newest first.' }),
}).meta({ id: 'TaskDetail', description: 'A task with what belongs to it.' })
export type TaskDetail = z.infer<typeof TaskDetail>

export const TaskCount = z
  .strictObject({ open: z.int(), total: z.int() })
  .meta({ id: 'TaskCount', description: "A record's open tasks, and all of them." })
export type TaskCount = z.infer<typeof TaskCount>

export const BadgeCount = z
  .strictObject({ count: z.int(), overdue: z.int() })
  .meta({ id: 'BadgeCount', description: "The caller's open tasks that are due today or overdue, and how many are past due." })
export type BadgeCount = z.infer<typeof BadgeCount>

export const Reminder = z
  .strictObject({
    fires_at: Instant.nullable().meta({ description: 'When it fires, or has fired, UTC; null on a task without a reminder.' }),
    local: z
      .string()
      .nullable()
      .meta({ description: 'The same by the clock of whom it goes to, YYYY-MM-DD HH:MM:SS.', example: '2026-03-31 16:00:00' }),
    timezone: z.string().meta({ description: 'The time zone of the assignee.', example: 'Europe/Berlin' }),
    to: z
      .strictObject({ id: Id, name: z.string(), email: z.string() })
      .nullable()
      .meta({ description: 'The assignee; null while they cannot see the task, and so would not be reminded.' }),
    state: z.enum(['none', 'scheduled', 'sent', 'missed']).meta({
      description:
        'none: no reminder, or as things are it will not fire (the task is done, the assignee cannot see it). missed: it was past when it was set or when the task was opened again, or fell due while the assignee could not see the task; it is not sent any more.',
    }),
  })
  .meta({ id: 'TaskReminder', description: 'When a task reminds whom.' })
export type Reminder = z.infer<typeof Reminder>

export const Marked = z
  .strictObject({ ok: z.boolean().meta({ description: 'False when the task was in that state already.' }), status: Status })
  .meta({ id: 'Marked' })
export type Marked = z.infer<typeof Marked>

export const Subscribed = z.strictObject({ ok: z.literal(true), subscribed: z.boolean() }).meta({ id: 'TaskSubscribed' })
export type Subscribed = z.infer<typeof Subscribed>

// ── what requests hold ──────────────────────────────────────────────────────

export const TaskPath = z.strictObject({ task_id: Id })
export const CommentPath = TaskPath.extend({ comment_id: Id })

const Title = z.string().trim().min(1, 'must not be empty').max(MAX_TITLE, `must have at most ${MAX_TITLE} characters`)
const Details = z.string().max(MAX_DETAILS, `must have at most ${MAX_DETAILS} characters`)
const ExternalId = z
  .string()
  .min(1, 'must not be empty')
  .max(MAX_EXTERNAL_ID, `must have at most ${MAX_EXTERNAL_ID} characters`)
  .meta({ description: 'What an integration calls the task; unique in the account, case counts.' })
const ReminderOffset = z.int().min(0, 'must be 0 or more').max(MAX_REMINDER_OFFSET_MINS, `must be at most ${MAX_REMINDER_OFFSET_MINS}`)

/** Without the rules between its keys, so that the ids of a path can be added; see `withRules`. */
export const NewTask = z.strictObject({
  title: Title,
  details: Details.nullish(),
  assignee_user_id: Id.nullish().meta({ description: 'Wins over assignee_email. Default: the acting user.' }),
  assignee_email: EmailAddress.nullish(),
  assigner_user_id: Id.nullish().meta({ description: 'Whom the task shows as coming from. Wins over assigner_email.' }),
  assigner_email: EmailAddress.nullish(),
  notify_assigner: z.boolean().nullish().meta({ description: 'Default true; false leaves the assigner unsubscribed.' }),
  due_date: CalendarDate.nullish(),
  due_time: Time.nullish().meta({ description: 'UTC; only together with due_date.' }),
  reminder_offset_mins: ReminderOffset.nullish().meta({ description: 'Minutes before the due instant; needs due_time.' }),
  reminder_time: Time.nullish().meta({ description: 'UTC, on due_date; for a task without due_time.' }),
  attachments: attachments(StagedEntry)
    .nullish()
    .meta({ description: 'What uploads for a new task answered. From a browser session only.' }),
  external_id: ExternalId.nullish(),
  upsert: z
    .boolean()
    .nullish()
    .meta({ description: 'Change the task that has the external_id, if there is one; what is absent or null then stays as it is.' }),
})
export type NewTask = z.infer<typeof NewTask>

const DUE_KEYS = new Set<PropertyKey | undefined>(['due_date', 'due_time', 'reminder_offset_mins', 'reminder_time'])

/** Adds the rules between due date, time and reminder (api.md, Create body), and those of an upsert; they presuppose that each key is valid. */
export const withRules = <Shape extends z.ZodType<NewTask>>(schema: Shape) =>
  schema.superRefine((task, ctx) => {
    const { due_date = null, due_time = null, reminder_offset_mins = null, reminder_time = null, upsert, external_id, attachments } = task
    if (upsert && external_id == null) ctx.addIssue({ code: 'custom', path: ['upsert'], message: 'needs external_id' })
    if (upsert && attachments?.length) ctx.addIssue({ code: 'custom', path: ['attachments'], message: 'cannot be combined with upsert' })
    // Zod 4 refines an object whose parts have been refused, too.
    if (ctx.issues.some(({ path }) => DUE_KEYS.has(path?.[0]))) return
    for (const issue of dueIssues({ due_date, due_time, reminder_offset_mins, reminder_time })) ctx.addIssue({ code: 'custom', ...issue })
  })

const MAX_TASKS = 100
const CheckedTask = withRules(NewTask)

/** One of many tasks to make: documented like NewTask, but judged by itself, so that it is refused without the others. */
// As unknown it takes anything; typed clients are still told what to send.
const TaskOfMany = z.unknown().meta(z.toJSONSchema(NewTask, { io: 'input' })) as unknown as z.ZodType<NewTask, z.input<typeof NewTask>>
export const parseTask = (given: unknown) => CheckedTask.safeParse(given)

export const NewTasks = z.strictObject({
  tasks: z
    .array(TaskOfMany)
    .min(1, 'must not be empty')
    .max(MAX_TASKS, `must have at most ${MAX_TASKS} tasks`)
    .meta({ description: 'As in a create. Each is made or refused by itself.' }),
})
export type NewTasks = z.infer<typeof NewTasks>

export const MadeTask = z
  .strictObject({
    ok: z.boolean(),
    task: Task.optional(),
    message: z.string().optional().meta({ description: 'Why it was refused.' }),
    code: z.string().optional().meta({ description: 'As in the body of an error.' }),
  })
  .meta({ id: 'MadeTask', description: 'What became of one of many tasks.' })
export type MadeTask = z.infer<typeof MadeTask>

/** A key that is absent keeps its value, null clears it; rules between keys need the row. */
export const TaskUpdate = changesOf(
  z.strictObject({
    title: Title,
    details: Details.nullish(),
    due_date: CalendarDate.nullish().meta({ description: 'Null clears due_time and the reminder too.' }),
    due_time: Time.nullish(),
    reminder_offset_mins: ReminderOffset.nullish(),
    reminder_time: Time.nullish(),
    assignee_user_id: Id.meta({ description: 'Wins over assignee_email.' }),
    assignee_email: EmailAddress,
    attachments: attachments(AttachmentEntry)
      .nullish()
      .meta({ description: 'The whole list; what it leaves out is removed. From a browser session only.' }),
    external_id: ExternalId.nullish(),
  }),
)
export type TaskUpdate = z.infer<typeof TaskUpdate>

const Sync = {
  updated_since: z
    .string()
    .transform((text, ctx) => {
      const at = instantText(text)
      if (at !== null) return at
      ctx.addIssue({ code: 'custom', message: 'must be an instant, as YYYY-MM-DD HH:MM:SS in UTC or ISO 8601 with an offset' })
      return z.NEVER
    })
    .nullish()
    .meta({
      description: 'Only what changed in that second or later, oldest change first; deleted tasks as {id, deleted_at}, for 30 days.',
      example: '2026-03-31 09:30:00',
    }),
  cursor: z
    .string()
    .max(1_000, 'must have at most 1000 characters')
    .nullish()
    .meta({ description: 'What the page before told in X-Next-Cursor; with updated_since only.' }),
}

export const RecordTaskQuery = z.strictObject({ status: absentOr(Status), limit: limit(50, 200), offset: Offset, ...Sync })
export type RecordTaskQuery = z.infer<typeof RecordTaskQuery>

export const TaskQuery = z.strictObject({
  tab: absentOr(z.enum(['my', 'delegated', 'all']))
    .default('my')
    .meta({ description: 'my: assigned to me. delegated: created by me for another. all: I am creator, assignee or subscriber.' }),
  search: absentOr(z.string().max(500, 'must have at most 500 characters')).meta({
    description: 'All words, in title and details, ignoring case.',
  }),
  include_done: absentOr(z.boolean()).meta({ description: 'Default false; with updated_since true, since to become done is a change.' }),
  limit: limit(50, 200),
  offset: Offset,
  ...Sync,
})
export type TaskQuery = z.infer<typeof TaskQuery>

export const Force = z.strictObject({
  force: absentOr(z.boolean()).default(false).meta({ description: 'Succeed without doing anything when it is so already.' }),
})

export const CommentQuery = z.strictObject({ limit: limit(50, 200), offset: Offset })
export type CommentQuery = z.infer<typeof CommentQuery>

export const CommentContent = z.strictObject({
  content: z
    .string()
    .refine((text) => text.trim() !== '', 'must not be empty')
    .max(MAX_COMMENT, `must have at most ${MAX_COMMENT} characters`)
    .meta({ description: 'Mentions are written @{<user_id>:<display_name>}.' }),
  attachments: FixedAttachments,
})
export type CommentContent = z.infer<typeof CommentContent>

export const NewComment = CommentContent.extend({
  attachments: attachments(AttachmentEntry)
    .nullish()
    .meta({ description: 'What uploads for a comment on the task answered; fixed from then on. From a browser session only.' }),
})
export type NewComment = z.infer<typeof NewComment>
