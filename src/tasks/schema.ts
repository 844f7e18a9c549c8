import { z } from 'zod'
import {
  changeable,
  date,
  instant,
  int,
  jsonb,
  type StoredRow,
  setByService,
  shapeOf,
  text,
  time,
} from '../platform/http/answers/columns.ts'
import { CalendarDate, EmailAddress, Id, Instant, Person, Text, Time, Version } from '../platform/http/procedures/schemas.ts'
import { changesOf } from '../platform/validation-messages.ts'
import { TaskComment } from './comments/schema.ts'
import { Attachment, AttachmentEntry, attachments, StagedEntry } from './files/schema.ts'
import { dueIssues } from './reminders/reminder.ts'

const MAX_TITLE = 500
const MAX_DETAILS = 100_000
const MAX_EXTERNAL_ID = 200
/** One year. */
const MAX_REMINDER_OFFSET_MINS = 525_600

// ── responses ───────────────────────────────────────────────────────

export const Status = z.enum(['open', 'done'])
export type Status = z.infer<typeof Status>

const UtcTime = z.string().meta({ description: 'UTC, HH:MM:SS', example: '14:30:00' })

export const taskColumns = {
  id: setByService(int(Id.meta({ description: 'The `task_id` of paths.' }))),
  creator_user_id: int(Id.meta({ description: 'The owner of the task, whom it is shown as coming from.' })),
  assignee_user_id: changeable(int(Id.meta({ description: 'The user who is to do it.' }))),
  account_id: int(Id.meta({ description: 'The account of its creator.' })),
  space_id: int(Id.nullable().meta({ description: 'Null on a standalone task, like table_id and record_id.' })),
  table_id: int(Id.nullable().meta({ description: 'The table of the linked record; null on a standalone task.' })),
  record_id: int(Id.nullable().meta({ description: 'The linked record; null on a standalone task.' })),
  title: changeable(text(z.string().meta({ description: 'What is to be done, in one line.' }))),
  details: changeable(text(z.string().nullable().meta({ description: 'Long text about it.' }))),
  due_date: changeable(
    date(z.string().nullable().meta({ description: 'A calendar date. Together with due_time it is an instant in UTC.', format: 'date' })),
  ),
  due_time: changeable(
    time(UtcTime.nullable().meta({ description: 'The time on due_date, in UTC, HH:MM:SS; null: some time on that day.' })),
  ),
  reminder_offset_mins: changeable(int(z.int().nullable().meta({ description: 'Minutes before the due instant.' }))),
  reminder_time: changeable(time(UtcTime.nullable().meta({ description: 'On due_date, for a task without due_time.' }))),
  reminder_at: changeable(instant(Instant.nullable().meta({ description: 'The computed instant of the reminder.' }))),
  reminder_sent_at: setByService(instant(Instant.nullable().meta({ description: 'When the assignee was reminded; null before.' }))),
  status: setByService(text(Status.meta({ description: 'Whether it is still to be done.' }))),
  completed_at: setByService(
    instant(Instant.nullable().meta({ description: 'When it was marked done: UTC, YYYY-MM-DD HH:MM:SS; null while it is open.' })),
  ),
  completed_by_user_id: setByService(int(Id.nullable().meta({ description: 'Who marked it done; null while it is open.' }))),
  created_at: instant(Instant),
  updated_at: instant(Instant),
  version: setByService(int(Version)),
  attachments: changeable(jsonb(z.array(Attachment).meta({ description: 'The files of the task itself, without those of its comments.' }))),
  external_id: changeable(
    text(z.string().optional().meta({ description: 'The id that an integration gave the task; absent without one.' })),
  ),
}

export const Task = z
  .strictObject(shapeOf(taskColumns))
  .meta({ id: 'Task', description: 'A to-do with one assignee, on a record or standalone.' })
export type Task = z.infer<typeof Task>
/** A task as it is stored. */
export type StoredTask = StoredRow<typeof taskColumns>

export const TaskDetail = Task.extend({
  comment_count: z.int().meta({ description: 'The number of all its comments.' }),
  subscribers: z.array(Id).meta({ description: 'Ids of the users who follow the task, ascending.' }),
  subscribed: z.boolean().meta({ description: 'Whether the acting user follows the task.' }),
  table_name: z.string().nullable().meta({ description: 'The name of the linked table; null on a standalone task.' }),
  record_title: z.string().nullable().meta({ description: 'The title of the linked record; null without one, and on a standalone task.' }),
  recent_comments: z.array(TaskComment).meta({ description: 'The latest 20, newest first.' }),
}).meta({ id: 'TaskDetail', description: 'A task with its counts, subscribers and latest comments.' })
export type TaskDetail = z.infer<typeof TaskDetail>

