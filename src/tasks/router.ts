import { dueOfPrincipal } from '../notifications/queries.ts'
import { callers } from '../platform/access/authorize.ts'
import { listOf, NoInput, Ok } from '../platform/http/schemas.ts'
import { BATCH_BODY_LIMIT, recordProcedure, rest, router } from '../platform/http/trpc.ts'
import * as changes from './changes.ts'
import { taskCommentsRouter } from './comments/router.ts'
import * as deletion from './deletion.ts'
import * as examples from './examples.ts'
import { uploads } from './files/router.ts'
import { standaloneProcedure, taskProcedure } from './procedure.ts'
import {
  BadgeCount,
  Force,
  ListedTask,
  MadeTask,
  Marked,
  NewTask,
  NewTasks,
  RecordPath,
  RecordTaskQuery,
  Reminder,
  Subscribed,
  Task,
  TaskCount,
  TaskDetail,
  TaskPath,
  TaskQuery,
  TaskUpdate,
  withRules,
} from './schema.ts'
import * as tasks from './service.ts'
import * as subscribers from './subscribers.ts'
import * as bulk from './sync/bulk.ts'
import * as upsert from './sync/upsert.ts'

const onRecord = '/api/tasks/onRecord/{table_id}/{record_id}'
const task = '/api/task/{task_id}'
const sync = 'With updated_since what changed, oldest change first, deleted tasks included: for those who keep copies.'
const many =
  'Up to 100, in order. Each is made, or refused by itself with a message that names it, say `tasks[3].title: is required`. With an ' +
  'Idempotency-Key the whole is done once.'

