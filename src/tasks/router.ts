import { Force } from '../comments/schema.ts'
import * as subscriptions from '../comments/subscriptions.ts'
import { dueOfPrincipal } from '../notifications/queries.ts'
import { callers } from '../platform/access/authorize.ts'
import { BATCH_BODY_LIMIT } from '../platform/http/bodies/body-limits.ts'
import { listOf, NoInput, Ok, RecordPath } from '../platform/http/procedures/schemas.ts'
import { answering, recordProcedure, rest, router } from '../platform/http/procedures/trpc.ts'
import * as changes from './changes.ts'
import { taskCommentsRouter } from './comments/router.ts'
import { onTask } from './comments/task-subject.ts'
import * as deletion from './deletion.ts'
import { shownTaskProcedure } from './detail.ts'
import { docs } from './docs.ts'
import { uploads } from './files/router.ts'
import { ListedTask, RecordTaskQuery, TaskQuery } from './lists/schema.ts'
import { standaloneProcedure, taskProcedure } from './procedure.ts'
import {
  BadgeCount,
  MadeTask,
  Marked,
  NewTask,
  NewTasks,
  Reminder,
  Task,
  TaskCount,
  TaskDetail,
  TaskPath,
  TaskSubscribed,
  TaskUpdate,
  withRules,
} from './schema.ts'
import * as tasks from './service.ts'
import * as bulk from './sync/bulk.ts'
import * as upsert from './sync/upsert.ts'

const onRecord = '/api/tasks/onRecord/{table_id}/{record_id}'
const task = '/api/task/{task_id}'

export const tasksRouter = router({
  createOnRecord: recordProcedure('read', callers.any)
    .meta(
      rest('POST', `${onRecord}/create`, docs.createOnRecord, {
        etag: 'answered',
        mayIgnore: true,
        isRepeatable: true,
        sessionOnlyKey: 'attachments',
      }),
    )
    .input(withRules(NewTask.extend(RecordPath.shape)))
    .output(Task)
    .mutation(answering(({ ctx, input }) => upsert.create(ctx.context, { ...input, space_id: ctx.table.space_id }, input))),

  createManyOnRecord: recordProcedure('read', callers.any)
    .meta(
      rest('POST', `${onRecord}/createMany`, docs.createManyOnRecord, {
        isList: true,
        isRepeatable: true,
        bodyLimit: BATCH_BODY_LIMIT,
        sessionOnlyKey: 'attachments',
      }),
    )
    .input(NewTasks.extend(RecordPath.shape))
    .output(listOf(MadeTask))
    .mutation(answering(({ ctx, input }) => bulk.createMany(ctx.context, { ...input, space_id: ctx.table.space_id }, input.tasks))),

  listOnRecord: recordProcedure('read', callers.any)
    .meta(rest('GET', `${onRecord}/list`, docs.listOnRecord, { isList: true }))
    .input(RecordTaskQuery.extend(RecordPath.shape))
    .output(listOf(ListedTask))
    .query(({ ctx, input }) => tasks.list(ctx.context, input, input)),

  countOnRecord: recordProcedure('read', callers.any)
    .meta(rest('GET', `${onRecord}/count`, docs.countOnRecord))
    .input(RecordPath)
    .output(TaskCount)
    .query(({ ctx, input }) => tasks.count(ctx.context, input)),

  get: shownTaskProcedure()
    .meta(rest('GET', `${task}/get`, docs.get, { etag: 'answered' }))
    .input(TaskPath)
    .output(TaskDetail)
    .query(answering(({ ctx }) => tasks.get(ctx.context, ctx.task, ctx.shown))),

  update: taskProcedure('edit')
    .meta(
      rest('POST', `${task}/update`, docs.update, {
        etag: 'answered and heeded',
        mayIgnore: true,
        sessionOnlyKey: 'attachments',
      }),
    )
    .input(TaskUpdate.extend(TaskPath.shape))
    .output(Task)
    .mutation(answering(({ ctx, input }) => changes.update(ctx.context, ctx.task, input, ctx.ifMatch))),

  delete: taskProcedure('delete')
    .meta(rest('POST', `${task}/delete`, docs.delete))
    .input(TaskPath)
    .output(Ok)
    .mutation(async ({ ctx }) => {
      await deletion.remove(ctx.context, ctx.task)
      return { ok: true }
    }),

  markDone: taskProcedure('edit')
    .meta(rest('POST', `${task}/markDone`, docs.markDone))
    .input(TaskPath)
    .output(Marked)
    .mutation(({ ctx }) => changes.mark(ctx.context, ctx.task, 'done')),

  markUndone: taskProcedure('edit')
    .meta(rest('POST', `${task}/markUndone`, docs.markUndone))
    .input(TaskPath)
    .output(Marked)
    .mutation(({ ctx }) => changes.mark(ctx.context, ctx.task, 'open')),

  reminder: taskProcedure('read')
    .meta(rest('GET', `${task}/reminder`, docs.reminder))
    .input(TaskPath)
    .output(Reminder)
    .query(({ ctx }) => tasks.previewReminder(ctx.context, ctx.task)),

  subscribe: taskProcedure('read')
    .meta(rest('POST', `${task}/subscribe`, docs.subscribe))
    .input(Force.extend(TaskPath.shape))
    .output(TaskSubscribed)
    .mutation(({ ctx, input }) => subscriptions.subscribe(ctx.context, onTask(ctx.task, ctx.context.actor), input.force)),

  unsubscribe: taskProcedure('read')
    .meta(rest('POST', `${task}/unsubscribe`, docs.unsubscribe))
    .input(Force.extend(TaskPath.shape))
    .output(TaskSubscribed)
    .mutation(({ ctx, input }) => subscriptions.unsubscribe(ctx.context, onTask(ctx.task, ctx.context.actor), input.force)),

  list: standaloneProcedure()
    .meta(rest('POST', '/api/tasks/list', docs.list, { isList: true }))
    .input(TaskQuery)
    .output(listOf(ListedTask))
    .query(({ ctx, input }) => tasks.listMine(ctx.context, input)),

  create: standaloneProcedure()
    .meta(
      rest('POST', '/api/tasks/create', docs.create, {
        etag: 'answered',
        mayIgnore: true,
        isRepeatable: true,
        sessionOnlyKey: 'attachments',
      }),
    )
    .input(withRules(NewTask))
    .output(Task)
    .mutation(answering(({ ctx, input }) => upsert.create(ctx.context, null, input))),

  createMany: standaloneProcedure()
    .meta(
      rest('POST', '/api/tasks/createMany', docs.createMany, {
        isList: true,
        isRepeatable: true,
        bodyLimit: BATCH_BODY_LIMIT,
        sessionOnlyKey: 'attachments',
      }),
    )
    .input(NewTasks)
    .output(listOf(MadeTask))
    .mutation(answering(({ ctx, input }) => bulk.createMany(ctx.context, null, input.tasks))),

  badgeCount: standaloneProcedure({ principalRow: dueOfPrincipal })
    .meta(rest('POST', '/api/tasks/badgeCount', docs.badgeCount))
    .input(NoInput)
    .output(BadgeCount)
    .query(({ ctx }) => tasks.badgeCount(ctx.context, ctx.row)),

  ...uploads,

  comments: taskCommentsRouter,
})
