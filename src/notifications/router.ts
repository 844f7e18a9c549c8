import { callers } from '../platform/access/authorize.ts'
import { listOf, NoInput, Ok } from '../platform/http/schemas.ts'
import { accountProcedure, resourceProcedure, rest, router } from '../platform/http/trpc.ts'
import { dueOfPrincipal } from './queries.ts'
import { Notification, NotificationPath, NotificationQuery, ReadState, UnreadCount } from './schema.ts'
import * as notifications from './service.ts'

const assigned = {
  id: 31,
  user_id: 8,
  actor_user_id: 7,
  account_id: 1,
  space_id: 1,
  table_id: 101,
  record_id: 12,
  task_id: 55,
  event_type: 'TASK_ASSIGNED',
  message: 'Ada Byron assigned you the task “Call back”.',
  url: '/task/55',
  summary: '“Call back” is due on 2026-03-31.',
  seen_at: null,
  read_at: null,
  created_at: '2026-03-30 09:30:00',
}

export const notificationsRouter = router({
  list: accountProcedure(callers.users)
    .meta(
      rest('POST', '/api/notifications/list', 'List notifications', {
        description:
          "The caller's own, newest first. What was told stays told: rows stay when their task, record or comment is deleted. Those of a " +
          'space, table or task that the caller can no longer read are left out, here and in the counts, until they can again.',
        tags: ['Notifications'],
        example: { input: { filter: 'unread' }, output: { rows: [assigned], total: 1 } },
        isList: true,
      }),
    )
    .input(NotificationQuery)
    .output(listOf(Notification))
    .query(({ ctx, input }) => notifications.list(ctx.context, input)),

  unreadCount: accountProcedure(callers.users, { alongside: dueOfPrincipal })
    .meta(
      rest('POST', '/api/notifications/unreadCount', 'Count what is new', {
        description: 'Unread notifications, and the open tasks of the caller that are due today or overdue.',
        tags: ['Notifications'],
        example: { output: { unread: 3, tasksDue: 1 } },
      }),
    )
    .input(NoInput)
    .output(UnreadCount)
    .query(({ ctx }) => notifications.unreadCount(ctx.context, ctx.row)),

  markRead: resourceProcedure(notifications.notificationResource, 'read', callers.users)
    .meta(
      rest('POST', '/api/notifications/{id}/markRead', 'Mark a notification read', {
        description: 'Doing it again changes nothing.',
        tags: ['Notifications'],
        example: { output: { id: 31, read: true } },
      }),
    )
    .input(NotificationPath)
    .output(ReadState)
    .mutation(({ ctx }) => notifications.mark(ctx.context, ctx.row, true)),

  markUnread: resourceProcedure(notifications.notificationResource, 'read', callers.users)
    .meta(
      rest('POST', '/api/notifications/{id}/markUnread', 'Mark a notification unread', {
        description: 'Doing it again changes nothing.',
        tags: ['Notifications'],
        example: { output: { id: 31, read: false } },
      }),
    )
    .input(NotificationPath)
    .output(ReadState)
    .mutation(({ ctx }) => notifications.mark(ctx.context, ctx.row, false)),

  markAllRead: accountProcedure(callers.users)
    .meta(
      rest('POST', '/api/notifications/markAllRead', 'Mark all notifications read', {
        description: "All of the caller's own that the list shows.",
        tags: ['Notifications'],
        example: { output: { ok: true } },
      }),
    )
    .input(NoInput)
    .output(Ok)
    .mutation(async ({ ctx }) => {
      await notifications.markAllRead(ctx.context)
      return { ok: true }
    }),
})