export const tasksRouter = router({
  createOnRecord: recordProcedure('read', callers.any)
    .meta(
      rest('POST', `${onRecord}/create`, 'Create a task on a record', {
        description:
          'By whoever can read the table. The assignee, by default the acting user, is a member of the space, is subscribed and is told.',
        tags: ['Tasks'],
        etag: 'answered',
        mayIgnore: true,
        example: { input: examples.newTask, output: examples.task },
        errors: { 409: 'The external_id is taken' },
        isRepeatable: true,
        sessionOnlyKey: 'attachments',
      }),
    )
    .input(withRules(NewTask.extend(RecordPath.shape)))
    .output(Task)
    .mutation(({ ctx, input }) => upsert.create(ctx.context, { ...input, space_id: ctx.table.space_id }, input)),

  createManyOnRecord: recordProcedure('read', callers.any)
    .meta(
      rest('POST', `${onRecord}/createMany`, 'Create many tasks on a record', {
        description: many,
        tags: ['Tasks'],
        example: { input: examples.newTasks, output: examples.made },
        isList: true,
        isRepeatable: true,
        bodyLimit: BATCH_BODY_LIMIT,
      }),
    )
    .input(NewTasks.extend(RecordPath.shape))
    .output(listOf(MadeTask))
    .mutation(async ({ ctx, input }) => ({
      rows: await bulk.createMany(ctx.context, { ...input, space_id: ctx.table.space_id }, input.tasks),
    })),

  listOnRecord: recordProcedure('read', callers.any)
    .meta(
      rest('GET', `${onRecord}/list`, 'List the tasks of a record', {
        description: `Open before done, then by due date, none last; done ones by when, newest first. ${sync}`,
        tags: ['Tasks'],
        example: { input: { status: 'open' }, output: { rows: [examples.task], total: 1 } },
        isList: true,
      }),
    )
    .input(RecordTaskQuery.extend(RecordPath.shape))
    .output(listOf(ListedTask))
    .query(({ ctx, input }) => tasks.list(ctx.context, input, input)),

  countOnRecord: recordProcedure('read', callers.any)
    .meta(
      rest('GET', `${onRecord}/count`, 'Count the tasks of a record', {
        description: 'The open ones, and all.',
        tags: ['Tasks'],
        example: { output: { open: 2, total: 5 } },
      }),
    )
    .input(RecordPath)
    .output(TaskCount)
    .query(({ ctx, input }) => tasks.count(ctx.context, input)),

  get: taskProcedure('read')
    .meta(
      rest('GET', `${task}/get`, 'Get a task', {
        description: 'With its subscribers, its latest 20 comments, and the names of its table and record.',
        tags: ['Tasks'],
        etag: 'answered',
        example: { output: examples.detail },
      }),
    )
    .input(TaskPath)
    .output(TaskDetail)
    .query(({ ctx }) => tasks.get(ctx.context, ctx.task)),

  update: taskProcedure('edit')
    .meta(
      rest('POST', `${task}/update`, 'Change a task', {
        description:
          'By its creator and assignee. A key that is absent keeps its value, null clears it. A new assignee is subscribed and told.',
        tags: ['Tasks'],
        etag: 'answered and heeded',
        mayIgnore: true,
        example: { input: { due_date: '2026-03-31', assignee_user_id: 8 }, output: examples.task },
        errors: { 409: 'The task has changed since, or the external_id is taken' },
        sessionOnlyKey: 'attachments',
      }),
    )
    .input(TaskUpdate.extend(TaskPath.shape))
    .output(Task)
    .mutation(({ ctx, input }) => changes.update(ctx.context, ctx.task, input)),

  delete: taskProcedure('delete')
    .meta(
      rest('POST', `${task}/delete`, 'Delete a task', {
        description: 'By its creator and assignee, and on a record by an admin of the space. Its comments go with it.',
        tags: ['Tasks'],
        example: { output: { ok: true } },
      }),
    )
    .input(TaskPath)
    .output(Ok)
    .mutation(async ({ ctx }) => {
      await deletion.remove(ctx.context, ctx.task)
      return { ok: true }
    }),

  markDone: taskProcedure('edit')
    .meta(
      rest('POST', `${task}/markDone`, 'Mark a task done', {
        description: 'By its creator and assignee. ok is false when it was done already; of two calls at once, one gets true.',
        tags: ['Tasks'],
        example: { output: { ok: true, status: 'done' } },
      }),
    )
    .input(TaskPath)
    .output(Marked)
    .mutation(({ ctx }) => changes.mark(ctx.context, ctx.task, 'done')),

  markUndone: taskProcedure('edit')
    .meta(
      rest('POST', `${task}/markUndone`, 'Open a task again', {
        description: 'By its creator and assignee. ok is false when it was open already.',
        tags: ['Tasks'],
        example: { output: { ok: true, status: 'open' } },
      }),
    )
    .input(TaskPath)
    .output(Marked)
    .mutation(({ ctx }) => changes.mark(ctx.context, ctx.task, 'open')),

  reminder: taskProcedure('read')
    .meta(
      rest('GET', `${task}/reminder`, 'Preview the reminder of a task', {
        description: 'When it fires, by whose clock, and to whom; or that it has, or never will.',
        tags: ['Tasks'],
        example: { output: examples.reminder },
      }),
    )
    .input(TaskPath)
    .output(Reminder)
    .query(({ ctx }) => tasks.previewReminder(ctx.context, ctx.task)),

  subscribe: taskProcedure('read')
    .meta(
      rest('POST', `${task}/subscribe`, 'Follow a task', {
        description: 'Subscribers hear of its comments and of its being done or reopened.',
        tags: ['Tasks'],
        example: { output: { ok: true, subscribed: true } },
        errors: { 409: 'Already subscribed' },
      }),
    )
    .input(Force.extend(TaskPath.shape))
    .output(Subscribed)
    .mutation(({ ctx, input }) => subscribers.subscribe(ctx.context, ctx.task, input)),

  unsubscribe: taskProcedure('read')
    .meta(
      rest('POST', `${task}/unsubscribe`, 'Stop following a task', {
        description: 'Ends the notifications of its comments and of its being done or reopened.',
        tags: ['Tasks'],
        example: { output: { ok: true, subscribed: false } },
        errors: { 409: 'Not subscribed' },
      }),
    )
    .input(Force.extend(TaskPath.shape))
    .output(Subscribed)
    .mutation(({ ctx, input }) => subscribers.unsubscribe(ctx.context, ctx.task, input)),

  list: standaloneProcedure()
    .meta(
      rest('POST', '/api/tasks/list', "List the caller's tasks", {
        description: `Standalone and on records alike, except in tables that the caller can no longer read. ${sync}`,
        tags: ['Tasks'],
        example: { input: { tab: 'my', search: 'call' }, output: { rows: [examples.task], total: 1 } },
        isList: true,
      }),
    )
    .input(TaskQuery)
    .output(listOf(ListedTask))
    .query(({ ctx, input }) => tasks.listMine(ctx.context, input)),

  create: standaloneProcedure()
    .meta(
      rest('POST', '/api/tasks/create', 'Create a standalone task', {
        description:
          'On no record; seen by its creator, assignee and subscribers. The assignee is the caller or somebody who shares a space with them.',
        tags: ['Tasks'],
        etag: 'answered',
        mayIgnore: true,
        example: { input: examples.newTask, output: { ...examples.task, space_id: null, table_id: null, record_id: null } },
        errors: { 409: 'The external_id is taken' },
        isRepeatable: true,
        sessionOnlyKey: 'attachments',
      }),
    )
    .input(withRules(NewTask))
    .output(Task)
    .mutation(({ ctx, input }) => upsert.create(ctx.context, null, input)),

  createMany: standaloneProcedure()
    .meta(
      rest('POST', '/api/tasks/createMany', 'Create many standalone tasks', {
        description: many,
        tags: ['Tasks'],
        example: { input: examples.newTasks, output: examples.made },
        isList: true,
        isRepeatable: true,
        bodyLimit: BATCH_BODY_LIMIT,
      }),
    )
    .input(NewTasks)
    .output(listOf(MadeTask))
    .mutation(async ({ ctx, input }) => ({ rows: await bulk.createMany(ctx.context, null, input.tasks) })),

  badgeCount: standaloneProcedure({ alongside: dueOfPrincipal })
    .meta(
      rest('POST', '/api/tasks/badgeCount', 'Count what is due', {
        description: 'Open tasks assigned to the caller that are due today, by their time zone, or overdue; and how many are past due.',
        tags: ['Tasks'],
        example: { output: { count: 3, overdue: 1 } },
      }),
    )
    .input(NoInput)
    .output(BadgeCount)
    .query(({ ctx }) => tasks.badgeCount(ctx.context, ctx.row)),

  ...uploads,

  comments: taskCommentsRouter,
})