export const TaskCount = z
  .strictObject({
    open: z.int().meta({ description: 'Tasks that are not done.' }),
    total: z.int().meta({ description: 'All tasks, done ones included.' }),
  })
  .meta({ id: 'TaskCount', description: "The number of a record's open tasks, and of all its tasks." })
export type TaskCount = z.infer<typeof TaskCount>

export const BadgeCount = z
  .strictObject({
    count: z.int().meta({ description: 'Open tasks that are due today or overdue.' }),
    overdue: z.int().meta({ description: 'Those of them whose due instant or day has passed.' }),
  })
  .meta({
    id: 'BadgeCount',
    description: 'The number of open tasks of the caller that are due today or overdue, and how many of them are overdue.',
  })
export type BadgeCount = z.infer<typeof BadgeCount>

export const Reminder = z
  .strictObject({
    fires_at: Instant.nullable().meta({ description: 'The instant of the reminder in UTC; null without a reminder.' }),
    local: z
      .string()
      .nullable()
      .meta({ description: 'The same instant in the time zone of the assignee, YYYY-MM-DD HH:MM:SS.', example: '2026-03-31 16:00:00' }),
    timezone: z.string().meta({ description: 'The time zone of the assignee.', example: 'Europe/Berlin' }),
    to: Person.nullable().meta({ description: 'The assignee; null while the assignee cannot see the task, and is not reminded.' }),
    state: z.enum(['none', 'scheduled', 'sent', 'missed']).meta({
      description:
        'none: no reminder, or one that will not be sent because the task is done or the assignee cannot see it. missed: it was past ' +
        'when it was set or when the task was reopened, or it became due while the assignee could not see the task; it will not be sent.',
    }),
  })
  .meta({ id: 'TaskReminder', description: 'The time and recipient of a reminder.' })
export type Reminder = z.infer<typeof Reminder>

export const Marked = z
  .strictObject({
    ok: z.boolean().meta({ description: 'False when the task already had that status.' }),
    status: Status.meta({ description: 'The status that the task has now.' }),
  })
  .meta({ id: 'Marked', description: 'A task after it was marked.' })
export type Marked = z.infer<typeof Marked>

export const TaskSubscribed = z
  .strictObject({
    ok: z.literal(true).meta({ description: 'Always true: a refusal has another status.' }),
    subscribed: z.boolean().meta({ description: 'Whether the acting user follows the task now.' }),
  })
  .meta({ id: 'TaskSubscribed', description: 'Whether the acting user follows a task.' })
export type TaskSubscribed = z.infer<typeof TaskSubscribed>

// ── requests ──────────────────────────────────────────────────────

export const TaskPath = z.strictObject({ task_id: Id })

const Title = Text.trim().min(1, 'must not be empty').max(MAX_TITLE, `must have at most ${MAX_TITLE} characters`)
const Details = Text.max(MAX_DETAILS, `must have at most ${MAX_DETAILS} characters`)
const ExternalId = Text.min(1, 'must not be empty')
  .max(MAX_EXTERNAL_ID, `must have at most ${MAX_EXTERNAL_ID} characters`)
  .meta({ description: 'The id that an integration gives the task: unique in the account, case-sensitive.' })
const ReminderOffset = z.int().min(0, 'must be 0 or more').max(MAX_REMINDER_OFFSET_MINS, `must be at most ${MAX_REMINDER_OFFSET_MINS}`)

/** Without the rules between keys (`withRules`), so that it can be extended with the ids of a path. */
export const NewTask = z
  .strictObject({
    title: Title.meta({ description: 'What is to be done, in one line.' }),
    details: Details.nullish().meta({ description: 'Long text about it.' }),
    assignee_user_id: Id.nullish().meta({ description: 'Wins over assignee_email. Default: the acting user.' }),
    assignee_email: EmailAddress.nullish().meta({
      description: 'The assignee by address: a member of the space; of a standalone task, somebody who shares a space.',
    }),
    assigner_user_id: Id.nullish().meta({ description: 'The user whom the task is shown as coming from. Wins over assigner_email.' }),
    assigner_email: EmailAddress.nullish().meta({ description: 'The same by the address of the user.' }),
    notify_assigner: z.boolean().nullish().meta({ description: 'Default true; false leaves the assigner unsubscribed.' }),
    due_date: CalendarDate.nullish().meta({ description: 'A calendar date, the same in every time zone; with due_time the day in UTC.' }),
    due_time: Time.nullish().meta({ description: 'UTC; only together with due_date.' }),
    reminder_offset_mins: ReminderOffset.nullish().meta({ description: 'Minutes before the due instant; needs due_time.' }),
    reminder_time: Time.nullish().meta({ description: 'UTC, on due_date; for a task without due_time.' }),
    attachments: attachments(StagedEntry)
      .nullish()
      .meta({ description: 'The responses of uploads for a new task. From a browser session only.' }),
    external_id: ExternalId.nullish().meta({
      description: 'The id that an integration gives the task: unique in the account, case-sensitive.',
    }),
    upsert: z
      .boolean()
      .nullish()
      .meta({ description: 'Update the task that has the external_id, if it exists. Absent and null keys then keep their values.' }),
  })
  .meta({ id: 'NewTask', description: 'A task to create.' })
export type NewTask = z.infer<typeof NewTask>

const DUE_KEYS = new Set<PropertyKey | undefined>(['due_date', 'due_time', 'reminder_offset_mins', 'reminder_time'])

/** Adds the rules between due date, time and reminder (api.md, Create body), and those of an upsert. They apply once each key is valid. */
export const withRules = <Shape extends z.ZodType<NewTask>>(schema: Shape) =>
  schema.superRefine((task, ctx) => {
    const { due_date = null, due_time = null, reminder_offset_mins = null, reminder_time = null, upsert, external_id, attachments } = task
    if (upsert && external_id == null) ctx.addIssue({ code: 'custom', path: ['upsert'], message: 'needs external_id' })
    if (upsert && attachments?.length) ctx.addIssue({ code: 'custom', path: ['attachments'], message: 'cannot be combined with upsert' })
    // Zod 4 runs refinements even on an object with invalid keys.
    if (ctx.issues.some(({ path }) => DUE_KEYS.has(path?.[0]))) return
    for (const issue of dueIssues({ due_date, due_time, reminder_offset_mins, reminder_time })) ctx.addIssue({ code: 'custom', ...issue })
  })

const MAX_TASKS = 100
const CheckedTask = withRules(NewTask)

/** One of many tasks to create. It is documented and typed as NewTask, but parsed as unknown and validated alone, to be refused alone. */
const TaskOfMany = z.unknown().meta({ override: { $ref: '#/components/schemas/NewTask' } }) as unknown as z.ZodType<
  NewTask,
  z.input<typeof NewTask>
>
export const parseTask = (given: unknown) => CheckedTask.safeParse(given)

export const NewTasks = z
  .strictObject({
    tasks: z
      .array(TaskOfMany)
      .min(1, 'must not be empty')
      .max(MAX_TASKS, `must have at most ${MAX_TASKS} tasks`)
      .meta({ description: 'As in a create. Each is created or refused on its own.' }),
  })
  .meta({ id: 'NewTasks', description: 'Tasks to create at once.' })
export type NewTasks = z.infer<typeof NewTasks>

export const MadeTask = z
  .strictObject({
    ok: z.boolean().meta({ description: 'Whether the task was created, or with upsert updated.' }),
    task: Task.optional().meta({ description: 'The task; absent if it was refused.' }),
    message: z.string().optional().meta({ description: 'The reason of a refusal.' }),
    code: z.string().optional().meta({ description: 'As in the body of an error.' }),
  })
  .meta({ id: 'MadeTask', description: 'The result for one of many tasks.' })
export type MadeTask = z.infer<typeof MadeTask>

/** An absent key keeps its value, null clears it. The service checks the rules between keys, which need the stored row. */
export const TaskUpdate = changesOf(
  z.strictObject({
    title: Title.meta({ description: 'What is to be done, in one line.' }),
    details: Details.nullish().meta({ description: 'Long text about it; null clears it.' }),
    due_date: CalendarDate.nullish().meta({ description: 'Null clears due_time and the reminder too.' }),
    due_time: Time.nullish().meta({ description: 'UTC; needs a due_date.' }),
    reminder_offset_mins: ReminderOffset.nullish().meta({
      description: 'Minutes before the due instant; needs due_time. Null clears it.',
    }),
    reminder_time: Time.nullish().meta({ description: 'UTC, on due_date, for a task without due_time. Null clears it.' }),
    assignee_user_id: Id.meta({ description: 'Wins over assignee_email.' }),
    assignee_email: EmailAddress.meta({ description: 'The new assignee by address.' }),
    attachments: attachments(AttachmentEntry)
      .nullish()
      .meta({ description: 'The whole list; files that it leaves out are removed. From a browser session only.' }),
    external_id: ExternalId.nullish().meta({
      description: 'The id that an integration gives the task: unique in the account. Null removes it.',
    }),
  }),
  ['title', 'assignee_user_id', 'assignee_email'],
).meta({ id: 'TaskUpdate', description: 'What changes about a task; absent keys keep their values.' })
export type TaskUpdate = z.infer<typeof TaskUpdate>
